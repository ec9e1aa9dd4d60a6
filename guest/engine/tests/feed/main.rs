//! The feed: every event once and in order, as a plain list of them has it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod model;
mod random;
