//! Messages whose parents have not come: they wait within a call, and what waits in vain hangs below the message before it.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{OptionalExtension, params};

use super::import::{Refusal, Taken, Taker};
use super::line::Line;
use crate::error::Result;
use crate::key::Key;
use crate::message::Incoming;
use crate::session::Session;

/// What becomes of a message whose parent is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// It waits: the parent may come.
    Waits,
    /// It hangs below the message before it: the parent does not come any more.
    HangsBefore,
}

impl<'l> Taker<'_, '_, 'l> {
    /// Takes what has waited for a message, and for what that brings, one after the other.
    pub(super) fn take_waiting(&mut self, session: &str, stored: String) -> Taken {
        let mut stored = vec![stored];
        while let Some(parent) = stored.pop() {
            let Some(waiting) = self.waiting.remove(&(session.to_owned(), parent)) else { continue };
            for (number, text) in waiting {
                let taken = match Line::read(text) {
                    Ok(line) => self.store_message(session, number, text, &line, Lost::Waits),
                    Err(why) => Err(why.into()),
                };
                match taken {
                    Ok(next) => stored.extend(next),
                    Err(Refusal::Line(why)) => self.fail(Some(session.to_owned()), number, why),
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        Ok(())
    }

    /// Stores what still waits in a session: where a line is damaged, what answered its message hangs below the message
    /// before it, so that one line costs one message. Those that wait for each other in a circle go on waiting.
    pub(super) fn settle(&mut self, session: &str) -> Taken {
        let (mut lost, mut ids) = (Vec::new(), HashSet::new());
        for ((_, parent), lines) in self.waiting.iter().filter(|((of, _), _)| of == session) {
            for &(number, text) in lines {
                let id = Line::read(text)
                    .ok()
                    .and_then(|line| Some(Incoming::parse(line.raw("message")?).ok()?.id().to_owned()));
                ids.extend(id);
                lost.push((number, text, parent.clone()));
            }
        }
        lost.retain(|(_, _, parent)| !ids.contains(parent));
        lost.sort_by_key(|&(number, ..)| number);
        for (number, text, parent) in lost {
            self.waiting.remove(&(session.to_owned(), parent));
            let taken = match Line::read(text) {
                Ok(line) => self.store_message(session, number, text, &line, Lost::HangsBefore),
                Err(why) => Err(why.into()),
            };
            match taken {
                Ok(Some(stored)) => self.take_waiting(session, stored)?,
                Ok(None) => {}
                Err(Refusal::Line(why)) => self.fail(Some(session.to_owned()), number, why),
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// Stores what still waits in any session.
    pub(super) fn settle_all(&mut self) -> Result<()> {
        let sessions: BTreeSet<String> = self.waiting.keys().map(|(session, _)| session.clone()).collect();
        for session in sessions {
            match self.settle(&session) {
                Ok(()) => {}
                Err(Refusal::Line(why)) => self.fail(Some(session), 0, why),
                Err(Refusal::Call(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reports what waits even then.
    pub(super) fn report_circles(&mut self) {
        for ((session, parent), lines) in std::mem::take(&mut self.waiting) {
            for (number, _) in lines {
                let why = format!("its parent {parent:?} waits for it in turn: they answer each other in a circle");
                self.fail(Some(session.clone()), number, why);
            }
        }
    }

    /// The message with the greatest seq below this one, or the newest where none is said.
    pub(super) fn before(&self, session: &Session, seq: Option<u32>) -> Result<Option<Key>> {
        let Some(seq) = seq else { return Ok(session.leaf) };
        let mut runs =
            self.tx.statement("SELECT seq, chain FROM run WHERE session = ?1 AND seq < ?2 ORDER BY seq DESC")?;
        let mut rows = runs.query(params![session.key, seq])?;
        let mut to = seq.saturating_sub(1);
        while let Some(row) = rows.next()? {
            let (from, chain): (u32, u32) = (row.get(0)?, row.get(1)?);
            let found: Option<Key> = self
                .tx
                .statement("SELECT key FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key DESC LIMIT 1")?
                .query_row(params![Key::new(chain, from), Key::new(chain, to)], |row| row.get(0))
                .optional()?;
            if found.is_some() {
                return Ok(found);
            }
            to = from.saturating_sub(1);
        }
        Ok(None)
    }
}
