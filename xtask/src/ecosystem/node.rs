//! Node: the npm package `talktree`, made from the component, and its tests under Node's own runner.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::environments::{Environment, node};
use crate::{
    guest,
    process::{on_path, read, run},
    project::root,
    test::Outcome,
};

/// The oldest Node that the package takes: major and minor version, as `engines` in its `package.json` has them.
const OLDEST: (u32, u32) = (20, 9);

/// Runtimes whose npm packages bring the program.
const RUNTIMES: &[&str] = &["bun@1.4.5", "deno@2.9.6"];

/// What is neither copied into the build nor published.
const NOT_COPIED: &[&str] = &["dist", "node_modules", ".gitignore"];

/// What is published, beside the licences.
const PUBLISHED: &[&str] = &["package.json", "README.md", "dist"];

/// The package as it was built.
enum Built {
    /// Its directory, with `dist`.
    Ready(PathBuf),
    /// The reason why it cannot be built here.
    Missing(&'static str),
}

/// Builds the package and runs its tests.
pub(super) fn test() -> Result<Outcome> {
    let package = match build()? {
        Built::Ready(package) => package,
        Built::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let format = ["../node_modules/prettier/bin/prettier.cjs", "--check", "bench.mjs", "scripts", "src", "tests"];
    run(Command::new("node").current_dir(&package).args(format))?;
    compile(&package, "tests/tsconfig.json")?;
    run(Command::new("node").current_dir(&package).arg("tests/run.mjs"))?;
    Ok(Outcome::Passed)
}

/// Runs a program with the package in other runtimes for JavaScript.
pub(super) fn test_other_runtimes() -> Result<Outcome> {
    let runtimes = match node("runtimes", RUNTIMES)? {
        Environment::Ready(place) => place.join("node_modules").join(".bin"),
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let package = match build()? {
        Built::Ready(package) => package,
        Built::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    run(Command::new(runtimes.join("bun")).current_dir(&package).arg("tests/runtimes.mjs"))?;
    let allowed = ["run", "--allow-read", "--allow-write", "--allow-env", "--allow-sys"];
    run(Command::new(runtimes.join("deno")).current_dir(&package).args(allowed).arg("tests/runtimes.mjs"))?;
    Ok(Outcome::Passed)
}

/// Builds the npm package from the component into a directory, which `npm publish` takes as it is.
pub(crate) fn build_npm_package(into: &Path) -> Result<()> {
    let package = match build()? {
        Built::Ready(package) => package,
        Built::Missing(reason) => anyhow::bail!("the npm package cannot be built: {reason}"),
    };
    if into.exists() {
        fs::remove_dir_all(into).with_context(|| format!("remove {}", into.display()))?;
    }
    for name in PUBLISHED {
        copy(&package.join(name), &into.join(name))?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(name), &into.join(name))?;
    }
    Ok(())
}

fn build() -> Result<Built> {
    if on_path("node").is_none() {
        return Ok(Built::Missing("skipped: no node here"));
    }
    if !is_new_enough(&read(Command::new("node").arg("--version"))?) {
        return Ok(Built::Missing("skipped: this node is older than 20.9"));
    }
    let source = root().join("bindings/node");
    let packages = pinned(&source.join("package.json"))?;
    let tools = match node("node", &packages.iter().map(String::as_str).collect::<Vec<_>>())? {
        Environment::Ready(tools) => tools,
        Environment::Missing(reason) => return Ok(Built::Missing(reason)),
    };
    // Below the directory of its tools, so that they are found; made anew, so that nothing of an earlier build is in it.
    let package = tools.join("package");
    if package.exists() {
        fs::remove_dir_all(&package).with_context(|| format!("remove {}", package.display()))?;
    }
    copy(&source, &package)?;
    run(Command::new("node").current_dir(&package).arg("scripts/bindings.mjs").arg(guest::component()?))?;
    compile(&package, "tsconfig.json")?;
    Ok(Built::Ready(package))
}

fn compile(package: &Path, project: &str) -> Result<()> {
    run(Command::new("node").current_dir(package).args(["../node_modules/typescript/bin/tsc", "-p", project]))
}

/// The packages that the build and its tests need, each with its version.
pub(super) fn pinned(description: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(description).with_context(|| format!("read {}", description.display()))?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("parse {}", description.display()))?;
    let tools = value["devDependencies"].as_object().context("package.json has no devDependencies")?;
    tools
        .iter()
        .map(|(name, version)| {
            let version = version.as_str().with_context(|| format!("the version of {name}"))?;
            Ok(format!("{name}@{version}"))
        })
        .collect()
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

/// Copies a file, or a directory with what is in it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("copy {} to {}", from.display(), to.display());
    if !from.is_dir() {
        if let Some(directory) = to.parent() {
            fs::create_dir_all(directory).with_context(failed)?;
        }
        fs::copy(from, to).with_context(failed)?;
        return Ok(());
    }
    fs::create_dir_all(to).with_context(failed)?;
    for entry in fs::read_dir(from).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        if !NOT_COPIED.iter().any(|skipped| name == *skipped) {
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn all_tools_of_the_package_are_pinned() {
        let packages = pinned(&root().join("bindings/node/package.json")).unwrap();
        assert!(packages.iter().any(|package| package.starts_with("typescript@")));
        for package in packages {
            let version = package.rsplit('@').next().unwrap();
            assert!(version.chars().all(|letter| letter.is_ascii_digit() || letter == '.'), "{package}");
        }
    }

    #[test]
    fn an_old_node_is_told() {
        assert!(is_new_enough("v20.9.0\n"));
        assert!(is_new_enough("v22.0.0"));
        assert!(!is_new_enough("v20.8.9"));
        assert!(!is_new_enough("v18.20.0"));
    }

    #[test]
    fn the_oldest_node_is_the_one_that_the_package_names() {
        let text = fs::read_to_string(root().join("bindings/node/package.json")).unwrap();
        assert!(text.contains(&format!("\"node\": \">={}.{}\"", OLDEST.0, OLDEST.1)));
    }
}
