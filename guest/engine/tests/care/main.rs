//! Care of the file: earlier schemas, copies, room.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod fixture;
mod log;
mod migrate;
#[path = "../places/mount.rs"]
mod mount;
mod reads;
mod room;
mod snapshot;
