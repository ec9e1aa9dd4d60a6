//! Giving room back: the file is written anew without free pages, and the log cut to nothing.
//!
//! What was deleted stays in free pages, in the unused part of pages, and in the log. None of that is left afterwards.

use rusqlite::Connection;

use crate::copy::with_room_for_another;
use crate::error::Result;
use crate::place::{FILE_NAME, Place};
use crate::store::Store;
use crate::types::VacuumReport;

impl<P: Place> Store<P> {
    /// Rewrites the file without free pages. It needs up to twice the file's size in free room: once for a temporary
    /// copy, once for the log. Without it the call fails and nothing has changed.
    pub fn vacuum(&mut self) -> Result<VacuumReport> {
        self.drop_worn_index()?;
        let report = self.alone(|connection, place| {
            // What the log holds belongs to the file.
            empty_log(connection)?;
            let before = place.file_size(FILE_NAME)?.unwrap_or(0);
            let vacuumed = with_room_for_another(connection, || Ok(connection.execute_batch("VACUUM")?));
            // What a failed attempt has written to the log takes room, too.
            let emptied = empty_log(connection);
            vacuumed.and(emptied)?;
            Ok(VacuumReport { before, after: place.file_size(FILE_NAME)?.unwrap_or(0) })
        })?;
        Ok(report.unwrap_or(VacuumReport { before: 0, after: 0 }))
    }
}

/// Writes the log back into the file and cuts it to nothing.
fn empty_log(connection: &Connection) -> Result<()> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
}
