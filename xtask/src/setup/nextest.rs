//! cargo-nextest, which runs the tests.

use anyhow::Result;

use crate::process::{cargo, on_path, run};

/// Where it is: cargo finds its sub-commands on the path.
pub(super) fn find() -> Result<Option<String>> {
    Ok(on_path("cargo-nextest").map(|file| file.display().to_string()))
}

/// What `install` does.
pub(super) fn plan() -> String {
    "compile cargo-nextest with `cargo install` (several minutes, once)".to_owned()
}

/// Compiles it.
pub(super) fn install() -> Result<()> {
    run(cargo().args(["install", "--locked", "cargo-nextest"]))
}
