//! A store: its file, opened when it is first needed, and the transaction that every call is.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, OpenFlags};

use crate::error::{Error, Kind, Result};
use crate::migrate;
use crate::place::Place;
use crate::room::{self, Room};
use crate::schema::{self, Found};

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Loss of power.
    #[default]
    Full,
    /// The death of the process; after loss of power the last writes may be missing, and the store is sound.
    Normal,
}

/// What the surroundings decide about a store.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Metadata keys that no client may write, beside those that are configured.
    pub reserved_metadata_keys: Vec<String>,
    /// Events that are kept for the feed beside those that the messages themselves tell; by default 100,000.
    pub kept_events: Option<u32>,
    /// Bytes that the file may have; beyond that only calls that make room may make it larger. None: any number.
    pub max_file_bytes: Option<u64>,
}

/// A store of conversations.
pub struct Store<P> {
    place: P,
    options: Options,
    connection: Option<Connection>,
    memo: Memo,
    room: Room,
    /// The number of the copy that is being handed out.
    pub(crate) snapshot: Option<u64>,
}

/// What is known of the file without looking. It is true as long as nobody else writes, and forgotten when a
/// transaction fails.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    /// The number of the last event.
    pub(crate) event: Option<i64>,
    /// The session that had the last activity.
    pub(crate) newest: Option<i64>,
    /// The chain that the last message went to.
    pub(crate) chain: Option<u32>,
    /// For the session that was last written: from how many tokens on a compaction is due, and the factor that its
    /// estimates are taken by.
    pub(crate) threshold: Option<(i64, Option<(u32, f64)>)>,
    /// What tells this life of the store from others.
    pub(crate) epoch: Option<i64>,
}

/// A transaction: what the operations work on.
pub(crate) struct Tx<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) memo: &'a mut Memo,
    pub(crate) options: &'a Options,
}

impl<'a> Tx<'a> {
    /// A statement, compiled once for the life of the connection.
    pub(crate) fn statement(&self, sql: &str) -> Result<CachedStatement<'a>> {
        Ok(self.connection.prepare_cached(sql)?)
    }
}

impl<P: Place> Store<P> {
    /// The store at a place. Nothing is touched before the first call.
    pub fn new(place: P, options: Options) -> Self {
        Self { place, options, connection: None, memo: Memo::default(), room: Room::default(), snapshot: None }
    }

    /// Whether there is anything in the file system.
    pub(crate) fn is_written(&self) -> Result<bool> {
        Ok(self.connection.is_some() || self.place.exists()?)
    }

    /// Where the store is.
    pub fn place(&self) -> &P {
        &self.place
    }

    /// Where the store is, for files beside it.
    pub(crate) fn place_mut(&mut self) -> &mut P {
        &mut self.place
    }

    /// Writes the log back into the file and lets go of it; the next call opens it again.
    pub fn close(&mut self) -> Result<()> {
        let closed = self.close_connection();
        self.place.release();
        closed
    }

