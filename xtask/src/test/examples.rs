//! Runs every example of the workspace: an example is a program that ends by itself, without arguments, with exit code 0.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    process::run,
    project::{metadata, release_binary},
};

/// Runs them all; they are built already.
pub(super) fn run_all() -> Result<()> {
    for name in names(metadata()?) {
        let program = release_binary(&format!("examples/{name}"))?;
        run(&mut std::process::Command::new(program)).with_context(|| format!("example {name}"))?;
    }
    Ok(())
}

/// The examples that `cargo metadata` knows.
fn names(metadata: &Value) -> Vec<&str> {
    let targets =
        metadata["packages"].as_array().into_iter().flatten().filter_map(|package| package["targets"].as_array());
    let is_example =
        |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"));
    targets.flatten().filter(is_example).filter_map(|target| target["name"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_every_package_is_found_and_nothing_else() {
        let metadata = serde_json::json!({"packages": [
            {"targets": [{"kind": ["lib"], "name": "a"}, {"kind": ["example"], "name": "first"}]},
            {"targets": [{"kind": ["example"], "name": "second"}, {"kind": ["test"], "name": "b"}]},
        ]});
        assert_eq!(names(&metadata), ["first", "second"]);
    }
}
