//! Finds the component that is built into the library, and says where it lies in `TALKTREE_COMPONENT_FILE`.
//!
//! A published crate brings it along. In a checkout `cargo xtask guest` makes it, which this program calls where there is
//! none yet; nothing is installed by that.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=TALKTREE_COMPONENT");
    match component() {
        Ok(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            println!("cargo::rustc-env=TALKTREE_COMPONENT_FILE={}", path.display());
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            println!("cargo::error={sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The file that `TALKTREE_COMPONENT` names, the one that a published crate brings along, or the one that was built
/// last in this workspace.
fn component() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("TALKTREE_COMPONENT").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return match named.canonicalize() {
            Ok(path) if path.is_file() => Ok(path),
            _ => Err(format!("TALKTREE_COMPONENT names {}, which is no file", named.display())),
        };
    }
    let crate_directory = variable("CARGO_MANIFEST_DIR")?;
    let packaged = crate_directory.join("sessions.wasm");
    if packaged.is_file() {
        return Ok(packaged);
    }
    // OUT_DIR lies some levels below the target directory, wherever that is.
    let out = variable("OUT_DIR")?;
    let built = out
        .ancestors()
        .map(|above| above.join("talktree").join("sessions.wasm"))
        .find(|path| is_inside_target(path) && path.is_file());
    match built {
        Some(built) => Ok(built),
        None => make(crate_directory.parent().unwrap_or(&crate_directory), &out),
    }
}

/// Has the workspace make the component, in a target directory of its own: the other is in use by the cargo that runs this.
fn make(workspace: &Path, out: &Path) -> Result<PathBuf, String> {
    if !workspace.join("xtask/Cargo.toml").is_file() {
        return Err("this package has no sessions.wasm: it was not made by `cargo xtask package`".to_owned());
    }
    for source in ["guest", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    let target = out.join("component");
    let made = Command::new(variable("CARGO")?)
        .args(["run", "--quiet", "--package", "xtask", "--", "guest"])
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", &target)
        .env("TALKTREE_INSTALL", "never")
        // What is meant for the compilation of this package.
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .stdout(Stdio::null())
        .status();
    match made {
        Ok(status) if status.success() => Ok(target.join("talktree/sessions.wasm")),
        _ => Err("the component sessions.wasm is not there and could not be made: run `cargo xtask guest`".to_owned()),
    }
}

/// Cargo marks its target directory with this file: nothing above it is looked at.
fn is_inside_target(component: &Path) -> bool {
    component.ancestors().any(|above| above.join("CACHEDIR.TAG").is_file())
}

fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("cargo did not set {name}"))
}
