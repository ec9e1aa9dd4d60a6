//! What SQLite asks of a system beside open files: opening, deleting, random numbers, time. And how it is registered.

use std::cell::{Cell, OnceCell};
use std::ffi::{CStr, c_char, c_int};
use std::{ptr, slice};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_vfs};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags};
use wasip2::random::random::{get_random_bytes, get_random_u64};

use crate::code::{self, Code};
use crate::file::{OpenFile, Role};
use crate::folder::{Folder, TEMPORARY_PREFIX, folder, is_plain_name};
use crate::methods::{self, HANDLE_SIZE, HostFile};

/// The name under which SQLite knows this VFS.
const NAME: &CStr = c"talktree";
/// The longest name of a file, its end included.
const LONGEST_NAME: c_int = 256;
/// Unix time 0 in SQLite's count: milliseconds since noon of 24 November 4714 BC.
const UNIX_EPOCH: sqlite3_int64 = 210_866_760_000_000;
const MILLISECONDS_PER_DAY: f64 = 86_400_000.0;

thread_local! {
    /// SQLite keeps a pointer to it for good.
    static REGISTRATION: OnceCell<*mut sqlite3_vfs> = const { OnceCell::new() };
    /// The host's last error of what is done here.
    static LAST_ERROR: Cell<Option<ErrorCode>> = const { Cell::new(None) };
}

/// Registers the VFS as SQLite's default, and answers SQLite's result code. SQLite compiled with `SQLITE_OS_OTHER`
/// calls it by itself.
pub fn register() -> c_int {
    let vfs = REGISTRATION.with(|known| *known.get_or_init(|| Box::into_raw(Box::new(table()))));
    // SAFETY: the table lives for good, and all its functions keep to what SQLite asks of them.
    unsafe { ffi::sqlite3_vfs_register(vfs, 1) }
}

/// SQLite calls this when it is initialised: where no default VFS is registered then, initialising fails.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
extern "C" fn sqlite3_os_init() -> c_int {
    register()
}

/// SQLite calls this when it is shut down. Nothing needs to be undone.
#[cfg(target_arch = "wasm32")]
#[unsafe(no_mangle)]
extern "C" fn sqlite3_os_end() -> c_int {
    ffi::SQLITE_OK
}

