//! A message's row, and the pieces of a text that is too large for it.

use rusqlite::{OptionalExtension, Row, params};

use crate::chain::damaged;
use crate::correction::{Corrections, Sum};
use crate::error::Result;
use crate::key::Key;
use crate::message::{self, Incoming};
use crate::session::Session;
use crate::store::Tx;
use crate::types::Message;

/// Texts above this are kept in pieces beside the row. SQLite reads and writes a row whole, in a buffer of its own; a
/// large text in one row would need several times its size in memory.
const MAX_ROW_BYTES: usize = 128 * 1024;

/// Bytes of a piece.
const PIECE_BYTES: usize = 256 * 1024;

/// Characters of a preview.
pub(crate) const PREVIEW_CHARACTERS: usize = 120;

/// When a message was written, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) created_at: i64,
    pub(crate) event: i64,
    pub(crate) imported: bool,
}

/// What is known of a message without its text.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) created_at: i64,
    pub(crate) bytes: i64,
    pub(crate) tokens: i64,
}

impl Head {
    /// The columns that `from_row` reads, in order.
    pub(crate) const COLUMNS: &str = "key, id, role, created_at, bytes, tokens";

    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            id: row.get(1)?,
            role: row.get(2)?,
            created_at: row.get(3)?,
            bytes: row.get(4)?,
            tokens: row.get(5)?,
        })
    }

    /// The message, with its text and what it answers.
    pub(crate) fn into_message(self, json: String, parent_id: Option<String>) -> Message {
        Message {
            id: self.id,
            role: self.role,
            parent_id,
            seq: self.key.seq(),
            created_at: self.created_at,
            bytes: json.len() as u64,
            token_estimate: u32::try_from(self.tokens).unwrap_or(u32::MAX),
            json,
        }
    }
}

