//! What is lost when a machine dies: runners with roots of their own, and copies from one to the other. Also how tenants
//! are placed over several, and whether the examples for that are well-formed.

use std::process::Command;

use anyhow::Result;

use super::{Environment, python};
use crate::{
    process::run,
    project::{release_binary, root},
    test::Outcome,
};

/// What runs the tests, and what knows the fields of Kubernetes.
const PACKAGES: &[&str] = &["pytest==9.2.0", "kubernetes-validate==1.37.0"];

/// Without nginx the tests of `placement.py` are skipped.
const FILES: [&str; 3] = ["lost_machine.py", "placement.py", "manifests.py"];

/// Runs `tests/machines`, and shows what it measured.
pub(super) fn test() -> Result<Outcome> {
    let python = match python("machines", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    run(Command::new(python)
        .args(["-m", "pytest", "--quiet", "-s", "-p", "no:cacheprovider"])
        .args(FILES.map(|file| root().join("tests/machines").join(file)))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TALKTREE", release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}
