//! The manifest for Spin, composed as Spin composes it: docs/bindings/spin.md.
//!
//! Spin is in no registry of packages. What it does with the dependencies of a component is done here with the library
//! that it uses.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};

use super::{
    Environment,
    environments::place,
    page::{Scene, run_page},
    programs::{no_shell, standalone, wasmtime},
};
use crate::{components, project::root, test::Outcome};

/// What is read of `spin.toml`.
#[derive(Deserialize)]
struct Manifest {
    spin_manifest_version: u32,
    component: BTreeMap<String, Component>,
}

#[derive(Deserialize)]
struct Component {
    source: String,
    #[serde(default)]
    dependencies: BTreeMap<String, Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    path: String,
    /// What of the component's configuration the dependency sees.
    inherit_configuration: Vec<String>,
}

/// Composes what the manifest names, and runs the result with the commands of the page.
pub(super) fn run() -> Result<Outcome> {
    if let Some(reason) = no_shell() {
        return Ok(Outcome::Skipped(reason));
    }
    let programs = match wasmtime()? {
        Environment::Ready(dir) => vec![dir],
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let file = root().join("bindings/spin/spin.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let manifest: Manifest = toml::from_str(&text).with_context(|| format!("{}", file.display()))?;
    anyhow::ensure!(manifest.spin_manifest_version == 2, "dependencies are of version 2 of the manifest");

    let made = BTreeMap::from([("chat.wasm", components::build("chat")?), ("sessions-standalone.wasm", standalone()?)]);
    let chat = manifest.component.get("chat").context("the manifest has no component chat")?;
    let composed = compose(chat, &made)?;
    let to = place("spin")?.join("composed.wasm");
    crate::project::write_if_changed(&to, &composed)?;
    run_page("spin", &Scene { files: vec![to], programs, ..Scene::default() })?;
    Ok(Outcome::Passed)
}

/// Puts the dependencies of a component in place: each is instantiated, and its export of the very name of the import is
/// given to the component, if it fits. The imports that are left come from the host.
fn compose(component: &Component, made: &BTreeMap<&str, PathBuf>) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    anyhow::ensure!(!component.dependencies.is_empty(), "the component has no dependencies");
    let package = register(&mut graph, &component.source, made)?;
    let consumer = graph.instantiate(package);
    for (import, dependency) in &component.dependencies {
        anyhow::ensure!(dependency.inherit_configuration == ["files"], "{import} would have more than files, or less");
        let provider = register(&mut graph, &dependency.path, made)?;
        let provider = graph.instantiate(provider);
        let export = graph.alias_instance_export(provider, import)?;
        graph.set_instantiation_argument(consumer, import, export).with_context(|| format!("{import} does not fit"))?;
    }
    let exports: Vec<_> = graph.types()[graph[package].ty()].exports.keys().cloned().collect();
    anyhow::ensure!(
        exports.iter().any(|name| name.starts_with("wasi:http/incoming-handler@0.2.")),
        "the component answers no HTTP: it exports {exports:?}"
    );
    for name in exports {
        let export = graph.alias_instance_export(consumer, &name)?;
        graph.export(export, &name)?;
    }
    let composed = graph.encode(EncodeOptions { define_components: true, validate: true, processor: None })?;
    let open = open_imports(&composed)?;
    anyhow::ensure!(open.is_empty(), "Spin provides none of {open:?}");
    Ok(composed)
}

/// Adds a component that the manifest names.
fn register(graph: &mut CompositionGraph, name: &str, made: &BTreeMap<&str, PathBuf>) -> Result<PackageId> {
    let file = made.get(name).with_context(|| format!("nothing makes {name}, which the manifest names"))?;
    let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
    let package = Package::from_bytes(name, None, bytes, graph.types_mut())?;
    Ok(graph.register_package(package)?)
}

/// What a component imports that is not WASI's. Types alone need nobody to provide them.
fn open_imports(component: &[u8]) -> Result<Vec<String>> {
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("composed", None, component.to_vec(), graph.types_mut())?;
    let imports = graph.types()[package.ty()].imports.keys().cloned();
    Ok(imports.filter(|name| !name.starts_with("wasi:") && !name.starts_with("talktree:sessions/types@")).collect())
}
