//! The directory of a tenant: found, made, locked, removed, listed.
//!
//! Below the root lies one directory for each tenant, called as [`tenant_name`](crate::tenant_name) says, and in it
//! `talktree.db` with its companions, `lock`, and for long names `name`. A directory without `talktree.db` is what a
//! killed first write left behind: no tenant, as far as anyone can see.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::access::Tenants;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::{LOCK_FILE, TenantLock};
use crate::tenant_name::{MAX_NAME_BYTES, Owner, TenantName, owner};

/// The store of a tenant, as the component names it.
pub(crate) const STORE_FILE: &str = "talktree.db";

/// The log of a store, as SQLite names it.
pub(crate) const LOG_FILE: &str = "talktree.db-wal";

/// A store that is being deleted.
pub(crate) const DOOMED_FILE: &str = "talktree.db.deleted";

/// A store that is being restored.
pub(crate) const NEW_FILE: &str = "talktree.db.restored";

/// The name of the tenant, where the directory's does not say it.
pub(crate) const NAME_FILE: &str = "name";

/// A tenant's directory, locked.
#[derive(Debug)]
pub(crate) struct TenantDirectory {
    path: PathBuf,
    /// None: nothing can be written there.
    lock: Option<TenantLock>,
    /// Made just now, by this process.
    is_new: bool,
}

impl TenantDirectory {
    /// Whether the tenant was ever written.
    ///
    /// Errors: `forbidden` if something that is no directory lies in its place, a link for instance.
    pub(crate) fn is_written(root: &Path, name: &TenantName) -> Result<bool> {
        let path = root.join(name.directory());
        Ok(is_directory(&path)? && has_store(&path)?)
    }

    /// When its store was last changed on the disk; none where it was never written.
    pub(crate) fn last_change(root: &Path, name: &TenantName) -> Result<Option<SystemTime>> {
        if !Self::is_written(root, name)? {
            return Ok(None);
        }
        let directory = root.join(name.directory());
        let mut newest = None;
        for file in [STORE_FILE, LOG_FILE] {
            let path = directory.join(file);
            match path.symlink_metadata().and_then(|lying| lying.modified()) {
                Ok(changed) => newest = newest.max(Some(changed)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::from_io(&error, &path)),
            }
        }
        Ok(newest)
    }

    /// Takes the directory of a tenant that was written.
    pub(crate) fn open(root: &Path, name: &TenantName) -> Result<Self> {
        let path = root.join(name.directory());
        if !is_directory(&path)? {
            return Err(Error::new(ErrorKind::Other, "the tenant's directory was removed just now: try again"));
        }
        let lock = TenantLock::take(&path)?;
        let directory = Self { path, lock, is_new: false };
        directory.check_name(name)?;
        Ok(directory)
    }

    /// Makes the directory of a tenant that is about to be written for the first time, and the root if need be.
    pub(crate) fn create(root: &Path, name: &TenantName) -> Result<Self> {
        if make_directory(root)? {
            sync_parent(root)?;
        }
        let path = root.join(name.directory());
        let is_new = make_directory(&path)?;
        if !is_new && !is_directory(&path)? {
            return Err(Error::new(ErrorKind::Busy, "the tenant's directory was removed just now: try again"));
        }
        let Some(lock) = TenantLock::take(&path)? else {
            return Err(Error::new(ErrorKind::ReadOnly, format!("{} cannot be written", path.display())));
        };
        let directory = Self { path, lock: Some(lock), is_new };
        let ready = directory.clear_away().and_then(|()| directory.write_name(name));
        if let Err(error) = ready.and_then(|()| sync_parent(&directory.path)) {
            directory.discard();
            return Err(error);
        }
        Ok(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    /// Deletes the tenant. From its first step on there is no store here, even if this process is killed then.
    pub(crate) fn delete(self) -> Result<()> {
        if self.is_read_only() {
            return Err(Error::new(ErrorKind::ReadOnly, format!("{} cannot be written", self.path.display())));
        }
        let (store, doomed) = (self.path.join(STORE_FILE), self.path.join(DOOMED_FILE));
        fs::rename(&store, &doomed).map_err(|error| Error::from_io(&error, &store))?;
        sync(&self.path)?;
        self.remove().map_err(|error| Error::from_io(&error, &self.path))?;
        sync_parent(&self.path)
    }

    /// Writes a whole store into a directory that has none, of at most so many bytes.
    pub(crate) fn fill(&self, store: &mut dyn Read, quota: Option<u64>) -> Result<()> {
        let (path, new) = (self.path.join(STORE_FILE), self.path.join(NEW_FILE));
        let written = File::create(&new).and_then(|mut file| {
            let most = quota.unwrap_or(u64::MAX);
            if io::copy(&mut Read::take(&mut *store, most), &mut file)? == most && store.read(&mut [0])? > 0 {
                return Ok(false);
            }
            file.sync_all()?;
            fs::rename(&new, &path)?;
            Ok(true)
        });
        let is_whole = written.map_err(|error| Error::from_io(&error, &path))?;
        if !is_whole {
            let quota = quota.unwrap_or(u64::MAX);
            let sentence =
                format!("the snapshot is larger than a tenant's disk quota of {quota} bytes; raise the quota");
            return Err(Error::new(ErrorKind::StorageFull, sentence).with_numbers(quota.saturating_add(1), quota));
        }
        sync(&self.path)
    }

    /// Undoes [`create`](Self::create) and [`fill`](Self::fill).
    pub(crate) fn empty(self) {
        if let Err(error) = self.remove() {
            tracing::warn!(path = %self.path.display(), %error, "what was begun here stays");
        }
    }

    /// Undoes [`create`](Self::create) after a first write that failed. What was there before stays.
    pub(crate) fn discard(self) {
        if !self.is_new {
            return;
        }
        if let Err(error) = self.remove() {
            tracing::warn!(path = %self.path.display(), %error, "the directory of a failed first write stays");
        }
    }

    /// Still locked: nobody else is in it. The lock goes last.
    fn remove(&self) -> io::Result<()> {
        remove_contents(&self.path)?;
        fs::remove_file(self.path.join(LOCK_FILE))?;
        fs::remove_dir(&self.path)
    }

    /// A log that a deleted store has left behind must not be taken for that of the next one.
    fn clear_away(&self) -> Result<()> {
        for name in [DOOMED_FILE, NEW_FILE, "talktree.db-wal", "talktree.db-journal"] {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::from_io(&error, &path)),
                _ => {}
            }
        }
        Ok(())
    }

