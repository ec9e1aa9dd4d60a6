//! Which writes to the write-ahead log can wait for more, and which end a transaction.
//!
//! SQLite writes a transaction to the log as frames: 24 bytes of header and one page each, two writes per frame. All of
//! them but the last can wait, since the last one always comes. In the header of that one, bytes 4 to 7 are not zero
//! (the size of the database after the commit). Once its page is written SQLite counts the transaction as committed,
//! so that is when all of it must be with the host: an error is then still an error of that write, and SQLite rolls
//! back.

/// Length of a frame's header.
const FRAME_HEADER: usize = 24;
/// Length of the log's own header, at offset 0.
const LOG_HEADER: usize = 32;

/// What to do with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// More of the transaction is certain to follow.
    Wait,
    /// It has to be with the host before the write returns.
    WriteOut,
}

/// Follows the writes to one log.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Where the page that belongs to the last header goes, and whether it ends a transaction.
    page_due: Option<(u64, bool)>,
    /// Behind the last frame that ended a transaction.
    committed: u64,
}

impl Frames {
    /// Looks at a write and says whether it can wait.
    pub(crate) fn look(&mut self, offset: u64, data: &[u8]) -> Then {
        let page_due = self.page_due.take();
        if offset == 0 && data.len() == LOG_HEADER {
            // The log begins anew.
            self.committed = 0;
            return Then::Wait;
        }
        if let Some((due, last)) = page_due
            && due == offset
        {
            if !last {
                return Then::Wait;
            }
            self.committed = offset + data.len() as u64;
            return Then::WriteOut;
        }
        // When frames of the same transaction were overwritten, SQLite mends the checksums in all headers after the
        // last page was written: such headers lie before `committed`, and no page follows them.
        if data.len() == FRAME_HEADER && offset >= self.committed {
            let last = data[4..8] != [0; 4];
            self.page_due = Some((offset + FRAME_HEADER as u64, last));
            return Then::Wait;
        }
        Then::WriteOut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: [u8; 512] = [7; 512];

    fn header(last: bool) -> [u8; FRAME_HEADER] {
        let mut header = [0; FRAME_HEADER];
        header[7] = u8::from(last);
        header
    }

    #[test]
    fn a_transaction_waits_until_its_last_page() {
        let mut frames = Frames::default();
        assert_eq!(frames.look(0, &[1; LOG_HEADER]), Then::Wait);
        assert_eq!(frames.look(32, &header(false)), Then::Wait);
        assert_eq!(frames.look(56, &PAGE), Then::Wait);
        assert_eq!(frames.look(568, &header(true)), Then::Wait);
        assert_eq!(frames.look(592, &PAGE), Then::WriteOut);
    }

    #[test]
    fn mended_headers_do_not_wait_for_a_page_that_never_comes() {
        let mut frames = Frames::default();
        frames.look(32, &header(false));
        frames.look(56, &PAGE);
        frames.look(568, &header(true));
        frames.look(592, &PAGE);
        assert_eq!(frames.look(32, &header(false)), Then::WriteOut);
        assert_eq!(frames.look(568, &header(true)), Then::WriteOut);
        assert_eq!(frames.look(1104, &header(true)), Then::Wait, "the next transaction");
    }

    #[test]
    fn a_page_that_is_overwritten_in_place_does_not_wait() {
        let mut frames = Frames::default();
        frames.look(32, &header(false));
        frames.look(56, &PAGE);
        assert_eq!(frames.look(56, &PAGE), Then::WriteOut);
    }

    #[test]
    fn a_log_that_begins_anew_is_followed_from_its_start() {
        let mut frames = Frames::default();
        frames.look(5000, &header(true));
        frames.look(5024, &PAGE);
        assert_eq!(frames.look(32, &header(true)), Then::WriteOut, "looks like a mended header");
        frames.look(0, &[1; LOG_HEADER]);
        assert_eq!(frames.look(32, &header(true)), Then::Wait);
    }
}
