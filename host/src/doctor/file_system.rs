//! What the system says about a place: whether it can be written, what it is made of, how much room there is.

use std::path::Path;

/// Why nothing can be written somewhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Missing,
    NoDirectory,
    Forbidden,
    ReadOnly,
    Other(String),
}

/// Whether this process could make files in a directory. Nothing is made.
pub(super) fn may_write(directory: &Path) -> Result<(), Fault> {
    match directory.metadata() {
        Ok(found) if !found.is_dir() => return Err(Fault::NoDirectory),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Fault::Missing),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(Fault::NoDirectory),
        Err(error) => return Err(Fault::Other(error.to_string())),
    }
    access(directory)
}

#[cfg(unix)]
fn access(directory: &Path) -> Result<(), Fault> {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;

    match access(directory, Access::WRITE_OK | Access::READ_OK | Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(Fault::Forbidden),
        Err(Errno::ROFS) => Err(Fault::ReadOnly),
        Err(error) => Err(Fault::Other(error.to_string())),
    }
}

#[cfg(not(unix))]
fn access(directory: &Path) -> Result<(), Fault> {
    match directory.metadata() {
        Ok(found) if found.permissions().readonly() => Err(Fault::ReadOnly),
        _ => Ok(()),
    }
}

/// What a directory's contents are kept by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Disks of this machine, as far as one can tell.
    Local,
    /// Another machine, over a network.
    Network(&'static str),
    /// Memory: gone when the machine stops.
    Memory(&'static str),
}

/// The kind of file system with this number (`f_type` of Linux).
pub(super) fn kind(number: u64) -> Kind {
    match number {
        0x6969 => Kind::Network("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Kind::Network("SMB"),
        0x0102_1997 => Kind::Network("9P"),
        0x5346_414f | 0x6b41_4653 => Kind::Network("AFS"),
        0x00c3_6400 => Kind::Network("Ceph"),
        0x6573_5546 => Kind::Network("FUSE"),
        0x0bd0_0bd0 => Kind::Network("Lustre"),
        0x4750_4653 => Kind::Network("GPFS"),
        0x0102_1994 => Kind::Memory("tmpfs"),
        0x8584_58f6 => Kind::Memory("ramfs"),
        _ => Kind::Local,
    }
}

/// The kind of file system that a directory is on. None: this system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn kind_of(directory: &Path) -> Option<Kind> {
    let found = rustix::fs::statfs(directory).ok()?;
    // It is signed in some places and not in others; the numbers have 32 bits.
    Some(kind(u64::from(u32::try_from(found.f_type & 0xffff_ffff).ok()?)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn kind_of(_directory: &Path) -> Option<Kind> {
    None
}

/// Bytes and files that this user can still make on the file system of a directory. None: this system does not tell.
#[cfg(unix)]
pub(super) fn room(directory: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(directory).ok()?;
    // File systems without a table of files say that there are none at all.
    let files = if found.f_files == 0 { u64::MAX } else { found.f_favail };
    Some((found.f_bavail.saturating_mul(found.f_frsize), files))
}

#[cfg(not(unix))]
pub(super) fn room(_directory: &Path) -> Option<(u64, u64)> {
    None
}

/// The rights that a file gives to its group and to everybody, in three bits each.
#[cfg(unix)]
pub(super) fn rights_of_others(metadata: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077
}

#[cfg(not(unix))]
pub(super) fn rights_of_others(_metadata: &std::fs::Metadata) -> u32 {
    0
}