    fn write_name(&self, name: &TenantName) -> Result<()> {
        if !name.is_hashed() {
            return Ok(());
        }
        let path = self.path.join(NAME_FILE);
        let written = File::options().write(true).create_new(true).open(&path).and_then(|mut file| {
            file.write_all(name.as_str().as_bytes())?;
            file.sync_all()
        });
        match written {
            Ok(()) => sync(&self.path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.check_name(name),
            Err(error) => Err(Error::from_io(&error, &path)),
        }
    }

    fn check_name(&self, name: &TenantName) -> Result<()> {
        if !name.is_hashed() || read_name(&self.path).is_some_and(|written| written == *name) {
            return Ok(());
        }
        let sentence = format!("{} belongs to a tenant of another name: it was left alone", self.path.display());
        Err(Error::new(ErrorKind::NotAStore, sentence))
    }
}

/// The tenants below the root (those among some, or all) whose names come after this one, in byte order, at most so
/// many; and whether there are more.
pub(crate) fn list(
    root: &Path,
    among: Option<&Tenants>,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<String>, bool)> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        // It comes into being with the first tenant.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
        Err(error) => return Err(Error::from_io(&error, root)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Error::from_io(&error, root))?;
        let Ok(directory) = entry.file_name().into_string() else { continue };
        let name = match owner(&directory) {
            Owner::Tenant(name) => name,
            Owner::Hashed => match read_name(&entry.path()) {
                Some(name) if name.directory() == directory => name,
                _ => continue,
            },
            Owner::Nobody => continue,
        };
        let wanted = among.is_none_or(|among| among.covers(name.as_str()));
        if wanted && after.is_none_or(|after| name.as_str() > after) {
            names.push(name);
        }
    }
    names.sort_unstable();
    // Only those that are shown are looked into: there may be many.
    let mut page = Vec::new();
    for name in names {
        let path = root.join(name.directory());
        if !matches!(path.symlink_metadata(), Ok(lying) if lying.is_dir()) || !has_store(&path).unwrap_or(false) {
            continue;
        }
        if page.len() == limit {
            return Ok((page, true));
        }
        page.push(name.as_str().to_owned());
    }
    Ok((page, false))
}

/// Whether there is a directory, and nothing else, at this path. A link is not followed.
fn is_directory(path: &Path) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(lying) if lying.is_dir() => Ok(true),
        Ok(_) => {
            let sentence = format!("{} is not a directory: it was not touched", path.display());
            Err(Error::new(ErrorKind::Forbidden, sentence))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::from_io(&error, path)),
    }
}

fn has_store(directory: &Path) -> Result<bool> {
    let path = directory.join(STORE_FILE);
    match path.symlink_metadata() {
        // An empty file is a database that was never written to.
        Ok(lying) => Ok(lying.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::from_io(&error, &path)),
    }
}

/// Makes a directory that only this user can enter. False: there is something of that name.
fn make_directory(path: &Path) -> Result<bool> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // On a read-only file system the one that exists is not told from the one that cannot be made.
        Err(_) if path.is_dir() => Ok(false),
        Err(error) => Err(Error::from_io(&error, path)),
    }
}

/// Removes what lies in a directory, but for the lock.
fn remove_contents(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == LOCK_FILE {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The name that is written in the directory of a tenant.
pub(crate) fn read_name(directory: &Path) -> Option<TenantName> {
    let path = directory.join(NAME_FILE);
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut name = String::new();
    let readable = MAX_NAME_BYTES as u64 + 1;
    File::open(path).ok()?.take(readable).read_to_string(&mut name).ok()?;
    TenantName::new(&name).ok()
}

/// Makes an entry of a directory survive power loss.
fn sync_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), sync)
}

#[cfg(unix)]
fn sync(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|opened| opened.sync_all()).map_err(|error| Error::from_io(&error, directory))
}

/// Elsewhere directories cannot be opened as files, and their entries are kept by the file system's own journal.
#[cfg(not(unix))]
fn sync(_directory: &Path) -> Result<()> {
    Ok(())
}
