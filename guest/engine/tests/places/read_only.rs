//! A place that can only be read.

use std::path::{Path, PathBuf};

use talktree_engine::{Directory, Options, Place, Result, Store};

/// A directory of which its surroundings say that it can only be read.
pub(crate) struct ReadOnly(Directory);

impl Place for ReadOnly {
    fn database(&self) -> PathBuf {
        self.0.database()
    }

    fn exists(&self) -> Result<bool> {
        self.0.exists()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn begin(&mut self, write: bool) -> Result<bool> {
        self.0.begin(write)
    }

    fn end(&mut self) -> Result<()> {
        self.0.end()
    }

    fn sweep(&mut self) -> Result<()> {
        panic!("nothing is removed from a place that can only be read");
    }

    fn file_size(&self, name: &str) -> Result<Option<u64>> {
        self.0.file_size(name)
    }

    fn read_file(&self, name: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.0.read_file(name, offset, length)
    }

    fn rename_file(&mut self, from: &str, _to: &str) -> Result<()> {
        panic!("{from} is renamed in a place that can only be read");
    }

    fn remove_file(&mut self, name: &str) -> Result<()> {
        panic!("{name} is removed from a place that can only be read");
    }
}

/// The store of a directory, which can only be read.
pub(crate) fn read_only(directory: &Path) -> Store<ReadOnly> {
    Store::new(ReadOnly(Directory::new(directory)), Options::default())
}
