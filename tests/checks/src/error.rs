//! Errors as the host's sources know them, without what else of the host its error type needs.

use std::path::Path;
use std::{fmt, io};

use talktree_engine::Kind;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, Clone)]
pub(crate) struct Error {
    kind: ErrorKind,
    message: String,
}

/// The cases that the host's sources tell apart here; all others are those of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    InvalidMessage,
    InvalidArgument,
    InvalidRange,
    UnknownParent,
    OverLimit,
    NotConfigured,
    Forbidden,
    TimedOut,
    Crashed,
    Other,
    Engine(Kind),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn with_subject(self, _subject: impl Into<String>) -> Self {
        self
    }

    pub(crate) fn with_numbers(self, _current: u64, _limit: u64) -> Self {
        self
    }

    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        Self::new(ErrorKind::Other, format!("{}: {error}", path.display()))
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<talktree_engine::Error> for Error {
    fn from(error: talktree_engine::Error) -> Self {
        let kind = match error.kind {
            Kind::InvalidMessage => ErrorKind::InvalidMessage,
            Kind::InvalidArgument => ErrorKind::InvalidArgument,
            Kind::InvalidRange => ErrorKind::InvalidRange,
            Kind::UnknownParent => ErrorKind::UnknownParent,
            Kind::OverLimit => ErrorKind::OverLimit,
            other => ErrorKind::Engine(other),
        };
        Self::new(kind, error.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl ErrorKind {
    pub(crate) fn as_str(self) -> &'static str {
        "a kind"
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
