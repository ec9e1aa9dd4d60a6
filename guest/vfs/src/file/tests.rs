//! The promises of one open file, against a host that counts, falls short and fails.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::*;

/// What a file of the fake host does and has seen.
#[derive(Default)]
struct Disk {
    bytes: RefCell<Vec<u8>>,
    calls: RefCell<Vec<&'static str>>,
    /// At most this much per call; 0: everything.
    portion: Cell<usize>,
    /// At most this much in the file; 0: any.
    room: Cell<usize>,
    sync_fails: Cell<Option<ErrorCode>>,
    directory_sync_fails: Cell<Option<ErrorCode>>,
    deleted: Cell<bool>,
}

impl Disk {
    fn portion(&self, length: usize) -> usize {
        if self.portion.get() == 0 { length } else { length.min(self.portion.get()) }
    }

    fn take_calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }
}

impl Raw for Rc<Disk> {
    fn read(&self, length: usize, offset: u64) -> Result<Vec<u8>, ErrorCode> {
        self.calls.borrow_mut().push("read");
        let bytes = self.bytes.borrow();
        let rest = bytes.get(offset as usize..).unwrap_or(&[]);
        Ok(rest[..self.portion(length.min(rest.len()))].to_vec())
    }

    fn write(&self, data: &[u8], offset: u64) -> Result<u64, ErrorCode> {
        self.calls.borrow_mut().push("write");
        let mut bytes = self.bytes.borrow_mut();
        let offset = offset as usize;
        let mut count = self.portion(data.len());
        if self.room.get() > 0 {
            count = count.min(self.room.get().saturating_sub(offset));
            if count == 0 {
                return Err(ErrorCode::InsufficientSpace);
            }
        }
        let end = offset + count;
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset..end].copy_from_slice(&data[..count]);
        Ok(count as u64)
    }

    fn set_size(&self, size: u64) -> Result<(), ErrorCode> {
        self.calls.borrow_mut().push("set-size");
        self.bytes.borrow_mut().resize(size as usize, 0);
        Ok(())
    }

    fn size(&self) -> Result<u64, ErrorCode> {
        self.calls.borrow_mut().push("size");
        Ok(self.bytes.borrow().len() as u64)
    }

    fn sync(&self) -> Result<(), ErrorCode> {
        self.calls.borrow_mut().push("sync");
        self.sync_fails.get().map_or(Ok(()), Err)
    }

    fn sync_directory(&self) -> Result<(), ErrorCode> {
        self.calls.borrow_mut().push("sync-directory");
        self.directory_sync_fails.get().map_or(Ok(()), Err)
    }

    fn delete_if_temporary(&self) {
        self.deleted.set(true);
    }
}

fn open(role: Role) -> (Rc<Disk>, OpenFile<Rc<Disk>>) {
    let disk = Rc::new(Disk::default());
    (Rc::clone(&disk), OpenFile::new(Some(disk), role))
}

const PAGE: usize = 512;

/// Writes one frame as SQLite does, and answers the offset behind it.
fn frame(file: &mut OpenFile<Rc<Disk>>, offset: u64, fill: u8, last: bool) -> Result<u64, Code> {
    let mut header = [0; 24];
    header[7] = u8::from(last);
    header[8] = fill;
    file.write(&header, offset)?;
    file.write(&[fill; PAGE], offset + 24)?;
    Ok(offset + 24 + PAGE as u64)
}

#[test]
fn a_commit_is_one_write_and_one_sync() {
    let (disk, mut log) = open(Role::Log);
    log.write(&[1; 32], 0).unwrap();
    let mut end = 32;
    for page in 0..5 {
        end = frame(&mut log, end, page, page == 4).unwrap();
    }
    log.sync().unwrap();
    assert_eq!(disk.take_calls(), ["write", "sync", "sync-directory"]);
    assert_eq!(disk.bytes.borrow().len() as u64, end);
    let end = frame(&mut log, end, 9, false).unwrap();
    frame(&mut log, end, 9, true).unwrap();
    log.sync().unwrap();
    assert_eq!(disk.take_calls(), ["write", "sync"]);
}

#[test]
fn a_committed_transaction_is_with_the_host_without_any_sync() {
    let (disk, mut log) = open(Role::Log);
    let end = frame(&mut log, 32, 1, false).unwrap();
    assert!(disk.take_calls().is_empty());
    let end = frame(&mut log, end, 2, true).unwrap();
    assert_eq!(disk.take_calls(), ["write"]);
    assert_eq!(disk.bytes.borrow().len() as u64, end);
    // Checksums that are mended after the last page go out one by one: nothing follows that would take them along.
    let mut header = [7; 24];
    header[7] = 1;
    log.write(&header, 32 + 24 + PAGE as u64).unwrap();
    assert_eq!(disk.take_calls(), ["write"]);
}

