//! One open file: how reads, writes, syncs and truncations of SQLite become calls of the host.
//!
//! Calls of the host are what costs. A commit in WAL mode is one write and one sync:
//!
//! - In the **log**, the frames of a transaction are held back until its last page is written, and go to the host
//!   within that write (the module `log`). So nothing that SQLite takes for committed is ever held here, and a process
//!   that is killed loses no acknowledged transaction, with `synchronous=NORMAL` or `OFF` as well.
//! - In the **database**, pages that a checkpoint writes in a row are held back until the row ends. A checkpoint counts
//!   only after the truncation and the sync that follow it, both of which write out what is held and report its errors.
//!
//! - Where SQLite reads through the **database**, 64 KiB are read at once and serve for the reads that follow (the module
//!   `ahead`).
//!
//! What of the database could not be written stays held (the module `held`): reads see it, and the next write to the same
//! place goes over it, as it would in the file. Closing a file drops what is held, which can only belong to a transaction
//! that SQLite has rolled back or to a checkpoint that did not count. What of the log could not be written is dropped at
//! once: it belongs to a transaction that fails by this very error. Nothing of it is read again, and if it stayed, each
//! later write and each checkpoint would try to write it first, and fail where there is room for what is wanted now.

use std::cmp::max;
use std::ffi::c_int;

use rusqlite::ffi;
use wasip2::filesystem::types::ErrorCode;

use crate::ahead::Ahead;
use crate::code::{self, Code};
use crate::held::{Held, Overlap};
use crate::log::{Frames, Then};
use crate::turn;

/// A file as the host gives it. Any call may do less than it was asked for.
pub trait Raw {
    /// Reads at most that many bytes; none at or behind the end.
    fn read(&self, length: usize, offset: u64) -> Result<Vec<u8>, ErrorCode>;

    /// Writes some bytes.
    fn write(&self, data: &[u8], offset: u64) -> Result<u64, ErrorCode>;

    /// Cuts or extends it.
    fn set_size(&self, size: u64) -> Result<(), ErrorCode>;

    /// Its size.
    fn size(&self) -> Result<u64, ErrorCode>;

    /// Makes what was written durable, its size included. (`sync-data`: times are of no use to anybody here.)
    fn sync(&self) -> Result<(), ErrorCode>;

    /// Makes the entries of the directory that it is in durable.
    fn sync_directory(&self) -> Result<(), ErrorCode>;

    /// Removes its name, if it is a temporary file.
    fn delete_if_temporary(&self);
}

/// What SQLite uses a file for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The database.
    Database,
    /// The write-ahead log of the database.
    Log,
    /// A rollback journal of the database: only before it is in WAL mode.
    Journal,
    /// Anything that does not outlive the connection: sorts, temporary tables, the copy that a vacuum makes.
    Temporary,
}

impl Role {
    /// What a file is for, by the flags that SQLite opens it with.
    #[must_use]
    pub fn of(flags: c_int) -> Self {
        if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            Self::Database
        } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
            Self::Log
        } else if flags & (ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL) != 0 {
            Self::Journal
        } else {
            Self::Temporary
        }
    }
}

/// An open file.
#[derive(Debug)]
pub struct OpenFile<R> {
    /// None: an empty file that is not there, the log of a database in a directory that can only be read.
    raw: Option<R>,
    role: Role,
    epoch: u64,
    held: Held,
    /// Only of the database, which nobody else writes while the file is not outdated.
    ahead: Ahead,
    frames: Frames,
    /// Between the signals that SQLite gives at the start and the end of a checkpoint.
    in_checkpoint: bool,
    /// Size of the database with the host. Nobody else changes it while the file is not outdated.
    size: Option<u64>,
    directory_sync_due: bool,
    last_error: Option<ErrorCode>,
}

