//! Reading ahead: where reads follow each other through a file, one call of the host serves for many of them.

/// What is read at once where reads follow each other: the most that hosts give in one call.
const WINDOW: usize = 64 * 1024;

/// How far behind the end of the last read the next one may begin and still follow it. Pages of other tables and of
/// indices lie between those of the one that is read through.
const GAP: u64 = 32 * 1024;

/// After so many reads that follow each other, the next ones are taken to do so too.
const RUN: u32 = 2;

/// How a file has been read, and what is known beyond what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    start: u64,
    bytes: Vec<u8>,
    /// Where the last read ended.
    end: u64,
    run: u32,
}

impl Ahead {
    /// What is known of that place, all of it or nothing.
    pub(crate) fn find(&mut self, offset: u64, length: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let found = self.bytes.get(from..from.checked_add(length)?)?;
        self.end = offset + length as u64;
        Some(found)
    }

    /// How much to read where this much is wanted.
    pub(crate) fn wanted(&mut self, offset: u64, length: usize) -> usize {
        let follows = offset.checked_sub(self.end).is_some_and(|gap| gap <= GAP);
        self.run = if follows { self.run.saturating_add(1) } else { 0 };
        self.end = offset + length as u64;
        if self.run >= RUN { length.max(WINDOW) } else { length }
    }

    /// Keeps what was read.
    pub(crate) fn keep(&mut self, start: u64, bytes: Vec<u8>) {
        self.start = start;
        self.bytes = bytes;
    }

    /// The file has changed, or is about to.
    pub(crate) fn forget(&mut self) {
        self.bytes = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_follow_each_other_are_told_from_those_that_do_not() {
        let mut ahead = Ahead::default();
        for (offset, wanted) in [(1 << 20, 10), (1 << 21, 10), ((1 << 21) + 10, 10), ((1 << 21) + 40, WINDOW), (0, 10)]
        {
            assert_eq!(ahead.wanted(offset, 10), wanted, "{offset}");
        }
        assert_eq!(ahead.wanted(10, 2 * WINDOW), 2 * WINDOW);
        assert_eq!(ahead.wanted(20 + 2 * WINDOW as u64, 2 * WINDOW), 2 * WINDOW, "a read is never cut");
    }

    #[test]
    fn only_what_was_read_whole_is_found() {
        let mut ahead = Ahead::default();
        assert_eq!(ahead.find(0, 1), None);
        ahead.keep(100, vec![1, 2, 3]);
        assert_eq!(ahead.find(101, 2), Some(&[2, 3][..]));
        for (offset, length) in [(99, 2), (101, 3), (103, 1), (u64::MAX, 1), (101, usize::MAX)] {
            assert_eq!(ahead.find(offset, length), None, "{offset} {length}");
        }
        ahead.forget();
        assert_eq!(ahead.find(101, 2), None);
    }
}
