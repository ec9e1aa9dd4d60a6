//! The store as a sink: messages of an import become messages of a tenant.

use super::{
    plan::Record,
    run::{Outcome, Sink, Stop},
};
use crate::{Error, ErrorKind, Tenant};

impl Sink for Tenant {
    async fn is_empty(&mut self, session: &str) -> Result<bool, Stop> {
        let leaf = self.session(session).get_latest_leaf().await;
        leaf.map(|leaf| leaf.is_none()).map_err(stop)
    }

    /// One transaction, and one sync of the disk, for each message. The contract has no call that stores many messages
    /// with times of their own; when it has one, this is the only place that changes.
    async fn store(&mut self, session: &str, batch: &[Record], now: i64) -> Result<Vec<Outcome>, Stop> {
        let session = self.session(session);
        let mut outcomes = Vec::with_capacity(batch.len());
        for record in batch {
            let import = || {
                let created_at = record.created_at.unwrap_or(now);
                session.import_message(record.message.as_str(), record.parent_id.as_deref(), created_at)
            };
            let mut answer = import().await;
            // Its outcome is not known then; the id tells whether it was stored.
            if answer.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Crashed)) {
                answer = import().await;
            }
            outcomes.push(match answer {
                Ok(true) => Outcome::Imported,
                Ok(false) => Outcome::Present,
                Err(error) => match error.kind() {
                    ErrorKind::UnknownParent => Outcome::NoParent,
                    // What kills the sandbox twice costs itself and no other message.
                    ErrorKind::InvalidMessage
                    | ErrorKind::InvalidArgument
                    | ErrorKind::OverLimit
                    | ErrorKind::Crashed => Outcome::Refused(error.message().to_owned()),
                    _ => return Err(stop(error)),
                },
            });
        }
        Ok(outcomes)
    }

    async fn choose_leaf(&mut self, session: &str, id: &str) -> Result<(), Stop> {
        self.session(session).set_leaf(Some(id)).await.map(drop).map_err(stop)
    }
}

fn stop(error: Error) -> Stop {
    Stop(format!("{} ({})", error.message(), error.kind()))
}
