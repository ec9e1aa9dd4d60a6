//! Bytes that were written by SQLite and are not with the host yet: one contiguous piece of a file.
//!
//! It behaves as the file would, had they been written: later writes go over it, reads see it, truncation cuts it. So
//! an error of the host may surface later than the write that it belongs to, but nothing else differs.

use std::collections::TryReserveError;

/// More than this is not held back.
pub(crate) const CAPACITY: usize = 256 * 1024;

/// How a range of the file relates to what is held.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Overlap<'a> {
    /// Nothing in common.
    None,
    /// All of it is held: here it is.
    Whole(&'a [u8]),
    /// Some of it.
    Part,
}

/// One contiguous piece of a file.
#[derive(Debug, Default)]
pub(crate) struct Held {
    start: u64,
    bytes: Vec<u8>,
}

impl Held {
    /// Nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Where it begins in the file.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The offset behind its last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// What is held.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes a write in, over what is held or right behind it. False: it does not belong there, or there is no room.
    pub(crate) fn take_in(&mut self, offset: u64, data: &[u8]) -> Result<bool, TryReserveError> {
        if self.bytes.is_empty() {
            self.start = offset;
        }
        if offset < self.start || offset > self.end() {
            return Ok(false);
        }
        // What lies below `end` fits in memory.
        let at = (offset - self.start) as usize;
        let end = at + data.len();
        if end > CAPACITY && !self.bytes.is_empty() {
            return Ok(false);
        }
        if end > self.bytes.len() {
            self.bytes.try_reserve(end - self.bytes.len())?;
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(data);
        Ok(true)
    }

    /// How a range of the file relates to what is held.
    pub(crate) fn overlap(&self, offset: u64, length: usize) -> Overlap<'_> {
        let end = offset + length as u64;
        if self.bytes.is_empty() || end <= self.start || offset >= self.end() {
            return Overlap::None;
        }
        if offset < self.start || end > self.end() {
            return Overlap::Part;
        }
        let at = (offset - self.start) as usize;
        Overlap::Whole(&self.bytes[at..at + length])
    }

    /// The file is cut to this size.
    pub(crate) fn cut(&mut self, size: u64) {
        if size <= self.start {
            self.bytes.clear();
        } else {
            self.bytes.truncate(usize::try_from(size - self.start).unwrap_or(usize::MAX));
        }
    }

    /// It is with the host now, or of no use any more.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use super::*;

    #[test]
    fn writes_go_behind_and_over_what_is_held() {
        let mut held = Held::default();
        assert!(held.take_in(100, b"abcd").unwrap());
        assert!(held.take_in(104, b"ef").unwrap());
        assert!(held.take_in(103, b"XYZ!").unwrap());
        assert_eq!(held.bytes(), b"abcXYZ!");
        assert!(!held.take_in(99, b"a").unwrap(), "before it");
        assert!(!held.take_in(108, b"a").unwrap(), "behind a gap");
    }

    #[test]
    fn a_full_piece_takes_nothing_more() {
        let mut held = Held::default();
        assert!(held.take_in(0, &vec![1; CAPACITY]).unwrap());
        assert!(!held.take_in(CAPACITY as u64, b"x").unwrap());
        held.clear();
        assert!(held.take_in(7, &vec![1; CAPACITY + 1]).unwrap(), "one write alone is always taken");
    }

    #[test]
    fn a_range_is_told_from_what_is_held() {
        let mut held = Held::default();
        assert_eq!(held.overlap(0, 10), Overlap::None);
        held.take_in(10, b"0123456789").unwrap();
        assert_eq!(held.overlap(0, 10), Overlap::None);
        assert_eq!(held.overlap(20, 10), Overlap::None);
        assert_eq!(held.overlap(12, 3), Overlap::Whole(b"234"));
        assert_eq!(held.overlap(5, 6), Overlap::Part);
        assert_eq!(held.overlap(15, 6), Overlap::Part);
    }

    #[test]
    fn truncation_cuts_what_is_held() {
        let mut held = Held::default();
        held.take_in(10, b"0123456789").unwrap();
        held.cut(30);
        assert_eq!(held.bytes(), b"0123456789");
        held.cut(12);
        assert_eq!(held.bytes(), b"01");
        held.cut(10);
        assert!(held.is_empty());
    }
}
