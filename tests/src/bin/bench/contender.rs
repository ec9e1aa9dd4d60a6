//! Who is measured: the same engine natively and in the component, and a plain SQLite table as the yardstick.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::TempDir;

use crate::component::Component;
use crate::engine::Engine;
use crate::plain::Plain;
use crate::workload;

/// What an acknowledged write survives, alike for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Loss of power.
    Full,
    /// The death of the process.
    Normal,
}

impl Durability {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Normal => "normal",
        }
    }
}

/// The contenders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum Side {
    /// One SQLite table, one message per transaction: what a person would write by hand.
    Plain,
    /// The engine as a library of this program.
    Engine,
    /// The engine in the component, called through the host library.
    Component,
}

impl Side {
    /// All of them, in the order of the columns.
    pub(crate) const ALL: [Side; 3] = [Side::Plain, Side::Engine, Side::Component];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Side::Plain => "plain",
            Side::Engine => "engine",
            Side::Component => "component",
        }
    }
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amount {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    /// Counts a message of this length.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// One open store with one session, and the calls that are measured.
pub(crate) trait Contender {
    /// Appends one message under the present leaf, in a transaction of its own.
    fn append(&mut self, message: &str) -> Result<()>;

    /// Appends a chain in one transaction.
    fn append_all(&mut self, messages: Vec<String>) -> Result<()>;

    /// Sets a threshold for compaction that is never reached; a plain table has none.
    fn arm(&mut self) -> Result<()>;

    /// Reads the whole path from root to leaf, in pages.
    fn read_all(&mut self) -> Result<Amount>;

    /// Reads the first page of the path.
    fn read_first(&mut self) -> Result<Amount>;

    /// Reads the newest messages within a budget.
    fn read_recent(&mut self, max_bytes: u64) -> Result<Amount>;

    /// Reads the present leaf.
    fn read_leaf(&mut self) -> Result<Amount>;

    /// Appends one message to a session of this id.
    fn append_to(&mut self, session: &str, message: &str) -> Result<()>;

    /// How many sessions a page of the list has, and where the next one begins; none: there is no list.
    fn list(&mut self, limit: u32, cursor: Option<String>) -> Result<Option<(usize, Option<String>)>>;

    /// How many of the first 20 results a search finds, content and all; none: there is no search.
    fn search(&mut self, query: &str) -> Result<Option<usize>>;

    /// Bytes of the index, as far as there is one.
    fn index_bytes(&mut self) -> Result<u64>;

    /// Writes the log back and lets go of everything but what is per process; the next call opens the store again.
    fn close(&mut self) -> Result<()>;

    /// The database file; it exists once something was written.
    fn database(&self) -> Result<PathBuf>;
}

/// The store of a contender in this directory: what an earlier one left there, or nothing yet.
pub(crate) fn open(side: Side, directory: &Path, durability: Durability) -> Result<Box<dyn Contender>> {
    Ok(match side {
        Side::Plain => Box::new(Plain::new(directory, durability)),
        Side::Engine => Box::new(Engine::new(directory, durability)),
        Side::Component => Box::new(Component::open(directory, durability)?),
    })
}

/// A store that is filled and measured: how many messages it has decides which comes next.
pub(crate) struct Subject {
    pub(crate) store: Box<dyn Contender>,
    side: Side,
    written: u64,
    /// Removed after the store is dropped.
    directory: TempDir,
}

impl Subject {
    /// An empty store in a directory of its own below the scratch directory.
    pub(crate) fn new(side: Side, scratch: &Path, durability: Durability) -> Result<Self> {
        let directory = TempDir::with_prefix_in(side.name(), scratch)?;
        let store = open(side, directory.path(), durability)?;
        Ok(Self { store, side, written: 0, directory })
    }

    /// Opens the same store with another durability.
    pub(crate) fn reopen(&mut self, durability: Durability) -> Result<()> {
        self.store.close()?;
        self.store = open(self.side, self.directory.path(), durability)?;
        Ok(())
    }

    /// Where it is.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How many messages it has.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The next messages, made before the clock runs.
    pub(crate) fn next(&mut self, count: u64) -> Vec<String> {
        let messages = workload::messages(self.written, count);
        self.written += count;
        messages
    }

    /// Fills it in large transactions up to this number of messages.
    pub(crate) fn fill(&mut self, messages: u64) -> Result<()> {
        while self.written < messages {
            let batch = self.next((messages - self.written).min(2_000));
            self.store.append_all(batch)?;
        }
        Ok(())
    }
}
