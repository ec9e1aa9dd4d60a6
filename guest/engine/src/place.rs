//! Where a store lives: the seam between the engine and its surroundings.

use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};

/// Name of the database file in the store's directory.
pub const FILE_NAME: &str = "talktree.db";

/// The directory of a store, and what else may happen there.
///
/// The engine asks only this much of its surroundings; reading and writing the database is SQLite's business, through
/// whatever VFS is the default one.
pub trait Place: Send {
    /// The name under which SQLite opens the database.
    fn database(&self) -> PathBuf;

    /// Whether the database file is there and has content.
    fn exists(&self) -> Result<bool>;

    /// Whether the directory can only be read.
    fn read_only(&self) -> bool;

    /// Begins a turn: waits until no other instance uses the store, and marks it as ours. True: others may have
    /// written since our last turn, so what is known of the file is out of date. `write` says whether the caller is
    /// about to write. A place that nobody else can have answers false.
    fn begin(&mut self, write: bool) -> Result<bool>;

    /// Ends the turn. An error means that the turn was lost meanwhile: what was done in it must not be acknowledged.
    fn end(&mut self) -> Result<()>;

    /// Removes temporary files that a killed instance left behind; called before a database is opened for writing.
    fn sweep(&mut self) -> Result<()>;
}

/// A directory of the machine that nobody else uses: for native programs, tests and benchmarks.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The store in this directory, which must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Place for Directory {
    fn database(&self) -> PathBuf {
        self.path.join(FILE_NAME)
    }

    fn exists(&self) -> Result<bool> {
        match std::fs::metadata(self.database()) {
            Ok(found) => Ok(found.len() > 0),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::new(Kind::Other, format!("the store's file cannot be looked at: {error}"))),
        }
    }

    fn read_only(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| found.permissions().readonly())
    }

    fn begin(&mut self, _write: bool) -> Result<bool> {
        Ok(false)
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    fn sweep(&mut self) -> Result<()> {
        Ok(())
    }
}
