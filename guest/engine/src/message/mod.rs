//! The text of a message: what is accepted, what is kept, what is derived from it.
//!
//! Pure functions over JSON text. Nothing here knows of the database, builds a tree, recurses or panics, and every
//! function reads its text once or a fixed number of times, since all of it is on the path of an append.
//!
//! - [`Incoming`] checks a message and brings it into the form that is stored; `metadata` is about the reserved keys.
//! - [`Derived`] is what the store keeps beside the text: a token estimate ([`tokens`]) and the tool calls.
//! - [`preview()`] is the line that a list of messages shows.
//! - [`json`] is the reader that all of them use.

mod calls;
mod derived;
mod incoming;
mod inline;
pub mod json;
mod metadata;
mod parts;
mod preview;
mod quote;
mod said;
#[cfg(test)]
mod tests;
pub mod tokens;
mod transcript;

pub use calls::{Call, CallKind, decode, encode};
pub use derived::{Derived, derive};
pub use incoming::{COMPACTION_PREFIX, Incoming, MAX_ID_BYTES};
pub use inline::{Inline, MIN_INLINE_BYTES, inline_media, is_blank_at};
pub use metadata::{only_metadata, same_without_reserved};
pub use preview::preview;
pub use quote::quote;
pub use said::{Said, said};
pub use transcript::transcript;
