//! The sessions of a store: listing them, and giving them titles. No message is read for it but the id of the leaf.

use rusqlite::{OptionalExtension, Row, params};

use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::history::page_limit;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{EventKind, Page, SessionEntry};

/// Sessions per page where nothing is said.
const PAGE: u32 = 100;

/// Bytes that a title may have.
pub(crate) const MAX_TITLE_BYTES: usize = 1024;

/// What the directory adds to the schema.
pub(crate) const TABLES: &str = "
-- What a session is called. `automatic`: a program made it up, and any other title takes its place.
CREATE TABLE title(
  session INTEGER PRIMARY KEY,
  automatic INTEGER NOT NULL,
  title TEXT NOT NULL
) STRICT;
";

/// What an entry is read from.
const ENTRY: &str =
    "SELECT s.rank, s.id, t.title, coalesce(t.automatic, 0), s.created_at, s.active_at, s.messages, s.tokens,
    (SELECT m.id FROM message m WHERE m.key = coalesce(s.chosen, s.leaf))
  FROM session s LEFT JOIN title t ON t.session = s.key";

impl<P: Place> Store<P> {
    /// The sessions, newest activity first: the last append, update or import counts, by the number of its event. A
    /// session that becomes active while pages are being read moves to the front, and is on no later page.
    pub fn list_sessions(&mut self, cursor: Option<&str>, limit: Option<u32>) -> Result<Page<SessionEntry>> {
        let limit = page_limit(limit, PAGE, "limit")?;
        self.read(|tx| {
            let before = match cursor {
                None => i64::MAX,
                Some(cursor) => {
                    let [rank] = tx.decode_cursor(Purpose::Sessions, cursor)?;
                    i64::try_from(rank).map_err(|_| stale("the cursor stands nowhere"))?
                }
            };
            let mut entries = tx.statement(&format!("{ENTRY} WHERE s.rank < ?1 ORDER BY s.rank DESC LIMIT ?2"))?;
            let mut rows = entries.query(params![before, i64::from(limit) + 1])?;
            let mut page = Page { items: Vec::new(), cursor: None };
            let mut last = 0;
            while let Some(row) = rows.next()? {
                if page.items.len() == limit as usize {
                    page.cursor = Some(tx.encode_cursor(Purpose::Sessions, &[last])?);
                    break;
                }
                last = row.get::<_, i64>(0)?.unsigned_abs();
                page.items.push(entry_from_row(row)?);
            }
            Ok(page)
        })
    }

    /// One session, without its messages.
    pub fn session_info(&mut self, session: &str) -> Result<SessionEntry> {
        self.read(|tx| {
            let session = tx.known_session(session)?;
            tx.entry(&session)
        })
    }

    /// Gives a session a title, or takes it away. One that a user gave is never changed by an automatic one: nothing
    /// happens then. An empty title is none.
    pub fn set_title(&mut self, session: &str, title: Option<&str>, automatic: bool) -> Result<SessionEntry> {
        let title = title.filter(|title| !title.is_empty());
        if let Some(title) = title
            && title.len() > MAX_TITLE_BYTES
        {
            return Err(Error::new(
                Kind::InvalidArgument,
                format!("a title may have at most {MAX_TITLE_BYTES} bytes; this one has {}", title.len()),
            )
            .subject("title")
            .numbers(title.len() as u64, MAX_TITLE_BYTES as u64));
        }
        self.write(|tx| {
            let found = tx.known_session(session)?;
            let stored = tx.title(found.key)?;
            let a_users = matches!(stored, Some((_, false)));
            let same = stored.as_ref().map(|(stored, by)| (stored.as_str(), *by)) == title.map(|new| (new, automatic));
            if same || automatic && a_users {
                return tx.entry(&found);
            }
            match title {
                Some(title) => tx
                    .statement("INSERT OR REPLACE INTO title(session, automatic, title) VALUES (?1, ?2, ?3)")?
                    .execute(params![found.key, automatic, title])?,
                None => tx.statement("DELETE FROM title WHERE session = ?1")?.execute([found.key])?,
            };
            tx.record_event(session, EventKind::SessionChanged, &[])?;
            tx.entry(&found)
        })
    }

    /// Deletes a session with all that belongs to it. Answers how many messages that were. One that comes again under
    /// the same id has nothing to do with it.
    pub fn delete_session(&mut self, session: &str) -> Result<u32> {
        self.free(|tx| {
            let mut found = tx.known_session(session)?;
            let messages = u32::try_from(found.messages).unwrap_or(u32::MAX);
            // While the session is there: the row of the most recent one is what tells the number of the last event.
            tx.last_event()?;
            tx.clear(&mut found)?;
            tx.delete_context(found.key)?;
            for sql in [
                "DELETE FROM config WHERE session = ?1",
                "DELETE FROM title WHERE session = ?1",
                "DELETE FROM session WHERE key = ?1",
            ] {
                tx.statement(sql)?.execute([found.key])?;
            }
            // What was the most recent session is so no longer, and its chain is no place to go on.
            (tx.memo.newest, tx.memo.chain, tx.memo.threshold) = (None, None, None);
            let event = tx.next_quiet_event()?;
            tx.statement("INSERT INTO gone(session, event, id) VALUES (?1, ?2, ?3)")?
                .execute(params![found.key, event, session])?;
            tx.write_event(event, &found.key, EventKind::SessionChanged, None, &[])?;
            Ok(messages)
        })
    }
}

impl Tx<'_> {
    /// A session that the caller says is there.
    pub(crate) fn known_session(&self, id: &str) -> Result<Session> {
        self.session(id)?
            .ok_or_else(|| Error::new(Kind::UnknownSession, "there is no session of that id in this store").subject(id))
    }

    /// What a session is called, and whether a program made it up.
    pub(crate) fn title(&self, session: i64) -> Result<Option<(String, bool)>> {
        Ok(self
            .statement("SELECT title, automatic FROM title WHERE session = ?1")?
            .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    fn entry(&self, session: &Session) -> Result<SessionEntry> {
        Ok(self.statement(&format!("{ENTRY} WHERE s.key = ?1"))?.query_row([session.key], entry_from_row)?)
    }
}

fn entry_from_row(row: &Row<'_>) -> rusqlite::Result<SessionEntry> {
    Ok(SessionEntry {
        id: row.get(1)?,
        title: row.get(2)?,
        title_automatic: row.get(3)?,
        created_at: row.get(4)?,
        last_activity_at: row.get(5)?,
        messages: u32::try_from(row.get::<_, i64>(6)?).unwrap_or(u32::MAX),
        tokens: row.get::<_, i64>(7)?.unsigned_abs(),
        leaf_id: row.get(8)?,
    })
}
