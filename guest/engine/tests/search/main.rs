//! Search from outside: what it finds, what it costs, what it leaves.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod contract;
mod cost;
mod oracle;
mod read_only;
#[path = "../places/read_only.rs"]
mod read_only_place;
mod writes;
