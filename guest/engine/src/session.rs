//! The row of a session: its counters, its present leaf, its place among the recent ones.

use rusqlite::{OptionalExtension, Row, params};

use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::number::Number;
use crate::store::Tx;

/// Bytes that an id of a session or message may have.
pub(crate) const MAX_ID_BYTES: usize = 1024;

/// A session as it is in its row.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) key: i64,
    pub(crate) last_seq: u32,
    /// The message with the greatest seq.
    pub(crate) leaf: Option<Key>,
    /// The leaf that was chosen.
    pub(crate) chosen: Option<Key>,
    pub(crate) messages: i64,
    pub(crate) bytes: i64,
    pub(crate) tokens: i64,
    /// Bytes of its messages that are kept as media.
    pub(crate) outside: i64,
    /// Overlays on any of its paths.
    pub(crate) overlays: i64,
    /// Whether overlays overlap otherwise than one inside a younger one: then each read has to compare them all.
    pub(crate) tangled: bool,
    /// How many calls have deleted something: tells a cursor when to look closer.
    pub(crate) deletions: i64,
    /// Whether any chain of it has corrections: most sessions never do, and their sums cost no look.
    pub(crate) corrected: bool,
}

impl Session {
    const SELECT: &str =
        "SELECT key, last_seq, leaf, chosen, messages, bytes, tokens, deletions, corrected, outside, overlays, tangled
         FROM session WHERE id = ?1";

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            last_seq: row.get(1)?,
            leaf: row.get(2)?,
            chosen: row.get(3)?,
            messages: row.get::<_, Number>(4)?.0,
            bytes: row.get::<_, Number>(5)?.0,
            tokens: row.get::<_, Number>(6)?.0,
            deletions: row.get::<_, Number>(7)?.0,
            corrected: row.get(8)?,
            outside: row.get::<_, Number>(9)?.0,
            overlays: row.get::<_, Number>(10)?.0,
            tangled: row.get(11)?,
        })
    }

    /// The present leaf: the chosen one, else the newest.
    pub(crate) fn present_leaf(&self) -> Option<Key> {
        self.chosen.or(self.leaf)
    }
}

/// Refuses an id that cannot be a session's.
pub(crate) fn validate_id(id: &str) -> Result<()> {
    if id.len() > MAX_ID_BYTES {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!("a session id may have at most {MAX_ID_BYTES} bytes; this one has {}", id.len()),
        )
        .subject("session")
        .numbers(id.len() as u64, MAX_ID_BYTES as u64));
    }
    Ok(())
}

impl Tx<'_> {
    /// The session of this id, if it was ever written.
    pub(crate) fn session(&self, id: &str) -> Result<Option<Session>> {
        validate_id(id)?;
        Ok(self.statement(Session::SELECT)?.query_row([id], Session::from_row).optional()?)
    }

    /// The session of this id, made if it is not there.
    pub(crate) fn ensure_session(&mut self, id: &str, now: i64) -> Result<Session> {
        if let Some(session) = self.session(id)? {
            return Ok(session);
        }
        // A number of its own, so that no two sessions are ever equally recent.
        let event = self.next_quiet_event()?;
        self.statement(
            "INSERT INTO session(last_seq, messages, bytes, tokens, outside, overlays, tangled, deletions, corrected,
               created_at, active_at,
               last_event, rank, id)
             VALUES (0, 0, 0, 0, 0, 0, 0, 0, 0, ?1, ?1, ?2, ?2, ?3)",
        )?
        .execute(params![now, event, id])?;
        let key = self.connection.last_insert_rowid();
        self.memo.newest = Some(key);
        Ok(Session {
            key,
            last_seq: 0,
            leaf: None,
            chosen: None,
            messages: 0,
            bytes: 0,
            tokens: 0,
            outside: 0,
            overlays: 0,
            tangled: false,
            deletions: 0,
            corrected: false,
        })
    }

    /// Writes the counters and leaves of a session.
    pub(crate) fn save_session(&self, session: &Session) -> Result<()> {
        self.statement(
            "UPDATE session SET last_seq = ?2, leaf = ?3, chosen = ?4, messages = ?5, bytes = ?6, tokens = ?7,
               deletions = ?8, corrected = ?9, outside = ?10, overlays = ?11, tangled = ?12 WHERE key = ?1",
        )?
        .execute(params![
            session.key,
            session.last_seq,
            session.leaf,
            session.chosen,
            session.messages,
            session.bytes,
            session.tokens,
            session.deletions,
            session.corrected,
            session.outside,
            session.overlays,
            session.tangled,
        ])?;
        Ok(())
    }

    /// Writes the session after an append, update or import: it is now the most recent one.
    pub(crate) fn save_active_session(&mut self, session: &Session, event: i64, now: i64) -> Result<()> {
        self.statement(
            "UPDATE session SET last_seq = ?2, leaf = ?3, chosen = ?4, messages = ?5, bytes = ?6, tokens = ?7,
               corrected = ?8, active_at = ?9, last_event = ?10, outside = ?11 WHERE key = ?1",
        )?
        .execute(params![
            session.key,
            session.last_seq,
            session.leaf,
            session.chosen,
            session.messages,
            session.bytes,
            session.tokens,
            session.corrected,
            now,
            event,
            session.outside,
        ])?;
        if self.newest_session()? != Some(session.key) {
            self.statement("UPDATE session SET rank = ?2 WHERE key = ?1")?.execute(params![session.key, event])?;
            self.memo.newest = Some(session.key);
        }
        Ok(())
    }

    /// The session with the last activity.
    fn newest_session(&mut self) -> Result<Option<i64>> {
        if self.memo.newest.is_none() {
            self.memo.newest = self
                .statement("SELECT key FROM session ORDER BY rank DESC LIMIT 1")?
                .query_row([], |row| row.get(0))
                .optional()?;
        }
        Ok(self.memo.newest)
    }

    /// The number of the last event of the store. The most recent session knows the last activity, `meta` the last
    /// event that was none.
    pub(crate) fn last_event(&mut self) -> Result<i64> {
        if let Some(event) = self.memo.event {
            return Ok(event);
        }
        let event = self
            .statement(
                "SELECT max((SELECT value FROM meta WHERE name = 'event'),
                            coalesce((SELECT last_event FROM session ORDER BY rank DESC LIMIT 1), 0))",
            )?
            .query_row([], |row| Ok(row.get::<_, Number>(0)?.0))?;
        self.memo.event = Some(event);
        Ok(event)
    }

    /// The number for the next event, which is written with the session that is active.
    pub(crate) fn next_event(&mut self) -> Result<i64> {
        let event = self.last_event()? + 1;
        self.memo.event = Some(event);
        Ok(event)
    }

    /// The number for an event that is no activity of a session.
    pub(crate) fn next_quiet_event(&mut self) -> Result<i64> {
        let event = self.next_event()?;
        self.statement("UPDATE meta SET value = ?1 WHERE name = 'event'")?.execute([event])?;
        Ok(event)
    }
}
