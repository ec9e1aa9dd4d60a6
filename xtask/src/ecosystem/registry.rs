//! The components are published with `wkg`, as they are, into a registry that is a directory, and fetched from there.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use super::programs::{cargo_program, standalone};
use crate::{guest::component, process::run, project::target_dir, test::Outcome};

/// What a registry calls the components.
const PACKAGES: [&str; 2] = ["talktree:sessions@0.1.0", "talktree:sessions-standalone@0.1.0"];

/// Publishes both components, and looks whether the same bytes come back. (wkg 0.16.1 takes no component at all: it asks
/// for a version in a place where a component has none, whatever `--package` says.)
pub(super) fn run_wkg() -> Result<Outcome> {
    let wkg = cargo_program("wkg", "0.15.1", &["--no-default-features"])?.join("wkg");
    let place = target_dir()?.join("ecosystem/registry");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("remove {}", place.display()))?;
    }
    let shelf = place.join("shelf");
    fs::create_dir_all(&shelf).with_context(|| format!("create {}", shelf.display()))?;
    let config = place.join("config.toml");
    fs::write(&config, configuration(&shelf)).with_context(|| format!("write {}", config.display()))?;
    let command = |name: &str| {
        let mut command = Command::new(&wkg);
        command.arg(name).arg("--config").arg(&config).env("XDG_CACHE_HOME", place.join("cache"));
        command
    };
    for (package, file) in PACKAGES.into_iter().zip([component()?, standalone()?]) {
        run(command("publish").args(["--package", package]).arg(&file))?;
        let fetched = place.join("fetched.wasm");
        run(command("get").args([package, "--overwrite", "--output"]).arg(&fetched))?;
        let same = fs::read(&file)? == fs::read(&fetched)?;
        ensure!(same, "{package} came back as something else than {}", file.display());
    }
    Ok(Outcome::Passed)
}

/// A registry in a directory, which everything is published to.
fn configuration(shelf: &Path) -> String {
    format!(
        "default_registry = \"shelf\"\n\n[registry.\"shelf\"]\ntype = \"local\"\n\n[registry.\"shelf\".local]\nroot = {:?}\n",
        shelf.display().to_string()
    )
}
