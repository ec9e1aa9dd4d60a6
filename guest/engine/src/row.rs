//! A message's row.

use rusqlite::{OptionalExtension, Row, params};

use crate::chain::damaged;
use crate::correction::{Corrections, Sum};
use crate::error::Result;
use crate::key::Key;
use crate::message::{self, Incoming};
use crate::number::Number;
use crate::session::Session;
use crate::store::Tx;
use crate::text::Stored;
use crate::types::{MediaMode, Message};

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
    /// Bytes of the text that are kept as media.
    pub(crate) outside: i64,
}

impl Head {
    /// The columns that `from_row` reads, in order.
    pub(crate) const COLUMNS: &str = "key, id, role, created_at, bytes, tokens, outside";

    /// How many columns those are.
    pub(crate) const COUNT: usize = 7;

    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            id: row.get(1)?,
            role: row.get(2)?,
            created_at: row.get(3)?,
            bytes: row.get::<_, Number>(4)?.0,
            tokens: row.get::<_, Number>(5)?.0,
            outside: row.get::<_, Number>(6)?.0,
        })
    }

    /// The sizes alone.
    pub(crate) fn size_from_row(row: &Row<'_>) -> rusqlite::Result<Sum> {
        let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, Number>(column)?.0);
        Ok(Sum { bytes: number(4)?, outside: number(6)?, ..Sum::default() })
    }

    /// The role, for as long as the row is there.
    pub(crate) fn role<'a>(row: &'a Row<'_>) -> rusqlite::Result<&'a str> {
        Ok(row.get_ref(2)?.as_str()?)
    }

    /// Bytes of its text as it is read.
    pub(crate) fn bytes_as_read(&self, mode: MediaMode) -> u64 {
        match mode {
            MediaMode::Inline => self.bytes,
            MediaMode::Reference => self.bytes - self.outside,
        }
        .unsigned_abs()
    }
}

