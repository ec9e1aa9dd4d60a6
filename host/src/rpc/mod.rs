//! JSON-RPC 2.0 for runtimes that are not written in Rust: one JSON text per line, on any pair of byte streams.
//!
//! What the protocol leaves open is decided so:
//!
//! - **Bytes.** A message goes from the request line to the store, and from the store to the answer line, as the text
//!   that it is; nothing on the way reads it as a value. In an answer, line breaks between its tokens become spaces.
//! - **Numbers.** A whole number may be written in any way (`50`, `50.0`, `5e1`). `1.5` is wrongly typed (-32602); what
//!   is whole and beyond the range of its type is `invalid-argument`.
//! - **Words** (`source`, `mode`, `media`, ...) that are none of those known are `invalid-argument`.
//! - **Lone surrogates** in `tenant` and `session` are -32602; in the id of a message, a cursor or a key they are
//!   `invalid-argument`, since nothing that is stored can be named so.
//! - **Ids of requests** are repeated byte for byte. A line that is no request is answered with the id that can be seen
//!   in it, else with `null`. A request without an id is never answered, whatever becomes of it.
//! - **Order.** Requests of one tenant are carried out one after the other, in the order of arrival; tenants side by
//!   side. Answers come when they are ready. `compact` and `importData` begin in their turn and then let others go past.
//! - **Bounds.** About a thousand small requests, or 128 MiB of request lines, are under way at most; then reading waits.
//!   A client that sends without ever reading answers comes to a stop, not the process to the end of its memory.
//! - **The end.** At the end of input, or when it is told to stop, or when nobody reads the answers any more, nothing
//!   further is read; what was read is carried out, and answered if anybody listens. Automatic compactions end at once,
//!   a `compact` that still waits for a summary after ten seconds fails.

mod connection;
mod failure;
mod follow;
mod json;
mod lanes;
mod lines;
mod methods;
mod number;
mod params;
mod pipeline;
mod request;
mod serve;
mod service;

pub(crate) use failure::Failure;
pub(crate) use follow::{Followed, Follower};
pub(crate) use json::{Object, push_text};
pub(crate) use pipeline::{Answers, CommonBudget, Pipeline};
pub use serve::{DEFAULT_MAX_REQUEST, serve};
pub(crate) use service::{Caller, Observer, Service, Taken};

/// Version of the methods and their params, as `ping` tells it: that of the component's interface.
pub const API_VERSION: &str = "0.1.0";
