//! Components put together with `wac-graph`, the library under `wac plug`, and under Spin.

use anyhow::{Context, Result};
use wac_graph::{CompositionGraph, EncodeOptions, plug, types::Package};

/// The socket with the plug's exports as its imports.
///
/// What the plug offers and the socket asks for in another shape is an error: `wac` would leave it open.
pub(crate) fn plugged(socket: &[u8], with: &[u8]) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let mut add = |name: &str, bytes: &[u8]| {
        let package = Package::from_bytes(name, None, bytes.to_vec(), graph.types_mut())
            .with_context(|| format!("the {name} is no component"))?;
        Ok::<_, anyhow::Error>(graph.register_package(package)?)
    };
    let (socket, plugs) = (add("socket", socket)?, vec![add("plug", with)?]);
    plug(&mut graph, plugs, socket).context("plug the summarizer in")?;
    Ok(graph.encode(EncodeOptions::default())?)
}
