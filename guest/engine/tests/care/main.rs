//! Care of the file: earlier schemas, copies, room.
#![allow(clippy::unwrap_used, reason = "tests")]

mod fixture;
mod migrate;
mod reads;
