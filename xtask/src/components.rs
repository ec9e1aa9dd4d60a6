//! The components beside `sessions.wasm`, in `components/`: a workspace of its own.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{
    guest::{BUILD, guest_cargo},
    process::run,
    project::{root, target_dir},
    toolchain::TARGET,
};

/// Where they are.
pub(crate) fn directory() -> PathBuf {
    root().join("components")
}

/// A cargo for them that builds into the target directory of everything else.
pub(crate) fn components_cargo(command: &str) -> Result<Command> {
    let mut cargo = guest_cargo()?;
    cargo.current_dir(directory()).arg(command).arg("--locked").args(BUILD).arg("--target-dir").arg(target_dir()?);
    Ok(cargo)
}

/// Builds one of them and answers where it is.
pub(crate) fn build(package: &str) -> Result<PathBuf> {
    run(components_cargo("build")?.args(["--package", package]))?;
    let name = format!("{}.wasm", package.replace('-', "_"));
    Ok(target_dir()?.join(Path::new(TARGET)).join("component").join(name))
}
