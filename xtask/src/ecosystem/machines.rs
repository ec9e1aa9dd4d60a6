//! What is lost when a machine dies: runners with roots of their own, and copies from one to the other.

use std::process::Command;

use anyhow::Result;

use super::{Environment, python};
use crate::{
    process::run,
    project::{release_binary, root},
    test::Outcome,
};

const PACKAGES: &[&str] = &["pytest==9.2.0"];

/// Runs `tests/machines`, and shows what it measured.
pub(super) fn test() -> Result<Outcome> {
    let python = match python("machines", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    run(Command::new(python)
        .args(["-m", "pytest", "--quiet", "-s", "-p", "no:cacheprovider"])
        .arg(root().join("tests/machines/lost_machine.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TALKTREE", release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}
