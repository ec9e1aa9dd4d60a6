//! Overlays: summaries that stand for runs of messages on reading, and which of them a path shows.
//!
//! An overlay belongs to the place of its last covered message and applies on every path through that place. The place
//! is a position on a chain, so it keeps its meaning when the message there is deleted while something below hangs on it.

use rusqlite::{OptionalExtension, Row, params};

use crate::chain::damaged;
use crate::correction::Sum;
use crate::error::Result;
use crate::key::Key;
use crate::message::{self, quote};
use crate::number::Number;
use crate::path::Path;
use crate::session::Session;
use crate::store::Tx;
use crate::types::{Compaction, Message};

/// What the id of an overlay's message begins with. No message of anybody may have such an id.
pub(crate) use crate::message::COMPACTION_PREFIX as PREFIX;

/// An overlay as it is in its row, without the summary.
#[derive(Debug, Clone)]
pub(crate) struct Overlay {
    pub(crate) key: i64,
    pub(crate) id: String,
    /// The first message that it covers.
    pub(crate) first: Key,
    /// The last message that it covers.
    pub(crate) last: Key,
    /// Where it belongs: at or below `last`.
    pub(crate) place: Key,
    pub(crate) first_id: String,
    pub(crate) last_id: String,
    /// Messages that it covers.
    pub(crate) count: i64,
    /// Length of the message that stands for them.
    pub(crate) bytes: i64,
    pub(crate) tokens: i64,
    pub(crate) created_at: i64,
}

/// What is new about an overlay when it is made.
pub(crate) struct NewOverlay<'a> {
    pub(crate) first: Key,
    pub(crate) last: Key,
    pub(crate) count: i64,
    pub(crate) summary: &'a str,
    pub(crate) created_at: i64,
    /// Made by `compact` or `commit-compaction`, not by hand.
    pub(crate) automatic: bool,
    pub(crate) input_tokens: Option<u32>,
    pub(crate) output_tokens: Option<u32>,
}

impl Overlay {
    const COLUMNS: &str = "key, id, first, last, place, first_id, last_id, count, bytes, tokens, created_at";

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            id: row.get(1)?,
            first: row.get(2)?,
            last: row.get(3)?,
            place: row.get(4)?,
            first_id: row.get(5)?,
            last_id: row.get(6)?,
            count: row.get::<_, Number>(7)?.0,
            bytes: row.get::<_, Number>(8)?.0,
            tokens: row.get::<_, Number>(9)?.0,
            created_at: row.get(10)?,
        })
    }

    /// The message that stands for what is covered.
    fn render(&self, summary: &str) -> String {
        format!(
            r#"{{"id":{},"role":"assistant","parts":[{{"type":"text","text":{}}}],"metadata":{{"compaction":{{"id":{},"firstId":{},"lastId":{},"count":{},"createdAt":{}}}}}}}"#,
            quote(&format!("{PREFIX}{}", self.id)),
            quote(summary),
            quote(&self.id),
            quote(&self.first_id),
            quote(&self.last_id),
            self.count,
            self.created_at,
        )
    }

    /// Whether the message that stands for what is covered is as long as the row says.
    pub(crate) fn is_measured(&self, summary: &str) -> bool {
        self.render(summary).len() as i64 == self.bytes
    }

    /// Measures the message that stands for what is covered.
    fn measure(&mut self, summary: &str) {
        let text = self.render(summary);
        self.bytes = text.len() as i64;
        self.tokens = i64::from(message::derive(&text).tokens);
    }
}

