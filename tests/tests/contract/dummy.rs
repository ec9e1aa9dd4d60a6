//! Components that do nothing, made from WIT alone: enough to see what fits on what.

use wac_graph::{CompositionGraph, EncodeOptions, PackageId, PlugError, plug, types::Package};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

use crate::items::wit_dir;

/// A component of one of our worlds.
pub(crate) fn of_our_world(world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit_dir()).unwrap();
    component(&resolve, package, world)
}

/// A component of a world that a user of ours writes: the text is that of the world's body.
pub(crate) fn of_world(body: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(wit_dir()).unwrap();
    let text = format!("package test:dummy;\nworld dummy {{\n{body}\n}}");
    let package = resolve.push_str("dummy.wit", &text).unwrap();
    component(&resolve, package, "dummy")
}

/// A component of a package that knows nothing of ours.
pub(crate) fn of_package(text: &str, world: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("foreign.wit", text).unwrap();
    component(&resolve, package, world)
}

fn component(resolve: &Resolve, package: wit_parser::PackageId, world: &str) -> Vec<u8> {
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut module = dummy_module(resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// What goes in and out of a component, as the names of interfaces.
#[derive(Debug, PartialEq)]
pub(crate) struct Sides {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

/// The two sides of a component.
pub(crate) fn sides(component: &[u8]) -> Sides {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component).unwrap() else {
        panic!("no component, but a package of WIT");
    };
    let world = &resolve.worlds[world];
    Sides {
        imports: world.imports.keys().map(|key| resolve.name_world_key(key)).collect(),
        exports: world.exports.keys().map(|key| resolve.name_world_key(key)).collect(),
    }
}

/// Plugs one component into another, as `wac plug` does; the result is validated.
pub(crate) fn plugged(socket: &[u8], with: &[u8]) -> Result<Vec<u8>, PlugError> {
    let mut graph = CompositionGraph::new();
    let socket = registered(&mut graph, "test:socket", socket);
    let with = registered(&mut graph, "test:plug", with);
    plug(&mut graph, vec![with], socket)?;
    Ok(graph.encode(EncodeOptions { define_components: true, validate: true, processor: None }).unwrap())
}

fn registered(graph: &mut CompositionGraph, name: &str, component: &[u8]) -> PackageId {
    let package = Package::from_bytes(name, None, component, graph.types_mut()).unwrap();
    graph.register_package(package).unwrap()
}
