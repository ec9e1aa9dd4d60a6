//! Where things are: the checkout, the target directory, the cache of what was set up.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{cargo, read};

/// The checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What `cargo metadata` says about the packages of this workspace.
pub(crate) fn metadata() -> Result<&'static Value> {
    static METADATA: OnceLock<Value> = OnceLock::new();
    if let Some(known) = METADATA.get() {
        return Ok(known);
    }
    let text = read(cargo().args(["metadata", "--format-version=1", "--no-deps"]).current_dir(root()))?;
    let value = serde_json::from_str(&text).context("what `cargo metadata` printed")?;
    Ok(METADATA.get_or_init(|| value))
}

/// The target directory, wherever the user has moved it.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let dir = metadata()?["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(PathBuf::from(dir))
}

/// A program of this workspace, as a release build leaves it.
pub(crate) fn release_binary(name: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join("release").join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// Where the set-up keeps what it fetched: `TALKTREE_CACHE`, or `talktree` in the user's cache directory.
pub(crate) fn cache_dir() -> Result<PathBuf> {
    let var = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || var(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let dir = var("TALKTREE_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|dir| dir.join("talktree")))
        .or_else(|| if cfg!(windows) { var("LOCALAPPDATA").map(|dir| dir.join("talktree")) } else { None })
        .or_else(|| {
            home().map(|dir| {
                dir.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }).join("talktree")
            })
        })
        .context("no home directory: set TALKTREE_CACHE to a directory for what the set-up fetches")?;
    // The path goes into compiler flags, which are split at white space.
    if dir.to_str().is_none_or(|text| text.contains(char::is_whitespace)) {
        bail!("{}: white space in the path; set TALKTREE_CACHE to a directory without", dir.display());
    }
    Ok(dir)
}

/// Writes a file only if that changes it, so that nothing built from it is built again. Answers whether it did.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    // Beside it, then renamed: a build that runs meanwhile sees the old file or the new one.
    let new = unfinished(path);
    fs::write(&new, content).with_context(|| format!("write {}", new.display()))?;
    fs::rename(&new, path).with_context(|| format!("rename to {}", path.display()))?;
    Ok(true)
}

/// A name beside a path for what becomes it when it is finished. No other process uses the same.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn an_unchanged_file_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/sessions.wasm");
        assert!(write_if_changed(&file, b"one").unwrap());
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        assert!(!write_if_changed(&file, b"one").unwrap());
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
        assert!(write_if_changed(&file, b"two").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path().join("new")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn the_root_is_the_workspace() {
        assert!(root().join("wit/world.wit").is_file());
    }
}
