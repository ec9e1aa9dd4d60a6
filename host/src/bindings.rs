//! What wasmtime generates from `wit/`: the types of the contract and the calls into the component.
#![allow(missing_docs, reason = "what is generated for flags carries no documentation")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "sessions",
    additional_derives: [PartialEq],
});
