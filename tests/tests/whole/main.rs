//! What is about a store as a whole, through the component in its sandbox: search, memory blocks, the list of sessions,
//! the feed, copies.
#![allow(clippy::unwrap_used, reason = "tests")]

mod context;
mod copies;
mod feed;
mod place;
mod search;
mod sessions;
