//! What testing needs beside the build: cargo-nextest, which runs the tests, and the toolchain's own rustfmt and clippy.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{cargo, on_path, read, run};

/// Where cargo-nextest is: cargo finds its sub-commands on the path.
pub(super) fn find_nextest() -> Result<Option<String>> {
    Ok(on_path("cargo-nextest").map(|file| file.display().to_string()))
}

/// What `install_nextest` does.
pub(super) fn plan_nextest() -> String {
    "compile cargo-nextest with `cargo install` (several minutes, once)".to_owned()
}

/// Compiles it.
pub(super) fn install_nextest() -> Result<()> {
    run(cargo().args(["install", "--locked", "cargo-nextest"]))
}

/// The components by the cargo command that each is for.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// Whether both components are there, and which they are.
pub(super) fn find_components() -> Result<Option<String>> {
    let versions = COMPONENTS.map(|(command, _)| read(cargo().args([command, "--version"])).ok());
    let all: Option<Vec<_>> = versions.into_iter().collect();
    Ok(all.map(|all| all.iter().map(|version| version.trim()).collect::<Vec<_>>().join(", ")))
}

/// What `install_components` does.
pub(super) fn plan_components() -> String {
    format!("fetch them with `rustup component add {}`", COMPONENTS.map(|(_, name)| name).join(" "))
}

/// Has rustup fetch them.
pub(super) fn install_components() -> Result<()> {
    if on_path("rustup").is_none() {
        bail!("this Rust is not from rustup: install the packages of its rustfmt and clippy");
    }
    run(Command::new("rustup").args(["component", "add"]).args(COMPONENTS.map(|(_, name)| name)))
}
