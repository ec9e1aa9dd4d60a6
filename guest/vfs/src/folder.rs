//! The one directory that the host has opened for the component, and plain files in it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use crate::code::is_failed_directory_sync;

/// How the names of temporary files begin. Nothing else in the directory is named so: they may be deleted whenever
/// nobody uses the store.
pub const TEMPORARY_PREFIX: &str = "talktree.tmp-";

/// How often a directory is listed again whose entries come and go.
const LISTINGS: usize = 100;

/// Why there is no directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderError {
    /// The host opened none.
    None,
    /// The host opened several, and none of them is `/data`.
    Several(usize),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no directory was given to the component; open one for it, best as /data"),
            Self::Several(count) => {
                write!(f, "{count} directories were given to the component and none of them is /data; name one so")
            }
        }
    }
}

/// A file in the directory, as a look at it shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Length in bytes.
    pub size: u64,
    /// When it was last written, as seconds and nanoseconds since 1970, if the host says so.
    pub modified: Option<(u64, u32)>,
    /// Whether it is a regular file.
    pub is_file: bool,
}

/// The directory.
#[derive(Debug)]
pub struct Folder {
    directory: Descriptor,
}

thread_local! {
    static FOLDER: RefCell<Option<Rc<Folder>>> = const { RefCell::new(None) };
}

/// The directory: the one that is named `/data`, else the only one. It is looked for once.
pub fn folder() -> Result<Rc<Folder>, FolderError> {
    FOLDER.with_borrow_mut(|known| {
        if let Some(folder) = known {
            return Ok(Rc::clone(folder));
        }
        let mut directories = get_directories();
        let at = match directories.iter().position(|(_, name)| name.trim_end_matches('/') == "/data") {
            Some(at) => at,
            None if directories.is_empty() => return Err(FolderError::None),
            None if directories.len() == 1 => 0,
            None => return Err(FolderError::Several(directories.len())),
        };
        let (directory, _) = directories.swap_remove(at);
        let folder = Rc::new(Folder { directory });
        *known = Some(Rc::clone(&folder));
        Ok(folder)
    })
}

/// Whether this names a file in the directory and nothing else.
#[must_use]
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', ':', '\0'])
}

impl Folder {
    /// Whether the host lets entries be made in it. (The file system below may still refuse.)
    pub fn may_change(&self) -> bool {
        self.directory.get_flags().is_ok_and(|flags| flags.contains(DescriptorFlags::MUTATE_DIRECTORY))
    }

    /// Opens a file. A symbolic link is never followed: it would lead to what others put there.
    pub fn open(&self, name: &str, how: OpenFlags, access: DescriptorFlags) -> Result<Descriptor, ErrorCode> {
        if !is_plain_name(name) {
            return Err(ErrorCode::Invalid);
        }
        self.directory.open_at(PathFlags::empty(), name, how, access).map_err(|error| match error {
            // wasmtime has no word for a file system that is mounted read-only and says `io` instead.
            ErrorCode::Io if access.contains(DescriptorFlags::WRITE) => ErrorCode::ReadOnly,
            error => error,
        })
    }

    /// Makes a file that must not be there yet, in one step that only one instance can win.
    pub fn create_exclusively(&self, name: &str) -> Result<Descriptor, ErrorCode> {
        self.open(name, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::READ | DescriptorFlags::WRITE)
    }

    /// Looks at a file. None: there is nothing of that name.
    pub fn look(&self, name: &str) -> Result<Option<Entry>, ErrorCode> {
        if !is_plain_name(name) {
            return Err(ErrorCode::Invalid);
        }
        match self.directory.stat_at(PathFlags::empty(), name) {
            Ok(DescriptorStat { type_, size, data_modification_timestamp, .. }) => Ok(Some(Entry {
                size,
                modified: data_modification_timestamp.map(|time| (time.seconds, time.nanoseconds)),
                is_file: type_ == DescriptorType::RegularFile,
            })),
            Err(ErrorCode::NoEntry) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a small file, at most 4 KiB of it. None: there is nothing of that name.
    pub fn read_small(&self, name: &str) -> Result<Option<Vec<u8>>, ErrorCode> {
        match self.open(name, OpenFlags::empty(), DescriptorFlags::READ) {
            Ok(file) => file.read(4096, 0).map(|(bytes, _)| Some(bytes)),
            Err(ErrorCode::NoEntry) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a part of a file: `length` bytes from `offset` on, or what there is.
    pub fn read_part(&self, name: &str, offset: u64, length: usize) -> Result<Vec<u8>, ErrorCode> {
        let file = self.open(name, OpenFlags::empty(), DescriptorFlags::READ)?;
        let mut part = Vec::new();
        part.try_reserve_exact(length).map_err(|_| ErrorCode::InsufficientMemory)?;
        // A host may give less than it was asked for, often 64 KiB at most.
        while part.len() < length {
            match file.read((length - part.len()) as u64, offset + part.len() as u64) {
                Ok((bytes, _)) if bytes.is_empty() => break,
                Ok((bytes, _)) => part.extend_from_slice(&bytes),
                Err(ErrorCode::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(part)
    }

    /// Gives a file another name, so that it lasts. What had that name before is replaced.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), ErrorCode> {
        if !is_plain_name(from) || !is_plain_name(to) {
            return Err(ErrorCode::Invalid);
        }
        self.directory.rename_at(from, &self.directory, to)?;
        match self.sync() {
            Err(error) if is_failed_directory_sync(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes a file. False: there was nothing of that name.
    pub fn delete(&self, name: &str) -> Result<bool, ErrorCode> {
        if !is_plain_name(name) {
            return Err(ErrorCode::Invalid);
        }
        match self.directory.unlink_file_at(name) {
            Ok(()) => Ok(true),
            Err(ErrorCode::NoEntry) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names of everything in it, in no order.
    pub fn names(&self) -> Result<Vec<String>, ErrorCode> {
        // A host may look at each entry while it lists them, and fail where one was deleted meanwhile.
        let mut listed = self.names_once();
        for _ in 0..LISTINGS {
            if listed != Err(ErrorCode::NoEntry) {
                break;
            }
            listed = self.names_once();
        }
        listed
    }

    fn names_once(&self) -> Result<Vec<String>, ErrorCode> {
        let entries = self.directory.read_directory()?;
        let mut names = Vec::new();
        while let Some(entry) = entries.read_directory_entry()? {
            names.push(entry.name);
        }
        Ok(names)
    }

    /// Deletes the temporary files that a killed instance left behind.
    pub fn sweep(&self) -> Result<(), ErrorCode> {
        for name in self.names()? {
            if name.starts_with(TEMPORARY_PREFIX) {
                self.delete(&name)?;
            }
        }
        Ok(())
    }

    /// Makes its entries durable. (`sync`, not `sync-data`: the entries are what a directory is.)
    pub fn sync(&self) -> Result<(), ErrorCode> {
        self.directory.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain_name;

    #[test]
    fn only_plain_names_lead_to_files() {
        assert!(is_plain_name("talktree.db"));
        assert!(is_plain_name("talktree.db-wal"));
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "c:x", "a\0b"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