impl Tx<'_> {
    /// The message of this id.
    pub(crate) fn find_message(&self, session: &Session, id: &str) -> Result<Option<Key>> {
        Ok(self
            .statement("SELECT key FROM message WHERE session = ?1 AND id = ?2")?
            .query_row(params![session.key, id], |row| row.get(0))
            .optional()?)
    }

    /// The id of a message that something else names.
    pub(crate) fn message_id(&self, key: Key) -> Result<String> {
        self.statement("SELECT id FROM message WHERE key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?
            .ok_or_else(|| damaged(format!("message {} of chain {} is missing", key.seq(), key.chain())))
    }

    /// A message's head and text.
    pub(crate) fn load(&self, key: Key) -> Result<(Head, String)> {
        let (head, body) = self
            .statement("SELECT key, id, role, created_at, bytes, tokens, body FROM message WHERE key = ?1")?
            .query_row([key], |row| Ok((Head::from_row(row)?, row.get::<_, Option<String>>(6)?)))
            .optional()?
            .ok_or_else(|| damaged(format!("message {} of chain {} is missing", key.seq(), key.chain())))?;
        let text = self.whole_text(&head, body)?;
        Ok((head, text))
    }

    /// A message as it is read, with its parent looked up.
    pub(crate) fn message(&self, key: Key) -> Result<Message> {
        let (head, text) = self.load(key)?;
        let parent = self.parent_of(key)?.map(|parent| self.message_id(parent)).transpose()?;
        Ok(head.into_message(text, parent))
    }

    /// The text of a message whose row has been read.
    pub(crate) fn whole_text(&self, head: &Head, body: Option<String>) -> Result<String> {
        if let Some(body) = body {
            return Ok(body);
        }
        let mut text = Vec::with_capacity(usize::try_from(head.bytes).unwrap_or(0));
        let mut statement = self.statement("SELECT data FROM piece WHERE message = ?1 ORDER BY key")?;
        let mut rows = statement.query([head.key])?;
        while let Some(row) = rows.next()? {
            text.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        }
        if text.len() as i64 != head.bytes {
            return Err(damaged(format!("message {} has {} bytes instead of {}", head.id, text.len(), head.bytes)));
        }
        String::from_utf8(text).map_err(|_| damaged(format!("message {} is no text", head.id)))
    }

    /// The bytes and tokens of a chain up to and with one of its messages.
    pub(crate) fn sum_to(&self, message: Key, corrected: bool) -> Result<Sum> {
        let mut sum = self.stored_sum(message)?;
        if corrected {
            let correction = self.corrections_to(message)?;
            sum.bytes += correction.bytes;
            sum.tokens += correction.tokens;
        }
        Ok(sum)
    }

    fn stored_sum(&self, message: Key) -> Result<Sum> {
        Ok(self
            .statement("SELECT chain_bytes, chain_tokens FROM message WHERE key = ?1")?
            .query_row([message], |row| Ok(Sum { bytes: row.get(0)?, tokens: row.get(1)?, gone: 0 }))?)
    }

    /// Writes a new message below another one, and counts it in its session; the caller saves the session.
    pub(crate) fn insert_message(
        &mut self,
        session: &mut Session,
        parent: Option<Key>,
        message: &Incoming<'_>,
        stamp: Stamp,
    ) -> Result<Key> {
        let derived = message.derived();
        let size = Sum { bytes: message.text().len() as i64, tokens: i64::from(derived.tokens), gone: 0 };
        let seq = session.last_seq.checked_add(1).ok_or_else(|| {
            crate::Error::new(crate::Kind::OverLimit, "the session has no room for another message: 2^32 were written")
        })?;
        let (key, sum) = match parent {
            Some(parent)
                if session.leaf == Some(parent) && session.deletions == 0
                    || self.is_tip(session.key, parent, session.deletions > 0)? =>
            {
                let key = Key::new(parent.chain(), seq);
                let mut sum = self.stored_sum(parent)?;
                if session.corrected {
                    // What was deleted behind the parent is in the corrections of the new place, and not in its sum.
                    let (before, after) = (self.corrections_to(parent)?, self.corrections_to(key)?);
                    sum.bytes -= after.bytes - before.bytes;
                    sum.tokens -= after.tokens - before.tokens;
                }
                sum += size;
                (key, sum)
            }
            attach => (Key::new(self.insert_chain(session.key, attach)?, seq), size),
        };
        if self.last_chain()? != Some(key.chain()) {
            self.statement("INSERT INTO run(event, session, seq, chain) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
                stamp.event,
                session.key,
                seq,
                key.chain()
            ])?;
            self.memo.chain = Some(key.chain());
        }
        let text = message.text();
        let in_row = text.len() <= MAX_ROW_BYTES;
        self.statement(
            "INSERT INTO message(key, session, created_at, event, imported, bytes, tokens, chain_bytes, chain_tokens, id,
               role, calls, preview, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            key,
            session.key,
            stamp.created_at,
            stamp.event,
            stamp.imported,
            size.bytes,
            size.tokens,
            sum.bytes,
            sum.tokens,
            message.id(),
            message.role(),
            message::encode(&derived.calls),
            (!in_row).then(|| message::preview(text, PREVIEW_CHARACTERS)),
            in_row.then_some(text),
        ])?;
        if !in_row {
            self.insert_pieces(key, text)?;
        }
        session.last_seq = seq;
        session.leaf = Some(key);
        session.chosen = None;
        session.messages += 1;
        session.bytes += size.bytes;
        session.tokens += size.tokens;
        Ok(key)
    }

    /// Writes another text into a message's row; the caller saves the session.
    pub(crate) fn replace_message(&mut self, session: &mut Session, key: Key, message: &Incoming<'_>) -> Result<()> {
        let derived = message.derived();
        let size = Sum { bytes: message.text().len() as i64, tokens: i64::from(derived.tokens), gone: 0 };
        let before = self
            .statement("SELECT bytes, tokens FROM message WHERE key = ?1")?
            .query_row([key], |row| Ok(Sum { bytes: row.get(0)?, tokens: row.get(1)?, gone: 0 }))?;
        let change = Sum { bytes: size.bytes - before.bytes, tokens: size.tokens - before.tokens, gone: 0 };
        // Nothing behind it has counted the last message of a chain yet: its own sum can be mended in place.
        let last = self.next_in_chain(key)?.is_none();
        let in_place = if last { change } else { Sum::default() };
        if !last && change != Sum::default() {
            let mut corrections = Corrections::default();
            corrections.add(key, change);
            self.save_corrections(&corrections)?;
            session.corrected = true;
        }
        let text = message.text();
        let in_row = text.len() <= MAX_ROW_BYTES;
        self.statement("DELETE FROM piece WHERE message = ?1")?.execute([key])?;
        self.statement(
            "UPDATE message SET bytes = ?2, tokens = ?3, chain_bytes = chain_bytes + ?4, chain_tokens = chain_tokens + ?5,
               role = ?6, calls = ?7, preview = ?8, body = ?9 WHERE key = ?1",
        )?
        .execute(params![
            key,
            size.bytes,
            size.tokens,
            in_place.bytes,
            in_place.tokens,
            message.role(),
            message::encode(&derived.calls),
            (!in_row).then(|| message::preview(text, PREVIEW_CHARACTERS)),
            in_row.then_some(text),
        ])?;
        if !in_row {
            self.insert_pieces(key, text)?;
        }
        session.bytes += change.bytes;
        session.tokens += change.tokens;
        Ok(())
    }

    fn insert_pieces(&self, key: Key, text: &str) -> Result<()> {
        let mut statement = self.statement("INSERT INTO piece(message, data) VALUES (?1, ?2)")?;
        for piece in text.as_bytes().chunks(PIECE_BYTES) {
            statement.execute(params![key, piece])?;
        }
        Ok(())
    }

    /// The chain that the last message of the store went to.
    fn last_chain(&mut self) -> Result<Option<u32>> {
        if self.memo.chain.is_none() {
            self.memo.chain = self
                .statement("SELECT chain FROM run ORDER BY event DESC LIMIT 1")?
                .query_row([], |row| row.get(0))
                .optional()?;
        }
        Ok(self.memo.chain)
    }
}
