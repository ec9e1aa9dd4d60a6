//! The root directory: whether it can be used, by whom, and what it lies on.

use std::fs;
use std::path::Path;

use super::file_system::{Fault, Kind, kind_of, may_write, rights_of_others, room};
use super::{Finding, Level};

/// Less room than this, in bytes, and writes will soon fail.
const LITTLE_ROOM: u64 = 512 << 20;
/// Less than this, and they fail now: a log alone can have 8 MiB.
const NO_ROOM: u64 = 16 << 20;
/// Fewer files than this, and new tenants will soon fail.
const FEW_FILES: u64 = 1_000;

pub(super) fn examine(root: &Path, found: &mut Vec<Finding>) {
    let named = root.display().to_string();
    let tell = |check, level, sentence: String| Finding::new(check, level, sentence).about(named.clone());
    if !root.exists() {
        let above = root.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        found.push(match may_write(above) {
            Ok(()) => tell("root", Level::Note, "it is not there; the first write makes it".to_owned()),
            Err(fault) => tell("root", Level::Problem, format!("it is not there, and cannot be made: {fault}"))
                .advice(format!("make {} for this user (mkdir -m 700)", root.display())),
        });
        return;
    }
    match may_write(root) {
        Ok(()) => found.push(tell("root", Level::Ok, "it can be read and written".to_owned())),
        Err(Fault::NoDirectory) => {
            found.push(
                tell("root", Level::Problem, "it is not a directory".to_owned())
                    .advice("name the directory that holds the tenants, not one of its files"),
            );
            return;
        }
        Err(fault) => found.push(
            tell("root", Level::Warning, format!("tenants can only be read: {fault}"))
                .advice("give it to the user that talktree runs as (chown), or run it as that user"),
        ),
    }
    let rights = fs::metadata(root).map_or(0, |metadata| rights_of_others(&metadata));
    if rights & 0o022 != 0 {
        let sentence = "others may write into it: they can put what they like in place of tenants".to_owned();
        found.push(tell("root", Level::Problem, sentence).advice(format!("chmod 700 {named}")));
    } else if rights & 0o055 != 0 {
        let sentence = "others may enter it; tenants' own directories keep them out if they are closed".to_owned();
        found.push(tell("root", Level::Note, sentence).advice(format!("chmod 700 {named}")));
    }
    found.push(file_system(kind_of(root)).about(named.clone()));
    found.push(syncs(root).about(named.clone()));
    if let Some((bytes, files)) = room(root) {
        found.push(space(bytes, files).about(named));
    }
}

fn file_system(kind: Option<Kind>) -> Finding {
    match kind {
        None => Finding::new("file-system", Level::Note, "this system does not tell what the root lies on"),
        Some(Kind::Local) => Finding::new("file-system", Level::Ok, "it is on a file system of this machine"),
        Some(Kind::Network(name)) => {
            let sentence = format!(
                "it is on {name}: whether locks keep two machines apart, and whether what is written is there after a \
                 crash, is up to another machine"
            );
            Finding::new("file-system", Level::Warning, sentence)
                .advice("use a disk of this machine, or make sure that only one machine uses this root")
        }
        Some(Kind::Memory(name)) => {
            let sentence = format!("it is on {name}, in memory: all of it is gone when the machine stops");
            Finding::new("file-system", Level::Warning, sentence).advice("use a disk, unless that is wanted")
        }
    }
}

/// Whether entries of the directory can be made to last. Nothing is written for it.
#[cfg(unix)]
fn syncs(root: &Path) -> Finding {
    match fs::File::open(root).and_then(|directory| directory.sync_all()) {
        Ok(()) => Finding::new("file-system", Level::Ok, "it can be told to keep what was written (fsync)"),
        Err(error) => Finding::new("file-system", Level::Problem, format!("fsync fails here: {error}"))
            .advice("use another file system: here a write cannot be acknowledged"),
    }
}

#[cfg(not(unix))]
fn syncs(_root: &Path) -> Finding {
    Finding::new("file-system", Level::Ok, "this system keeps directories by a journal of its own")
}

fn space(bytes: u64, files: u64) -> Finding {
    let shown = format!("{} MiB", bytes >> 20);
    if bytes < NO_ROOM {
        return Finding::new("space", Level::Problem, format!("{shown} are free: writes fail"))
            .advice("make room on this file system; everything can still be read");
    }
    if files < FEW_FILES {
        return Finding::new("space", Level::Warning, format!("only {files} more files can be made"))
            .advice("remove files of others here: new tenants take four each");
    }
    if bytes < LITTLE_ROOM {
        return Finding::new("space", Level::Warning, format!("only {shown} are free"))
            .advice("make room: a vacuum needs up to twice the size of the store, a snapshot as much as the store");
    }
    Finding::new("space", Level::Ok, format!("{shown} are free"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::super::file_system::kind;
    use super::*;

    fn told(root: &Path) -> Vec<(&'static str, Level)> {
        let mut found = Vec::new();
        examine(root, &mut found);
        found
            .iter()
            .filter(|finding| finding.level >= Level::Note)
            .map(|finding| (finding.check, finding.level))
            .collect()
    }

    #[test]
    fn a_root_that_is_missing_is_told_and_not_made() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(told(&directory.path().join("data")), [("root", Level::Note)]);
        assert!(!directory.path().join("data").exists());
        assert_eq!(told(&directory.path().join("a/data")), [("root", Level::Problem)]);
    }

    #[test]
    fn a_root_that_is_a_file_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(told(file.path()), [("root", Level::Problem)]);
    }

    #[cfg(unix)]
    #[test]
    fn rights_of_others_are_told() {
        use std::os::unix::fs::PermissionsExt as _;

        let root = tempfile::tempdir().unwrap();
        let with = |mode| {
            fs::set_permissions(root.path(), fs::Permissions::from_mode(mode)).unwrap();
            told(root.path()).into_iter().filter(|(check, _)| *check == "root").collect::<Vec<_>>()
        };
        assert_eq!(with(0o700), []);
        assert_eq!(with(0o755), [("root", Level::Note)]);
        assert_eq!(with(0o770), [("root", Level::Problem)]);
    }

    #[test]
    fn file_systems_are_known_by_their_numbers() {
        assert_eq!(kind(0x6969), Kind::Network("NFS"));
        assert_eq!(kind(0xff53_4d42), Kind::Network("SMB"));
        assert_eq!(kind(0x0102_1994), Kind::Memory("tmpfs"));
        assert_eq!(kind(0xef53), Kind::Local);
        let level = |kind| file_system(Some(kind)).level;
        assert_eq!(level(Kind::Network("NFS")), Level::Warning);
        assert_eq!(level(Kind::Memory("tmpfs")), Level::Warning);
        assert_eq!(level(Kind::Local), Level::Ok);
    }

    #[test]
    fn a_full_disk_is_told_before_it_is_full() {
        assert_eq!(space(NO_ROOM - 1, u64::MAX).level, Level::Problem);
        assert_eq!(space(LITTLE_ROOM - 1, u64::MAX).level, Level::Warning);
        assert_eq!(space(LITTLE_ROOM, FEW_FILES - 1).level, Level::Warning);
        assert_eq!(space(LITTLE_ROOM, FEW_FILES).level, Level::Ok);
    }
}
