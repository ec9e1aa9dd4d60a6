//! Places that hold no message and that a summary belongs to: the message there was deleted while others hung on it.
//!
//! Which branches show such a summary follows from what hangs below the place and what beside it. So the place is part of
//! the tree that an export tells: it has the seq of the message that was there, and a message below it says so.

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::key::Key;
use crate::session::Session;
use crate::store::Tx;

/// A place without a message.
pub(super) struct EmptyPlace {
    pub(super) place: Key,
    /// The nearest message above it.
    pub(super) above: Key,
}

impl Tx<'_> {
    /// The places of a session's summaries that hold no message, by seq.
    pub(super) fn empty_places(&self, session: &Session) -> Result<Vec<EmptyPlace>> {
        let mut places: Vec<Key> = self.overlays(session)?.into_iter().map(|overlay| overlay.place).collect();
        places.sort_unstable_by_key(|place| (place.seq(), *place));
        places.dedup();
        let mut empty = Vec::new();
        for place in places {
            if let Some(above) = self.message_at_or_above(place)?
                && above != place
            {
                empty.push(EmptyPlace { place, above });
            }
        }
        Ok(empty)
    }

    /// Whether a message or a summary's place of a session has this seq.
    pub(super) fn is_seq_taken(&self, session: &Session, seq: u32) -> Result<bool> {
        Ok(!self.keys_by_seq(session, seq.saturating_sub(1), seq)?.is_empty()
            || self.summary_place(session, seq)?.is_some())
    }

    /// The place without a message that has this seq and hangs right below a message, if the session has it already.
    pub(super) fn known_empty_place(&self, session: &Session, seq: u32, above: Key) -> Result<Option<Key>> {
        match self.summary_place(session, seq)? {
            Some(place) if place != above && self.message_at_or_above(place)? == Some(above) => Ok(Some(place)),
            _ => Ok(None),
        }
    }

    fn summary_place(&self, session: &Session, seq: u32) -> Result<Option<Key>> {
        Ok(self
            .statement("SELECT place FROM overlay WHERE session = ?1 AND place & 4294967295 = ?2 LIMIT 1")?
            .query_row(params![session.key, seq], |row| row.get(0))
            .optional()?)
    }

    /// The nearest of these places between a message, or such a place, and the message above it.
    pub(super) fn empty_place_above(&self, at: Key, above: Key, places: &[EmptyPlace]) -> Result<Option<Key>> {
        let mut nearest: Option<Key> = None;
        for candidate in places {
            if candidate.above == above
                && candidate.place != at
                && self.is_on_path_to(candidate.place, at)?
                && match nearest {
                    Some(known) => self.is_on_path_to(known, candidate.place)?,
                    None => true,
                }
            {
                nearest = Some(candidate.place);
            }
        }
        Ok(nearest)
    }
}
