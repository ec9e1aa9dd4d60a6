//! The component in hosts of our own, without the runner.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod inline;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use talktree_tests::raw::RawHost;

/// The component that was built.
fn component() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("talktree").join("sessions.wasm")
}

/// Compiled once for the tests of a process.
fn host() -> &'static RawHost {
    static HOST: LazyLock<RawHost> = LazyLock::new(|| RawHost::new(&component()).unwrap());
    &HOST
}
