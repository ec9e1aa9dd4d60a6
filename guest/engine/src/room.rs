//! How large the file may become.
//!
//! SQLite itself refuses a page beyond a number that it is given, and takes free pages first: so what was deleted makes
//! room at once, and a transaction that needs more fails as a whole. Deleting has to write before it frees anything (the
//! events that tell of it), so what makes room may use a reserve beyond the limit.

use rusqlite::Connection;

use crate::error::{Error, Kind, Result};
use crate::schema::PAGE_SIZE;
use crate::store::Options;

/// The most pages that SQLite can be told.
const MAX_PAGES: i64 = u32::MAX as i64 - 1;

/// The least that is kept for making room.
const MIN_RESERVE: u64 = 16 << 20;

/// What is kept of a limit, beyond it, for making room.
fn reserve(limit: u64) -> u64 {
    (limit / 16).max(MIN_RESERVE)
}

/// What the connection was told.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// What runs now makes room.
    pub(crate) reserve: bool,
    told: Option<u64>,
}

impl Room {
    /// The next connection has not been told anything.
    pub(crate) fn forget(&mut self) {
        self.told = None;
    }

    /// Tells the connection how large the file may become, where it is not as it was told last.
    pub(crate) fn limit(&mut self, connection: &Connection, options: &Options) -> Result<()> {
        let Some(limit) = options.max_file_bytes else { return Ok(()) };
        let bytes = if self.reserve { limit.saturating_add(reserve(limit)) } else { limit };
        if self.told != Some(bytes) {
            let pages = i64::try_from(bytes / u64::from(PAGE_SIZE)).unwrap_or(i64::MAX).clamp(1, MAX_PAGES);
            let granted: i64 = connection.query_row(&format!("PRAGMA max_page_count={pages}"), [], |row| row.get(0))?;
            // A file that is larger already may not grow. It is told again with the next write, in case it has shrunk.
            self.told = (granted == pages).then_some(bytes);
        }
        Ok(())
    }
}

/// What to say where there was no room: nobody can tell a disk without room from a file that may not grow.
pub(crate) fn beyond(limit: u64, pages: i64, error: &Error) -> Error {
    let message = format!(
        "there is no room for this, and nothing was written: the store may have {limit} bytes, and the disk may be full; \
         everything can be read; make room by deleting, or raise the limit ({error})"
    );
    Error::new(Kind::StorageFull, message).numbers(pages.unsigned_abs() * u64::from(PAGE_SIZE), limit)
}
