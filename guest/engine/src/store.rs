//! A store: its file, opened when it is first needed, and the transaction that every call is.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, OpenFlags};

use crate::error::{Error, Kind, Result};
use crate::place::Place;
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
}

/// A store of conversations.
pub struct Store<P> {
    place: P,
    options: Options,
    connection: Option<Connection>,
    memo: Memo,
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
        Self { place, options, connection: None, memo: Memo::default() }
    }

    /// Whether there is anything in the file system.
    pub(crate) fn is_written(&self) -> Result<bool> {
        Ok(self.connection.is_some() || self.place.exists()?)
    }

    /// Where the store is.
    pub fn place(&self) -> &P {
        &self.place
    }

    /// Writes the log back into the file and lets go of it; the next call opens it again.
    pub fn close(&mut self) -> Result<()> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        self.memo = Memo::default();
        if self.place.begin(true)? {
            // Others have written since: what this connection knows of the log is out of date, and must not be used.
            drop(connection);
            return self.place.end();
        }
        let closed = connection.close().map_err(|(_, error)| Error::from(error));
        self.place.end()?;
        closed
    }

    /// A call that only reads.
    pub(crate) fn read<T>(&mut self, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        self.turn(false, |store| {
            if !store.is_written()? {
                // What was never written answers as something empty, and stays unwritten.
                let connection = in_memory()?;
                return run(&connection, &mut Memo::default(), &store.options, "BEGIN", work);
            }
            store.connect(false)?;
            let Some(connection) = &store.connection else { return Err(lost()) };
            run(connection, &mut store.memo, &store.options, "BEGIN", work)
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
                let answer = run(&connection, &mut Memo::default(), &store.options, "BEGIN", &mut work)?;
                if connection.total_changes() == before {
                    return Ok(answer);
                }
            }
            store.connect(true)?;
            let Some(connection) = &store.connection else { return Err(lost()) };
            run(connection, &mut store.memo, &store.options, "BEGIN IMMEDIATE", &mut work)
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
            // A failed disk may leave the connection in a state that only a new one mends.
            if self.connection.as_ref().is_some_and(|connection| !connection.is_autocommit()) {
                self.forget();
            }
        }
        if let Err(error) = self.place.end() {
            self.forget();
            return Err(error);
        }
        answer
    }

    fn forget(&mut self) {
        self.connection = None;
        self.memo = Memo::default();
    }

    fn connect(&mut self, write: bool) -> Result<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        let database = self.place.database();
        self.connection = Some(if self.place.read_only() {
            open_read_only(&database)?
        } else {
            self.place.sweep()?;
            open(&database, self.options.durability, write)?
        });
        Ok(())
    }
}

fn lost() -> Error {
    Error::new(Kind::Other, "the store is not open")
}

/// Runs a transaction to its end.
fn run<T>(
    connection: &Connection,
    memo: &mut Memo,
    options: &Options,
    begin: &str,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached(begin)?.execute([])?;
    let answer = work(&mut Tx { connection, memo, options })
        .and_then(|answer| connection.prepare_cached("COMMIT")?.execute([]).map(|_| answer).map_err(Error::from));
    if answer.is_err() && !connection.is_autocommit() {
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

fn open(database: &Path, durability: Durability, write: bool) -> Result<Connection> {
    let mut flags = flags() | OpenFlags::SQLITE_OPEN_READ_WRITE;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, write);
    let connection = Connection::open_with_flags(database, flags)?;
    // First of all: the log's index can then be on the heap, where no shared memory is to be had.
    connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
    schema::harden(&connection)?;
    let found = schema::identify(&connection)?;
    if found == Found::Empty {
        schema::shape(&connection)?;
    }
    schema::use_log(&connection, durability)?;
    if found == Found::Empty {
        schema::create(&connection)?;
    }
    Ok(connection)
}

/// Without a log the file is read as it is; with one, its index is rebuilt on the heap.
fn open_read_only(database: &Path) -> Result<Connection> {
    let flags = flags() | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let attempt = |connection: Connection| -> Result<Connection> {
        connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
        schema::harden(&connection)?;
        match schema::identify(&connection)? {
            Found::Store => Ok(connection),
            Found::Empty => Err(Error::new(Kind::NotAStore, "the file is an empty database; it was left alone")),
        }
    };
    let plain = Connection::open_with_flags(database, flags).map_err(Error::from).and_then(attempt);
    match plain {
        Err(error) if error.kind == Kind::Other => {
            let uri = format!("file:{}?immutable=1", escape_for_uri(&database.to_string_lossy()));
            attempt(Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?)
        }
        other => other,
    }
}

/// The three characters that mean something in a URI's path.
fn escape_for_uri(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}
