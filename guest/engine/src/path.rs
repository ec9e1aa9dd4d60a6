//! The way from a root to a leaf: which chains it crosses, walked from either end, one page at a time.
//!
//! Nothing here grows with the length of a path: a walk holds where it is, and finds the next chain from there.

use rusqlite::params;

use crate::chain::Chain;
use crate::correction::Sum;
use crate::cursor::stale;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::session::Session;
use crate::store::Tx;

/// A path, named by its leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) leaf: Key,
    chain: Chain,
}

/// The part of a path that lies on one chain: from the chain's beginning to a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    depth: u32,
    pub(crate) to: Key,
}

impl Tx<'_> {
    /// The path to a message, or to the present leaf. None: the session is empty.
    pub(crate) fn find_path(&self, session: Option<&Session>, leaf_id: Option<&str>) -> Result<Option<Path>> {
        let leaf = match (session, leaf_id) {
            (Some(session), None) => session.present_leaf(),
            (None, None) => None,
            (_, Some(id)) => Some(self.known_place(session, id)?),
        };
        leaf.map(|leaf| self.path_to(leaf)).transpose()
    }

    /// A message that the caller says is there.
    pub(crate) fn known_message(&self, session: Option<&Session>, id: &str) -> Result<Key> {
        let found = match session {
            Some(session) => self.find_message(session, id)?,
            None => None,
        };
        found.ok_or_else(|| Error::new(Kind::UnknownMessage, "no message of that id in this session").subject(id))
    }

    /// A place that the caller says is there: a message's or an overlay's.
    fn known_place(&self, session: Option<&Session>, id: &str) -> Result<Key> {
        if let Some(session) = session
            && let Some(place) = self.place_of(session, id)?
        {
            return Ok(place);
        }
        self.known_message(session, id)
    }

    pub(crate) fn path_to(&self, leaf: Key) -> Result<Path> {
        Ok(Path { leaf, chain: self.chain(leaf.chain())? })
    }

    /// The path that a cursor names, if it is still whole.
    pub(crate) fn path_again(&self, session: &Session, leaf: u64) -> Result<Path> {
        let gone = || stale("the leaf of that path was deleted");
        let leaf = Key::from_number(leaf).ok_or_else(gone)?;
        if self.last_in_chain(leaf)? != Some(leaf) && !self.is_place(leaf)? {
            return Err(gone());
        }
        match self.find_chain(leaf.chain())? {
            Some(chain) if chain.session == session.key => Ok(Path { leaf, chain }),
            _ => Err(gone()),
        }
    }

    /// Whether an overlay belongs to a place.
    fn is_place(&self, place: Key) -> Result<bool> {
        Ok(self.statement("SELECT 1 FROM overlay WHERE place = ?1 LIMIT 1")?.exists([place])?)
    }

    /// The part of the path on its chain of this depth, from 0 at the root.
    fn stretch_at(&self, path: &Path, depth: u32) -> Result<Option<Stretch>> {
        if depth >= path.chain.depth {
            return Ok((depth == path.chain.depth).then_some(Stretch { depth, to: path.leaf }));
        }
        let below = self.chain_at_depth(path.chain, depth + 1)?;
        Ok(below.attach.map(|to| Stretch { depth, to }))
    }

    /// The part of the path next to the root.
    pub(crate) fn first_stretch(&self, path: &Path) -> Result<Option<Stretch>> {
        self.stretch_at(path, 0)
    }

    /// The next part towards the leaf.
    pub(crate) fn next_stretch(&self, path: &Path, stretch: Stretch) -> Result<Option<Stretch>> {
        self.stretch_at(path, stretch.depth + 1)
    }

    /// The part of the path that holds a place; an error if the place is not on it.
    pub(crate) fn stretch_of(&self, path: &Path, place: Key) -> Result<Stretch> {
        let off = || stale("the cursor stands on no message of that path");
        let chain = self.find_chain(place.chain())?.ok_or_else(off)?;
        let stretch = self.stretch_at(path, chain.depth)?.ok_or_else(off)?;
        if stretch.to.chain() == place.chain() && place <= stretch.to { Ok(stretch) } else { Err(off()) }
    }

    /// The next part towards the root.
    pub(crate) fn stretch_above(&self, stretch: Stretch) -> Result<Option<Stretch>> {
        let above = self.chain(stretch.to.chain())?.attach;
        Ok(above.map(|to| Stretch { depth: stretch.depth.saturating_sub(1), to }))
    }

    /// The part of the path next to the leaf.
    pub(crate) fn last_stretch(&self, path: &Path) -> Stretch {
        Stretch { depth: path.chain.depth, to: path.leaf }
    }

    /// Bytes and tokens of all messages of the path.
    pub(crate) fn path_sum(&self, session: &Session, path: &Path) -> Result<Sum> {
        let mut total = Sum::default();
        let mut next = Some(self.last_stretch(path));
        while let Some(stretch) = next {
            if let Some(last) = self.last_in_chain(stretch.to)? {
                total += self.sum_to(last, session.corrected)?;
            }
            next = self.stretch_above(stretch)?;
        }
        Ok(total)
    }

    /// How many messages were ever deleted from the path.
    pub(crate) fn path_gone(&self, session: &Session, path: &Path) -> Result<u64> {
        if session.deletions == 0 {
            return Ok(0);
        }
        let mut gone = 0;
        let mut next = Some(self.last_stretch(path));
        while let Some(stretch) = next {
            gone += self.corrections_to(stretch.to)?.gone;
            next = self.stretch_above(stretch)?;
        }
        Ok(gone.unsigned_abs())
    }

    /// Whether any message of the path is above this one.
    pub(crate) fn is_root(&self, message: Key) -> Result<bool> {
        Ok(self.parent_of(message)?.is_none())
    }
}

/// Reads the rows of a stretch in one direction, from behind a place on. `columns` begin with `key`; `row` answers
/// whether it wants more.
pub(crate) fn each_row(
    tx: &Tx<'_>,
    columns: &str,
    range: (Key, Key),
    newest_first: bool,
    mut row: impl FnMut(&rusqlite::Row<'_>) -> Result<bool>,
) -> Result<bool> {
    let order = if newest_first { "DESC" } else { "ASC" };
    let mut statement =
        tx.statement(&format!("SELECT {columns} FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key {order}"))?;
    let mut rows = statement.query(params![range.0, range.1])?;
    while let Some(next) = rows.next()? {
        if !row(next)? {
            return Ok(false);
        }
    }
    Ok(true)
}
