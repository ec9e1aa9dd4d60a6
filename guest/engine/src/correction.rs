//! Sums along a chain: bytes and tokens from its beginning to any of its messages, without reading what is between.
//!
//! A message's row holds the sums as they were when it was written. What updates and deletes change since is kept
//! beside, in blocks: level 0 has one entry for a seq, level n one for 64^n of them. A change writes one entry a level,
//! a sum reads at most 63 a level, however long the chain is.

use std::collections::BTreeMap;

use rusqlite::{Row, params};

use crate::error::Result;
use crate::key::Key;
use crate::number::Number;
use crate::store::Tx;
use crate::types::MediaMode;

/// Levels of blocks: 64^6 is more than all seqs.
const LEVELS: u32 = 6;

/// Bits of a seq that one level takes.
const BITS: u32 = 6;

/// What a part of a chain amounts to, or by how much that changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) bytes: i64,
    pub(crate) tokens: i64,
    /// Bytes that are kept as media.
    pub(crate) outside: i64,
    /// Messages that were deleted there.
    pub(crate) gone: i64,
}

impl Sum {
    /// Of a row of bytes, tokens, bytes kept as media and messages deleted.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, Number>(column)?.0);
        Ok(Self { bytes: number(0)?, tokens: number(1)?, outside: number(2)?, gone: number(3)? })
    }

    /// Bytes of the texts as they are read.
    pub(crate) fn bytes_as_read(&self, mode: MediaMode) -> u64 {
        match mode {
            MediaMode::Inline => self.bytes,
            MediaMode::Reference => self.bytes - self.outside,
        }
        .unsigned_abs()
    }
}

impl std::ops::SubAssign for Sum {
    fn sub_assign(&mut self, other: Self) {
        self.bytes -= other.bytes;
        self.tokens -= other.tokens;
        self.outside -= other.outside;
        self.gone -= other.gone;
    }
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
        self.outside += other.outside;
        self.gone += other.gone;
    }
}

/// Changes that are written together, so that blocks which they share are written once.
#[derive(Debug, Default)]
pub(crate) struct Corrections {
    blocks: BTreeMap<(u32, u32, u32), Sum>,
}

impl Corrections {
    /// Adds a change at a place.
    pub(crate) fn add(&mut self, place: Key, change: Sum) {
        for level in 0..LEVELS {
            *self.blocks.entry((place.chain(), level, place.seq() >> (BITS * level))).or_default() += change;
        }
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

impl Tx<'_> {
    /// Writes changes.
    pub(crate) fn save_corrections(&self, corrections: &Corrections) -> Result<()> {
        let mut statement = self.statement(
            "INSERT INTO correction(chain, level, block, bytes, tokens, outside, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, tokens = tokens + excluded.tokens,
               outside = outside + excluded.outside, gone = gone + excluded.gone",
        )?;
        for (&(chain, level, block), sum) in &corrections.blocks {
            statement.execute(params![chain, level, block, sum.bytes, sum.tokens, sum.outside, sum.gone])?;
        }
        Ok(())
    }

    /// All changes on a chain up to and with a place.
    pub(crate) fn corrections_to(&self, place: Key) -> Result<Sum> {
        // One more than the seq, so that whole blocks below it add up to everything before.
        let end = u64::from(place.seq()) + 1;
        let mut statement = self.statement(
            "SELECT coalesce(sum(bytes), 0), coalesce(sum(tokens), 0), coalesce(sum(outside), 0), coalesce(sum(gone), 0)
             FROM correction
             WHERE chain = ?1 AND level = ?2 AND block >= ?3 AND block < ?4",
        )?;
        let mut total = Sum::default();
        for level in 0..LEVELS {
            let to = end >> (BITS * level);
            let from = if level + 1 == LEVELS { 0 } else { (to >> BITS) << BITS };
            if from < to {
                total += statement.query_row(params![place.chain(), level, from as i64, to as i64], Sum::from_row)?;
            }
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that a sum up to `seq` reads, as ranges of seqs.
    fn covered(seq: u32) -> Vec<(u64, u64)> {
        let end = u64::from(seq) + 1;
        (0..LEVELS)
            .filter_map(|level| {
                let to = end >> (BITS * level);
                let from = if level + 1 == LEVELS { 0 } else { (to >> BITS) << BITS };
                (from < to).then_some((from << (BITS * level), to << (BITS * level)))
            })
            .collect()
    }

    #[test]
    fn the_blocks_of_a_sum_cover_every_seq_once() {
        for seq in [0, 1, 62, 63, 64, 65, 4095, 4096, 1_000_000, u32::MAX - 1, u32::MAX] {
            let mut parts = covered(seq);
            parts.sort_unstable();
            let mut at = 0;
            for (from, to) in parts {
                assert_eq!(from, at, "up to {seq}");
                at = to;
            }
            assert_eq!(at, u64::from(seq) + 1);
        }
    }
}
