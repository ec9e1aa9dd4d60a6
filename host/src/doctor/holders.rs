//! Who holds the lock of a tenant.

use std::fs;
use std::path::Path;

/// The processes that hold locks, as the system lists them.
pub(super) struct Holders {
    /// The text of `/proc/locks`; none where there is no such thing.
    locks: Option<String>,
}

impl Holders {
    /// Asks the system once for all locks: no lock is taken for it, so nobody is disturbed.
    pub(super) fn read() -> Self {
        Self { locks: fs::read_to_string("/proc/locks").ok() }
    }

    /// Who holds the lock on this file: a process with its number and name. None: nobody, or this system does not tell.
    #[cfg(unix)]
    pub(super) fn of(&self, lock: &Path) -> Option<String> {
        use std::os::unix::fs::MetadataExt as _;

        let metadata = lock.symlink_metadata().ok()?;
        let process = find(self.locks.as_deref()?, metadata.dev(), metadata.ino())?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        Some(match (process, name.trim()) {
            (0, _) => "a process outside of this container".to_owned(),
            (process, "") => format!("process {process}"),
            (process, name) => format!("process {process} ({name})"),
        })
    }

    #[cfg(not(unix))]
    pub(super) fn of(&self, _lock: &Path) -> Option<String> {
        let _ = &self.locks;
        None
    }
}

/// The number of the process that holds a lock on the file with this number on this device. Lines are such as
/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
#[cfg(unix)]
fn find(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let wanted = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        // Those who wait for a lock have an arrow there.
        let kind = words.nth(1)?;
        let process = words.nth(2)?;
        (kind == "FLOCK" && words.next()? == wanted).then(|| process.parse().unwrap_or(0))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_and_a_lock_of_another_file_is_not_his() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 11 08:01:77 0 EOF
2: FLOCK  ADVISORY  WRITE 22 08:01:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 33 08:01:78 0 EOF
3: FLOCK  ADVISORY  WRITE 44 08:02:77 0 EOF
";
        let device = |minor| rustix::fs::makedev(8, minor);
        assert_eq!(find(locks, device(1), 77), Some(22));
        assert_eq!(find(locks, device(2), 77), Some(44));
        assert_eq!(find(locks, device(1), 78), None);
    }

    #[test]
    fn a_lock_that_is_held_names_its_process() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Holders::read().of(file.path()), None);
        file.as_file().lock().unwrap();
        let holder = Holders::read().of(file.path());
        // Some containers hide what processes hold.
        if fs::read_to_string("/proc/locks").is_ok_and(|locks| !locks.trim().is_empty()) {
            assert!(holder.unwrap().contains(&format!("process {}", std::process::id())));
        }
    }
}
