//! The store as a sink: messages of an import become messages of a tenant.

use super::{
    plan::Record,
    run::{LinesTaken, Outcome, Sink, Stop},
};
use crate::{Error, ErrorKind, ImportItem, LinesReport, Session, Tenant};

/// Bytes that a title may have.
const MAX_TITLE_BYTES: usize = 1_024;

impl Sink for Tenant {
    async fn is_empty(&mut self, session: &str) -> Result<bool, Stop> {
        let leaf = self.session(session).get_latest_leaf().await;
        leaf.map(|leaf| leaf.is_none()).map_err(stop)
    }

    /// One transaction for the batch. Where the store does not take it, because of one message in it, halves of it are
    /// tried until that one is found.
    async fn store(&mut self, session: &str, batch: &[Record], now: i64) -> Result<Vec<Outcome>, Stop> {
        let session = self.session(session);
        let mut outcomes = Vec::with_capacity(batch.len());
        // The end of a stretch that is known not to be taken as a whole.
        let mut bad_end = None;
        let mut end = batch.len();
        while outcomes.len() < batch.len() {
            let start = outcomes.len();
            match import(&session, &batch[start..end], now).await {
                Ok(inserted) => {
                    outcomes
                        .extend(inserted.into_iter().map(|it| if it { Outcome::Imported } else { Outcome::Present }));
                    bad_end = bad_end.filter(|&bad_end| end < bad_end);
                    end = bad_end.map_or(batch.len(), |bad_end| middle(end, bad_end));
                }
                Err(error) if end - start > 1 && is_about_a_message(&error) => {
                    bad_end = Some(end);
                    end = middle(start, end);
                }
                Err(error) if is_about_a_message(&error) => {
                    outcomes.push(Outcome::Refused(error.message().to_owned()));
                    return Ok(outcomes);
                }
                Err(error) if outcomes.is_empty() => return Err(stop(error)),
                // What was stored until here counts; the next call meets the same error.
                Err(_) => return Ok(outcomes),
            }
        }
        Ok(outcomes)
    }

    async fn set_title(&mut self, session: &str, title: &str) -> Result<(), Stop> {
        // Titles elsewhere may be longer than one here.
        let end = title.floor_char_boundary(MAX_TITLE_BYTES);
        self.session(session).set_automatic_title(&title[..end]).await.map(drop).map_err(stop)
    }

    async fn take_lines(&mut self, session: Option<&str>, lines: String) -> Result<Vec<LinesTaken>, Stop> {
        let reports = match session {
            Some(session) => self.session(session).import_lines(lines).await,
            None => self.import_lines(lines).await,
        };
        let taken = |report: LinesReport| LinesTaken {
            session: report.session_id,
            imported: report.imported.into(),
            skipped: report.skipped.into(),
            failed: report.failed.into_iter().map(|failure| (failure.line.into(), failure.why)).collect(),
        };
        Ok(reports.map_err(stop)?.into_iter().map(taken).collect())
    }

    async fn summarise(
        &mut self,
        session: &str,
        summary: &str,
        first: &str,
        last: &str,
    ) -> Result<Option<String>, Stop> {
        match self.session(session).add_compaction(summary, first, last).await {
            Ok(_) => Ok(None),
            // Other programs may part a call from its answer; here nobody may.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidRange | ErrorKind::InvalidArgument) => {
                Ok(Some(error.message().to_owned()))
            }
            Err(error) => Err(stop(error)),
        }
    }

    async fn choose_leaf(&mut self, session: &str, id: &str) -> Result<(), Stop> {
        self.session(session).set_leaf(Some(id)).await.map(drop).map_err(stop)
    }
}

/// The end of the first half of a stretch, which has one message at least.
fn middle(start: usize, end: usize) -> usize {
    (start + (end - start) / 2).max(start + 1)
}

async fn import(session: &Session, batch: &[Record], now: i64) -> Result<Vec<bool>, Error> {
    let item = |record: &Record| ImportItem {
        message: record.message.clone(),
        parent_id: record.parent_id.clone(),
        created_at: record.created_at.unwrap_or(now),
    };
    session.import_messages(batch.iter().map(item).collect()).await
}

/// Whether a message of the batch may be the reason. One that kills the sandbox by itself, or takes longer than any
/// call may, is one too; whether it was stored all the same its id tells at the next attempt.
fn is_about_a_message(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidMessage
            | ErrorKind::InvalidArgument
            | ErrorKind::UnknownParent
            | ErrorKind::OverLimit
            | ErrorKind::TimedOut
            | ErrorKind::Crashed
    )
}

fn stop(error: Error) -> Stop {
    Stop { why: format!("{} ({})", error.message(), error.kind()), kind: Some(error.kind()) }
}
