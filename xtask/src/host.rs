//! The host's side: building it with the component inside, running it, measuring it.

use std::process::Command;

use anyhow::Result;

use crate::{
    guest,
    process::{cargo, run},
    project::{release_binary, root},
};

/// A cargo command in release mode for every package but the component, which is of another target.
///
/// The one selection for everything native: with another, cargo would resolve features of dependencies otherwise, and
/// compile wasmtime and SQLite once more for it.
pub(crate) fn native(command: &[&str]) -> Command {
    let mut cargo = cargo();
    cargo.current_dir(root()).args(command).args(["--release", "--workspace", "--exclude", guest::PACKAGE]);
    cargo
}

/// Builds the component, then one program.
fn build_program(name: &str) -> Result<Command> {
    guest::build()?;
    // With the examples, since features of dependencies are then resolved as for tests.
    run(native(&["build"]).args(["--bin", name, "--examples"]))?;
    Ok(Command::new(release_binary(name)?))
}

/// `cargo xtask build`: the component, then `target/release/talktree`.
pub(crate) fn build() -> Result<()> {
    let program = build_program("talktree")?;
    println!("{}", program.get_program().display());
    Ok(())
}

/// Talktree's side of `cargo xtask peers`.
pub(crate) fn build_peer() -> Result<()> {
    build_program("peer").map(drop)
}

/// `cargo xtask demo`: builds, then runs `talktree demo`.
pub(crate) fn demo(arguments: &[String]) -> Result<()> {
    run(build_program("talktree")?.arg("demo").args(arguments))
}

/// `cargo xtask bench`: the engine natively and in the component, side by side.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    run(build_program("bench")?.args(arguments))
}

/// `cargo xtask load`: load on the real server, at full length.
pub(crate) fn load(arguments: &[String]) -> Result<()> {
    build_program("talktree")?;
    run(build_program("load")?.args(arguments))
}

/// The program that makes things go wrong around a store, and `talktree`, which it starts.
pub(crate) fn faults() -> Result<Command> {
    build_program("talktree")?;
    build_program("faults")
}
