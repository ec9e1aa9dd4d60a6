//! The engine from outside: what it does to files, what its calls cost, how deep a tree may be.
//!
//! What its calls answer is compared with a plain model elsewhere, in the tests of the whole project.
#![allow(clippy::unwrap_used, reason = "tests")]

mod busy;
mod common;
mod contradictions;
mod cost;
mod damage;
mod depth;
mod files;
mod full;
mod last_seq;
mod limit;
#[path = "../places/mount.rs"]
mod mount;
mod read_only;
#[path = "../places/read_only.rs"]
mod read_only_place;
mod sums;
