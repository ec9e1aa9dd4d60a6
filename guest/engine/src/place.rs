//! Where a store lives: the seam between the engine and its surroundings.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::{Error, Kind, Result};

/// Name of the database file in the store's directory.
pub const FILE_NAME: &str = "talktree.db";

/// How the names of temporary files in the store's directory begin. Nothing else there is named so.
pub const TEMPORARY_PREFIX: &str = "talktree.tmp-";

/// The directory of a store, and what else may happen there.
///
/// The engine asks only this much of its surroundings; reading and writing databases is SQLite's business, through
/// whatever VFS is the default one. Names are those of files in the directory itself.
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

    /// Lets others have what was kept between turns, until the next one; called when the store has been closed.
    fn release(&mut self) {}

    /// Removes the files whose names begin with [`TEMPORARY_PREFIX`]; called before a database is opened for writing.
    fn sweep(&mut self) -> Result<()>;

    /// The length of a file beside the database. None: there is none of that name.
    fn file_size(&self, name: &str) -> Result<Option<u64>>;

    /// Bytes of a file beside the database: `length` of them from `offset` on, or what there is.
    fn read_file(&self, name: &str, offset: u64, length: usize) -> Result<Vec<u8>>;

    /// Gives a file beside the database another name, one that is not taken, so that it lasts.
    fn rename_file(&mut self, from: &str, to: &str) -> Result<()>;

    /// Removes a file beside the database. One that is not there is no error.
    fn remove_file(&mut self, name: &str) -> Result<()>;
}

/// The path under which SQLite opens a file beside the database.
pub(crate) fn beside(place: &impl Place, name: &str) -> PathBuf {
    place.database().with_file_name(name)
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
        Ok(self.file_size(FILE_NAME)?.is_some_and(|size| size > 0))
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
        let Ok(entries) = std::fs::read_dir(&self.path) else { return Ok(()) };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
                // What cannot be deleted takes room and does no harm: no reason to keep the store shut.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn file_size(&self, name: &str) -> Result<Option<u64>> {
        match std::fs::metadata(self.path.join(name)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(name, "looked at", &error)),
        }
    }

    fn read_file(&self, name: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let read = || {
            let mut file = File::open(self.path.join(name))?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(length);
            file.take(length as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error: io::Error| failed(name, "read", &error))
    }

    fn rename_file(&mut self, from: &str, to: &str) -> Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to)).map_err(|error| failed(from, "renamed", &error))?;
        if cfg!(unix) {
            File::open(&self.path)
                .and_then(|directory| directory.sync_all())
                .map_err(|error| failed(to, "made to last", &error))?;
        }
        Ok(())
    }

    fn remove_file(&mut self, name: &str) -> Result<()> {
        match std::fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(name, "removed", &error)),
            _ => Ok(()),
        }
    }
}

fn failed(name: &str, what: &str, error: &io::Error) -> Error {
    Error::new(Kind::Other, format!("{name} cannot be {what}: {error}"))
}
