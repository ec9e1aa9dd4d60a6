//! Finds the component that is built into the library, and says where it lies in `TALKTREE_COMPONENT_FILE`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    out.ancestors()
        .map(|above| above.join("talktree").join("sessions.wasm"))
        .find(|path| is_inside_target(path) && path.is_file())
        .ok_or_else(|| "the component sessions.wasm has not been built yet: run `cargo xtask guest` first".to_owned())
}

/// Cargo marks its target directory with this file: nothing above it is looked at.
fn is_inside_target(component: &Path) -> bool {
    component.ancestors().any(|above| above.join("CACHEDIR.TAG").is_file())
}

fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("cargo did not set {name}"))
}
