//! Care of the file: earlier schemas, copies, room.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod fixture;
mod log;
mod migrate;
mod reads;
mod room;
mod snapshot;
