//! `cargo xtask guest`: the component.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use crate::{
    artifacts::{SESSIONS, described, keep},
    process::{cargo, quoted, run},
    project::{root, target_dir},
    setup,
    toolchain::TARGET,
};

/// The profile of the root manifest that the guest is built with.
const PROFILE: &str = "component";

/// How everything for the guest's target is built, of any cargo command.
pub(crate) const BUILD: [&str; 4] = ["--profile", PROFILE, "--target", TARGET];

/// The package of the component.
pub(crate) const PACKAGE: &str = "talktree-sessions";

/// A cargo with the environment of the guest's target.
pub(crate) fn guest_cargo() -> Result<Command> {
    let mut command = cargo();
    command.current_dir(root()).envs(setup::toolchain()?.environment());
    Ok(command)
}

/// Where the component is kept for the host, which embeds it.
pub(crate) fn component() -> Result<PathBuf> {
    Ok(target_dir()?.join("talktree/sessions.wasm"))
}

/// Builds the component and puts it where the host takes it from, if it has changed.
pub(crate) fn build() -> Result<()> {
    run(guest_cargo()?.args(["build", "--package", PACKAGE]).args(BUILD))?;
    let built = target_dir()?.join(TARGET).join(PROFILE).join("talktree_sessions.wasm");
    let bytes = fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    keep(&component()?, &described(&SESSIONS.add_to(&bytes)?)?)
}

/// `cargo xtask env`: the environment of the guest's target, for `eval` in a POSIX shell.
///
/// `cargo component` builds for wasm32-wasip1 besides, whatever target it is told: with `for_cargo_component` the C
/// compiler's variables are there for that target, too.
pub(crate) fn print_environment(for_cargo_component: bool) -> Result<()> {
    for (name, value) in setup::toolchain()?.environment() {
        println!("export {name}={}", quoted(&value));
        if for_cargo_component && let Some(variable) = name.strip_suffix("_wasm32_wasip2") {
            println!("export {variable}_wasm32_wasip1={}", quoted(value.replace(TARGET, "wasm32-wasip1")));
        }
    }
    Ok(())
}
