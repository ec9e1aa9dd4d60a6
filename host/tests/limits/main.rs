//! A tenant at each of its limits: typed errors, nothing acknowledged is lost, and it goes on.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod life;
mod options;
#[path = "../program/mod.rs"]
mod program;
mod quota;
mod short;
