//! The directory where compiled code is kept between runs.
//!
//! What lies there is run as machine code, so nobody else may be able to write there: it must belong to this user, and
//! neither its group nor the world may write into it.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::settings::CacheChoice;

/// What lies in there is swept by wasmtime when it is old or too much, and with it whatever else does: so it is a directory
/// of its own, beside what others may keep in the one above.
pub(crate) const COMPILED: &str = "compiled";

/// The directory to use, or none. A directory that the caller chose must be safe; the user's own is left unused if it
/// is not, or cannot be made: then code is compiled anew in every process.
pub(crate) fn choose(choice: &CacheChoice) -> Result<Option<PathBuf>> {
    match choice {
        CacheChoice::Off => Ok(None),
        CacheChoice::Directory(path) => prepare(&path.join(COMPILED)).map(Some),
        CacheChoice::User => Ok(user_directory().and_then(|path| match prepare(&path.join(COMPILED)) {
            Ok(path) => Some(path),
            Err(error) => {
                tracing::warn!(%error, "compiled code is not kept: every start takes seconds longer");
                None
            }
        })),
    }
}

/// Where the platform keeps what can be made again.
pub(crate) fn user_directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("talktree"))
}

fn prepare(path: &Path) -> Result<PathBuf> {
    let refuse =
        |why: String| Error::new(ErrorKind::Forbidden, format!("the cache directory {}: {why}", path.display()));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| refuse(error.to_string()))?;
    let path = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    check(&path).map_err(refuse)?;
    Ok(path)
}

/// Says why others might write into this directory, or put another one in its place.
#[cfg(unix)]
fn check(path: &Path) -> std::result::Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    // A file that this process makes belongs to the user that it runs as.
    let user = tempfile::tempfile_in(path)
        .and_then(|probe| probe.metadata())
        .map_err(|error| format!("it cannot be written: {error}"))?
        .uid();
    check_owners(path, user)
}

/// The same without making anything there.
#[cfg(unix)]
pub(crate) fn check_as_it_is(path: &Path) -> std::result::Result<(), String> {
    check_owners(path, rustix::process::geteuid().as_raw())
}

/// Says who beside this user might write into this directory.
#[cfg(unix)]
fn check_owners(path: &Path, user: u32) -> std::result::Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    const GROUP_OR_WORLD_WRITES: u32 = 0o022;
    const WORLD_WRITES: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    const ROOT: u32 = 0;

    for (depth, place) in path.ancestors().enumerate() {
        let found = place.metadata().map_err(|error| error.to_string())?;
        let owner = found.uid();
        let (is_owned, is_writable) = if depth == 0 {
            (owner == user, found.mode() & GROUP_OR_WORLD_WRITES != 0)
        } else {
            (owner == user || owner == ROOT, found.mode() & WORLD_WRITES != 0 && found.mode() & STICKY == 0)
        };
        if !is_owned {
            return Err(format!("{} belongs to another user", place.display()));
        }
        if is_writable {
            return Err(format!("others may write into {}: take that right away (chmod go-w)", place.display()));
        }
    }
    Ok(())
}

/// Elsewhere the user's own cache directory is protected by the system.
#[cfg(not(unix))]
fn check(_path: &Path) -> std::result::Result<(), String> {
    Ok(())
}

/// The same without making anything there.
#[cfg(not(unix))]
pub(crate) fn check_as_it_is(_path: &Path) -> std::result::Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use std::os::unix::fs::PermissionsExt;

    use super::prepare;
    use crate::error::ErrorKind;

    #[test]
    fn it_is_made_for_this_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = prepare(&parent.path().join("a/b")).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        prepare(&path).unwrap();
    }

    #[test]
    fn one_that_others_can_write_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = prepare(&parent.path().join("cache")).unwrap();
        for mode in [0o770, 0o720, 0o702, 0o777] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(prepare(&path).unwrap_err().kind(), ErrorKind::Forbidden, "{mode:o}");
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        prepare(&path).unwrap();
        // Whoever can rename it can put another one in its place.
        std::fs::set_permissions(parent.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(prepare(&path).is_err());
    }
}
