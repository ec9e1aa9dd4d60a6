//! The file: its identity, its settings and its tables.
//!
//! The application id says that a SQLite file is ours, `user_version` which schema it has. Both page size and
//! auto-vacuum can only be changed by rewriting the file, so they are chosen for what a store does most:
//!
//! - Pages of 4,096 bytes. A durable append writes each page that it touches to the log, whole; the three or four pages
//!   of an append cost less at this size than at a larger one, and it is the size at which disks and their caches
//!   write without reading first. Long messages fill pages of their own.
//! - No auto-vacuum. It would add a page of pointers to the pages touched by every append that grows the file; space
//!   that deletes free is used again, and `VACUUM` gives it back to the disk.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::{Error, Kind, Result};
use crate::store::Durability;

/// "TkTr": what `file` and other tools see in the header.
pub const APPLICATION_ID: i32 = 0x546b_5472;

/// The schema that this version writes.
pub const SCHEMA_VERSION: i32 = 2;

/// The first schema that there was.
const FIRST_VERSION: i32 = 1;

/// Bytes of a page.
pub(crate) const PAGE_SIZE: u32 = 4096;

/// Page cache of a store, in KiB. Appends and recent history touch a handful of pages; a scan gains nothing from more.
const CACHE_KIB: i64 = 4096;

/// Pages of log after which it is written back into the file: 4 MiB.
const CHECKPOINT_PAGES: i64 = 1000;

/// What schema 2 adds, each text by the module whose tables it makes. Made by `create` and by `migrate` alike, so a store
/// that was migrated has the tables of a new one.
const ADDED_IN_2: &[&str] =
    &[crate::feed::TABLES, crate::directory::TABLES, crate::context::TABLES, crate::lines::TABLES];

