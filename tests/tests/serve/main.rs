//! Promises of `talktree serve` and `talktree mcp`, kept by the real program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

#[path = "../process/program.rs"]
#[allow(dead_code, reason = "what it has for `talktree rpc` is used elsewhere")]
mod program;

mod access;
mod agents;
mod client;
mod end;
mod events;
mod gate;
mod hostile;
mod http;
mod inside;
mod load;
mod mcp;
mod open;
mod smuggling;
mod socket;
mod tenants;
mod tls;
mod tokens;
