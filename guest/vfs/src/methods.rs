//! The table of functions through which SQLite uses one open file: raw pointers in, [`OpenFile`] out.

use std::ffi::{c_int, c_void};
use std::slice;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};
use wasip2::filesystem::types::{Descriptor, ErrorCode};

use crate::code::Code;
use crate::file::{OpenFile, Raw};
use crate::folder::folder;

/// A file of the host.
#[derive(Debug)]
pub(crate) struct HostFile {
    descriptor: Descriptor,
    /// Its name, where it is deleted on closing.
    temporary: Option<String>,
}

impl HostFile {
    /// A file that is there to stay.
    pub(crate) fn new(descriptor: Descriptor) -> Self {
        Self { descriptor, temporary: None }
    }

    /// A file that is deleted on closing.
    pub(crate) fn temporary(descriptor: Descriptor, name: String) -> Self {
        Self { descriptor, temporary: Some(name) }
    }
}

impl Raw for HostFile {
    fn read(&self, length: usize, offset: u64) -> Result<Vec<u8>, ErrorCode> {
        let (mut bytes, _) = self.descriptor.read(length as u64, offset)?;
        // No host should give more than it was asked for.
        bytes.truncate(length);
        Ok(bytes)
    }

    fn write(&self, data: &[u8], offset: u64) -> Result<u64, ErrorCode> {
        self.descriptor.write(data, offset)
    }

    fn set_size(&self, size: u64) -> Result<(), ErrorCode> {
        self.descriptor.set_size(size)
    }

    fn size(&self) -> Result<u64, ErrorCode> {
        self.descriptor.stat().map(|stat| stat.size)
    }

    fn sync(&self) -> Result<(), ErrorCode> {
        self.descriptor.sync_data()
    }

    fn sync_directory(&self) -> Result<(), ErrorCode> {
        folder().map_err(|_| ErrorCode::NoEntry)?.sync()
    }

    fn delete_if_temporary(&self) {
        if let Some(name) = &self.temporary
            && let Ok(folder) = folder()
        {
            // What cannot be deleted now is swept when the store is next opened.
            let _ = folder.delete(name);
        }
    }
}

/// What SQLite reserves room for in each of its file objects.
#[repr(C)]
pub(crate) struct Handle {
    base: sqlite3_file,
    file: *mut OpenFile<HostFile>,
}

/// Size of the file object that SQLite reserves.
pub(crate) const HANDLE_SIZE: c_int = size_of::<Handle>() as c_int;

/// Makes a file object of SQLite one of ours.
///
/// # Safety
///
/// `target` must be the file object that SQLite passed to `xOpen`, with room for a [`Handle`].
pub(crate) unsafe fn install(target: *mut sqlite3_file, file: OpenFile<HostFile>) {
    let handle = Handle { base: sqlite3_file { pMethods: &raw const METHODS }, file: Box::into_raw(Box::new(file)) };
    // SAFETY: the caller promises the room; SQLite aligns it for any object.
    unsafe { target.cast::<Handle>().write(handle) };
}

/// Says that opening failed: SQLite then never closes the object.
///
/// # Safety
///
/// `target` must be the file object that SQLite passed to `xOpen`.
pub(crate) unsafe fn install_nothing(target: *mut sqlite3_file) {
    // SAFETY: the object begins with this member.
    unsafe { (*target).pMethods = std::ptr::null() };
}

// Version 1: no shared memory and no mapping.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The file behind SQLite's object.
///
/// # Safety
///
/// `handle` must have been set up by [`install`] and not closed, and no other reference to the file may live.
unsafe fn opened<'a>(handle: *mut sqlite3_file) -> &'a mut OpenFile<HostFile> {
    // SAFETY: `install` put a box there that only `close` takes away; SQLite calls one method at a time.
    unsafe { &mut *(*handle.cast::<Handle>()).file }
}

fn answer(outcome: Result<(), Code>) -> c_int {
    outcome.err().unwrap_or(ffi::SQLITE_OK)
}

/// SQLite's lengths and offsets are never negative.
fn unsigned(number: sqlite3_int64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

unsafe extern "C" fn close(handle: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, after which nothing else is called on it.
    let file = unsafe { Box::from_raw((*handle.cast::<Handle>()).file) };
    file.close();
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    handle: *mut sqlite3_file,
    buffer: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a buffer of that length that nobody else uses meanwhile.
    let (file, buffer) = unsafe {
        (opened(handle), slice::from_raw_parts_mut(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0)))
    };
    answer(file.read(buffer, unsigned(offset)))
}

unsafe extern "C" fn write(
    handle: *mut sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and data of that length that nobody changes meanwhile.
    let (file, data) =
        unsafe { (opened(handle), slice::from_raw_parts(data.cast::<u8>(), usize::try_from(length).unwrap_or(0))) };
    answer(file.write(data, unsigned(offset)))
}

unsafe extern "C" fn truncate(handle: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    answer(unsafe { opened(handle) }.truncate(unsigned(size)))
}

unsafe extern "C" fn sync(handle: *mut sqlite3_file, _flags: c_int) -> c_int {
    // Whatever the flags say, data and size are what has to last, and that is what one kind of sync gives.
    // SAFETY: SQLite passes an open file.
    answer(unsafe { opened(handle) }.sync())
}

unsafe extern "C" fn file_size(handle: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    match unsafe { opened(handle) }.size() {
        Ok(found) => {
            // SAFETY: SQLite passes a place for the answer.
            unsafe { *size = sqlite3_int64::try_from(found).unwrap_or(sqlite3_int64::MAX) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn lock(handle: *mut sqlite3_file, _level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    answer(unsafe { opened(handle) }.lock())
}

unsafe extern "C" fn unlock(_handle: *mut sqlite3_file, _level: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_handle: *mut sqlite3_file, held: *mut c_int) -> c_int {
    // Nobody else has the database, so nobody else has a lock.
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *held = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(handle: *mut sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file.
    let file = unsafe { opened(handle) };
    match operation {
        ffi::SQLITE_FCNTL_CKPT_START => file.checkpoint_starts(),
        ffi::SQLITE_FCNTL_CKPT_DONE => file.checkpoint_ends(),
        ffi::SQLITE_FCNTL_LAST_ERRNO => {
            let number = file.last_error().map_or(0, |error| c_int::from(error as u8));
            // SAFETY: for this operation SQLite passes a place for a number.
            unsafe { *argument.cast::<c_int>() = number };
        }
        // Hints (the size to come) are of no use; everything else (moved files, mapping, chunks) does not apply.
        _ => return ffi::SQLITE_NOTFOUND,
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sector_size(_handle: *mut sqlite3_file) -> c_int {
    4096
}

/// What may be relied on, and what not:
///
/// - `POWERSAFE_OVERWRITE`: a write that the power cuts short harms no bytes beside it. SQLite's unix and Windows VFS
///   claim the same of today's disks; without it each commit would fill a sector with copies of its last frame.
/// - `SUBPAGE_READ`: any range can be read, so SQLite reads long values without going through its cache.
/// - Not `UNDELETABLE_WHEN_OPEN` (a file can be deleted under us on most systems), not `ATOMIC`, `SAFE_APPEND` or
///   `SEQUENTIAL` (no host promises any of it).
unsafe extern "C" fn device_characteristics(_handle: *mut sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_SUBPAGE_READ
}
