//! A consistent copy of the database in a file beside it.

use rusqlite::Connection;
use rusqlite::limits::Limit;

use crate::error::{Error, Kind, Result};
use crate::place::{Place, TEMPORARY_PREFIX, beside};

/// Makes a copy under a new temporary name, synced, and answers the name. What could not be finished is removed.
pub(crate) fn make(connection: &Connection, place: &mut impl Place) -> Result<String> {
    let number: String = connection.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))?;
    let name = format!("{TEMPORARY_PREFIX}{number}");
    let path = beside(place, &name);
    let path = path
        .to_str()
        .ok_or_else(|| Error::new(Kind::Other, "the path of the store's directory is no text in UTF-8"))?;
    let made = with_room_for_another(connection, || {
        connection.execute("VACUUM INTO ?1", [path])?;
        Ok(())
    });
    match made {
        Ok(()) => Ok(name),
        Err(error) => {
            // What stays behind is swept when the store is next opened.
            let _ = place.remove_file(&name);
            let _ = place.remove_file(&format!("{name}-journal"));
            Err(error)
        }
    }
}

/// Does what needs a second database beside the store's, which is otherwise not allowed: a vacuum.
pub(crate) fn with_room_for_another<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    let answer = work();
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    answer
}
