//! `cargo xtask peers`: Talktree beside others that store conversations, on the same messages, in one run.
//!
//! The peers come from npm and PyPI, in the versions that `bench/peers` names, and are driven as their users run them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{
    environments::{Environment, node_with, python},
    node::{copy, pinned},
};
use crate::{
    host,
    process::{on_path, run},
    project::{release_binary, root, target_dir},
};

/// Most of what `agents` wants beside it is for other parts of it.
const OPTIONS: &[&str] = &["--legacy-peer-deps"];

/// Builds our side, installs the others, and runs the comparison with these arguments.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let source = root().join("bench/peers");
    let node = node_side(&source)?;
    let requirements = fs::read_to_string(source.join("requirements.txt")).context("read requirements.txt")?;
    let requirements: Vec<&str> = requirements.lines().collect();
    let python = ready(python("peers-python", &requirements)?)?;
    host::build_peer()?;
    run(Command::new(python)
        .arg(source.join("run.py"))
        .arg("--talktree")
        .arg(release_binary("peer")?)
        .arg("--node")
        .arg(node.join("node_modules/.bin/node"))
        .arg("--node-drivers")
        .arg(node.join("package"))
        .args(arguments)
        .env("PYTHONPATH", root().join("bindings/python/src"))
        .env("TALKTREE_COMPONENT", target_dir()?.join("talktree/sessions.wasm"))
        .env("TALKTREE_CODE_CACHE", target_dir()?.join("ecosystem/peers-compiled"))
        .env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// `cargo xtask scale`: what one machine holds, over HTTP.
pub(crate) fn scale(arguments: &[String]) -> Result<()> {
    let Some(python) = on_path("python3") else {
        bail!("no python3 here");
    };
    host::build()?;
    host::build_peer()?;
    run(Command::new(python)
        .arg(root().join("bench/scale.py"))
        .arg("--talktree")
        .arg(release_binary("talktree")?)
        .arg("--peer")
        .arg(release_binary("peer")?)
        .args(arguments))
}

/// The directory of the packages, with the drivers below it, so that they are found.
fn node_side(source: &Path) -> Result<PathBuf> {
    let packages = pinned(&source.join("package.json"))?;
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let place = ready(node_with("peers", &packages, OPTIONS)?)?;
    let drivers = place.join("package");
    if drivers.exists() {
        fs::remove_dir_all(&drivers).with_context(|| format!("remove {}", drivers.display()))?;
    }
    copy(source, &drivers)?;
    Ok(place)
}

fn ready(environment: Environment) -> Result<PathBuf> {
    match environment {
        Environment::Ready(place) => Ok(place),
        Environment::Missing(reason) => bail!("{reason}"),
    }
}
