//! Chains: how the tree hangs together, and how any part of a path is found without walking all of it.

use rusqlite::{OptionalExtension, params};

use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::store::Tx;

/// A chain as it is in its row. Nothing of it ever changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) key: u32,
    pub(crate) session: i64,
    /// The place that its first message answers; none for a root.
    pub(crate) attach: Option<Key>,
    /// How many chains are above it.
    pub(crate) depth: u32,
    /// A chain above it, so chosen that any depth is reached in logarithmic time; itself where there is none above.
    jump: u32,
}

impl Chain {
    /// Whether it has this depth and jump.
    pub(crate) fn hangs_as(&self, (depth, jump): (u32, Option<u32>)) -> bool {
        self.depth == depth && self.jump == jump.unwrap_or(self.key)
    }
}

impl Tx<'_> {
    /// A chain that something else names.
    pub(crate) fn chain(&self, key: u32) -> Result<Chain> {
        self.find_chain(key)?.ok_or_else(|| damaged(format!("chain {key} is missing")))
    }

    /// A chain, if it is there.
    pub(crate) fn find_chain(&self, key: u32) -> Result<Option<Chain>> {
        let found = self
            .statement("SELECT session, attach, depth, coalesce(jump, key) FROM chain WHERE key = ?1")?
            .query_row([key], |row| {
                Ok(Chain { key, session: row.get(0)?, attach: row.get(1)?, depth: row.get(2)?, jump: row.get(3)? })
            })
            .optional()?;
        // Chains hang on older ones; a damaged file must not send a walk in circles.
        if found.is_some_and(|chain| chain.attach.is_some_and(|place| place.chain() >= key) || chain.jump > key) {
            return Err(damaged(format!("chain {key} hangs on a younger one")));
        }
        Ok(found)
    }

    /// The depth and jump of a chain below a place.
    pub(crate) fn hang(&self, attach: Option<Key>) -> Result<(u32, Option<u32>)> {
        // The jump pointers of a skew-binary list: a chain jumps as far as two equal jumps above it together, else to
        // the chain that it hangs on.
        let Some(place) = attach else { return Ok((0, None)) };
        let above = self.chain(place.chain())?;
        let jumped = self.chain(above.jump)?;
        let further = self.chain(jumped.jump)?;
        let lengths = (above.depth.checked_sub(jumped.depth), jumped.depth.checked_sub(further.depth));
        let ((Some(one), Some(other)), Some(depth)) = (lengths, above.depth.checked_add(1)) else {
            return Err(damaged(format!("chain {} is not below what it jumps to", above.key)));
        };
        Ok((depth, Some(if one == other { further.key } else { above.key })))
    }

    /// A new chain below a place.
    pub(crate) fn insert_chain(&self, session: i64, attach: Option<Key>) -> Result<u32> {
        let (depth, jump) = self.hang(attach)?;
        self.statement("INSERT INTO chain(session, attach, depth, jump) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![session, attach, depth, jump])?;
        u32::try_from(self.connection.last_insert_rowid())
            .ok()
            .filter(|&key| key <= i32::MAX as u32)
            .ok_or_else(|| Error::new(Kind::OverLimit, "the store has no room for another branch: 2^31 were made"))
    }

    /// The chain at a depth on the way from a chain to its root.
    pub(crate) fn chain_at_depth(&self, from: Chain, depth: u32) -> Result<Chain> {
        let mut chain = from;
        while chain.depth > depth {
            let jumped = self.chain(chain.jump)?;
            chain = if jumped.depth >= depth && jumped.depth < chain.depth {
                jumped
            } else {
                let Some(place) = chain.attach else {
                    return Err(damaged(format!("chain {} has a depth and no place", chain.key)));
                };
                self.chain(place.chain())?
            };
        }
        Ok(chain)
    }

    /// The nearest message at or above a place.
    pub(crate) fn message_at_or_above(&self, place: Key) -> Result<Option<Key>> {
        let mut place = Some(place);
        while let Some(at) = place {
            if let Some(found) = self.last_in_chain(at)? {
                return Ok(Some(found));
            }
            place = self.chain(at.chain())?.attach;
        }
        Ok(None)
    }

    /// The message that a message answers.
    pub(crate) fn parent_of(&self, message: Key) -> Result<Option<Key>> {
        let above = Key::new(message.chain(), message.seq().saturating_sub(1));
        self.message_at_or_above(above)
    }

    /// The last message of a chain up to and with a place.
    pub(crate) fn last_in_chain(&self, place: Key) -> Result<Option<Key>> {
        Ok(self
            .statement("SELECT key FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key DESC LIMIT 1")?
            .query_row(params![Key::start(place.chain()), place], |row| row.get(0))
            .optional()?)
    }

    /// The first message of a chain behind a place.
    pub(crate) fn next_in_chain(&self, place: Key) -> Result<Option<Key>> {
        Ok(self
            .statement("SELECT key FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT 1")?
            .query_row(params![place, Key::end(place.chain())], |row| row.get(0))
            .optional()?)
    }

    /// Whether a message can be appended to a chain behind this one: nothing stands there, and nothing hangs on a
    /// place there, whose path would else come to hold the new message's.
    pub(crate) fn is_tip(&self, session: i64, message: Key, deletions: bool) -> Result<bool> {
        if self.next_in_chain(message)?.is_some() {
            return Ok(false);
        }
        // Without deletions every place has its message, and what hangs below one hangs on one that is there.
        Ok(!deletions
            || self.last_in_chain(message)? == Some(message)
                && !self.anything_attached(session, message, Key::end(message.chain()))?)
    }

    /// Whether a chain hangs on a place behind `after`, up to and with `to`.
    pub(crate) fn anything_attached(&self, session: i64, after: Key, to: Key) -> Result<bool> {
        Ok(self
            .statement("SELECT 1 FROM chain WHERE session = ?1 AND attach > ?2 AND attach <= ?3 LIMIT 1")?
            .exists(params![session, after, to])?)
    }
}

/// What a store says that contradicts itself.
pub(crate) fn damaged(what: String) -> Error {
    Error::new(Kind::Corrupt, format!("the store contradicts itself: {what}; other parts may still be read"))
}