impl Tx<'_> {
    /// An overlay by its id, without the prefix.
    pub(crate) fn find_overlay(&self, session: &Session, id: &str) -> Result<Option<Overlay>> {
        let sql = format!("SELECT {} FROM overlay WHERE id = ?1 AND session = ?2", Overlay::COLUMNS);
        Ok(self.statement(&sql)?.query_row(params![id, session.key], Overlay::from_row).optional()?)
    }

    /// The overlays of a session, oldest first.
    pub(crate) fn overlays(&self, session: &Session) -> Result<Vec<Overlay>> {
        if session.overlays == 0 {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {} FROM overlay WHERE session = ?1 ORDER BY key", Overlay::COLUMNS);
        let mut statement = self.statement(&sql)?;
        Ok(statement.query_map([session.key], Overlay::from_row)?.collect::<Result<_, _>>()?)
    }

    /// The summary of an overlay.
    pub(crate) fn summary(&self, overlay: &Overlay) -> Result<String> {
        self.statement("SELECT summary FROM overlay WHERE key = ?1")?
            .query_row([overlay.key], |row| row.get(0))
            .optional()?
            .ok_or_else(|| damaged(format!("compaction {} is missing", overlay.id)))
    }

    /// The message that an overlay shows.
    pub(crate) fn overlay_message(&self, overlay: &Overlay) -> Result<Message> {
        let json = overlay.render(&self.summary(overlay)?);
        Ok(Message {
            id: format!("{PREFIX}{}", overlay.id),
            role: "assistant".to_owned(),
            parent_id: self.parent_id(overlay.first)?,
            seq: overlay.last.seq(),
            created_at: overlay.created_at,
            bytes: json.len() as u64,
            token_estimate: u32::try_from(overlay.tokens).unwrap_or(u32::MAX),
            json,
            media: Vec::new(),
        })
    }

    /// An overlay as callers see it.
    pub(crate) fn compaction(&self, overlay: &Overlay, replaced_by: Option<String>) -> Result<Compaction> {
        let (summary, input_tokens, output_tokens) = self
            .statement("SELECT summary, input_tokens, output_tokens FROM overlay WHERE key = ?1")?
            .query_row([overlay.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(Compaction {
            id: overlay.id.clone(),
            summary,
            first_id: overlay.first_id.clone(),
            last_id: overlay.last_id.clone(),
            count: u32::try_from(overlay.count).unwrap_or(u32::MAX),
            created_at: overlay.created_at,
            replaced_by,
            input_tokens,
            output_tokens,
        })
    }

    /// Writes an overlay; the caller saves the session.
    pub(crate) fn insert_overlay(
        &mut self,
        session: &mut Session,
        new: &NewOverlay<'_>,
        event: i64,
    ) -> Result<Overlay> {
        self.insert_overlay_at(session, new, new.last, None, event)
    }

    /// Writes an overlay that belongs to a place at or below its last message; without an id it gets a new one.
    pub(crate) fn insert_overlay_at(
        &mut self,
        session: &mut Session,
        new: &NewOverlay<'_>,
        place: Key,
        id: Option<&str>,
        event: i64,
    ) -> Result<Overlay> {
        let id = match id {
            Some(id) => id.to_owned(),
            None => self.statement("SELECT lower(hex(randomblob(10)))")?.query_row([], |row| row.get(0))?,
        };
        let mut overlay = Overlay {
            key: 0,
            id,
            first: new.first,
            last: new.last,
            place,
            first_id: self.message_id(new.first)?,
            last_id: self.message_id(new.last)?,
            count: new.count,
            bytes: 0,
            tokens: 0,
            created_at: new.created_at,
        };
        overlay.measure(new.summary);
        session.tangled |= self.tangles(session, &overlay)?;
        self.statement(
            "INSERT INTO overlay(session, first, last, place, count, bytes, tokens, created_at, event, automatic,
               input_tokens, output_tokens, id, first_id, last_id, summary)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            session.key,
            overlay.first,
            overlay.last,
            overlay.place,
            overlay.count,
            overlay.bytes,
            overlay.tokens,
            overlay.created_at,
            event,
            new.automatic,
            new.input_tokens,
            new.output_tokens,
            overlay.id,
            overlay.first_id,
            overlay.last_id,
            new.summary,
        ])?;
        overlay.key = self.connection.last_insert_rowid();
        session.overlays += 1;
        Ok(overlay)
    }

    /// Removes an overlay; the caller saves the session.
    pub(crate) fn delete_overlay(&self, session: &mut Session, overlay: &Overlay) -> Result<()> {
        self.forget_summary(overlay.key)?;
        self.statement("DELETE FROM overlay WHERE key = ?1")?.execute([overlay.key])?;
        session.overlays -= 1;
        if session.overlays == 0 {
            session.tangled = false;
        }
        Ok(())
    }

    /// The overlays that a path shows, from root to leaf: of those that have a message in common the one that covers
    /// more, of equal ones the newer. `until` leaves out those that are younger.
    pub(crate) fn shown(&self, session: &Session, path: &Path, until: i64) -> Result<Vec<Overlay>> {
        if session.overlays == 0 {
            return Ok(Vec::new());
        }
        if session.tangled {
            return self.shown_of_all(path, until);
        }
        // What overlaps here lies one inside the other, the younger outside: seen from the leaf, the first one that is
        // met, and the largest at its place, hides what is inside it.
        let sql = format!(
            "SELECT {} FROM overlay WHERE place > ?1 AND place <= ?2 AND key <= ?3
             ORDER BY place DESC, count DESC, key DESC LIMIT 1",
            Overlay::COLUMNS
        );
        let mut statement = self.statement(&sql)?;
        let mut shown = Vec::new();
        let mut next = Some(self.last_stretch(path));
        while let Some(mut stretch) = next {
            let range = params![Key::start(stretch.to.chain()), stretch.to, until];
            let Some(found) = statement.query_row(range, Overlay::from_row).optional()? else {
                next = self.stretch_above(stretch)?;
                continue;
            };
            let on_no_path = || damaged(format!("compaction {} begins on no path to it", found.id));
            while stretch.to.chain() != found.first.chain() {
                stretch = self.stretch_above(stretch)?.ok_or_else(on_no_path)?;
            }
            if found.first > stretch.to {
                return Err(on_no_path());
            }
            stretch.to = found.first.before();
            next = Some(stretch);
            shown.push(found);
        }
        shown.reverse();
        Ok(shown)
    }

    fn shown_of_all(&self, path: &Path, until: i64) -> Result<Vec<Overlay>> {
        let mut candidates = Vec::new();
        for overlay in self.overlays_along(path, until)? {
            let run = (self.position(overlay.first)?, self.position(overlay.last)?);
            candidates.push((run, overlay));
        }
        candidates.sort_by_key(|(_, overlay)| std::cmp::Reverse((overlay.count, overlay.key)));
        let mut shown: Vec<((Position, Position), Overlay)> = Vec::new();
        for (run, overlay) in candidates {
            // Both ends of a run are messages: two runs that overlap have one in common.
            if shown.iter().all(|(other, _)| run.1 < other.0 || other.1 < run.0) {
                shown.push((run, overlay));
            }
        }
        shown.sort_by_key(|(run, _)| run.0);
        Ok(shown.into_iter().map(|(_, overlay)| overlay).collect())
    }

    /// All overlays that apply on a path, shown or not, without those that are younger than `until`.
    pub(crate) fn overlays_along(&self, path: &Path, until: i64) -> Result<Vec<Overlay>> {
        let sql = format!("SELECT {} FROM overlay WHERE place > ?1 AND place <= ?2 AND key <= ?3", Overlay::COLUMNS);
        let mut statement = self.statement(&sql)?;
        let mut found = Vec::new();
        let mut next = Some(self.last_stretch(path));
        while let Some(stretch) = next {
            let range = params![Key::start(stretch.to.chain()), stretch.to, until];
            for overlay in statement.query_map(range, Overlay::from_row)? {
                found.push(overlay?);
            }
            next = self.stretch_above(stretch)?;
        }
        Ok(found)
    }

    /// Where a place stands among those of any path through it.
    pub(crate) fn position(&self, place: Key) -> Result<Position> {
        Ok((self.chain(place.chain())?.depth, place.seq()))
    }

    /// Whether a new overlay overlaps an older one without containing it, or could on some path.
    fn tangles(&self, session: &Session, new: &Overlay) -> Result<bool> {
        for old in self.overlays(session)? {
            let old_at_new = self.is_on_path_to(old.place, new.place)?;
            let new_at_old = self.is_on_path_to(new.place, old.place)?;
            if !old_at_new && !new_at_old {
                // No path goes through both places.
                continue;
            }
            let (old_run, new_run) = (
                (self.position(old.first)?, self.position(old.last)?),
                (self.position(new.first)?, self.position(new.last)?),
            );
            let apart = old_run.1 < new_run.0 || new_run.1 < old_run.0;
            let outside = new_run.0 <= old_run.0 && old_run.1 <= new_run.1 && old_at_new;
            if !apart && !outside {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a place is at or above another one.
    pub(crate) fn is_on_path_to(&self, place: Key, below: Key) -> Result<bool> {
        let (Some(above), Some(chain)) = (self.find_chain(place.chain())?, self.find_chain(below.chain())?) else {
            return Ok(false);
        };
        if above.depth > chain.depth {
            return Ok(false);
        }
        if above.depth == chain.depth {
            return Ok(above.key == chain.key && place <= below);
        }
        let child = self.chain_at_depth(chain, above.depth + 1)?;
        Ok(child.attach.is_some_and(|attach| attach.chain() == above.key && place <= attach))
    }

    /// What an overlay's messages amount to.
    pub(crate) fn covered_sum(&self, session: &Session, overlay: &Overlay) -> Result<Sum> {
        let mut total = Sum::default();
        let mut at = overlay.last;
        loop {
            if let Some(last) = self.last_in_chain(at)? {
                total += self.sum_to(last, session.corrected)?;
            }
            if at.chain() == overlay.first.chain() {
                break;
            }
            at = self
                .chain(at.chain())?
                .attach
                .ok_or_else(|| damaged(format!("compaction {} begins on no path to it", overlay.id)))?;
        }
        if let Some(before) = self.last_in_chain(overlay.first.before())? {
            total -= self.sum_to(before, session.corrected)?;
        }
        Ok(total)
    }

    /// Overlays that cover any of these messages.
    pub(crate) fn covering(&self, session: &Session, parts: &[(Key, Key)]) -> Result<Vec<Overlay>> {
        let mut covering = Vec::new();
        for overlay in self.overlays(session)? {
            for &(first, last) in parts {
                if self.covers_any(&overlay, first, last)? {
                    covering.push(overlay);
                    break;
                }
            }
        }
        Ok(covering)
    }

    /// Whether an overlay covers a message of one chain between two places.
    fn covers_any(&self, overlay: &Overlay, first: Key, last: Key) -> Result<bool> {
        let mut at = overlay.last;
        loop {
            let from = if at.chain() == overlay.first.chain() { overlay.first } else { Key::start(at.chain()) };
            if first.chain() == at.chain() {
                let (from, to) = (from.max(first), at.min(last));
                return Ok(from <= to && self.next_in_chain(from.before())?.is_some_and(|next| next <= to));
            }
            if at.chain() == overlay.first.chain() {
                return Ok(false);
            }
            let Some(attach) = self.chain(at.chain())?.attach else { return Ok(false) };
            at = attach;
        }
    }

    /// Brings overlays in line with what is left of their messages, after some were deleted. Those that cover none any
    /// more go.
    pub(crate) fn shrink_overlays(&self, session: &mut Session, overlays: Vec<Overlay>) -> Result<()> {
        for mut overlay in overlays {
            let ends = match self.message_at_or_above(overlay.last)? {
                Some(last) if self.is_on_path_to(overlay.first, last)? => {
                    self.first_covered(&overlay, last)?.map(|first| (first, last))
                }
                _ => None,
            };
            let Some((first, last)) = ends else {
                self.delete_overlay(session, &overlay)?;
                continue;
            };
            (overlay.first, overlay.last) = (first, last);
            (overlay.first_id, overlay.last_id) = (self.message_id(first)?, self.message_id(last)?);
            overlay.count = self.count_between(first, last)?;
            let summary = self.summary(&overlay)?;
            overlay.measure(&summary);
            self.statement(
                "UPDATE overlay SET first = ?2, last = ?3, first_id = ?4, last_id = ?5, count = ?6, bytes = ?7, tokens = ?8
                 WHERE key = ?1",
            )?
            .execute(params![
                overlay.key,
                overlay.first,
                overlay.last,
                overlay.first_id,
                overlay.last_id,
                overlay.count,
                overlay.bytes,
                overlay.tokens,
            ])?;
        }
        Ok(())
    }

    /// Moves the places that nothing hangs on any more up to the last covered message. Where another branch begins there,
    /// which never had the summary, the overlay goes: no path leads through its place any more.
    pub(crate) fn raise_places(&self, session: &mut Session) -> Result<()> {
        for overlay in self.overlays(session)? {
            let (place, chain) = (overlay.place, overlay.place.chain());
            if self.next_in_chain(place.before())?.is_some()
                || self.anything_attached(session.key, place.before(), Key::end(chain))?
            {
                continue;
            }
            match self.last_in_chain(place)? {
                Some(message) if !self.anything_attached(session.key, message.before(), Key::end(chain))? => {
                    self.move_place(&overlay, message)?;
                }
                _ => self.delete_overlay(session, &overlay)?,
            }
        }
        Ok(())
    }

    /// Lets go of the places on a chain that has just been removed.
    pub(crate) fn leave_chain(&self, session: &mut Session, chain: u32, attach: Option<Key>) -> Result<()> {
        for overlay in self.overlays(session)? {
            if overlay.place.chain() != chain {
                continue;
            }
            match attach {
                Some(place)
                    if self.next_in_chain(place)?.is_none()
                        && !self.anything_attached(session.key, place.before(), Key::end(place.chain()))? =>
                {
                    self.move_place(&overlay, place)?;
                }
                _ => self.delete_overlay(session, &overlay)?,
            }
        }
        Ok(())
    }

    fn move_place(&self, overlay: &Overlay, place: Key) -> Result<()> {
        self.statement("UPDATE overlay SET place = ?2 WHERE key = ?1")?.execute(params![overlay.key, place])?;
        Ok(())
    }

    /// The first message at or below an overlay's beginning, on the way to its end.
    fn first_covered(&self, overlay: &Overlay, last: Key) -> Result<Option<Key>> {
        let end = self.chain(last.chain())?;
        let mut from = overlay.first;
        loop {
            let depth = self.chain(from.chain())?.depth;
            let to = if depth == end.depth {
                last
            } else {
                match self.chain_at_depth(end, depth + 1)?.attach {
                    Some(attach) => attach,
                    None => return Ok(None),
                }
            };
            match self.next_in_chain(from.before())? {
                Some(first) if first <= to => return Ok(Some(first)),
                _ if depth == end.depth => return Ok(None),
                _ => from = Key::new(self.chain_at_depth(end, depth + 1)?.key, 1),
            }
        }
    }

    /// How many messages there are from one to another that is below it, both counted.
    pub(crate) fn count_between(&self, first: Key, last: Key) -> Result<i64> {
        let mut count = 0;
        let mut at = last;
        loop {
            let top = at.chain() == first.chain();
            let from = if top { first } else { Key::start(at.chain()) };
            count += self
                .statement("SELECT count(*) FROM message WHERE key >= ?1 AND key <= ?2")?
                .query_row(params![from, at], |row| row.get::<_, i64>(0))?;
            match self.chain(at.chain())?.attach {
                Some(attach) if !top => at = attach,
                _ => return Ok(count),
            }
        }
    }
}

/// Depth of the chain and seq: the order of places along a path.
pub(crate) type Position = (u32, u32);
