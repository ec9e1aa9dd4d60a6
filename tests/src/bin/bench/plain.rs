//! The yardstick: what a person would write by hand with SQLite. One table, one message per transaction, the same log
//! and the same syncs; no tree, no checks of what is written.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::{Connection, params};

use crate::contender::{Amount, Contender, Durability};

/// Messages per page of a read, as in the contract. (The `+` before `session` in the queries keeps SQLite from going
/// through the index of ids, which has the session too, and sorting.)
const PAGE: usize = 50;

pub(crate) struct Plain {
    database: PathBuf,
    durability: Durability,
    connection: Option<Connection>,
}

impl Plain {
    pub(crate) fn new(directory: &Path, durability: Durability) -> Self {
        Self { database: directory.join("plain.db"), durability, connection: None }
    }

    fn connection(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            let connection = Connection::open(&self.database)?;
            connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
            let synchronous = match self.durability {
                Durability::Full => "FULL",
                Durability::Normal => "NORMAL",
            };
            connection.pragma_update(None, "synchronous", synchronous)?;
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS message(
                   seq INTEGER PRIMARY KEY, session TEXT NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL,
                   created_at INTEGER NOT NULL, content TEXT NOT NULL, UNIQUE (session, id))",
            )?;
            self.connection = Some(connection);
        }
        self.connection.as_mut().context("the connection was opened")
    }

    fn insert(connection: &Connection, message: &str) -> Result<()> {
        // The id and the role stand at the same place in every message of the workload.
        let id = message.get(7..23).context("an id of 16 characters")?;
        let role = if message.get(33..37) == Some("user") { "user" } else { "assistant" };
        connection
            .prepare_cached("INSERT INTO message(session, id, role, created_at, content) VALUES ('', ?1, ?2, ?3, ?4)")?
            .execute(params![id, role, 1_700_000_000_000_i64, message])?;
        Ok(())
    }

    fn page(connection: &Connection, amount: &mut Amount, after: i64) -> Result<Option<i64>> {
        let mut statement = connection.prepare_cached(
            "SELECT seq, id, role, created_at, content FROM message WHERE +session = '' AND seq > ?1 ORDER BY seq LIMIT 50",
        )?;
        let rows = statement.query_map([after], |row| {
            let columns: (String, String, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get::<_, i64>(0)?, columns, row.get::<_, String>(4)?))
        })?;
        let page = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        page.iter().for_each(|(_, _, content)| amount.add(content.len()));
        Ok(page.last().filter(|_| page.len() == PAGE).map(|(seq, ..)| *seq))
    }
}

impl Contender for Plain {
    fn append(&mut self, message: &str) -> Result<()> {
        Self::insert(self.connection()?, message)
    }

    fn append_all(&mut self, messages: Vec<String>) -> Result<()> {
        let transaction = self.connection()?.transaction()?;
        for message in &messages {
            Self::insert(&transaction, message)?;
        }
        Ok(transaction.commit()?)
    }

    fn arm(&mut self) -> Result<()> {
        Ok(())
    }

    fn read_all(&mut self) -> Result<Amount> {
        let connection = self.connection()?;
        let mut amount = Amount::default();
        let mut after = Some(0);
        while let Some(seq) = after {
            after = Self::page(connection, &mut amount, seq)?;
        }
        Ok(amount)
    }

    fn read_first(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        Self::page(self.connection()?, &mut amount, 0)?;
        Ok(amount)
    }

    fn read_recent(&mut self, max_bytes: u64) -> Result<Amount> {
        let connection = self.connection()?;
        let mut statement = connection.prepare_cached(
            "SELECT id, role, created_at, content FROM message WHERE +session = '' ORDER BY seq DESC",
        )?;
        let mut rows = statement.query([])?;
        let mut found: Vec<(String, String, i64, String)> = Vec::new();
        let mut amount = Amount::default();
        while let Some(row) = rows.next()? {
            let content: String = row.get(3)?;
            if amount.bytes + content.len() as u64 > max_bytes && amount.messages > 0 {
                break;
            }
            amount.add(content.len());
            found.push((row.get(0)?, row.get(1)?, row.get(2)?, content));
        }
        found.reverse();
        std::hint::black_box(found);
        Ok(amount)
    }

    fn read_leaf(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        let content: String = self
            .connection()?
            .prepare_cached("SELECT content FROM message WHERE +session = '' ORDER BY seq DESC LIMIT 1")?
            .query_row([], |row| row.get(0))?;
        amount.add(content.len());
        Ok(amount)
    }

    fn append_to(&mut self, _session: &str, message: &str) -> Result<()> {
        self.append(message)
    }

    fn list(&mut self, _limit: u32, _cursor: Option<String>) -> Result<Option<(usize, Option<String>)>> {
        Ok(None)
    }

    fn search(&mut self, _query: &str) -> Result<Option<usize>> {
        Ok(None)
    }

    fn index_bytes(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn close(&mut self) -> Result<()> {
        match self.connection.take() {
            Some(connection) => connection.close().map_err(|(_, error)| error.into()),
            None => Ok(()),
        }
    }

    fn database(&self) -> Result<PathBuf> {
        Ok(self.database.clone())
    }
}
