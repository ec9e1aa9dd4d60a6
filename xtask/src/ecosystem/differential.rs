//! Talktree beside the published `agents/sessions`: the same random calls on both, every difference an intended one.
//!
//! The driver is TypeScript in `tests/differential`, run by a Node that npm installs, since it needs its `node:sqlite`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{
    environments::{Environment, node_with},
    node::{copy, pinned},
};
use crate::{
    host,
    process::run,
    project::{release_binary, root},
    test::Outcome,
};

/// Most of what `agents` wants beside it is for other parts of it.
const OPTIONS: &[&str] = &["--legacy-peer-deps"];

/// The driver's own tests, with a short run among them.
pub(super) fn test() -> Result<Outcome> {
    let driver = match driver()? {
        Environment::Ready(driver) => driver,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let format = ["../node_modules/prettier/bin/prettier.cjs", "--check", "src", "package.json", "tsconfig.json"];
    run(Command::new("node").current_dir(&driver).args(format))?;
    run(Command::new("node").current_dir(&driver).args(["../node_modules/typescript/bin/tsc", "-p", "."]))?;
    run(its_node(&driver)
        .args(["--test", "src/driver.test.ts"])
        .env("TALKTREE", release_binary("talktree")?)
        .env("DIFFERENCES", root().join("docs/differences.md")))?;
    Ok(Outcome::Passed)
}

/// `cargo xtask differential`: builds the program and runs the driver with these arguments.
pub(crate) fn command(arguments: &[String]) -> Result<()> {
    let driver = match driver()? {
        Environment::Ready(driver) => driver,
        Environment::Missing(reason) => bail!("{reason}"),
    };
    host::build()?;
    run(its_node(&driver).args(["src/main.ts", "--program"]).arg(release_binary("talktree")?).args(arguments))
}

/// The driver, below the directory of its packages, so that they are found.
fn driver() -> Result<Environment> {
    let source = root().join("tests/differential");
    let packages = pinned(&source.join("package.json"))?;
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let place = match node_with("differential", &packages, OPTIONS)? {
        Environment::Ready(place) => place,
        missing @ Environment::Missing(_) => return Ok(missing),
    };
    let driver: PathBuf = place.join("package");
    if driver.exists() {
        fs::remove_dir_all(&driver).with_context(|| format!("remove {}", driver.display()))?;
    }
    copy(&source, &driver)?;
    Ok(Environment::Ready(driver))
}

fn its_node(driver: &Path) -> Command {
    let mut node = Command::new(driver.join("../node_modules/.bin/node"));
    // `node:sqlite` says that it is new.
    node.current_dir(driver).env("NODE_NO_WARNINGS", "1").args(["--import", "./src/workers.ts"]);
    node
}
