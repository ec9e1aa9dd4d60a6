//! Random operations on a store and on the model of one, with every answer compared, restarts included.
//!
//! `PROPTEST_CASES` sets how many sequences are tried. What was found once is kept in `kept.rs`, by the promise that was
//! broken.
#![allow(clippy::unwrap_used, reason = "tests")]

mod component;
mod driver;
mod kept;
mod native;
mod operation;
