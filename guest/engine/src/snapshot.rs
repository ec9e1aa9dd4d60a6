//! Snapshots: a consistent copy of the store, handed out in pieces.
//!
//! The copy lies beside the store under a temporary name, so writes may go on between the pieces. It goes with its last
//! piece, with the start of another snapshot, or when the store is next opened. It has an epoch of its own: a store that
//! is made of it lives another life, and knows that cursors of this one are none of its own.

use rusqlite::{Connection, OpenFlags};

use crate::copy;
use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::place::{Place, beside};
use crate::schema;
use crate::store::Store;
use crate::types::SnapshotPiece;

/// Bytes of a piece where nothing is said.
const PIECE_BYTES: u64 = 1024 * 1024;

/// Bytes of a piece at most.
const MAX_PIECE_BYTES: u64 = 16 * 1024 * 1024;

impl<P: Place> Store<P> {
    /// A piece of a copy of the store: the first one, which makes the copy, or the one where a cursor stands.
    pub fn snapshot(&mut self, cursor: Option<&str>, max_bytes: Option<u64>) -> Result<SnapshotPiece> {
        let length = match max_bytes {
            None => PIECE_BYTES,
            Some(0) => {
                return Err(Error::new(Kind::InvalidArgument, "max-bytes must be at least 1").subject("max-bytes"));
            }
            Some(bytes) => bytes.min(MAX_PIECE_BYTES),
        };
        let (number, offset) = match cursor {
            Some(cursor) => {
                let [number, offset] = self.read(|tx| tx.decode_cursor(Purpose::Snapshot, cursor))?;
                (number, offset)
            }
            None => match self.start_snapshot()? {
                Some(number) => (number, 0),
                None => return Ok(SnapshotPiece { data: Vec::new(), bytes: 0, cursor: None }),
            },
        };
        let name = copy::name(number);
        let bytes = match self.place().file_size(&name)? {
            Some(bytes) if offset < bytes => bytes,
            _ => return Err(stale("the snapshot of that cursor is no longer there")),
        };
        let data = self.place().read_file(&name, offset, usize::try_from(length).unwrap_or(usize::MAX))?;
        let end = offset + data.len() as u64;
        let cursor = if end >= bytes || data.is_empty() {
            self.drop_snapshot();
            None
        } else {
            Some(self.read(|tx| tx.encode_cursor(Purpose::Snapshot, &[number, end]))?)
        };
        Ok(SnapshotPiece { data, bytes, cursor })
    }

    /// Makes a copy. None: there is nothing to be copied.
    fn start_snapshot(&mut self) -> Result<Option<u64>> {
        self.drop_snapshot();
        let number = self.alone(|connection, place| {
            let number = copy::make(connection, place)?;
            if let Err(error) = begin_another_life(place, number) {
                copy::remove(place, number);
                return Err(error);
            }
            Ok(number)
        })?;
        self.snapshot = number;
        Ok(number)
    }

    /// Removes the copy of this instance, if there is one.
    fn drop_snapshot(&mut self) {
        if let Some(number) = self.snapshot.take() {
            copy::remove(self.place_mut(), number);
        }
    }
}

/// Gives the copy an epoch of its own.
fn begin_another_life(place: &impl Place, number: u64) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(beside(place, &copy::name(number)), flags)?;
    schema::harden(&opened)?;
    // Nobody misses the copy after a crash.
    opened.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
    opened.pragma_update(None, "synchronous", "OFF")?;
    schema::renew_epoch(&opened)?;
    opened.close().map_err(|(_, error)| error.into())
}
