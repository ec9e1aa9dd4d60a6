//! Sessions as a list of them shows them, and copies of the whole store.

/// A session, without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The title was made up by a program: the next one, by a program or a user, takes its place.
    pub title_automatic: bool,
    /// When it came into being, in ms since 1970.
    pub created_at: i64,
    /// When a message was last appended, updated or imported, in ms since 1970.
    pub last_activity_at: i64,
    /// How many messages it has.
    pub messages: u32,
    /// Estimated tokens of all of them.
    pub tokens: u64,
    /// Its present leaf.
    pub leaf_id: Option<String>,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePage {
    /// Whole lines of JSON, each ended by a line feed.
    pub lines: String,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

/// One line that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFailure {
    /// Its number in the call, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub why: String,
}

/// What became of the lines of one session, or of those that belong to the store as a whole (no id).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesReport {
    /// The session that they went to; none: the store as a whole.
    pub session_id: Option<String>,
    /// Messages that were stored.
    pub imported: u32,
    /// Messages that were there already.
    pub skipped: u32,
    /// Lines that could not be taken; all others were.
    pub failed: Vec<LineFailure>,
}

/// A piece of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPiece {
    /// Bytes of the file, in order.
    pub data: Vec<u8>,
    /// Length of the whole file.
    pub bytes: u64,
    /// Where the next piece begins.
    pub cursor: Option<String>,
}

/// What a vacuum did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VacuumReport {
    /// Bytes of the file before it.
    pub before: u64,
    /// Bytes of the file after it.
    pub after: u64,
}
