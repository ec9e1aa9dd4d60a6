//! Memory blocks, the system prompt that shows them and the tools that edit them, from outside.
#![allow(clippy::unwrap_used, reason = "tests")]

mod call;
mod common;
mod define;
mod entries;
mod events;
mod kept;
mod limits;
mod past;
mod prompt;
#[path = "../places/read_only.rs"]
mod read_only_place;
mod reminder;
mod tools;
mod versions;