/// Schema 1. It never changes: stores that were written with it are migrated from it.
const TABLES: &str = "
CREATE TABLE meta(
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each session; `rank` is the event that made it the most recent one, and changes only when another
-- session was more recent, so that a run of appends to one session leaves the index alone.
CREATE TABLE session(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  last_seq INTEGER NOT NULL,
  leaf INTEGER,
  chosen INTEGER,
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  outside INTEGER NOT NULL,
  overlays INTEGER NOT NULL,
  tangled INTEGER NOT NULL,
  deletions INTEGER NOT NULL,
  corrected INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  active_at INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  id TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX session_id ON session(id);
CREATE INDEX session_rank ON session(rank);

-- A run of messages, each the child of the one before. `attach` is the place that its first message answers, null for
-- a root; the place keeps its meaning when the message there is deleted. `depth` counts the chains above, `jump` is a
-- chain further up (null at the top), so that any chain of a path is found in logarithmic time.
CREATE TABLE chain(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  attach INTEGER,
  depth INTEGER NOT NULL,
  jump INTEGER
) STRICT;
CREATE INDEX chain_attach ON chain(session, attach);

-- `imported` is 1 for an import, and 2 for a copy that a fork made, which is no event.
-- key = chain << 32 | seq. `bytes` is the length of the whole text, `outside` how much of it is kept in `media`.
-- `chain_...` are sums over the chain up to and with this message, as they were when it was written; what changed since
-- is in `correction`. A text that is too large for its row is in `piece`, and `preview` says how it begins.
CREATE TABLE message(
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  event INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  outside INTEGER NOT NULL,
  chain_bytes INTEGER NOT NULL,
  chain_tokens INTEGER NOT NULL,
  chain_outside INTEGER NOT NULL,
  id TEXT NOT NULL,
  role TEXT NOT NULL,
  calls TEXT,
  preview TEXT,
  body TEXT
) STRICT;
CREATE UNIQUE INDEX message_id ON message(session, id);
CREATE INDEX message_large ON message(bytes) WHERE bytes > 65536;

-- The text of a message that is too large for its row.
CREATE TABLE piece(
  key INTEGER PRIMARY KEY,
  message INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE INDEX piece_message ON piece(message);

-- Payloads: raw bytes that messages carried as base64, once for equal bytes, gone with the last reference.
CREATE TABLE payload(
  key INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  bytes INTEGER NOT NULL,
  refs INTEGER NOT NULL
) STRICT;

-- A payload in slices of 192 KiB, so that slices of it become base64 one by one.
CREATE TABLE slice(
  key INTEGER PRIMARY KEY,
  payload INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE INDEX slice_payload ON slice(payload);

-- Where a message's text continues with a payload: `at` counts bytes of the text that is in the row or its pieces, and
-- `prefix` is what stood before the base64 in the same string. Only the store writes here, so no message can name a
-- payload that it did not bring.
CREATE TABLE media(
  message INTEGER NOT NULL,
  at INTEGER NOT NULL,
  payload INTEGER NOT NULL,
  prefix TEXT NOT NULL,
  type TEXT NOT NULL,
  pointer TEXT NOT NULL,
  PRIMARY KEY (message, at)
) STRICT, WITHOUT ROWID;

-- From which seq on a session's messages went to which chain, by the event of the first of them: one row each time
-- that the writing moves to another chain.
CREATE TABLE run(
  event INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  chain INTEGER NOT NULL
) STRICT;
CREATE INDEX run_seq ON run(session, seq);

-- What updates and deletes changed in the sums of a chain: a tree of 64 blocks each, by seq >> 6 * level.
CREATE TABLE correction(
  chain INTEGER NOT NULL,
  level INTEGER NOT NULL,
  block INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  outside INTEGER NOT NULL,
  gone INTEGER NOT NULL,
  PRIMARY KEY (chain, level, block)
) STRICT, WITHOUT ROWID;

-- Summaries that stand for runs of messages on reading. `first` and `last` are covered messages, `place` is where the
-- overlay belongs: at `last`, or below it where messages that something hangs on were deleted.
CREATE TABLE overlay(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  place INTEGER NOT NULL,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  event INTEGER NOT NULL,
  automatic INTEGER NOT NULL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  id TEXT NOT NULL UNIQUE,
  first_id TEXT NOT NULL,
  last_id TEXT NOT NULL,
  summary TEXT NOT NULL
) STRICT;
CREATE INDEX overlay_session ON overlay(session);
CREATE INDEX overlay_place ON overlay(place);

-- Compactions that came to nothing since the last one, and the tokens of the path from which on the next is tried.
CREATE TABLE refusal(
  session INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  wait INTEGER NOT NULL
) STRICT;

-- Session 0 is the store.
CREATE TABLE config(
  session INTEGER NOT NULL,
  name TEXT NOT NULL,
  value ANY NOT NULL,
  PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

INSERT INTO meta VALUES ('epoch', abs(random() >> 1)), ('event', 0);
";

/// Makes a store that was copied another life of it, in which cursors of the first are unknown.
pub(crate) fn renew_epoch(connection: &Connection) -> Result<()> {
    connection.execute("UPDATE meta SET value = abs(random() >> 1) WHERE name = 'epoch'", [])?;
    Ok(())
}

/// Settings that hold for every connection, whatever the file says. Nothing here reads the file.
pub(crate) fn harden(connection: &Connection) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_prepared_statement_cache_capacity(128);
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "temp_store", "file")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(())
}

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A store of this version.
    Store,
    /// A store of an earlier version, which has this schema.
    Older(i32),
    /// Nothing yet.
    Empty,
}

/// Looks at the header, before anything is written. A file that is not ours is refused here.
pub(crate) fn identify(connection: &Connection) -> Result<Found> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let application = number("application_id")?;
    let version = number("user_version")?;
    if application == APPLICATION_ID {
        return match version {
            SCHEMA_VERSION => Ok(Found::Store),
            older @ FIRST_VERSION..SCHEMA_VERSION => Ok(Found::Older(older)),
            newer if newer > SCHEMA_VERSION => Err(Error::new(
                Kind::SchemaTooNew,
                format!(
                    "the store was written by a newer version (schema {newer}); this one reads up to {SCHEMA_VERSION}"
                ),
            )
            .numbers(u64::from(newer.unsigned_abs()), u64::from(SCHEMA_VERSION.unsigned_abs()))),
            other => {
                Err(Error::new(Kind::Corrupt, format!("the store's header names a schema {other} that never was")))
            }
        };
    }
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application == 0 && version == 0 && tables == 0 {
        return Ok(Found::Empty);
    }
    Err(Error::new(Kind::NotAStore, "the file is a database of another program; it was left alone"))
}

/// Switches to the write-ahead log, with its index on the heap: `locking_mode=EXCLUSIVE` has been set before.
pub(crate) fn use_log(connection: &Connection, durability: Durability) -> Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Error::new(Kind::Other, format!("the write-ahead log cannot be used here: the mode stays {mode}")));
    }
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", 2 * CHECKPOINT_PAGES * i64::from(PAGE_SIZE))?;
    Ok(())
}

/// What can only be said before the first page is written.
pub(crate) fn shape(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.pragma_update(None, "auto_vacuum", "none")?;
    Ok(())
}

/// Makes the tables and signs the file, all or nothing.
pub(crate) fn create(connection: &Connection) -> Result<()> {
    let added = ADDED_IN_2.concat();
    in_one_transaction(
        connection,
        &format!("{TABLES} {added} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"),
    )
}

/// Adds what an earlier schema lacks, all or nothing.
pub(crate) fn migrate(connection: &Connection) -> Result<()> {
    let added = ADDED_IN_2.concat();
    in_one_transaction(connection, &format!("{added} PRAGMA user_version = {SCHEMA_VERSION};"))
}

fn in_one_transaction(connection: &Connection, sql: &str) -> Result<()> {
    let made = connection.execute_batch(&format!("BEGIN IMMEDIATE; {sql} COMMIT;"));
    if made.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    made.map_err(Error::from)
}