fn table() -> sqlite3_vfs {
    sqlite3_vfs {
        iVersion: 2,
        szOsFile: HANDLE_SIZE,
        mxPathname: LONGEST_NAME,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// A name that SQLite passes. None: it is not text.
///
/// # Safety
///
/// `name` must be null or a C string.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: as the caller promises.
    if name.is_null() { None } else { unsafe { CStr::from_ptr(name) }.to_str().ok() }
}

/// Remembers the host's error for `get_last_error`.
fn note(error: ErrorCode) -> ErrorCode {
    LAST_ERROR.set(Some(error));
    error
}

/// The directory, or the code that says that there is none.
fn directory() -> Result<std::rc::Rc<Folder>, Code> {
    folder().map_err(|_| ffi::SQLITE_CANTOPEN)
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    target: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the object to fill in. Until it is one of ours it must not be closed.
    unsafe { methods::install_nothing(target) };
    let opened = if name.is_null() {
        open_temporary().map(|file| (Some(file), false))
    } else {
        // SAFETY: SQLite passes a C string.
        match unsafe { text(name) } {
            Some(name) => open_named(name, flags),
            None => Err(ffi::SQLITE_CANTOPEN),
        }
    };
    match opened {
        Ok((file, read_only)) => {
            // SAFETY: SQLite passes the object to fill in, with the room that the table asks for.
            unsafe { methods::install(target, OpenFile::new(file, Role::of(flags))) };
            if !flags_out.is_null() {
                let granted =
                    if read_only { (flags & !ffi::SQLITE_OPEN_READWRITE) | ffi::SQLITE_OPEN_READONLY } else { flags };
                // SAFETY: it is not null, so it is a place for the answer.
                unsafe { *flags_out = granted };
            }
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

/// Makes a file with a new name, which is deleted when it is closed.
fn open_temporary() -> Result<HostFile, Code> {
    let folder = directory()?;
    loop {
        let name = format!("{TEMPORARY_PREFIX}{:016x}", get_random_u64());
        match folder.create_exclusively(&name) {
            Ok(descriptor) => return Ok(HostFile::temporary(descriptor, name)),
            Err(ErrorCode::Exist) => {}
            Err(error) => return Err(code::of_open(note(error))),
        }
    }
}

/// Opens a file of the store, and says whether it can only be read. No file: an empty one that nobody can write.
fn open_named(name: &str, flags: c_int) -> Result<(Option<HostFile>, bool), Code> {
    let folder = directory()?;
    let file = |descriptor: Descriptor| {
        if flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 {
            HostFile::temporary(descriptor, name.to_owned())
        } else {
            HostFile::new(descriptor)
        }
    };
    let open_to_read = || folder.open(name, OpenFlags::empty(), DescriptorFlags::READ);
    if flags & ffi::SQLITE_OPEN_READWRITE == 0 {
        return open_to_read().map(|found| (Some(file(found)), true)).map_err(|error| code::of_open(note(error)));
    }
    let mut how = OpenFlags::empty();
    if flags & ffi::SQLITE_OPEN_CREATE != 0 {
        how |= OpenFlags::CREATE;
    }
    if flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0 {
        how |= OpenFlags::EXCLUSIVE;
    }
    match folder.open(name, how, DescriptorFlags::READ | DescriptorFlags::WRITE) {
        Ok(found) => Ok((Some(file(found)), false)),
        Err(error) if code::is_read_only(note(error)) && flags & ffi::SQLITE_OPEN_EXCLUSIVE == 0 => {
            match open_to_read() {
                Ok(found) => Ok((Some(file(found)), true)),
                // A store that was closed has no log. SQLite wants one to read a database in WAL mode, and where none
                // can be made an empty one is as good.
                Err(ErrorCode::NoEntry) if flags & ffi::SQLITE_OPEN_WAL != 0 => Ok((None, true)),
                Err(error) => Err(code::of_open(note(error))),
            }
        }
        Err(error) => Err(code::of_open(error)),
    }
}

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    let Some(name) = (unsafe { text(name) }) else { return ffi::SQLITE_IOERR_DELETE };
    let folder = match directory() {
        Ok(folder) => folder,
        Err(code) => return code,
    };
    match folder.delete(name) {
        Ok(true) => {}
        Ok(false) => return ffi::SQLITE_IOERR_DELETE_NOENT,
        Err(error) => return code::of_write(note(error), ffi::SQLITE_IOERR_DELETE),
    }
    if sync_directory != 0
        && let Err(error) = folder.sync()
        && code::is_failed_directory_sync(note(error))
    {
        return ffi::SQLITE_IOERR_DIR_FSYNC;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn access(_vfs: *mut sqlite3_vfs, name: *const c_char, flags: c_int, answer: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    let Some(name) = (unsafe { text(name) }) else { return ffi::SQLITE_IOERR_ACCESS };
    let folder = match directory() {
        Ok(folder) => folder,
        Err(code) => return code,
    };
    let there = match folder.look(name) {
        // As in SQLite's own VFS: an empty file is none. A journal that was never written must not be played back.
        Ok(Some(entry)) => !entry.is_file || entry.size > 0,
        Ok(None) => false,
        Err(error) => {
            note(error);
            return ffi::SQLITE_IOERR_ACCESS;
        }
    };
    let yes = there && (flags != ffi::SQLITE_ACCESS_READWRITE || folder.may_change());
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *answer = c_int::from(yes) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a C string.
    let Some(name) = (unsafe { text(name) }).filter(|name| is_plain_name(name)) else { return ffi::SQLITE_CANTOPEN };
    if name.len() >= usize::try_from(room).unwrap_or(0) {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: SQLite passes that much room, which takes the name and the zero behind it.
    unsafe {
        ptr::copy_nonoverlapping(name.as_ptr(), out.cast(), name.len());
        *out.add(name.len()) = 0;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, length: c_int, out: *mut c_char) -> c_int {
    let bytes = get_random_bytes(u64::try_from(length).unwrap_or(0));
    // SAFETY: SQLite passes room for that many bytes.
    let room = unsafe { slice::from_raw_parts_mut(out.cast::<u8>(), usize::try_from(length).unwrap_or(0)) };
    let count = bytes.len().min(room.len());
    room[..count].copy_from_slice(&bytes[..count]);
    c_int::try_from(count).unwrap_or(length)
}

unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    let nanoseconds = u64::try_from(microseconds).unwrap_or(0) * 1000;
    monotonic_clock::subscribe_duration(nanoseconds).block();
    microseconds
}

/// The time in SQLite's count.
fn julian_milliseconds() -> sqlite3_int64 {
    let now = wall_clock::now();
    let unix = now.seconds.saturating_mul(1000).saturating_add(u64::from(now.nanoseconds / 1_000_000));
    UNIX_EPOCH.saturating_add(sqlite3_int64::try_from(unix).unwrap_or(sqlite3_int64::MAX))
}

unsafe extern "C" fn current_time_int64(_vfs: *mut sqlite3_vfs, out: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *out = julian_milliseconds() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time(_vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *out = julian_milliseconds() as f64 / MILLISECONDS_PER_DAY };
    ffi::SQLITE_OK
}

unsafe extern "C" fn get_last_error(_vfs: *mut sqlite3_vfs, room: c_int, out: *mut c_char) -> c_int {
    let Some(error) = LAST_ERROR.get() else { return 0 };
    let name = error.name();
    let room = usize::try_from(room).unwrap_or(0);
    if !out.is_null() && room > 0 {
        let count = name.len().min(room - 1);
        // SAFETY: SQLite passes that much room.
        unsafe {
            ptr::copy_nonoverlapping(name.as_ptr(), out.cast(), count);
            *out.add(count) = 0;
        }
    }
    c_int::from(error as u8)
}
