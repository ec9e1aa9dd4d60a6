//! The text of a message in the file: in its row, or in pieces beside it, with its payloads kept as media.

use rusqlite::params;

use crate::chain::damaged;
use crate::error::Result;
use crate::key::Key;
use crate::media::{self, Payload};
use crate::message::{self, Incoming};
use crate::row::Head;
use crate::store::Tx;
use crate::types::MediaMode;

/// Texts above this are kept in pieces beside the row. SQLite reads and writes a row whole, in a buffer of its own; a
/// large text in one row would need several times its size in memory.
const MAX_ROW_BYTES: usize = 128 * 1024;

/// Bytes of a piece.
const PIECE_BYTES: usize = 256 * 1024;

/// Characters of a preview.
pub(crate) const PREVIEW_CHARACTERS: usize = 120;

/// Bytes of a text that are made room for before anything of it was read: those of the longest request of a host. A row of
/// a damaged file may say more.
const MAX_ROOM: u64 = 128 * 1024 * 1024;

/// The room to begin with for a text of so many bytes, as its row says.
pub(crate) fn room_for(bytes: u64) -> usize {
    bytes.min(MAX_ROOM) as usize
}

/// How a text goes into the file.
pub(crate) struct Stored<'a> {
    whole: &'a str,
    /// The text without payloads, where there are some.
    blank: Option<String>,
    payloads: Vec<Payload>,
    /// Bytes of the whole text that are kept as media.
    pub(crate) outside: usize,
}

impl<'a> Stored<'a> {
    /// Looks for payloads in a message.
    pub(crate) fn new(message: &'a Incoming<'_>) -> Self {
        let whole = message.text();
        match media::lift(whole) {
            None => Self { whole, blank: None, payloads: Vec::new(), outside: 0 },
            Some(lifted) => {
                Self { whole, blank: Some(lifted.text), payloads: lifted.payloads, outside: lifted.outside }
            }
        }
    }

    /// What goes into the row or its pieces: the text without payloads.
    pub(crate) fn text(&self) -> &str {
        self.blank.as_deref().unwrap_or(self.whole)
    }

    /// What goes into the row; none if it is too large for it.
    pub(crate) fn body(&self) -> Option<&str> {
        (self.text().len() <= MAX_ROW_BYTES).then(|| self.text())
    }

    /// How the text begins, where it is not in the row to be seen.
    pub(crate) fn preview(&self) -> Option<String> {
        self.body().is_none().then(|| message::preview(self.text(), PREVIEW_CHARACTERS))
    }
}

impl Tx<'_> {
    /// Writes what is not in the row.
    pub(crate) fn insert_text(&self, key: Key, text: &Stored<'_>) -> Result<()> {
        if text.body().is_none() {
            let mut statement = self.statement("INSERT INTO piece(message, data) VALUES (?1, ?2)")?;
            for piece in text.text().as_bytes().chunks(PIECE_BYTES) {
                statement.execute(params![key, piece])?;
            }
        }
        self.insert_media(key, text.whole, &text.payloads)
    }

    /// Removes what is not in the rows of these messages.
    pub(crate) fn delete_texts(&self, first: Key, last: Key) -> Result<()> {
        self.statement("DELETE FROM piece WHERE message >= ?1 AND message <= ?2")?.execute(params![first, last])?;
        self.delete_media(first, last)
    }

    /// The text of a message whose row has been read, as it is asked for.
    pub(crate) fn text(&self, head: &Head, body: Option<String>, mode: MediaMode) -> Result<String> {
        let text = match body {
            Some(body) => body,
            None => self.pieces(head)?,
        };
        if head.outside > 0 && mode == MediaMode::Inline {
            return self.with_media(head.key, &text, head.bytes_as_read(MediaMode::Inline));
        }
        Ok(text)
    }

    fn pieces(&self, head: &Head) -> Result<String> {
        let expected = head.bytes_as_read(MediaMode::Reference);
        let mut text = Vec::with_capacity(room_for(expected));
        let mut statement = self.statement("SELECT data FROM piece WHERE message = ?1 ORDER BY key")?;
        let mut rows = statement.query([head.key])?;
        while let Some(row) = rows.next()? {
            text.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        }
        if text.len() as u64 != expected {
            return Err(damaged(format!("message {} has {} bytes instead of {expected}", head.id, text.len())));
        }
        String::from_utf8(text).map_err(|_| damaged(format!("message {} is no text", head.id)))
    }
}
