//! The page for people and the agent behind it, with the built program and a real browser.

use std::{path::PathBuf, process::Command};

use anyhow::Result;

use super::{Environment, python};
use crate::{
    process::{on_path, run},
    project::{release_binary, root, target_dir},
    setup::debian,
    test::Outcome,
};

/// What drives the browser, and what runs the tests.
const PACKAGES: &[&str] = &["playwright==1.65.2", "pytest==9.2.0"];

/// Names of the browser's program.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Runs `tests/page`.
pub(super) fn test() -> Result<Outcome> {
    let python = match python("web-page", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let Some(browser) = browser()? else {
        return Ok(Outcome::Skipped("skipped: no Chromium here, and no right to install it"));
    };
    let cache = format!("cache_dir={}", target_dir()?.join("ecosystem/web-page/pytest").display());
    run(Command::new(python)
        .args(["-m", "pytest", "--quiet", "-o", &cache])
        .arg(root().join("tests/page"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TALKTREE", release_binary("talktree")?)
        .env("CHROMIUM", browser))?;
    Ok(Outcome::Passed)
}

/// The browser, which is Debian's where there is none.
fn browser() -> Result<Option<PathBuf>> {
    let find = || BROWSERS.iter().find_map(|name| on_path(name));
    if let Some(browser) = find() {
        return Ok(Some(browser));
    }
    if !debian::is_debian() || !debian::is_root()? {
        return Ok(None);
    }
    eprintln!("going to install chromium from Debian with apt-get (once)");
    debian::install(&["chromium"])?;
    Ok(find())
}
