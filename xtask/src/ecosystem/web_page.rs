//! The page for people and the agent behind it, with the built program and a real browser.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, anyhow};

use super::{Environment, python};
use crate::{
    process::{on_path, run},
    project::{release_binary, root, target_dir},
    setup::debian,
    test::Outcome,
};

/// What drives the browser, what runs the tests, and what looks for those whom a page leaves out.
const PACKAGES: &[&str] = &["playwright==1.65.2", "pytest==9.2.0", "axe-playwright-python==0.1.8"];

/// Names of the browser's program.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Fonts of the picture.
const FONTS: &[&str] = &["fonts-inter", "fonts-noto-cjk"];

/// Runs `tests/page`.
pub(super) fn test() -> Result<Outcome> {
    let mut python = match driver()? {
        Ok(python) => python,
        Err(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let cache = format!("cache_dir={}", target_dir()?.join("ecosystem/web-page/pytest").display());
    if run(python.args(["-m", "pytest", "--quiet", "-o", &cache]).arg(root().join("tests/page"))).is_ok() {
        return Ok(Outcome::Passed);
    }
    // As for the tests that nextest runs: a busy machine may hold a browser up, and what fails twice has failed.
    eprintln!("what failed is tried once more; what passes then is flaky");
    run(python.args(["--last-failed", "--last-failed-no-failures", "none"]))?;
    Ok(Outcome::Passed)
}

/// Takes the pictures of README.md, with the page's files as they lie in the checkout.
pub(crate) fn picture() -> Result<()> {
    let mut python = driver()?.map_err(|reason| anyhow!(reason))?;
    if debian::is_debian() && debian::is_root()? {
        eprintln!("going to install {} from Debian with apt-get", FONTS.join(" and "));
        debian::install(FONTS)?;
    }
    run(python.arg(root().join("tests/page/picture.py")).env("PAGE", root().join("host/page")))
}

/// Python with the packages, and the variables that say where everything is; or why there is none.
fn driver() -> Result<Result<Command, &'static str>> {
    let python = match python("web-page", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Err(reason)),
    };
    let Some(browser) = browser()? else {
        return Ok(Err("skipped: no Chromium here, and no right to install it"));
    };
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("TALKTREE", release_binary("talktree")?).env("CHROMIUM", browser);
    Ok(Ok(command))
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
