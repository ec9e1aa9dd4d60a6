//! The components are the same bytes wherever they are built.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    artifacts::{build_standalone, standalone},
    guest::component,
    process::{cargo, read, run},
    project::{root, target_dir},
    test::Outcome,
};

/// Builds both components in another checkout, with another target directory, and compares.
pub(super) fn check() -> Result<Outcome> {
    build_standalone()?;
    let elsewhere = target_dir()?.join("ecosystem/elsewhere");
    let checkout = elsewhere.join("checkout");
    if elsewhere.exists() {
        fs::remove_dir_all(&elsewhere).with_context(|| format!("remove {}", elsewhere.display()))?;
    }
    copy_checkout(&checkout)?;
    let target = elsewhere.join("target");
    run(cargo().current_dir(&checkout).args(["xtask", "standalone"]).env("CARGO_TARGET_DIR", &target))?;
    for here in [component()?, standalone()?] {
        let name = here.file_name().context("a component has a name")?;
        let there = target.join("talktree").join(name);
        let read = |path: &Path| fs::read(path).with_context(|| format!("read {}", path.display()));
        ensure!(read(&here)? == read(&there)?, "{} differs from {}", there.display(), here.display());
    }
    fs::remove_dir_all(&elsewhere).with_context(|| format!("remove {}", elsewhere.display()))?;
    Ok(Outcome::Passed)
}

/// The files that git knows, and those that it could know, as they are now.
fn copy_checkout(to: &Path) -> Result<()> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let files = read(Command::new("git").current_dir(root()).args(list))?;
    for file in files.split_terminator('\0').map(PathBuf::from) {
        let (from, to) = (root().join(&file), to.join(&file));
        // One that was deleted and not yet committed is in git's list.
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(&from, &to).with_context(|| format!("copy {}", from.display()))?;
        }
    }
    Ok(())
}
