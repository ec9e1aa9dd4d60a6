//! What happened in a store, as those who follow it get it.

use super::Compaction;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A message was appended.
    Appended,
    /// A message was changed in place.
    Updated,
    /// Messages were deleted.
    Deleted,
    /// All messages of a session were deleted.
    Cleared,
    /// A compaction was made by `compact`.
    Compacted,
    /// A compaction was added by hand, or removed.
    CompactionChanged,
    /// A message was imported.
    Imported,
    /// A context block or prompt was changed.
    ContextChanged,
    /// A session was given a title, forked or deleted.
    SessionChanged,
}

/// One event of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where to go on after it.
    pub cursor: String,
    /// What happened.
    pub kind: EventKind,
    /// In which session.
    pub session_id: String,
    /// The messages, compactions or labels that it is about.
    pub ids: Vec<String>,
    /// The parent of an appended, updated or imported message.
    pub parent_id: Option<String>,
    /// That message as it is at reading; none if it has gone since.
    pub message: Option<String>,
    /// The compaction.
    pub compaction: Option<Compaction>,
}

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeOptions {
    /// Go on after this one; none: from the oldest that is kept.
    pub cursor: Option<String>,
    /// Events per page: 1 to 1,000, by default 100.
    pub limit: Option<u32>,
    /// Only of this session.
    pub session: Option<String>,
    /// Only of these kinds; none named: all.
    pub kinds: Vec<EventKind>,
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// In order.
    pub events: Vec<Change>,
    /// Where to go on.
    pub cursor: String,
    /// The cursor was of no use, and events were missed: read what is needed anew.
    pub reset: bool,
}
