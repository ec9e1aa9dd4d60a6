//! The one error type of the engine: the cases of the contract, each with the same particulars.

use std::fmt;

/// The cases of the contract, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The message is not one that can be stored.
    InvalidMessage,
    /// An argument is out of its range.
    InvalidArgument,
    /// Not a run of messages that a summary may cover.
    InvalidRange,
    /// The parent is not in this session.
    UnknownParent,
    /// The message is not in this session.
    UnknownMessage,
    /// There is no such session.
    UnknownSession,
    /// There is no such context block.
    UnknownBlock,
    /// The present leaf is not the expected one.
    LeafMoved,
    /// The block was written since that version.
    VersionMismatch,
    /// What a plan covers has changed.
    PlanOutdated,
    /// A summary that is not smaller than what it replaces.
    NoProgress,
    /// The cursor is of no use any more.
    StaleCursor,
    /// More than a limit allows.
    OverLimit,
    /// No usable summary was given.
    SummarizerFailed,
    /// There is no place for the store.
    NotConfigured,
    /// Another instance owns the store.
    Busy,
    /// No room on the disk.
    StorageFull,
    /// The place cannot be written.
    ReadOnly,
    /// The file was written by a newer version.
    SchemaTooNew,
    /// The file is none of ours.
    NotAStore,
    /// The file is damaged.
    Corrupt,
    /// Anything else.
    Other,
}

/// Why a call failed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// Which case of the contract it is.
    pub kind: Kind,
    /// A sentence that says what is wrong and what to do.
    pub message: String,
    /// The thing it is about.
    pub subject: Option<String>,
    /// What a number is now.
    pub current: Option<u64>,
    /// What a number may be at most, or should have been.
    pub limit: Option<u64>,
}

/// What the engine's calls answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error {
    /// An error of a kind, with its sentence.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), subject: None, current: None, limit: None }
    }

    /// Says which thing it is about.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Says what the number is and what it may be.
    #[must_use]
    pub fn numbers(mut self, current: u64, limit: u64) -> Self {
        self.current = Some(current);
        self.limit = Some(limit);
        self
    }
}

/// SQLite's result codes become cases of the contract here and nowhere else.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows, SqlInputError,
            SqliteFailure, Utf8Error,
        };
        match error {
            SqliteFailure(code, detail) => of_code(code, detail.as_deref().unwrap_or("no further word")),
            SqlInputError { error: code, msg, .. } => of_code(code, &msg),
            // No store of ours has such a value, or lacks such a row.
            FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
            | QueryReturnedNoRows => Self::new(Kind::Corrupt, format!("{DAMAGED} ({error})")),
            _ => Self::new(Kind::Other, format!("the database answered in a way that was not expected: {error}")),
        }
    }
}

const DAMAGED: &str = "the file is damaged here; other parts may still be read";

fn of_code(code: rusqlite::ffi::Error, detail: &str) -> Error {
    use rusqlite::ffi::ErrorCode;
    let (kind, sentence) = match code.code {
        ErrorCode::DiskFull => (Kind::StorageFull, "there is no room left on the disk; free some and try again"),
        ErrorCode::ReadOnly => (Kind::ReadOnly, "the store cannot be written; check the directory's permissions"),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            (Kind::Busy, "another instance is using the store; try again")
        }
        ErrorCode::NotADatabase => (Kind::NotAStore, "the file is not a database; it was left alone"),
        // The statements are ours and right: where a table or a column is missing, a rule of the schema is broken or a
        // sum has no place in an integer the file says something that no store says.
        ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => {
            (Kind::Corrupt, DAMAGED)
        }
        ErrorCode::Unknown if contradicts(code.extended_code, detail) => (Kind::Corrupt, DAMAGED),
        ErrorCode::OutOfMemory => (Kind::OverLimit, "the memory limit does not allow this; raise it or ask for less"),
        ErrorCode::TooBig => (Kind::OverLimit, "this is larger than a store can hold"),
        ErrorCode::SystemIoFailure => (Kind::Other, "the disk failed; nothing was written"),
        ErrorCode::CannotOpen => (Kind::Other, "the store's file cannot be opened"),
        _ => (Kind::Other, "the database failed"),
    };
    Error::new(kind, format!("{sentence} ({detail}, code {})", code.extended_code))
}

/// Whether a plain error of SQLite's is about what the file says. What begins with `cannot` is about the state that the
/// connection is in, as after a failure of the disk.
fn contradicts(code: i32, detail: &str) -> bool {
    code == rusqlite::ffi::SQLITE_ERROR && !detail.starts_with("cannot ")
}
