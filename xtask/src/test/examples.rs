//! Runs every example of the workspace: an example is a program that ends by itself, without arguments, with exit code 0.
//! Where there is an `output.txt` beside its source, it has to say that.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{
    process::{read, run},
    project::{metadata, release_binary},
};

/// Runs them all; they are built already.
pub(super) fn run_all() -> Result<()> {
    for Example { name, source } in examples(metadata()?) {
        let mut program = Command::new(release_binary(&format!("examples/{name}"))?);
        let expected = Path::new(source).with_file_name("output.txt");
        if expected.is_file() {
            let said = read(&mut program).with_context(|| format!("example {name}"))?;
            let expected = fs::read_to_string(&expected).with_context(|| format!("read {}", expected.display()))?;
            ensure!(said == expected, "example {name} says\n{said}\ninstead of\n{expected}");
        } else {
            run(&mut program).with_context(|| format!("example {name}"))?;
        }
    }
    Ok(())
}

/// An example, and the file with its `main`.
#[derive(Debug, PartialEq, Eq)]
struct Example<'a> {
    name: &'a str,
    source: &'a str,
}

/// The examples that `cargo metadata` knows.
fn examples(metadata: &Value) -> Vec<Example<'_>> {
    let targets =
        metadata["packages"].as_array().into_iter().flatten().filter_map(|package| package["targets"].as_array());
    let is_example =
        |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"));
    targets
        .flatten()
        .filter(is_example)
        .filter_map(|target| Some(Example { name: target["name"].as_str()?, source: target["src_path"].as_str()? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_every_package_is_found_and_nothing_else() {
        let metadata = serde_json::json!({"packages": [
            {"targets": [{"kind": ["lib"], "name": "a"}, {"kind": ["example"], "name": "first", "src_path": "a.rs"}]},
            {"targets": [{"kind": ["example"], "name": "second", "src_path": "b.rs"}, {"kind": ["test"], "name": "b"}]},
        ]});
        let found = [("first", "a.rs"), ("second", "b.rs")].map(|(name, source)| Example { name, source });
        assert_eq!(examples(&metadata), found);
    }
}
