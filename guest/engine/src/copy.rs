//! A consistent copy of the database in a file beside it.

use rusqlite::Connection;
use rusqlite::limits::Limit;

use crate::error::{Error, Kind, Result};
use crate::place::{Place, TEMPORARY_PREFIX, beside};

/// The name of the copy of this number.
pub(crate) fn name(number: u64) -> String {
    format!("{TEMPORARY_PREFIX}{number:016x}")
}

/// Makes a copy under a new temporary name, synced, and answers its number. What could not be finished is removed.
pub(crate) fn make(connection: &Connection, place: &mut impl Place) -> Result<u64> {
    // Without a sign: numbers of cursors have none.
    let number: i64 = connection.query_row("SELECT random() >> 1 & 0x3fffffffffffffff", [], |row| row.get(0))?;
    let number = number.unsigned_abs();
    let path = beside(place, &name(number));
    let path = path
        .to_str()
        .ok_or_else(|| Error::new(Kind::Other, "the path of the store's directory is no text in UTF-8"))?;
    let made = with_room_for_another(connection, || {
        connection.execute("VACUUM INTO ?1", [path])?;
        Ok(())
    });
    match made {
        Ok(()) => Ok(number),
        Err(error) => {
            remove(place, number);
            Err(error)
        }
    }
}

/// Removes a copy with what SQLite may have made beside it. What cannot be removed is swept when the store is next opened.
pub(crate) fn remove(place: &mut impl Place, number: u64) {
    let name = name(number);
    let _ = place.remove_file(&name);
    let _ = place.remove_file(&format!("{name}-journal"));
}

/// Does what needs a second database beside the store's, which is otherwise not allowed: a vacuum.
pub(crate) fn with_room_for_another<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    let answer = work();
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    answer
}
