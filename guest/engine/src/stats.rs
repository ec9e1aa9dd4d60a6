//! The store in numbers: what fills the file.

use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::place::Place;
use crate::schema::SCHEMA_VERSION;
use crate::store::{Store, Tx};
use crate::types::{LargeMessage, StoreBytes, StoreStats};

/// Large messages that are named.
const LARGEST: u32 = 10;

impl<P: Place> Store<P> {
    /// What fills the store. Reads counters, not messages.
    pub fn stats(&mut self) -> Result<StoreStats> {
        let written = self.is_written()?;
        self.read(|tx| {
            let (sessions, messages, text): (i64, i64, i64) = tx
                .statement(
                    "SELECT count(*), coalesce(sum(messages), 0), coalesce(sum(bytes - outside), 0) FROM session",
                )?
                .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let media: i64 =
                tx.statement("SELECT coalesce(sum(bytes), 0) FROM payload")?.query_row([], |row| row.get(0))?;
            let page = tx.pragma("page_size")?;
            Ok(StoreStats {
                messages: messages.unsigned_abs(),
                sessions: sessions.unsigned_abs(),
                bytes: StoreBytes {
                    file: if written { page * tx.pragma("page_count")? } else { 0 },
                    messages: text.unsigned_abs(),
                    media_bytes: media.unsigned_abs(),
                    index: page * tx.index_blocks()?,
                    free: page * tx.pragma("freelist_count")?,
                },
                largest: tx.largest()?,
                schema_version: SCHEMA_VERSION.unsigned_abs(),
            })
        })
    }
}

impl Tx<'_> {
    fn pragma(&self, name: &str) -> Result<u64> {
        let number: Option<i64> =
            self.statement(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0)).optional()?;
        Ok(number.unwrap_or(0).unsigned_abs())
    }

    fn largest(&self) -> Result<Vec<LargeMessage>> {
        let mut statement = self.statement(
            "SELECT s.id, m.id, m.bytes FROM message m JOIN session s ON s.key = m.session
             WHERE m.bytes > 65536 ORDER BY m.bytes DESC LIMIT ?1",
        )?;
        let rows = statement.query_map([LARGEST], |row| {
            Ok(LargeMessage { session_id: row.get(0)?, id: row.get(1)?, bytes: row.get::<_, i64>(2)?.unsigned_abs() })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