    fn close_connection(&mut self) -> Result<()> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        self.memo = Memo::default();
        self.room = Room::default();
        match self.place.begin(!self.place.read_only()) {
            // Others have written since: what this connection knows of the log is out of date, and must not be used.
            Ok(true) => {
                drop(connection);
                self.place.end()
            }
            Ok(false) => {
                let closed = connection.close().map_err(|(_, error)| Error::from(error));
                self.place.end()?;
                closed
            }
            // Without room for a mark the log stays as it is: whoever opens the store reads it.
            Err(error) if error.kind == Kind::StorageFull => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A call that only reads.
    pub(crate) fn read<T>(&mut self, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        self.turn(false, |store| {
            if store.is_written()? {
                store.connect(false)?;
            }
            let Some(connection) = &store.connection else {
                // What was never written answers as something empty, and stays unwritten.
                return run(&in_memory()?, &mut Memo::default(), &store.options, Access::Read, work);
            };
            run(connection, &mut store.memo, &store.options, Access::Read, work)
        })
    }

    /// A call that may write: all of it happens, or nothing.
    pub(crate) fn write<T>(&mut self, mut work: impl FnMut(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        if self.place.read_only() {
            return Err(Error::new(Kind::ReadOnly, "the store's directory can only be read"));
        }
        self.turn(true, |store| {
            if !store.is_written()? {
                // A first write that fails, or changes nothing, must not leave a store behind: it is tried beforehand.
                let connection = in_memory()?;
                let before = connection.total_changes();
                let answer = run(&connection, &mut Memo::default(), &store.options, Access::Read, &mut work)?;
                if connection.total_changes() == before {
                    return Ok(answer);
                }
            }
            store.connect(true)?;
            let Some(connection) = &store.connection else { return Err(lost()) };
            store.room.limit(connection, &store.options)?;
            let answer = run(connection, &mut store.memo, &store.options, Access::Write, &mut work);
            match answer {
                Err(error) if error.kind == Kind::StorageFull => Err(store.full(error)),
                answer => answer,
            }
        })
    }

    /// A call that makes room: it may go beyond the limit of the file by the reserve.
    pub(crate) fn free<T>(&mut self, work: impl FnMut(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        self.room.reserve = true;
        let answer = self.write(work);
        self.room.reserve = false;
        answer
    }

    /// Says what there was no room for, where it may be the limit, and takes what the attempt has left in the log away.
    fn full(&self, error: Error) -> Error {
        let Some(connection) = &self.connection else { return error };
        if connection.is_autocommit() {
            // Where the log cannot be written back it stays as it is.
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        let pages = connection.query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0));
        match (self.options.max_file_bytes, pages) {
            (Some(limit), Ok(pages)) => room::beyond(limit, pages, &error),
            _ => error,
        }
    }

    /// Work on the file as a whole, outside of any transaction. None: nothing was ever written, and nothing is done.
    pub(crate) fn alone<T>(&mut self, work: impl FnOnce(&Connection, &mut P) -> Result<T>) -> Result<Option<T>> {
        if self.place.read_only() {
            return Err(Error::new(Kind::ReadOnly, "the store's directory can only be read"));
        }
        self.turn(true, |store| {
            if store.is_written()? {
                store.connect(false)?;
            }
            match &store.connection {
                Some(connection) => work(connection, &mut store.place).map(Some),
                None => Ok(None),
            }
        })
    }

    /// One turn at the place, with nothing left of what is out of date.
    fn turn<T>(&mut self, write: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.place.begin(write)? {
            self.forget();
        }
        let answer = work(self);
        if answer.is_err() {
            self.memo = Memo::default();
        }
        // A failed disk may leave the connection in a state that only a new one mends.
        if self.connection.as_ref().is_some_and(|connection| !connection.is_autocommit()) {
            self.forget();
        }
        if let Err(error) = self.place.end() {
            self.forget();
            return Err(error);
        }
        answer
    }

    fn forget(&mut self) {
        self.connection = None;
        self.room.forget();
        self.memo = Memo::default();
    }

    /// Opens the file, unless it is open. For reading, one with nothing in it stays closed.
    fn connect(&mut self, write: bool) -> Result<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        self.connection = if self.place.read_only() {
            open_read_only(&self.place.database())?
        } else {
            self.place.sweep()?;
            open(&mut self.place, self.options.durability, write)?
        };
        Ok(())
    }
}

fn lost() -> Error {
    Error::new(Kind::Other, "the store is not open")
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Runs a transaction to its end.
fn run<T>(
    connection: &Connection,
    memo: &mut Memo,
    options: &Options,
    access: Access,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
) -> Result<T> {
    let begin = if access == Access::Write { "BEGIN IMMEDIATE" } else { "BEGIN" };
    connection.prepare_cached(begin)?.execute([])?;
    let answer = work(&mut Tx { connection, memo, options }).and_then(|answer| {
        match connection.prepare_cached("COMMIT")?.execute([]) {
            // SQLite may refuse to end a reading that has met damage; what was read stands.
            Err(error) if access == Access::Write => Err(error.into()),
            _ => Ok(answer),
        }
    });
    if !connection.is_autocommit() {
        // Its own failure is no news: the connection is then thrown away.
        let _ = connection.execute_batch("ROLLBACK");
    }
    answer
}

/// An empty store that is nowhere.
fn in_memory() -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    schema::harden(&connection)?;
    schema::create(&connection)?;
    Ok(connection)
}

fn flags() -> OpenFlags {
    // No mutexes: one thread at a time uses a store.
    OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// None: there is nothing in the file, and nothing is to be written.
fn open(place: &mut impl Place, durability: Durability, write: bool) -> Result<Option<Connection>> {
    let mut flags = flags() | OpenFlags::SQLITE_OPEN_READ_WRITE;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, write);
    let connection = Connection::open_with_flags(place.database(), flags)?;
    match look(&connection) {
        Ok(Found::Empty) if write => {
            schema::shape(&connection)?;
            schema::use_log(&connection, durability)?;
            schema::create(&connection)?;
        }
        Ok(Found::Store) => schema::use_log(&connection, durability)?,
        Ok(Found::Older(older)) => {
            if let Err(error) = migrate::migrate(&connection, place, older, durability) {
                leave(connection);
                return Err(error);
            }
        }
        other => {
            leave(connection);
            return other.map(|_| None);
        }
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(Some(connection))
}

/// Finds out what a file is, and changes nothing.
fn look(connection: &Connection) -> Result<Found> {
    // The log of another program's file stays as it is too when the connection is closed.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Whose turn it is has been settled before: who has the file open now keeps it.
    connection.busy_timeout(Duration::ZERO)?;
    // Before anything is read: the log's index can then be on the heap, where no shared memory is to be had.
    connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
    schema::harden(connection)?;
    schema::identify(connection)
}

/// Lets go of a file that is not ours. To look at it SQLite may have made a log, which it takes away again on closing;
/// a log that says anything stays.
fn leave(connection: Connection) {
    let frames = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get::<_, i64>(1));
    if frames == Ok(0) {
        // If this fails an empty file stays behind.
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
}

/// Opens a file that cannot be written, or should not be. None: there is nothing in it.
fn open_read_only(database: &Path) -> Result<Option<Connection>> {
    let flags = flags() | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let attempt = |connection: Connection| -> Result<Option<Connection>> {
        match look(&connection)? {
            Found::Store => Ok(Some(connection)),
            Found::Older(older) => Err(Error::new(
                Kind::ReadOnly,
                format!(
                    "the store was written by an earlier version (schema {older}) and has to be migrated, which cannot be done in a directory that can only be read; open it once where it can be written"
                ),
            )
            .numbers(u64::from(older.unsigned_abs()), u64::from(schema::SCHEMA_VERSION.unsigned_abs()))),
            Found::Empty => Ok(None),
        }
    };
    let plain = Connection::open_with_flags(database, flags).map_err(Error::from).and_then(attempt);
    match plain {
        // The operating system's locks need a file that can be written, and SQLite wants a log.
        Err(error) if error.kind == Kind::Other => {
            let mut log = database.as_os_str().to_owned();
            log.push("-wal");
            let parameter = match std::fs::metadata(log) {
                Ok(log) if log.len() > 0 && cfg!(unix) => "vfs=unix-none",
                Ok(log) if log.len() > 0 => return Err(error),
                _ => "immutable=1",
            };
            let uri = format!("file:{}?{parameter}", escape_for_uri(&database.to_string_lossy()));
            attempt(Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?)
        }
        other => other,
    }
}

/// The three characters that mean something in a URI's path.
fn escape_for_uri(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}
