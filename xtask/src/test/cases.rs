//! The conformance cases, which live beside this checkout where they are at hand: they drive the built program over
//! JSON-RPC and compare its answers.

use std::process::Command;

use anyhow::Result;

use super::Outcome;
use crate::{
    process::run,
    project::{release_binary, root},
};

/// The case files that Talktree must pass: one name more with every part of it that is finished.
const RESOLVED: &[&str] = &[
    "tree.json",
    "reading.json",
    "client.json",
    "exact.json",
    "media.json",
    "compaction.json",
    "search.json",
    "context.json",
    "store.json",
];

/// Runs the resolved files, where the cases are there.
pub(super) fn run_resolved() -> Result<Outcome> {
    let Ok(runner) = root().join("../shared/cases/run").canonicalize() else {
        return Ok(Outcome::Skipped("skipped: no ../shared/cases here"));
    };
    run(Command::new(runner).arg("--talktree").arg(release_binary("talktree")?).args(RESOLVED))?;
    Ok(Outcome::Passed)
}
