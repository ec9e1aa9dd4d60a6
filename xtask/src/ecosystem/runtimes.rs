//! Agent runtimes of others with Talktree mounted, and the official TypeScript client of the Model Context Protocol.
//!
//! The runtimes are the real programs, in the versions below, each with a scripted model in the place of a real one: see
//! `tests/runtimes/run.py`. They take more than a gigabyte of disk, so they are tried with `--ecosystem` only.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use super::{Environment, environments::node};
use crate::{
    process::{on_path, run},
    project::{release_binary, root},
    test::Outcome,
};

/// The client for JavaScript.
const CLIENT: &[&str] = &["@modelcontextprotocol/sdk@1.32.2"];

/// The runtimes, and the Node.js that some of them ask for.
const RUNTIMES: &[&str] = &[
    "node@22.23.3",
    "@anthropic-ai/claude-code@2.1.332",
    "@openai/codex@0.171.0",
    "opencode-ai@1.18.33",
    "@earendil-works/pi-coding-agent@1.6.0",
    "@modelcontextprotocol/inspector@2.12.0",
    GOOSE,
];

/// goose, whose program comes in one package for each kind of machine.
const GOOSE: &str = if cfg!(target_arch = "aarch64") {
    "@aaif/goose-binary-linux-arm64@1.52.0"
} else {
    "@aaif/goose-binary-linux-x64@1.52.0"
};

/// Runs `tests/mcp/client.mjs` with the built program.
pub(super) fn typescript_client() -> Result<Outcome> {
    let place = match node("mcp-typescript", CLIENT)? {
        Environment::Ready(place) => place,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    // A module finds packages beside itself only.
    let client = place.join("client.mjs");
    fs::copy(root().join("tests/mcp/client.mjs"), &client).with_context(|| format!("write {}", client.display()))?;
    run(Command::new("node").arg(client).arg(release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}

/// Runs `tests/runtimes/run.py` with the built program and all runtimes.
pub(super) fn agent_runtimes() -> Result<Outcome> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::Skipped("skipped: the packages here are those for Linux"));
    }
    let Some(python) = on_path("python3") else {
        return Ok(Outcome::Skipped("skipped: no python3 here"));
    };
    let place = match node("runtimes", RUNTIMES)? {
        Environment::Ready(place) => place,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let mut tried = Command::new(python);
    tried.arg("-B").arg(root().join("tests/runtimes/run.py")).arg(release_binary("talktree")?);
    run(tried.arg(place.join("node_modules")))?;
    Ok(Outcome::Passed)
}
