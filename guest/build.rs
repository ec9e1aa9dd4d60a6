//! How the component is linked.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // 1 MiB is what there is by default. SQLite's parser and its full-text search recurse on the stack; one that
        // overflows is a trap, which costs the instance. Memory that is never touched costs nothing.
        println!("cargo:rustc-link-arg-cdylib=-zstack-size=4194304");
    }
}
