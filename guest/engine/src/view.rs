//! A path as it is read: messages, and overlays in place of what they cover. Every reader of paths goes through here.

use crate::correction::Sum;
use crate::cursor::stale;
use crate::error::Result;
use crate::key::Key;
use crate::overlay::{Overlay, PREFIX};
use crate::path::{Path, Stretch, each_row};
use crate::session::Session;
use crate::store::Tx;
use crate::types::MediaMode;

/// A path, and the overlays that it shows.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) path: Path,
    /// From root to leaf.
    pub(crate) shown: Vec<Overlay>,
}

/// What a walk over a view comes upon.
pub(crate) enum Item<'v, 'r, 'stmt> {
    /// A message's row, with the columns that were asked for.
    Row(&'r rusqlite::Row<'stmt>),
    /// An overlay.
    Overlay(&'v Overlay),
}

/// What a walker says of each item.
pub(crate) enum Step {
    /// Taken, go on.
    Taken,
    /// Taken, stop here.
    TakenAsLast,
    /// Not taken, stop before it.
    Refused,
}

/// A part of a stretch.
enum Piece<'v> {
    /// Messages behind one place, up to and with another.
    Rows(Key, Key),
    Overlay(&'v Overlay),
}

impl View {
    /// The number of the youngest overlay, for a cursor.
    pub(crate) fn youngest(&self) -> i64 {
        self.shown.iter().map(|overlay| overlay.key).max().unwrap_or(0)
    }

    /// What tells these overlays from others, for a cursor.
    pub(crate) fn fingerprint(&self) -> u64 {
        let numbers = self.shown.iter().map(|overlay| overlay.key.unsigned_abs());
        numbers.fold(0xcbf2_9ce4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x100_0000_01b3)) >> 8
    }

    /// The parts of a stretch, from root to leaf. An overlay stands where it begins.
    fn pieces(&self, stretch: Stretch) -> Vec<Piece<'_>> {
        let chain = stretch.to.chain();
        let mut pieces = Vec::new();
        let mut from = Key::start(chain);
        for overlay in &self.shown {
            let (begins, ends) = (overlay.first.chain() == chain, overlay.last.chain() == chain);
            if begins {
                pieces.push(Piece::Rows(from, overlay.first.before()));
                pieces.push(Piece::Overlay(overlay));
            }
            if ends {
                from = overlay.last;
            } else if (overlay.first.chain()..overlay.last.chain()).contains(&chain) {
                // Chains on a path are younger and younger: this one is covered to its end there.
                from = stretch.to;
            }
        }
        pieces.push(Piece::Rows(from, stretch.to));
        pieces
    }
}

impl Tx<'_> {
    /// A path as it is read: to a message, to an overlay's place, or to the present leaf. None: the session is empty.
    pub(crate) fn find_view(
        &self,
        session: Option<&Session>,
        leaf_id: Option<&str>,
        overlays: bool,
    ) -> Result<Option<View>> {
        let Some(path) = self.find_path(session, leaf_id)? else { return Ok(None) };
        let shown = match session {
            Some(session) if overlays => self.shown(session, &path, i64::MAX)?,
            _ => Vec::new(),
        };
        Ok(Some(View { path, shown }))
    }

    /// The same path with the overlays that it had when a read began; an error if one of those has gone.
    pub(crate) fn view_again(
        &self,
        session: &Session,
        path: Path,
        overlays: bool,
        youngest: u64,
        fingerprint: u64,
    ) -> Result<View> {
        let until = i64::try_from(youngest).unwrap_or(i64::MAX);
        let shown = if overlays { self.shown(session, &path, until)? } else { Vec::new() };
        let view = View { path, shown };
        if view.fingerprint() == fingerprint { Ok(view) } else { Err(stale("a summary on that path was removed")) }
    }

    /// The place that an id names: a message's, or that of an overlay by the id of its message.
    pub(crate) fn place_of(&self, session: &Session, id: &str) -> Result<Option<Key>> {
        match id.strip_prefix(PREFIX) {
            Some(overlay) => Ok(self.find_overlay(session, overlay)?.map(|overlay| overlay.place)),
            None => self.find_message(session, id),
        }
    }

    /// What a path amounts to as it is read.
    pub(crate) fn view_sum(&self, session: &Session, view: &View) -> Result<Sum> {
        let mut total = self.path_sum(session, &view.path)?;
        for overlay in &view.shown {
            total -= self.covered_sum(session, overlay)?;
            total += Sum { bytes: overlay.bytes, tokens: overlay.tokens, ..Sum::default() };
        }
        Ok(total)
    }

    /// Visits the items behind `at`, or all of them, in one direction, and answers the last one that was taken: of a
    /// message its key, of an overlay the end that lies towards where the walk goes on.
    pub(crate) fn walk_view(
        &self,
        view: &View,
        at: Option<Key>,
        newest_first: bool,
        columns: &str,
        mut visit: impl FnMut(Item<'_, '_, '_>) -> Result<Step>,
    ) -> Result<Option<Key>> {
        let mut last = at;
        let mut entered = at;
        let mut next = match at {
            Some(at) => Some(self.stretch_of(&view.path, at)?),
            None if newest_first => Some(self.last_stretch(&view.path)),
            None => self.first_stretch(&view.path)?,
        };
        while let Some(stretch) = next {
            let at = entered.take();
            let mut pieces = view.pieces(stretch);
            if newest_first {
                pieces.reverse();
            }
            for piece in pieces {
                let more = match piece {
                    Piece::Overlay(overlay) => {
                        let given =
                            at.is_some_and(|at| if newest_first { overlay.first >= at } else { overlay.first <= at });
                        if given {
                            continue;
                        }
                        let step = visit(Item::Overlay(overlay))?;
                        if !matches!(step, Step::Refused) {
                            last = Some(if newest_first { overlay.first } else { overlay.last });
                        }
                        matches!(step, Step::Taken)
                    }
                    Piece::Rows(mut from, mut to) => {
                        if let Some(at) = at {
                            if newest_first { to = to.min(at.before()) } else { from = from.max(at) }
                        }
                        if from >= to {
                            continue;
                        }
                        each_row(self, columns, (from, to), newest_first, |row| {
                            let key = row.get(0)?;
                            let step = visit(Item::Row(row))?;
                            if !matches!(step, Step::Refused) {
                                last = Some(key);
                            }
                            Ok(matches!(step, Step::Taken))
                        })?
                    }
                };
                if !more {
                    return Ok(last);
                }
            }
            next = if newest_first { self.stretch_above(stretch)? } else { self.next_stretch(&view.path, stretch)? };
        }
        Ok(last)
    }
}

/// Bytes of an overlay's message. It has no media.
pub(crate) fn overlay_bytes(overlay: &Overlay) -> u64 {
    Sum { bytes: overlay.bytes, ..Sum::default() }.bytes_as_read(MediaMode::Inline)
}
