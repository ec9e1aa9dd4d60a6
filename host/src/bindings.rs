//! What wasmtime generates from `wit/`: the types of the contract and the calls into the component.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "sessions",
    additional_derives: [PartialEq],
});
