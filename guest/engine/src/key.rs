//! The key of a message's row: its chain and its seq in one integer.
//!
//! A chain is a run of messages, each the child of the one before. Rows are stored in the order of their keys, so a
//! chain lies together in the file, and a path from root to leaf is one range of keys for each chain that it crosses.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// A place in the tree: a message of a chain, or where one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(i64);

impl Key {
    /// The place of message `seq` on a chain. Chain numbers begin at 1, so no key is 0.
    pub(crate) fn new(chain: u32, seq: u32) -> Self {
        Self((i64::from(chain) << 32) | i64::from(seq))
    }

    /// Before the first message of a chain.
    pub(crate) fn start(chain: u32) -> Self {
        Self::new(chain, 0)
    }

    /// Behind the last message that a chain can have.
    pub(crate) fn end(chain: u32) -> Self {
        Self::new(chain, u32::MAX)
    }

    /// The chain.
    pub(crate) fn chain(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The message's number in its session.
    pub(crate) fn seq(self) -> u32 {
        (self.0 & i64::from(u32::MAX)) as u32
    }

    /// The place before it on its chain: of the first one, the chain's start.
    pub(crate) fn before(self) -> Self {
        Self::new(self.chain(), self.seq().saturating_sub(1))
    }

    /// The place behind it on its chain; none behind the last one that there can be.
    pub(crate) fn after(self) -> Option<Self> {
        Some(Self::new(self.chain(), self.seq().checked_add(1)?))
    }

    /// The key as a number, for cursors.
    pub(crate) fn number(self) -> u64 {
        self.0 as u64
    }

    /// The key that `number` gave; none for what cannot be one.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        i64::try_from(number).ok().filter(|&number| number >> 32 > 0).map(Self)
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Integer(number) if number >> 32 > 0 => Ok(Self(number)),
            ValueRef::Integer(number) => Err(FromSqlError::OutOfRange(number)),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_chain_and_seq() {
        for (chain, seq) in [(1, 0), (1, 1), (7, u32::MAX), (i32::MAX as u32, 1)] {
            let key = Key::new(chain, seq);
            assert_eq!((key.chain(), key.seq()), (chain, seq));
            assert_eq!(Key::from_number(key.number()), Some(key));
        }
        assert!(Key::new(1, u32::MAX) < Key::new(2, 0));
        assert_eq!(Key::from_number(0), None);
        assert_eq!(Key::from_number(u64::MAX), None);
    }
}
