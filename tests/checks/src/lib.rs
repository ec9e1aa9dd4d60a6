//! What must hold for any bytes: one function for each fuzz target.
//!
//! A check takes bytes, does something with the engine that they decide, and panics where a promise is broken. The
//! targets in `fuzz/` hand it what libFuzzer makes up; a test of this crate hands it the inputs that are kept in
//! `fuzz/corpus`, and some that are made from them, without instrumentation and in seconds. So what a fuzzer found once
//! is tested for ever. `docs/fuzzing.md` says what each one promises.
#![deny(missing_docs)]
// The sources of the host bring their unit tests along, which are run there: for its own sake this crate has none.
#![cfg(not(any(test, doctest)))]
#![allow(clippy::unwrap_used, reason = "a promise that does not hold is a panic")]

#[allow(dead_code, unreachable_pub, reason = "sources of the host, of which a check uses a part")]
#[path = "../../../host/src/access.rs"]
mod access;
mod bytes;
mod cursors;
mod damage;
mod database;
#[allow(dead_code, reason = "what sources of the host need of it, of which a check uses a part")]
mod error;
#[allow(dead_code, unreachable_pub, unused_imports, reason = "sources of the host, of which a check uses a part")]
#[path = "../../../host/src/import/mod.rs"]
mod import;
mod importers;
mod lines;
mod message;
pub mod mutate;
mod query;
#[path = "../../../guest/engine/tests/places/read_only.rs"]
mod read_only;
mod reads;
#[allow(dead_code, reason = "sources of the host, of which a check uses a part")]
mod rpc;
mod scratch;
mod seed;
mod tenant;
#[allow(dead_code, unreachable_pub, reason = "sources of the host, of which a check uses a part")]
mod tokens;
mod writes;

// Names by which the sources of the host know what they need of it.
use error::{Error, ErrorKind};
use talktree_engine::{ImportItem, LinesReport};
use tenant::{Session, Tenant};

pub use cursors::cursors;
pub use database::database;
pub use importers::importers;
pub use lines::lines;
pub use message::message;
pub use query::query;
pub use rpc::rpc;
pub use tokens::tokens;

/// A check.
pub type Check = fn(&[u8]);

/// All checks by the names of their targets, which are those of the folders in `fuzz/corpus`.
pub const CHECKS: &[(&str, Check)] = &[
    ("message", message),
    ("query", query),
    ("cursors", cursors),
    ("lines", lines),
    ("database", database),
    ("importers", importers),
    ("rpc", rpc),
    ("tokens", tokens),
];
