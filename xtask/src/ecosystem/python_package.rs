//! The Python package in `bindings/python`: built as a wheel, installed from it, and tested with the SDKs that it has
//! adapters for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{Environment, python};
use crate::{
    process::{on_path, read, run},
    project::{release_binary, root, target_dir},
    test::Outcome,
};

/// What builds the package, what it needs, the SDKs of its adapters, and what checks it.
const PACKAGES: &[&str] = &[
    "hatchling==1.33.0",
    "wasmtime==50.0.1",
    "openai-agents==0.24.0",
    "langchain-core==1.8.3",
    "pytest==9.2.0",
    "mypy==2.4.1",
    "ruff==0.17.6",
];

/// Fails where the SDKs cannot be installed. The package itself needs Python 3.10.
const IS_NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 11))";

/// Builds the wheel, with the component inside, into a directory that then holds no other wheel. Answers where it is.
pub(crate) fn wheel(dir: &Path) -> Result<Environment> {
    if on_path("python3").is_some_and(|python| read(Command::new(python).args(["-c", IS_NEW_ENOUGH])).is_err()) {
        return Ok(Environment::Missing("skipped: the SDKs need Python 3.11 or newer"));
    }
    let python = match python("python-package", PACKAGES)? {
        Environment::Ready(python) => python,
        missing @ Environment::Missing(_) => return Ok(missing),
    };
    for old in wheels(dir)? {
        fs::remove_file(&old).with_context(|| format!("remove {}", old.display()))?;
    }
    let build = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"];
    let component = target_dir()?.join("talktree/sessions.wasm");
    run(quiet(&python)?.args(build).arg("--wheel-dir").arg(dir).arg(package()).env("TALKTREE_COMPONENT", component))?;
    match wheels(dir)?.as_slice() {
        [wheel] => Ok(Environment::Ready(wheel.clone())),
        others => bail!("{} wheels in {} after building one", others.len(), dir.display()),
    }
}

/// Installs the wheel and tests it there, as its users have it.
pub(super) fn test() -> Result<Outcome> {
    let dir = target_dir()?.join("ecosystem/wheel");
    let wheel = match wheel(&dir)? {
        Environment::Ready(wheel) => wheel,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let Environment::Ready(python) = python("python-package", PACKAGES)? else {
        bail!("the environment that the wheel was built in has gone");
    };
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        "--force-reinstall",
    ];
    run(quiet(&python)?.args(install).arg(wheel))?;
    for check in [&["ruff", "check"][..], &["ruff", "format", "--check"], &["mypy"]] {
        run(quiet(&python)?.arg("-m").args(check))?;
    }
    run(quiet(&python)?
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .env("TALKTREE_CODE_CACHE", dir.join("compiled"))
        .env("TALKTREE_PROGRAM", release_binary("talktree")?))?;
    Ok(Outcome::Passed)
}

fn package() -> PathBuf {
    root().join("bindings/python")
}

/// A Python that works in the package and leaves nothing behind there.
fn quiet(python: &Path) -> Result<Command> {
    let caches = target_dir()?.join("ecosystem/python-caches");
    let mut command = Command::new(python);
    command
        .current_dir(package())
        .env("PYTHONPYCACHEPREFIX", caches.join("bytecode"))
        .env("MYPY_CACHE_DIR", caches.join("mypy"))
        .env("RUFF_CACHE_DIR", caches.join("ruff"));
    Ok(command)
}

fn wheels(dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            found.push(path);
        }
    }
    Ok(found)
}
