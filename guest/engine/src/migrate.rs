//! Stores that an earlier version wrote: copied first, then brought up to the present schema in one transaction.
//!
//! The copy is made under a temporary name, synced, and gets its own name when it is whole: `talktree.db.schema-1`, with a
//! number behind it where that is taken. It stays until somebody removes it. Whatever step a kill falls on, the store is
//! the old one or the new one, and what has the copy's name is a whole copy.

use rusqlite::Connection;

use crate::copy;
use crate::error::{Error, Kind, Result};
use crate::place::{FILE_NAME, Place};
use crate::schema;
use crate::store::Durability;

/// Copies of one schema that are kept at most beside a store.
const MAX_COPIES: u32 = 100;

/// Brings a store of an earlier schema up to the present one.
pub(crate) fn migrate(
    connection: &Connection,
    place: &mut impl Place,
    older: i32,
    durability: Durability,
) -> Result<()> {
    let copy = keep_a_copy(connection, place, older)?;
    let migrated = schema::use_log(connection, durability).and_then(|()| schema::migrate(connection));
    if migrated.is_err() {
        // The store is as it was: with the copy, each further attempt would leave another one.
        let _ = place.remove_file(&copy);
    }
    migrated
}

/// Copies the store as it is, and answers the name of the copy.
fn keep_a_copy(connection: &Connection, place: &mut impl Place, older: i32) -> Result<String> {
    let name = free_name(place, older)?;
    let copy = copy::make(connection, place)?;
    place.rename_file(&copy::name(copy), &name)?;
    Ok(name)
}

fn free_name(place: &impl Place, older: i32) -> Result<String> {
    for number in 1..=MAX_COPIES {
        let name = match number {
            1 => format!("{FILE_NAME}.schema-{older}"),
            _ => format!("{FILE_NAME}.schema-{older}-{number}"),
        };
        if place.file_size(&name)?.is_none() {
            return Ok(name);
        }
    }
    Err(Error::new(
        Kind::Other,
        format!("there are {MAX_COPIES} copies of schema {older} beside the store already; move some of them away"),
    ))
}
