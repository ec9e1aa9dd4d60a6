//! Places below the target directory for packages of other languages, each made once for the same list of packages.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    process::{on_path, read, run},
    project::target_dir,
};

/// An environment that is there, or why it cannot be had on this machine.
pub(crate) enum Environment {
    /// The place of its programs, or of its packages.
    Ready(PathBuf),
    /// The reason.
    Missing(&'static str),
}

/// The Python of a virtual environment in `target/ecosystem/NAME` that has these packages, each pinned with `==`.
pub(crate) fn python(name: &str, packages: &[&str]) -> Result<Environment> {
    let Some(system_python) = on_path("python3") else {
        return Ok(Environment::Missing("skipped: no python3 here"));
    };
    let dir = place(name)?;
    let python = dir.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
    if !holds(&dir, packages) {
        announce(packages, &dir, "pip");
        if read(Command::new(system_python).args(["-m", "venv", "--clear"]).arg(&dir)).is_err() {
            return Ok(Environment::Missing("skipped: this python3 has no module venv"));
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(install).args(packages))?;
        record(&dir, packages)?;
    }
    Ok(Environment::Ready(python))
}

/// A directory `target/ecosystem/NAME` whose `node_modules` has these packages, each pinned with `@`.
pub(crate) fn node(name: &str, packages: &[&str]) -> Result<Environment> {
    node_with(name, packages, &[])
}

/// The same with more options for npm.
pub(crate) fn node_with(name: &str, packages: &[&str], options: &[&str]) -> Result<Environment> {
    let Some(npm) = on_path("npm") else {
        return Ok(Environment::Missing("skipped: no npm here"));
    };
    let dir = place(name)?;
    if !holds(&dir, packages) {
        announce(packages, &dir, "npm");
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let install = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--no-save", "--prefix"];
        run(Command::new(npm).args(install).arg(&dir).args(options).args(packages))?;
        record(&dir, packages)?;
    }
    Ok(Environment::Ready(dir))
}

pub(crate) fn place(name: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join("ecosystem").join(name))
}

fn announce(packages: &[&str], dir: &Path, with: &str) {
    eprintln!("going to put {} into {} (with {with}, once)", packages.join(", "), dir.display());
}

/// What an environment was made of is written last, so that one whose making was interrupted is made again.
fn list_of(dir: &Path) -> PathBuf {
    dir.join("packages.txt")
}

fn holds(dir: &Path, packages: &[&str]) -> bool {
    fs::read_to_string(list_of(dir)).is_ok_and(|list| list.lines().eq(packages.iter().copied()))
}

fn record(dir: &Path, packages: &[&str]) -> Result<()> {
    let list = list_of(dir);
    fs::write(&list, packages.join("\n")).with_context(|| format!("write {}", list.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn an_environment_is_made_again_when_its_list_changes_or_its_making_was_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!holds(dir.path(), &["a==1"]));
        record(dir.path(), &["a==1", "b==2"]).unwrap();
        assert!(holds(dir.path(), &["a==1", "b==2"]));
        assert!(!holds(dir.path(), &["a==1"]));
        assert!(!holds(dir.path(), &["a==1", "b==3"]));
    }
}
