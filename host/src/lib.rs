//! Durable conversation storage for LLM agents.
//!
//! A conversation is a tree of messages: any message can be answered twice, and every branch stays. Messages are AI SDK
//! `UIMessage`s, stored and given back byte for byte. Each tenant has a directory, an SQLite file and a WebAssembly
//! sandbox of its own; this library runs them.
//!
//! ```no_run
//! use futures::TryStreamExt;
//! use talktree::{Parent, Talktree};
//!
//! # async fn example() -> talktree::Result<()> {
//! let talktree = Talktree::open("data").await?;
//! let session = talktree.tenant("easy:test1")?.session("");
//!
//! session.append_message(r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"Hello"}]}"#).await?;
//! session.append_message(r#"{"id":"m2","role":"assistant","parts":[{"type":"text","text":"Hi"}]}"#).await?;
//! // Another answer to the same message: a branch.
//! session
//!     .append_message(r#"{"id":"m3","role":"assistant","parts":[{"type":"text","text":"Good morning"}]}"#)
//!     .parent("m1")
//!     .expected_leaf("m2")
//!     .await?;
//!
//! let mut history = session.history();
//! while let Some(message) = history.try_next().await? {
//!     println!("{} {}", message.role, message.json);
//! }
//! talktree.close().await
//! # }
//! ```
//!
//! # Handles and calls
//!
//! [`Talktree`], [`Tenant`] and [`Session`] are cheap handles. The methods of a session have the names of the contract
//! (`wit/` in the repository, which says all about them); what is optional is chosen with the methods of the builder
//! that some of them give, and `.await` makes the call. Any async executor will do.
//!
//! Calls of one tenant are carried out one at a time, in the order in which their futures are made ([`Call`] says
//! when); tenants run side by side, each on a thread of its own. Dropping a future does not take its call back.
//!
//! # Compaction
//!
//! A session whose configuration says so ([`ConfigurationChange::compact_after`]) is compacted when its path has grown:
//! the middle of it is replaced, on reading, by a summary that a [`summarizer`] writes. That happens beside the calls;
//! none of them waits for a model. Nothing is deleted, and what fails changes nothing.
//!
//! # Search, memory, feed
//!
//! [`Session::search`] and [`Tenant::search`] find messages by their words, in every script; the first search makes the
//! index. An agent's memory are blocks ([`Session::define_block`]) that its model edits with [`Session::tools`] and
//! [`Session::call_tool`], and that [`Session::system_prompt`] shows; a [`ContextProvider`] gives them content from
//! elsewhere. [`Tenant::changes`] is what happened, in order and without gaps, as pages, by waiting or as a stream;
//! [`Tenant::subscribe`] tells a listener, and a [`Mirror`] is a list of messages that stays in step with a session.
//!
//! # Errors
//!
//! Every call answers [`Result`]. [`Error::kind`] tells the cases apart; but for [`ErrorKind::TimedOut`] and
//! [`ErrorKind::Crashed`], after which the same call may be repeated with the same message ids, a failed call has
//! written nothing. Any call can fail with `busy` (another process has the tenant, or too many calls wait), `timed-out`
//! and `crashed` beside what its own documentation says.
//!
//! # Serving others
//!
//! [`rpc`] speaks JSON-RPC on any pair of byte streams, [`serve`] speaks it over HTTP and WebSockets, and [`mcp`] is for
//! agents that use the Model Context Protocol.
//!
//! # Log and metrics
//!
//! Calls run in a [`tracing`] span with the tenant, the session and the operation. Content of messages is never logged. (The crate `rmcp`, which [`mcp`] uses, logs messages at `debug`: a runtime
//! that serves MCP leaves it out, as `rmcp=error` does.)
//! [`metrics`] are hooks for those who count and measure.
//!
//! [`doctor`] looks at what can be wrong on a machine and in a root.
//!
//! # Threads and cancellation
//!
//! All handles, builders and futures are `Send`; handles are `Sync`. Any future can be dropped at any point: what was
//! acknowledged stays, what was put into a queue is carried out, and nothing is left locked or waiting for it.
#![deny(missing_docs)]

pub mod access;
mod bindings;
mod cache_dir;
mod call;
pub mod chat;
mod compactor;
mod context;
mod copies;
mod directory;
pub mod doctor;
mod error;
pub mod export;
mod feed;
mod file_work;
mod filesystem;
mod fresh;
mod history;
pub mod hooks;
pub mod import;
mod imports;
#[cfg(test)]
mod kills;
mod lock;
pub mod mcp;
mod message;
pub mod metrics;
mod mirror;
mod operations;
pub mod rpc;
mod runtime;
pub mod said;
mod sandbox;
mod scheduler;
mod search;
pub mod serve;
mod session;
mod sessions;
mod settings;
mod slots;
pub mod summarizer;
mod talktree;
mod tenant;
mod tenant_name;
mod types;
mod waiting;
mod watchers;
mod worker;

pub use call::Call;
pub use context::{
    Block, BlockDefinition, BlockEntry, BlockKind, BlockScope, BlockVersion, ContextProvider, Providing, Tool,
    ToolAnswer, WhenChanged, WriteAction, WriteBlock,
};
pub use copies::{ExportLines, Snapshot};
pub use error::{Error, ErrorKind, Result};
pub use feed::{Changes, Feed, FeedItem};
pub use fresh::text_message;
pub use history::History;
pub use message::{IntoMessage, Json};
pub use mirror::{Mirror, MirrorBuilder, Subscription};
pub use operations::{
    AppendMessage, AppendMessages, CommitCompaction, Compact, DeleteMessages, GetBranches, GetHistory,
    GetHistoryRowStats, GetLatestLeaf, GetMedia, GetMessage, GetRecentHistory, ListMessages, PrepareCompaction,
    ReadHistory, UpdateMessage, UpsertMessage,
};
pub use search::Search;
pub use session::Session;
pub use sessions::{Fork, ListSessions};
pub use settings::Durability;
pub use talktree::{Builder, ListTenants, Talktree, TenantPage};
pub use tenant::{DiskUse, Tenant};
pub use types::*;
