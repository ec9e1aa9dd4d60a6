//! Sessions as a list, their titles, their end, and forks of them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod fork;
mod found;
mod gone;
mod list;
mod titles;
