//! The real program: killed at any moment, on files that are damaged or none of ours, on a disk without room, with
//! tenants that have hostile names.
#![allow(clippy::unwrap_used, reason = "tests")]

mod disk;
mod feed;
mod kill;
mod large;
mod program;
mod skill;
mod tenants;
