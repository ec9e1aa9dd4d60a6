//! Compactions by hand: adding a summary for a run of messages, listing and removing.

use crate::append::now;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message;
use crate::overlay::{NewOverlay, Overlay};
use crate::pairing::Pairing;
use crate::path::Path;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{Compaction, EventKind};
use crate::view::{Item, Step, View};

impl<P: Place> Store<P> {
    /// Puts a summary in the place of the messages from `first_id` to `last_id` on reading.
    pub fn add_compaction(
        &mut self,
        session: &str,
        summary: &str,
        first_id: &str,
        last_id: &str,
    ) -> Result<Compaction> {
        if summary.trim().is_empty() {
            return Err(Error::new(Kind::InvalidArgument, "the summary is blank").subject("summary"));
        }
        self.write(|tx| {
            let found = tx.session(session)?;
            let find = |id: &str| match &found {
                Some(session) => tx.find_message(session, id),
                None => Ok(None),
            };
            let missing = |id: &str| {
                Error::new(Kind::InvalidRange, "no message of that id in this session").subject(id.to_owned())
            };
            let first = find(first_id)?.ok_or_else(|| missing(first_id))?;
            let last = find(last_id)?.ok_or_else(|| missing(last_id))?;
            let Some(mut session) = found else { return Err(missing(first_id)) };
            if !tx.is_on_path_to(first, last)? {
                return Err(Error::new(
                    Kind::InvalidRange,
                    format!("{first_id} and {last_id} are not on one path in that order"),
                )
                .subject(first_id));
            }
            let count = tx.check_run(&session, first, last)?;
            let event = tx.next_quiet_event()?;
            let new = NewOverlay {
                first,
                last,
                count,
                summary,
                created_at: now(),
                automatic: false,
                input_tokens: None,
                output_tokens: None,
            };
            let overlay = tx.insert_overlay(&mut session, &new, event)?;
            tx.write_event(event, &session.key, EventKind::CompactionChanged, None, &[&overlay.id])?;
            tx.save_session(&session)?;
            tx.compaction(&overlay, None)
        })
    }

    /// All compactions of a session, oldest first, those included that others stand in for now.
    pub fn get_compactions(&mut self, session: &str) -> Result<Vec<Compaction>> {
        self.read(|tx| {
            let Some(session) = tx.session(session)? else { return Ok(Vec::new()) };
            let mut compactions = Vec::new();
            for overlay in tx.overlays(&session)? {
                compactions.push(tx.compaction_now(&session, &overlay)?);
            }
            Ok(compactions)
        })
    }

    /// Removes a compaction: what it replaced shows again, else the originals. False: there was none of that id.
    pub fn remove_compaction(&mut self, session: &str, id: &str) -> Result<bool> {
        self.free(|tx| {
            let Some(mut session) = tx.session(session)? else { return Ok(false) };
            let Some(overlay) = tx.find_overlay(&session, id)? else { return Ok(false) };
            tx.delete_overlay(&mut session, &overlay)?;
            let event = tx.next_quiet_event()?;
            tx.write_event(event, &session.key, EventKind::CompactionChanged, None, &[&overlay.id])?;
            tx.save_session(&session)?;
            Ok(true)
        })
    }
}

impl Tx<'_> {
    /// A compaction as callers see it now, with the one that stands in its place.
    pub(crate) fn compaction_now(&self, session: &Session, overlay: &Overlay) -> Result<Compaction> {
        // What stands in its place is what a path that ends there, or the present one, shows instead.
        let path = match session.present_leaf() {
            Some(leaf) if self.is_on_path_to(overlay.place, leaf)? => self.path_to(leaf)?,
            _ => self.path_to(overlay.place)?,
        };
        let shown = self.shown(session, &path, i64::MAX)?;
        let replaced_by = if shown.iter().any(|shown| shown.key == overlay.key) {
            None
        } else {
            let (first, last) = (self.position(overlay.first)?, self.position(overlay.last)?);
            let mut by = None;
            for other in &shown {
                if self.position(other.first)? <= last && first <= self.position(other.last)? {
                    by = Some(other.id.clone());
                    break;
                }
            }
            by
        };
        self.compaction(overlay, replaced_by)
    }

    /// Refuses a run that parts a call from its results or holds a call that is open. Answers how many messages it has.
    fn check_run(&self, session: &Session, first: Key, last: Key) -> Result<i64> {
        // What follows the run decides whether a call in it is still open: the present conversation, if it goes there.
        let path = match session.present_leaf() {
            Some(leaf) if self.is_on_path_to(last, leaf)? => self.path_to(leaf)?,
            _ => self.path_to(last)?,
        };
        let begin = self.two_turns_above(&path, first)?;
        let view = View { path, shown: Vec::new() };
        let mut pairing = Pairing::default();
        let (mut index, mut from, mut to, mut passed) = (0, 0, 0, false);
        let mut turns_below = 0;
        self.walk_view(&view, begin, false, "key, role, calls", |item| {
            let Item::Row(row) = item else { return Ok(Step::Taken) };
            let key: Key = row.get(0)?;
            let role = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let calls = row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?;
            let calls = calls.map(message::decode).unwrap_or_default();
            pairing.read(role, &calls);
            if key == first {
                from = index;
            }
            if key == last {
                (to, passed) = (index, true);
            } else if passed {
                turns_below += u32::from(crate::pairing::is_user_turn(role, &calls));
            }
            index += 1;
            Ok(if turns_below < 2 { Step::Taken } else { Step::TakenAsLast })
        })?;
        let refuse = |sentence: &str| Err(Error::new(Kind::InvalidRange, sentence));
        if pairing.parts(from) || pairing.parts(to + 1) {
            return refuse("the run parts a tool call from its result; widen it or narrow it by that");
        }
        if pairing.open_between(from, to) {
            return refuse("the run covers a tool call that has no result yet");
        }
        Ok((to - from) as i64 + 1)
    }

    /// A place from which on a path has to be read to know the calls that are open at one of its messages: behind the
    /// second turn of the user's above it. None: from the root.
    fn two_turns_above(&self, path: &Path, message: Key) -> Result<Option<Key>> {
        let view = View { path: *path, shown: Vec::new() };
        let (mut turns, mut begin) = (0, None);
        self.walk_view(&view, Some(message), true, "key, role, calls", |item| {
            let Item::Row(row) = item else { return Ok(Step::Taken) };
            let role = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            let calls = row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?;
            if crate::pairing::is_user_turn(role, &calls.map(message::decode).unwrap_or_default()) {
                turns += 1;
            }
            if turns == 2 {
                begin = Some(row.get(0)?);
                return Ok(Step::TakenAsLast);
            }
            Ok(Step::Taken)
        })?;
        Ok(begin)
    }
}
