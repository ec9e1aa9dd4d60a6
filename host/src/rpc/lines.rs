//! Lines of a stream, each at most so long: a longer one is reported and skipped without being held in memory.

use std::io::{self, Read};

/// How much is asked of the stream at a time.
const CHUNK: usize = 64 * 1024;

/// What the stream gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end (LF or CRLF). The last one needs none.
    Whole(Vec<u8>),
    /// A line above the limit, all of which has been read past.
    TooLong,
}

/// Splits a stream at LF, and only there: U+2028, U+0085 and a lone CR are content.
pub(super) struct Lines<R> {
    input: R,
    limit: usize,
    chunk: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input, limit, chunk: vec![0; CHUNK].into_boxed_slice(), start: 0, end: 0 }
    }

    /// The next line; none at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut any = false;
        let mut too_long = false;
        loop {
            if self.start == self.end {
                self.start = 0;
                self.end = match self.input.read(&mut self.chunk) {
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                if self.end == 0 {
                    return Ok(any.then(|| self.finished(line, too_long)));
                }
            }
            any = true;
            let rest = &self.chunk[self.start..self.end];
            let (piece, ends) = match rest.iter().position(|&byte| byte == b'\n') {
                Some(at) => (&rest[..at], true),
                None => (rest, false),
            };
            // One byte more than the limit, for the CR that may stand before the LF.
            if !too_long && line.len() + piece.len() <= self.limit.saturating_add(1) {
                line.extend_from_slice(piece);
            } else {
                too_long = true;
                line = Vec::new();
            }
            self.start += piece.len() + usize::from(ends);
            if ends {
                return Ok(Some(self.finished(line, too_long)));
            }
        }
    }

    fn finished(&self, mut line: Vec<u8>, too_long: bool) -> Line {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if too_long || line.len() > self.limit { Line::TooLong } else { Line::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    /// Gives the bytes in pieces of a size, as a pipe may.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let take = self.1.min(self.0.len()).min(buffer.len());
            buffer[..take].copy_from_slice(&self.0[..take]);
            self.0 = &self.0[take..];
            Ok(take)
        }
    }

    fn all(bytes: &[u8], limit: usize) -> Vec<Line> {
        let mut seen = Vec::new();
        for step in [1, 3, usize::MAX] {
            let mut lines = Lines::new(Drip(bytes, step), limit);
            let mut found = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                found.push(line);
            }
            if seen.is_empty() {
                seen = found;
            } else {
                assert_eq!(seen, found, "the size of the pieces must not matter");
            }
        }
        seen
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_at_lf_or_crlf_and_the_last_needs_no_end() {
        assert_eq!(all(b"a\nb\r\n\nc\rd", 9), [whole("a"), whole("b"), whole(""), whole("c\rd")]);
        assert_eq!(all("x\u{2028}y\u{85}\n".as_bytes(), 9), [whole("x\u{2028}y\u{85}")]);
        assert_eq!(all(b"", 9), []);
    }

    #[test]
    fn a_line_above_the_limit_is_skipped_and_the_next_is_read() {
        assert_eq!(
            all(b"12345\n123456\n1234567\nok\n", 5),
            [whole("12345"), Line::TooLong, Line::TooLong, whole("ok")]
        );
        assert_eq!(all(b"12345\r\n123456\r\n1234567", 5), [whole("12345"), Line::TooLong, Line::TooLong]);
    }

    #[test]
    fn a_skipped_line_is_not_held_in_memory() {
        let mut lines = Lines::new(io::repeat(b'x').take(1 << 26), 10);
        assert_eq!(lines.next().unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next().unwrap(), None);
    }
}
