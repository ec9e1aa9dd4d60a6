//! The feed: every event once and in order, as a plain list of them has it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod cursors;
mod model;
mod pages;
mod random;
