//! The conversation tree of Talktree over SQLite, native and wasm alike.
//!
//! A [`Store`] is one SQLite file at a [`Place`]. Its methods are the operations of the WIT interface `store`, with the
//! same names and the same rules; the component is a thin layer over them.
//!
//! ```
//! use talktree_engine::{AppendOptions, Directory, HistoryView, Options, Store};
//!
//! let directory = tempfile::tempdir()?;
//! let mut store = Store::new(Directory::new(directory.path()), Options::default());
//! let message = r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"hello"}]}"#;
//! assert!(store.append_message("", message, &AppendOptions::default())?.inserted);
//! assert_eq!(store.get_history("", &HistoryView::default())?[0].json, message);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How it is built, from the outside in: [`Store`] opens the file and runs each call as one transaction; `append`,
//! `delete`, `history`, `recent`, `branches`, `nodes` and `config` are the operations on one session, `directory` and
//! `fork` those on sessions as a whole, and `feed` tells what happened to all of them; `path` and `chain` find the way
//! through the tree; `correction` keeps its sums; `row` and `session` are the rows; `schema` is the file.
#![deny(missing_docs)]

mod append;
mod branches;
mod chain;
mod check;
mod compaction;
mod config;
mod context;
mod copy;
mod correction;
mod cursor;
mod cut;
mod delete;
mod directory;
mod error;
mod feed;
mod fork;
mod history;
mod key;
mod lines;
mod media;
pub mod message;
mod migrate;
mod nodes;
mod number;
mod overlay;
mod pairing;
mod path;
mod place;
mod plan;
mod prompt;
mod recent;
mod room;
mod row;
mod schema;
mod search;
mod session;
mod snapshot;
mod stats;
mod store;
mod text;
mod types;
mod vacuum;
mod view;

pub use error::{Error, Kind, Result};
pub use place::{Directory, FILE_NAME, Place, TEMPORARY_PREFIX};
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};
pub use store::{Durability, Options, Store};
pub use types::*;
