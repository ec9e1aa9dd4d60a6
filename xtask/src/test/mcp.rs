//! The Model Context Protocol, tested with the official Python client, in an environment of its own.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use crate::{
    process::{on_path, read, run},
    project::{release_binary, root, target_dir},
};

/// The client, and the HTTP library that it uses.
const PACKAGE: &str = "mcp==2.3.0";

/// Runs `tests/mcp/client.py` with the built program.
pub(super) fn run_client() -> Result<Outcome> {
    let Some(system_python) = on_path("python3") else {
        return Ok(Outcome::Skipped("skipped: no python3 here"));
    };
    let environment = target_dir()?.join("python-mcp");
    let programs = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join("python");
    if read(Command::new(&python).args(["-c", "import mcp"])).is_err() {
        eprintln!("going to put the Python package {PACKAGE} into {} (with pip, once)", environment.display());
        if read(Command::new(system_python).args(["-m", "venv", "--clear"]).arg(&environment)).is_err() {
            return Ok(Outcome::Skipped("skipped: this python3 has no module venv"));
        }
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]))?;
    }
    run(Command::new(python).arg(root().join("tests/mcp/client.py")).arg(release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}
