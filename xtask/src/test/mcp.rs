//! The Model Context Protocol, tested with the official Python client, in an environment of its own.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use crate::{
    ecosystem::{Environment, python},
    process::run,
    project::{release_binary, root},
};

/// The client, and the HTTP library that it uses.
const PACKAGES: &[&str] = &["mcp==2.3.0"];

/// Runs `tests/mcp/client.py` with the built program.
pub(super) fn run_client() -> Result<Outcome> {
    let python = match python("mcp", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    run(Command::new(python).arg(root().join("tests/mcp/client.py")).arg(release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}
