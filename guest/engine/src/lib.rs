//! The conversation tree of Talktree over SQLite, native and wasm alike.
#![deny(missing_docs)]

mod error;
pub mod message;
mod place;

pub use error::{Error, Kind, Result};
pub use place::{Directory, FILE_NAME, Place};
