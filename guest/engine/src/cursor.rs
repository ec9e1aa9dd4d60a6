//! Cursors: opaque text that says where a read goes on, good for the call that gave it and for nothing else.

use rusqlite::OptionalExtension;

use crate::error::{Error, Kind, Result};
use crate::store::Tx;

/// Which call a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    History = b'h' as isize,
    RowStats = b'r' as isize,
    Branches = b'b' as isize,
    Nodes = b'n' as isize,
    Plan = b'p' as isize,
    Snapshot = b's' as isize,
    Search = b'q' as isize,
    Lines = b'l' as isize,
    Sessions = b'd' as isize,
    Changes = b'f' as isize,
}

impl Purpose {
    fn letter(self) -> char {
        char::from(self as u8)
    }
}

/// An error for every cursor that cannot be gone on with.
pub(crate) fn stale(why: &str) -> Error {
    Error::new(Kind::StaleCursor, format!("{why}; begin again without a cursor")).subject("cursor")
}

impl Tx<'_> {
    /// A cursor that holds these numbers.
    pub(crate) fn encode_cursor(&mut self, purpose: Purpose, numbers: &[u64]) -> Result<String> {
        let mut text = String::from(purpose.letter());
        for number in numbers {
            text.push_str(&format!("{number:x}."));
        }
        let sum = checksum(self.epoch()?, &text);
        text.push_str(&format!("{sum:08x}"));
        Ok(text)
    }

    /// The numbers of a cursor that this store gave for this purpose.
    pub(crate) fn decode_cursor<const N: usize>(&mut self, purpose: Purpose, cursor: &str) -> Result<[u64; N]> {
        let foreign = || stale("the cursor is none of this store's for this call");
        let (numbers, sum) = cursor.rsplit_once('.').ok_or_else(foreign)?;
        let signed = cursor.get(..=numbers.len()).ok_or_else(foreign)?;
        if u32::from_str_radix(sum, 16) != Ok(checksum(self.epoch()?, signed)) {
            return Err(foreign());
        }
        let mut out = [0; N];
        let mut given = numbers.strip_prefix(purpose.letter()).ok_or_else(foreign)?.split('.');
        for number in &mut out {
            *number = given.next().and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(foreign)?;
        }
        if given.next().is_some() { Err(foreign()) } else { Ok(out) }
    }

    /// A number that no other life of the store has.
    fn epoch(&mut self) -> Result<i64> {
        if let Some(epoch) = self.memo.epoch {
            return Ok(epoch);
        }
        let epoch = self
            .statement("SELECT value FROM meta WHERE name = 'epoch'")?
            .query_row([], |row| row.get(0))
            .optional()?
            .unwrap_or(0);
        self.memo.epoch = Some(epoch);
        Ok(epoch)
    }
}

/// FNV-1a over the epoch and the text, folded. It tells a cursor of ours from another one by accident; on purpose there
/// is nothing to win, since what a cursor says is checked against the session that it is used with.
fn checksum(epoch: i64, text: &str) -> u32 {
    let bytes = epoch.to_le_bytes().into_iter().chain(text.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}
