//! Sessions and stores as lines: out, in, and out again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod export;
mod import;
mod random;
#[path = "../care/reads.rs"]
mod reads;
