//! The component's contract, checked without running it: the rules that the WIT keeps, what can be composed with it,
//! and that the component which was built is the one that the WIT describes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step of a test is a failed test")]

mod built;
mod composition;
mod dummy;
mod items;
mod names;
mod text;
