//! What a client is told when something cannot be done.

use completions::Failure;
use serde_json::json;

use crate::bindings::talktree::sessions::types::{Error, ErrorInfo};

/// A status and a sentence.
#[derive(Debug)]
pub(crate) struct Problem {
    /// The status of HTTP.
    pub(crate) status: u16,
    kind: &'static str,
    message: String,
}

impl Problem {
    pub(crate) fn new(status: u16, kind: &'static str, message: String) -> Self {
        Self { status, kind, message }
    }

    pub(crate) fn bad_request(message: String) -> Self {
        Self::new(400, "bad-request", message)
    }

    /// As the body of the answer.
    pub(crate) fn json(&self) -> String {
        json!({ "error": { "kind": self.kind, "message": self.message } }).to_string()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, kind, info): (u16, &str, ErrorInfo) = match error {
            Error::InvalidMessage(info) => (400, "invalid-message", info),
            Error::InvalidArgument(info) => (400, "invalid-argument", info),
            // Another instance is at it: the same request can be sent again.
            Error::Busy(info) => (503, "busy", info),
            Error::StorageFull(info) => (507, "storage-full", info),
            Error::NotConfigured(info) => (500, "not-configured", info),
            Error::UnknownMessage(info) | Error::StaleCursor(info) => (409, "changed-meanwhile", info),
            Error::ReadOnly(info) => (500, "read-only", info),
            Error::OverLimit(info) => (413, "over-limit", info),
            Error::InvalidRange(info)
            | Error::UnknownParent(info)
            | Error::UnknownSession(info)
            | Error::UnknownBlock(info)
            | Error::LeafMoved(info)
            | Error::VersionMismatch(info)
            | Error::PlanOutdated(info)
            | Error::NoProgress(info)
            | Error::SummarizerFailed(info)
            | Error::SchemaTooNew(info)
            | Error::NotAStore(info)
            | Error::Corrupt(info)
            | Error::Other(info) => (500, "other", info),
        };
        Self::new(status, kind, info.message)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let (status, message) = match failure {
            Failure::RateLimited(message) => (429, message),
            Failure::Unavailable(message) | Failure::TooLong(message) | Failure::Other(message) => (502, message),
        };
        Self::new(status, "model", message)
    }
}
