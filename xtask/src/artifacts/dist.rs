//! `cargo xtask dist`: what a release consists of, in one directory with checksums.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{build_standalone, standalone};
use crate::{
    ecosystem::{Environment, build_npm_package, wheel},
    guest::component,
    process::{on_path, run},
    project::target_dir,
};

/// The file of checksums, as `sha256sum --check` reads it.
const CHECKSUMS: &str = "SHA256SUMS";

/// Makes `target/talktree/dist` anew.
pub(crate) fn dist() -> Result<()> {
    build_standalone()?;
    let dist = target_dir()?.join("talktree/dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).with_context(|| format!("remove {}", dist.display()))?;
    }
    fs::create_dir_all(&dist).with_context(|| format!("create {}", dist.display()))?;
    for made in [component()?, standalone()?] {
        let name = made.file_name().context("a component has a name")?;
        fs::copy(&made, dist.join(name)).with_context(|| format!("copy {}", made.display()))?;
    }
    if let Environment::Missing(reason) = wheel(&dist)? {
        println!("no wheel of the Python package: {reason}");
    }
    npm_package(&dist)?;
    let sums = checksums(&dist)?;
    print!("{}:\n{sums}", dist.display());
    fs::write(dist.join(CHECKSUMS), sums).with_context(|| format!("write {CHECKSUMS}"))
}

/// The npm package as `npm publish` takes it.
fn npm_package(dist: &Path) -> Result<()> {
    if on_path("node").is_none() || on_path("npm").is_none() {
        println!("no npm package: no node or no npm here");
        return Ok(());
    }
    let package = target_dir()?.join("talktree/npm");
    build_npm_package(&package)?;
    run(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(dist).arg(&package))
}

/// A line for each file of a directory, by name.
fn checksums(dist: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = fs::read_dir(dist)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let mut sums = String::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        for byte in Sha256::digest(&bytes) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {}", file.file_name().unwrap_or_default().to_string_lossy())?;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn checksums_are_those_that_sha256sum_reads() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("b"), "").unwrap();
        fs::write(dir.path().join("a"), "abc").unwrap();
        assert_eq!(
            checksums(dir.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
        );
    }
}