/// The text in a row, where it is there.
///
/// It is most of what a read copies, and checking that it is UTF-8 a good part of the time that takes: rusqlite's own
/// check goes byte by byte where a message is not in English.
pub(crate) fn body(row: &Row<'_>, column: usize) -> Result<Option<String>> {
    let Some(bytes) = row.get_ref(column)?.as_bytes_or_null().map_err(rusqlite::Error::from)? else {
        return Ok(None);
    };
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(damaged("a message's text is not UTF-8".to_owned())),
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
    pub(crate) fn load(&self, key: Key, mode: MediaMode) -> Result<(Head, String)> {
        let sql = format!("SELECT {}, body FROM message WHERE key = ?1", Head::COLUMNS);
        let mut statement = self.statement(&sql)?;
        let mut rows = statement.query([key])?;
        let row = rows
            .next()?
            .ok_or_else(|| damaged(format!("message {} of chain {} is missing", key.seq(), key.chain())))?;
        let head = Head::from_row(row)?;
        let text = self.text(&head, body(row, Head::COUNT)?, mode)?;
        Ok((head, text))
    }

    /// A message as it is read, with its parent looked up.
    pub(crate) fn message(&self, key: Key, mode: MediaMode) -> Result<Message> {
        let (head, text) = self.load(key, mode)?;
        let parent = self.parent_id(key)?;
        self.as_read(head, text, parent, mode)
    }

    /// A message as it is read, of parts that are known.
    pub(crate) fn as_read(
        &self,
        head: Head,
        json: String,
        parent_id: Option<String>,
        mode: MediaMode,
    ) -> Result<Message> {
        let media = if head.outside > 0 && mode == MediaMode::Reference {
            self.media_references(head.key)?
        } else {
            Vec::new()
        };
        Ok(Message {
            id: head.id,
            role: head.role,
            parent_id,
            seq: head.key.seq(),
            created_at: head.created_at,
            bytes: json.len() as u64,
            token_estimate: u32::try_from(head.tokens).unwrap_or(u32::MAX),
            json,
            media,
        })
    }

    /// The bytes and tokens of a chain up to and with one of its messages.
    pub(crate) fn sum_to(&self, message: Key, corrected: bool) -> Result<Sum> {
        let mut sum = self.stored_sum(message)?;
        if corrected {
            let correction = self.corrections_to(message)?;
            sum += Sum { gone: 0, ..correction };
        }
        Ok(sum)
    }

    fn stored_sum(&self, message: Key) -> Result<Sum> {
        Ok(self
            .statement("SELECT chain_bytes, chain_tokens, chain_outside FROM message WHERE key = ?1")?
            .query_row([message], sum_from_row)?)
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
        let text = Stored::new(message);
        let size = size(message, &text, derived.tokens);
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
                    sum += self.corrections_to(parent)?;
                    sum -= self.corrections_to(key)?;
                }
                sum += size;
                (key, sum)
            }
            attach => (Key::new(self.insert_chain(session.key, attach)?, seq), size),
        };
        if self.last_chain()? != Some(key.chain()) {
            self.begin_run(stamp.event, session.key, key)?;
        }
        self.statement(
            "INSERT INTO message(key, session, created_at, event, imported, bytes, tokens, outside, chain_bytes,
               chain_tokens, chain_outside, id, role, calls, preview, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            key,
            session.key,
            stamp.created_at,
            stamp.event,
            stamp.imported,
            size.bytes,
            size.tokens,
            size.outside,
            sum.bytes,
            sum.tokens,
            sum.outside,
            message.id(),
            message.role(),
            message::encode(&derived.calls),
            text.preview(),
            text.body(),
        ])?;
        self.insert_text(key, &text)?;
        session.last_seq = seq;
        session.leaf = Some(key);
        session.chosen = None;
        session.messages += 1;
        session.bytes += size.bytes;
        session.tokens += size.tokens;
        session.outside += size.outside;
        Ok(key)
    }

    /// Writes another text into a message's row; the caller saves the session.
    pub(crate) fn replace_message(&mut self, session: &mut Session, key: Key, message: &Incoming<'_>) -> Result<()> {
        let derived = message.derived();
        let text = Stored::new(message);
        let size = size(message, &text, derived.tokens);
        let mut change = size;
        change -= self
            .statement("SELECT bytes, tokens, outside FROM message WHERE key = ?1")?
            .query_row([key], sum_from_row)?;
        // Nothing behind it has counted the last message of a chain yet: its own sum can be mended in place.
        let last = self.next_in_chain(key)?.is_none();
        let in_place = if last { change } else { Sum::default() };
        if !last && change != Sum::default() {
            let mut corrections = Corrections::default();
            corrections.add(key, change);
            self.save_corrections(&corrections)?;
            session.corrected = true;
        }
        self.replace_words(key, text.text())?;
        self.delete_texts(key, key)?;
        self.statement(
            "UPDATE message SET bytes = ?2, tokens = ?3, outside = ?4, chain_bytes = chain_bytes + ?5,
               chain_tokens = chain_tokens + ?6, chain_outside = chain_outside + ?7, role = ?8, calls = ?9, preview = ?10,
               body = ?11 WHERE key = ?1",
        )?
        .execute(params![
            key,
            size.bytes,
            size.tokens,
            size.outside,
            in_place.bytes,
            in_place.tokens,
            in_place.outside,
            message.role(),
            message::encode(&derived.calls),
            text.preview(),
            text.body(),
        ])?;
        self.insert_text(key, &text)?;
        session.bytes += change.bytes;
        session.tokens += change.tokens;
        session.outside += change.outside;
        Ok(())
    }

    /// Notes that the writing moves to another chain with a message.
    pub(crate) fn begin_run(&mut self, event: i64, session: i64, first: Key) -> Result<()> {
        self.statement("INSERT INTO run(event, session, seq, chain) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
            event,
            session,
            first.seq(),
            first.chain()
        ])?;
        self.memo.chain = Some(first.chain());
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

/// What a message amounts to.
fn size(message: &Incoming<'_>, text: &Stored<'_>, tokens: u32) -> Sum {
    Sum { bytes: message.text().len() as i64, tokens: i64::from(tokens), outside: text.outside as i64, gone: 0 }
}

/// Bytes, tokens and bytes outside, in this order.
fn sum_from_row(row: &Row<'_>) -> rusqlite::Result<Sum> {
    let number = |column| Ok::<_, rusqlite::Error>(row.get::<_, Number>(column)?.0);
    Ok(Sum { bytes: number(0)?, tokens: number(1)?, outside: number(2)?, gone: 0 })
}
