//! What goes into the index of a message: its words in columns, in rows of bounded size.
//!
//! A message is one row; one with very many words is several, which share as many words as a query may have, so that a
//! phrase is never torn. The same text always gives the same rows: that is how they are taken out again.

use super::query::MAX_WORDS;
use super::words::each_word;
use crate::error::Result;
use crate::message::{self, Said};

/// Bytes of words in a row.
const ROW_BYTES: usize = 256 * 1024;

/// The columns of the index, in order.
pub(crate) const COLUMNS: [&str; 4] = ["text", "tools", "reasoning", "summary"];

/// A row of the index: the words of each column, with a space between two.
pub(crate) type Words = [String; COLUMNS.len()];

/// A row and what it is of its text.
#[derive(Debug)]
pub(crate) enum Part {
    /// All of it.
    Whole(Words),
    /// One of several.
    Piece(Words),
}

impl Part {
    pub(crate) fn words(&self) -> &Words {
        match self {
            Self::Whole(words) | Self::Piece(words) => words,
        }
    }
}

/// The rows that a message gives: none if it has no words.
pub(crate) fn of_message(json: &str, each: impl FnMut(Part) -> Result<()>) -> Result<()> {
    let mut rows = Rows::new(each);
    message::said(json, &mut |said, piece| {
        let column = match said {
            Said::Text => 0,
            Said::Tools => 1,
            Said::Reasoning => 2,
        };
        rows.read(column, piece);
    });
    rows.finish()
}

/// The rows that a summary gives.
pub(crate) fn of_summary(summary: &str, each: impl FnMut(Part) -> Result<()>) -> Result<()> {
    let mut rows = Rows::new(each);
    rows.read(3, summary);
    rows.finish()
}

/// What tells the rows of one text from those of another.
pub(crate) fn fingerprint(json: &str) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    // A failure can only come from the closure, which has none.
    let _ = of_message(json, |part| {
        for column in part.words() {
            hash.update(column.as_bytes());
            hash.update(&[0]);
        }
        Ok(())
    });
    *hash.finalize().as_bytes()
}

struct Rows<F> {
    row: Words,
    bytes: usize,
    /// A row has been told of already.
    several: bool,
    failed: Result<()>,
    each: F,
}

impl<F: FnMut(Part) -> Result<()>> Rows<F> {
    fn new(each: F) -> Self {
        Self { row: Words::default(), bytes: 0, several: false, failed: Ok(()), each }
    }

    fn read(&mut self, column: usize, text: &str) {
        each_word(text, |word| {
            if self.failed.is_err() {
                return;
            }
            if self.bytes >= ROW_BYTES {
                let tail = self.row.get(column).map(|words| last_words(words).to_owned()).unwrap_or_default();
                let full = std::mem::take(&mut self.row);
                self.failed = (self.each)(Part::Piece(full));
                self.several = true;
                self.bytes = tail.len();
                if let Some(words) = self.row.get_mut(column) {
                    *words = tail;
                }
            }
            if let Some(words) = self.row.get_mut(column) {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(word.token);
                self.bytes += word.token.len() + 1;
            }
        });
    }

    fn finish(mut self) -> Result<()> {
        self.failed?;
        if self.bytes == 0 {
            return Ok(());
        }
        (self.each)(if self.several { Part::Piece(self.row) } else { Part::Whole(self.row) })
    }
}

/// As many words as the beginning of a phrase can have.
fn last_words(words: &str) -> &str {
    match words.rmatch_indices(' ').nth(MAX_WORDS - 2) {
        Some((at, _)) => words.get(at + 1..).unwrap_or_default(),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_gives_rows_that_share_the_words_of_a_phrase() {
        let text: String = (0..100_000).map(|number| format!("w{number} ")).collect();
        let mut rows = Vec::new();
        of_summary(&text, |part| {
            assert!(matches!(part, Part::Piece(_)));
            rows.push(part.words()[3].clone());
            Ok(())
        })
        .unwrap_or_default();
        assert!(rows.len() > 2 && rows.iter().all(|row| row.len() < ROW_BYTES + 100));
        for pair in rows.windows(2) {
            let shared: Vec<&str> = pair[1].split(' ').take(MAX_WORDS - 1).collect();
            assert!(pair[0].ends_with(&shared.join(" ")));
        }
    }
}
