//! The one error type of this library.

use std::path::Path;
use std::{fmt, io};

use crate::bindings::talktree::sessions::types as wit;

/// What every fallible call of this library answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// [`kind`](Error::kind) is what a program acts on; the text of the error is a sentence for a person. But for
/// [`ErrorKind::TimedOut`] and [`ErrorKind::Crashed`] a failed call has written nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(
    // Boxed, so that a result is not much larger than its answer.
    Box<Details>,
);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    message: String,
    subject: Option<String>,
    current: Option<u64>,
    limit: Option<u64>,
}

impl Error {
    /// An error of this kind. The message is a sentence for a person: what is wrong, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, message: message.into(), subject: None, current: None, limit: None }))
    }

    /// Names the thing that it is about: an id, an argument.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> Self {
        self.0.subject = Some(subject.into());
        self
    }

    /// Says what a number is now, and what it may be at most.
    #[must_use]
    pub fn with_numbers(mut self, current: u64, limit: u64) -> Self {
        self.0.current = Some(current);
        self.0.limit = Some(limit);
        self
    }

    /// What a failure of the operating system at this path means in the contract.
    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let (kind, advice) = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                (ErrorKind::StorageFull, "make room on the disk")
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                (ErrorKind::ReadOnly, "this process must be allowed to write there")
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                (ErrorKind::NotConfigured, "the root directory has gone or is none")
            }
            _ => (ErrorKind::Other, "look at the file system"),
        };
        Self::new(kind, format!("{}: {error}; {advice}", path.display()))
    }

    /// Which case it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A sentence for a person: what is wrong, and what to do. The same as the error's text.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The thing it is about: an id, a label, an argument's name.
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// Where a number is concerned: what it is now.
    pub fn current(&self) -> Option<u64> {
        self.0.current
    }

    /// Where a number is concerned: what it may be at most, or should have been.
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }
}

/// Writes the enum and its kebab-case names from one list, so that they cannot differ.
macro_rules! kinds {
    ($($(#[$doc:meta])* $case:ident = $name:literal,)*) => {
        /// The cases of [`Error`]: those of the contract, and four that only a host can tell.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $case,)*
        }

        impl ErrorKind {
            /// All of them.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$case,)*];

            /// The name of the case in the contract, in kebab-case: what JSON-RPC gives as `kind`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$case => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The message is not JSON, not an object, or one of its members is missing, of the wrong type, empty or too long.
    InvalidMessage = "invalid-message",
    /// An argument is out of its range.
    InvalidArgument = "invalid-argument",
    /// The two ids are not on one path in that order, or the run cannot be covered by a summary.
    InvalidRange = "invalid-range",
    /// No message of that id in this session to be the parent.
    UnknownParent = "unknown-parent",
    /// No message of that id in this session.
    UnknownMessage = "unknown-message",
    /// No session of that id.
    UnknownSession = "unknown-session",
    /// No context block of that label.
    UnknownBlock = "unknown-block",
    /// The present leaf is not the expected one: read again and decide.
    LeafMoved = "leaf-moved",
    /// The block was written since that version.
    VersionMismatch = "version-mismatch",
    /// What the plan covers has changed: prepare again.
    PlanOutdated = "plan-outdated",
    /// The summary is not smaller than what it would replace.
    NoProgress = "no-progress",
    /// The cursor is not one of this call's, or what it stands on has gone: begin again without one.
    StaleCursor = "stale-cursor",
    /// More than a limit allows; [`Error::limit`] says which number.
    OverLimit = "over-limit",
    /// The summarizer gave no usable answer.
    SummarizerFailed = "summarizer-failed",
    /// The root directory is missing or is none.
    NotConfigured = "not-configured",
    /// Another process owns the tenant, or too many calls are waiting: try again.
    Busy = "busy",
    /// No room on the disk. The store can still be read.
    StorageFull = "storage-full",
    /// The directory or the file cannot be written. Reads work.
    ReadOnly = "read-only",
    /// The file was written by a newer version, which has to be used.
    SchemaTooNew = "schema-too-new",
    /// The file is none of ours; it was left alone.
    NotAStore = "not-a-store",
    /// The file is damaged there. What can be read is still read.
    Corrupt = "corrupt",
    /// Anything else.
    Other = "other",
    /// No tenant of that name.
    UnknownTenant = "unknown-tenant",
    /// It is not allowed: a link lies where a tenant's directory should be, for instance.
    Forbidden = "forbidden",
    /// The call took longer than the limit and was ended. Its outcome is unknown: retry with the same message id.
    TimedOut = "timed-out",
    /// The sandbox broke down in this call. Its outcome is unknown: retry with the same message id. The next call gets
    /// a fresh sandbox.
    Crashed = "crashed",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        use wit::Error as E;
        let (kind, info) = match error {
            E::InvalidMessage(info) => (ErrorKind::InvalidMessage, info),
            E::InvalidArgument(info) => (ErrorKind::InvalidArgument, info),
            E::InvalidRange(info) => (ErrorKind::InvalidRange, info),
            E::UnknownParent(info) => (ErrorKind::UnknownParent, info),
            E::UnknownMessage(info) => (ErrorKind::UnknownMessage, info),
            E::UnknownSession(info) => (ErrorKind::UnknownSession, info),
            E::UnknownBlock(info) => (ErrorKind::UnknownBlock, info),
            E::LeafMoved(info) => (ErrorKind::LeafMoved, info),
            E::VersionMismatch(info) => (ErrorKind::VersionMismatch, info),
            E::PlanOutdated(info) => (ErrorKind::PlanOutdated, info),
            E::NoProgress(info) => (ErrorKind::NoProgress, info),
            E::StaleCursor(info) => (ErrorKind::StaleCursor, info),
            E::OverLimit(info) => (ErrorKind::OverLimit, info),
            E::SummarizerFailed(info) => (ErrorKind::SummarizerFailed, info),
            E::NotConfigured(info) => (ErrorKind::NotConfigured, info),
            E::Busy(info) => (ErrorKind::Busy, info),
            E::StorageFull(info) => (ErrorKind::StorageFull, info),
            E::ReadOnly(info) => (ErrorKind::ReadOnly, info),
            E::SchemaTooNew(info) => (ErrorKind::SchemaTooNew, info),
            E::NotAStore(info) => (ErrorKind::NotAStore, info),
            E::Corrupt(info) => (ErrorKind::Corrupt, info),
            E::Other(info) => (ErrorKind::Other, info),
        };
        Self(Box::new(Details {
            kind,
            message: info.message,
            subject: info.subject,
            current: info.current,
            limit: info.limit,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorKind;

    #[test]
    fn every_kind_has_a_name_of_its_own_in_kebab_case() {
        let names: std::collections::BTreeSet<_> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), ErrorKind::ALL.len());
        for name in names {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        }
    }
}
