//! Stores that live as long as a check, in memory where the machine has files there.

use std::path::{Path, PathBuf};

use talktree_engine::{Directory, Durability, FILE_NAME, Options, Store};
use tempfile::TempDir;

/// A store in a directory of its own.
pub(crate) struct Scratch {
    pub(crate) directory: TempDir,
    pub(crate) store: Store<Directory>,
}

impl Scratch {
    /// One that was never written.
    pub(crate) fn empty() -> Self {
        let directory = directory();
        let store = open(directory.path());
        Self { directory, store }
    }

    /// One whose file has this content.
    pub(crate) fn with(file: &[u8]) -> Self {
        let scratch = Self::empty();
        std::fs::write(scratch.file(), file).unwrap();
        scratch
    }

    /// The database.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }

    /// What is in the file when the store is closed.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.store.close().unwrap();
        std::fs::read(self.file()).unwrap()
    }
}

/// The store of a directory.
pub(crate) fn open(directory: &Path) -> Store<Directory> {
    // What a loss of power leaves is not what is checked here.
    let options = Options { durability: Durability::Normal, ..Options::default() };
    Store::new(Directory::new(directory), options)
}

/// A directory that goes with its owner.
pub(crate) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if cfg!(target_os = "linux") && memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.unwrap()
}
