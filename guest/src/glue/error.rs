//! Errors of the engine as cases of the contract.

use talktree_engine::{Error, Kind};

use super::wit;

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        let Error { kind, message, subject, current, limit } = error;
        let info = wit::ErrorInfo { message, subject, current, limit };
        match kind {
            Kind::InvalidMessage => Self::InvalidMessage(info),
            Kind::InvalidArgument => Self::InvalidArgument(info),
            Kind::InvalidRange => Self::InvalidRange(info),
            Kind::UnknownParent => Self::UnknownParent(info),
            Kind::UnknownMessage => Self::UnknownMessage(info),
            Kind::UnknownSession => Self::UnknownSession(info),
            Kind::UnknownBlock => Self::UnknownBlock(info),
            Kind::LeafMoved => Self::LeafMoved(info),
            Kind::VersionMismatch => Self::VersionMismatch(info),
            Kind::PlanOutdated => Self::PlanOutdated(info),
            Kind::NoProgress => Self::NoProgress(info),
            Kind::StaleCursor => Self::StaleCursor(info),
            Kind::OverLimit => Self::OverLimit(info),
            Kind::SummarizerFailed => Self::SummarizerFailed(info),
            Kind::NotConfigured => Self::NotConfigured(info),
            Kind::Busy => Self::Busy(info),
            Kind::StorageFull => Self::StorageFull(info),
            Kind::ReadOnly => Self::ReadOnly(info),
            Kind::SchemaTooNew => Self::SchemaTooNew(info),
            Kind::NotAStore => Self::NotAStore(info),
            Kind::Corrupt => Self::Corrupt(info),
            Kind::Other => Self::Other(info),
        }
    }
}