impl<R: Raw> OpenFile<R> {
    /// A file that was opened for this role.
    pub fn new(raw: Option<R>, role: Role) -> Self {
        Self {
            raw,
            role,
            epoch: turn::epoch(),
            held: Held::default(),
            ahead: Ahead::default(),
            frames: Frames::default(),
            in_checkpoint: false,
            size: None,
            // The file may be new, or its maker may have been killed before it came to this. One sync covers the
            // entries of the database and the log alike; where nothing changed it costs little, and only once.
            directory_sync_due: role != Role::Temporary,
            last_error: None,
        }
    }

    /// What it is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The host's last error on it.
    pub fn last_error(&self) -> Option<ErrorCode> {
        self.last_error
    }

    /// Fills the buffer. What lies behind the end of the file is zeros, and `SQLITE_IOERR_SHORT_READ`.
    pub fn read(&mut self, buffer: &mut [u8], offset: u64) -> Result<(), Code> {
        self.check(false, ffi::SQLITE_IOERR_READ)?;
        match self.held.overlap(offset, buffer.len()) {
            Overlap::None => {}
            Overlap::Whole(bytes) => {
                buffer.copy_from_slice(bytes);
                return Ok(());
            }
            Overlap::Part => self.write_out()?,
        }
        if let Some(bytes) = self.ahead.find(offset, buffer.len()) {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        let mut filled = 0;
        if let Some(raw) = &self.raw {
            // A host may give less than it was asked for, often 64 KiB at most.
            while filled < buffer.len() {
                let (at, missing) = (offset + filled as u64, buffer.len() - filled);
                let length = if self.role == Role::Database { self.ahead.wanted(at, missing) } else { missing };
                match raw.read(length, at) {
                    Ok(bytes) if bytes.is_empty() => break,
                    Ok(bytes) => {
                        let count = bytes.len().min(missing);
                        buffer[filled..filled + count].copy_from_slice(&bytes[..count]);
                        filled += count;
                        if bytes.len() > missing {
                            self.ahead.keep(at, bytes);
                        }
                    }
                    Err(ErrorCode::Interrupted) => {}
                    Err(error) => {
                        self.last_error = Some(error);
                        return Err(code::of_read(error));
                    }
                }
            }
        }
        if filled == buffer.len() {
            return Ok(());
        }
        buffer[filled..].fill(0);
        Err(ffi::SQLITE_IOERR_SHORT_READ)
    }

    /// Writes all of the data, or holds it back where that is safe.
    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Code> {
        self.check(true, ffi::SQLITE_IOERR_WRITE)?;
        let then = match self.role {
            Role::Log => self.frames.look(offset, data),
            Role::Database if self.in_checkpoint => Then::Wait,
            Role::Database | Role::Journal | Role::Temporary if self.held.is_empty() => {
                return self.put(data, offset);
            }
            Role::Database | Role::Journal | Role::Temporary => Then::WriteOut,
        };
        let written = self.take_in(data, offset, then);
        self.drop_failed_transaction(&written);
        written
    }

    fn take_in(&mut self, data: &[u8], offset: u64, then: Then) -> Result<(), Code> {
        if !self.hold(data, offset)? {
            self.write_out()?;
            self.hold(data, offset)?;
        }
        match then {
            Then::Wait => Ok(()),
            Then::WriteOut => self.write_out(),
        }
    }

    /// What the log holds is never committed yet: when it cannot be written, its transaction has failed.
    fn drop_failed_transaction(&mut self, written: &Result<(), Code>) {
        if written.is_err() && self.role == Role::Log {
            self.held.clear();
        }
    }

    /// Cuts or extends the file.
    pub fn truncate(&mut self, size: u64) -> Result<(), Code> {
        self.check(true, ffi::SQLITE_IOERR_TRUNCATE)?;
        self.held.cut(size);
        self.write_out()?;
        if self.role == Role::Database && self.size == Some(size) {
            return Ok(());
        }
        self.size = None;
        self.ahead.forget();
        let raw = self.raw.as_ref().ok_or(ffi::SQLITE_READONLY)?;
        if let Err(error) = raw.set_size(size) {
            self.last_error = Some(error);
            return Err(code::of_write(error, ffi::SQLITE_IOERR_TRUNCATE));
        }
        self.size = Some(size);
        Ok(())
    }

    /// Makes everything that was written durable.
    pub fn sync(&mut self) -> Result<(), Code> {
        self.check(true, ffi::SQLITE_IOERR_FSYNC)?;
        let written = self.write_out();
        self.drop_failed_transaction(&written);
        written?;
        let Some(raw) = &self.raw else { return Ok(()) };
        if let Err(error) = raw.sync() {
            self.last_error = Some(error);
            return Err(code::of_write(error, ffi::SQLITE_IOERR_FSYNC));
        }
        if self.directory_sync_due {
            if let Err(error) = raw.sync_directory()
                && code::is_failed_directory_sync(error)
            {
                self.last_error = Some(error);
                return Err(ffi::SQLITE_IOERR_DIR_FSYNC);
            }
            self.directory_sync_due = false;
        }
        Ok(())
    }

    /// The size of the file, with what is held.
    pub fn size(&mut self) -> Result<u64, Code> {
        self.check(false, ffi::SQLITE_IOERR_FSTAT)?;
        let size = match (self.size, &self.raw) {
            (Some(size), _) if self.role == Role::Database => size,
            (_, Some(raw)) => match raw.size() {
                Ok(size) => size,
                Err(error) => {
                    self.last_error = Some(error);
                    return Err(ffi::SQLITE_IOERR_FSTAT);
                }
            },
            (_, None) => 0,
        };
        self.size = Some(size);
        Ok(if self.held.is_empty() { size } else { max(size, self.held.end()) })
    }

    /// SQLite wants a lock. There are none, but an outdated file gives none either: this is what keeps SQLite from
    /// copying an outdated log into the database when its connection is closed.
    pub fn lock(&self) -> Result<(), Code> {
        self.check(false, ffi::SQLITE_IOERR_LOCK)
    }

    /// A checkpoint starts to write to this database.
    pub fn checkpoint_starts(&mut self) {
        self.in_checkpoint = true;
    }

    /// A checkpoint has written all its pages. SQLite does not look at an error here; the truncation and the sync that
    /// follow write out what is held as well, and report it.
    pub fn checkpoint_ends(&mut self) {
        self.in_checkpoint = false;
    }

    /// The file is done with. What is held is dropped: see the top of this module.
    pub fn close(self) {
        if self.role == Role::Temporary
            && let Some(raw) = &self.raw
        {
            raw.delete_if_temporary();
        }
    }

    fn check(&self, writing: bool, otherwise: Code) -> Result<(), Code> {
        // Nobody else knows the names of temporary files.
        if self.role == Role::Temporary || turn::held(self.epoch, writing) { Ok(()) } else { Err(otherwise) }
    }

    fn hold(&mut self, data: &[u8], offset: u64) -> Result<bool, Code> {
        self.held.take_in(offset, data).map_err(|_| ffi::SQLITE_IOERR_NOMEM)
    }

    /// Gives what is held to the host. On failure all of it stays: writing the same bytes twice is no harm.
    fn write_out(&mut self) -> Result<(), Code> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let outcome = self.put(held.bytes(), held.start());
        self.held = held;
        outcome?;
        self.held.clear();
        Ok(())
    }

    fn put(&mut self, data: &[u8], offset: u64) -> Result<(), Code> {
        let raw = self.raw.as_ref().ok_or(ffi::SQLITE_READONLY)?;
        let known = self.size.take();
        self.ahead.forget();
        let mut written = 0;
        while written < data.len() {
            match raw.write(&data[written..], offset + written as u64) {
                // A host that takes nothing and says nothing has no room.
                Ok(0) => return Err(ffi::SQLITE_FULL),
                Ok(count) => written = data.len().min(written + usize::try_from(count).unwrap_or(usize::MAX)),
                Err(ErrorCode::Interrupted) => {}
                Err(error) => {
                    self.last_error = Some(error);
                    return Err(code::of_write(error, ffi::SQLITE_IOERR_WRITE));
                }
            }
        }
        self.size = known.map(|size| max(size, offset + data.len() as u64));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