#[test]
fn reads_and_the_size_see_what_is_held() {
    let (disk, mut log) = open(Role::Log);
    let end = frame(&mut log, 32, 7, false).unwrap();
    let mut page = [0; PAGE];
    log.read(&mut page, 56).unwrap();
    assert_eq!(page, [7; PAGE]);
    assert!(disk.take_calls().is_empty());
    assert_eq!(log.size().unwrap(), end);
    let mut across = [0; 100];
    assert_eq!(log.read(&mut across, end - 10), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!((across[9], across[10]), (7, 0));
}

#[test]
fn a_full_disk_is_an_error_of_the_commit_and_reads_go_on() {
    let (disk, mut log) = open(Role::Log);
    let end = frame(&mut log, 32, 1, true).unwrap();
    disk.room.set(end as usize + 100);
    frame(&mut log, end, 2, false).unwrap();
    assert_eq!(frame(&mut log, end + 536, 2, true), Err(ffi::SQLITE_FULL));
    let mut page = [0; PAGE];
    log.read(&mut page, 56).unwrap();
    assert_eq!(page, [1; PAGE]);
    // The same again, with room: nothing of the failed one comes before it.
    disk.room.set(0);
    frame(&mut log, end, 3, true).unwrap();
    let bytes = disk.bytes.borrow();
    assert_eq!(bytes[end as usize + 24..][..PAGE], [3; PAGE]);
    assert_eq!(bytes[56..][..PAGE], [1; PAGE]);
}

#[test]
fn a_transaction_that_found_no_room_does_not_stand_in_the_way_of_what_fits() {
    let (disk, mut log) = open(Role::Log);
    let end = frame(&mut log, 32, 1, true).unwrap();
    disk.room.set(end as usize + 600);
    frame(&mut log, end, 2, false).unwrap();
    assert_eq!(frame(&mut log, end + 536, 2, true), Err(ffi::SQLITE_FULL));
    // What a checkpoint begins with.
    log.sync().unwrap();
    frame(&mut log, end, 3, true).unwrap();
    assert_eq!(disk.bytes.borrow()[end as usize + 24..][..PAGE], [3; PAGE]);
}

#[test]
fn a_log_is_cut_on_a_full_disk() {
    let (disk, mut log) = open(Role::Log);
    disk.room.set(1);
    assert_eq!(frame(&mut log, 32, 2, true), Err(ffi::SQLITE_FULL));
    log.truncate(0).unwrap();
    log.sync().unwrap();
    assert_eq!(log.size().unwrap(), 0);
}

#[test]
fn a_transaction_larger_than_what_may_be_held_goes_out_in_order() {
    let (disk, mut log) = open(Role::Log);
    let mut end = 32;
    let frames = 2 * crate::held::CAPACITY / PAGE;
    for number in 0..frames {
        end = frame(&mut log, end, number as u8, number + 1 == frames).unwrap();
    }
    assert!(disk.take_calls().len() < 5);
    let bytes = disk.bytes.borrow();
    assert_eq!(bytes.len() as u64, end);
    for number in 0..frames {
        assert_eq!(bytes[32 + number * 536 + 24], number as u8);
    }
}

#[test]
fn a_host_that_gives_and_takes_little_gets_everything_done() {
    let (disk, mut file) = open(Role::Journal);
    disk.portion.set(100);
    let data: Vec<u8> = (0..1000).map(|number| number as u8).collect();
    file.write(&data, 50).unwrap();
    let mut back = vec![0; 1000];
    file.read(&mut back, 50).unwrap();
    assert_eq!(back, data);
    let mut behind = [9; 10];
    assert_eq!(file.read(&mut behind, 1045), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!(behind[..5], data[995..]);
    assert_eq!(behind[5..], [0; 5]);
    assert_eq!(file.read(&mut behind, 5000), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!(behind, [0; 10]);
}

#[test]
fn pages_of_a_checkpoint_go_out_in_rows_and_before_it_counts() {
    let (disk, mut database) = open(Role::Database);
    database.checkpoint_starts();
    assert_eq!(database.size().unwrap(), 0);
    for page in [0, 1, 2, 5, 6] {
        database.write(&[page as u8; PAGE], page * PAGE as u64).unwrap();
    }
    database.checkpoint_ends();
    assert_eq!(disk.take_calls(), ["size", "write"]);
    database.truncate(7 * PAGE as u64).unwrap();
    database.sync().unwrap();
    assert_eq!(disk.take_calls(), ["write", "sync", "sync-directory"], "the size is right already");
    assert_eq!(disk.bytes.borrow()[6 * PAGE..], [6; PAGE]);

    database.checkpoint_starts();
    database.write(&[8; PAGE], 8 * PAGE as u64).unwrap();
    database.checkpoint_ends();
    disk.room.set(1);
    assert_eq!(database.truncate(9 * PAGE as u64), Err(ffi::SQLITE_FULL));
    assert_eq!(database.sync(), Err(ffi::SQLITE_FULL));
}

#[test]
fn a_failed_sync_is_reported_and_a_directory_that_has_none_is_not() {
    let (disk, mut log) = open(Role::Log);
    disk.sync_fails.set(Some(ErrorCode::Io));
    assert_eq!(log.sync(), Err(ffi::SQLITE_IOERR_FSYNC));
    disk.sync_fails.set(None);
    disk.directory_sync_fails.set(Some(ErrorCode::Io));
    assert_eq!(log.sync(), Err(ffi::SQLITE_IOERR_DIR_FSYNC));
    disk.directory_sync_fails.set(Some(ErrorCode::Invalid));
    log.sync().unwrap();
}

#[test]
fn an_outdated_file_is_neither_read_nor_written_nor_locked() {
    let (disk, mut database) = open(Role::Database);
    let (_, mut temporary) = open(Role::Temporary);
    let (_, mut log) = open(Role::Log);
    frame(&mut log, 32, 1, false).unwrap();
    turn::outdate();
    assert!(database.write(&[1], 0).is_err());
    assert!(database.read(&mut [0], 0).is_err());
    assert!(database.truncate(0).is_err());
    assert!(database.sync().is_err());
    assert!(database.size().is_err());
    assert!(database.lock().is_err());
    assert!(frame(&mut log, 568, 1, true).is_err());
    assert!(disk.take_calls().is_empty());
    temporary.write(&[1], 0).unwrap();
    let (_, mut new) = open(Role::Database);
    new.write(&[1], 0).unwrap();
}

#[test]
fn a_lost_turn_stops_every_write() {
    let (disk, mut log) = open(Role::Log);
    frame(&mut log, 32, 1, false).unwrap();
    turn::set_guard(Some(|writing| !writing));
    assert!(frame(&mut log, 568, 1, true).is_err());
    assert!(log.sync().is_err());
    assert!(log.truncate(0).is_err());
    log.read(&mut [0; 10], 60).unwrap();
    turn::set_guard(None);
    log.close();
    assert!(disk.take_calls().is_empty(), "closing writes nothing");
}

#[test]
fn a_temporary_file_is_deleted_on_closing_and_others_are_not() {
    let (disk, file) = open(Role::Temporary);
    file.close();
    assert!(disk.deleted.get());
    let (disk, file) = open(Role::Log);
    file.close();
    assert!(!disk.deleted.get());
}

#[test]
fn a_database_that_is_read_through_is_read_in_large_parts_and_never_as_it_was_before_a_write() {
    let disk = Rc::new(Disk::default());
    let content: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    disk.bytes.borrow_mut().clone_from(&content);
    let mut file = OpenFile::new(Some(Rc::clone(&disk)), Role::Database);
    let mut page = [0; 1000];
    for at in 0..90 {
        file.read(&mut page, at * 1000).unwrap();
        assert_eq!(page, content[at as usize * 1000..][..1000], "{at}");
    }
    assert_eq!(disk.take_calls(), ["read"; 3], "one to see that they follow each other, then two large ones");
    file.write(&[7; 1000], 91_000).unwrap();
    file.read(&mut page, 91_000).unwrap();
    assert_eq!(page, [7; 1000]);
    file.read(&mut page, 92_000).unwrap();
    file.truncate(92_500).unwrap();
    assert_eq!(file.read(&mut page, 92_000), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!((page[499], page[500]), (content[92_499], 0));
}

#[test]
fn the_log_is_read_as_it_is_asked_for() {
    let disk = Rc::new(Disk::default());
    disk.bytes.borrow_mut().resize(10_000, 1);
    let mut file = OpenFile::new(Some(Rc::clone(&disk)), Role::Log);
    for at in 0..10 {
        file.read(&mut [0; 1000], at * 1000).unwrap();
    }
    assert_eq!(disk.take_calls(), ["read"; 10]);
}
