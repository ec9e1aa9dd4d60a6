//! The lock on a tenant's directory: one process at a time, and it dies with its holder.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Name of the file in a tenant's directory that is locked while its sandbox lives. It is empty.
pub(crate) const LOCK_FILE: &str = "lock";

/// How often it is tried again when the file is removed by its last holder just then.
const ATTEMPTS: usize = 10;

/// A held lock. Dropping it lets go.
#[derive(Debug)]
pub(crate) struct TenantLock {
    /// The operating system's lock belongs to the open file.
    _file: File,
}

impl TenantLock {
    /// Takes the lock of this directory, at once or not at all. None: nothing can be written there, so there is no
    /// lock and no need for one.
    ///
    /// Errors: `busy` if it is held, in this process or another one; `forbidden` if something else lies in its place.
    pub(crate) fn take(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(LOCK_FILE);
        for _ in 0..ATTEMPTS {
            let file = match open(&path) {
                Ok(file) => file,
                Err(error) if is_unwritable(&error) => return Ok(None),
                // The directory or the file was there a moment ago: its holder is just removing it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => continue,
                Err(error) => return Err(Error::from_io(&error, &path)),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(
                        ErrorKind::Busy,
                        "another process has this tenant open: end it, or try again later",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(Error::from_io(&error, &path)),
            }
            // What was locked must be what lies there now: not a removed file, not the target of a link.
            let opened = file.metadata().map_err(|error| Error::from_io(&error, &path))?;
            match path.symlink_metadata() {
                Ok(lying) if !lying.is_file() => {
                    let sentence = format!("{} is not a plain file: it was not touched", path.display());
                    return Err(Error::new(ErrorKind::Forbidden, sentence));
                }
                Ok(lying) if is_same(&opened, &lying) => return Ok(Some(Self { _file: file })),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::from_io(&error, &path)),
            }
        }
        Err(Error::new(ErrorKind::Busy, "another process is creating and removing this tenant: try again"))
    }
}

/// Opens the file, and creates it if it is not there, without following a link to create something elsewhere.
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        // A directory that was made read-only keeps its lock file: that can be locked all the same.
        Err(_) if path.symlink_metadata().is_ok() => {
            OpenOptions::new().write(true).open(path).or_else(|_| File::open(path))
        }
        other => other,
    }
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Elsewhere the standard library tells no identity; an open file that was removed has no length to compare either.
#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.created().ok() == other.created().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use super::{LOCK_FILE, TenantLock};
    use crate::error::ErrorKind;

    #[test]
    fn a_second_holder_is_refused_until_the_first_lets_go() {
        let directory = tempfile::tempdir().unwrap();
        let first = TenantLock::take(directory.path()).unwrap().unwrap();
        assert_eq!(TenantLock::take(directory.path()).unwrap_err().kind(), ErrorKind::Busy);
        drop(first);
        assert!(TenantLock::take(directory.path()).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_lock_is_refused_and_creates_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("target");
        std::os::unix::fs::symlink(&target, directory.path().join(LOCK_FILE)).unwrap();
        assert!(TenantLock::take(directory.path()).is_err());
        assert!(!target.exists());
        std::fs::write(&target, "").unwrap();
        assert_eq!(TenantLock::take(directory.path()).unwrap_err().kind(), ErrorKind::Forbidden);
    }
}
