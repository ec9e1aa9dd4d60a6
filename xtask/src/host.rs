//! The host's side: building it with the component inside, running it, measuring it.

use std::process::Command;

use anyhow::Result;

use crate::{
    guest,
    process::{cargo, run},
    project::{release_binary, root},
};

/// `cargo xtask build`: the component, then `target/release/talktree`.
pub(crate) fn build() -> Result<()> {
    guest::build()?;
    run(release_cargo("build").args(["--package", "talktree"]))?;
    println!("{}", release_binary("talktree")?.display());
    Ok(())
}

/// `cargo xtask demo`: builds, then runs `talktree demo`.
pub(crate) fn demo(arguments: &[String]) -> Result<()> {
    build()?;
    run(Command::new(release_binary("talktree")?).arg("demo").args(arguments))
}

/// `cargo xtask bench`: the engine natively and in the component, side by side.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    guest::build()?;
    run(release_cargo("run").args(["--package", "talktree-tests", "--bin", "bench", "--"]).args(arguments))
}

/// A cargo command in the one profile that everything native is built with: wasmtime and SQLite are compiled once.
pub(crate) fn release_cargo(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.current_dir(root()).args([command, "--release"]);
    cargo
}
