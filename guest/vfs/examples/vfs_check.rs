//! Checks of the VFS that need a host: a command component that runs one of them, by name, in the directory that it is
//! given. It prints what it found and fails by panicking.
//!
//! ```sh
//! eval "$(cargo xtask env)"
//! cargo build -p talktree-vfs --example vfs_check --profile component --target wasm32-wasip2
//! wasmtime run --dir empty::/data target/wasm32-wasip2/component/examples/vfs_check.wasm files
//! ```
//!
//! `tests/in_the_sandbox.rs` runs all of them.
#![allow(clippy::unwrap_used, reason = "a check fails by panicking")]

use std::ffi::{CString, c_int, c_void};
use std::{env, fs, ptr};

use rusqlite::{Connection, ffi};
use talktree_vfs::{Folder, TEMPORARY_PREFIX, folder};

const DATABASE: &str = "check.db";

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let count = |at: usize| arguments.get(at).map_or(0, |text| text.parse::<u32>().unwrap());
    match arguments.get(1).map(String::as_str) {
        Some("files") => files(),
        Some("log") => log(),
        Some("sort") => sort(count(2)),
        Some("vacuum") => vacuum(count(2)),
        Some("random") => random(),
        Some("read") => read(),
        Some("insert") => insert(count(2), &arguments[3]),
        Some("trap") => trap(count(2)),
        Some("names") => names(),
        Some(other) => panic!("no check is named {other:?}"),
        None => println!("checks: files, log, sort N, vacuum N, random, read, insert N MODE, trap N, names"),
    }
}

/// Opens the database as the engine does.
fn open(synchronous: &str) -> Connection {
    let connection = Connection::open(DATABASE).unwrap();
    let _: String = connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |row| row.get(0)).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    connection.execute_batch(&format!("PRAGMA synchronous={synchronous}")).unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS message (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, json TEXT)")
        .unwrap();
    connection
}

fn integrity(connection: &Connection) {
    let word: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok");
}

fn temporary_files(folder: &Folder) -> usize {
    folder.names().unwrap().iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)).count()
}

/// A file as SQLite itself uses it: through the VFS that is registered as the default one.
struct File {
    memory: Vec<u64>,
}

impl File {
    fn open(name: &str, flags: c_int) -> Result<Self, c_int> {
        // SAFETY: SQLite is initialised; the name outlives the call, and the memory is as large as the VFS asks for.
        unsafe {
            assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
            let vfs = ffi::sqlite3_vfs_find(ptr::null());
            let mut memory = vec![0_u64; usize::try_from((*vfs).szOsFile).unwrap().div_ceil(8)];
            // SQLite passes names with more behind them; two zeros end the list.
            let name = CString::new(name).unwrap();
            let code = (*vfs).xOpen.unwrap()(vfs, name.as_ptr(), memory.as_mut_ptr().cast(), flags, ptr::null_mut());
            if code == ffi::SQLITE_OK { Ok(Self { memory }) } else { Err(code) }
        }
    }

    fn raw(&mut self) -> (*mut ffi::sqlite3_file, &'static ffi::sqlite3_io_methods) {
        let file: *mut ffi::sqlite3_file = self.memory.as_mut_ptr().cast();
        // SAFETY: the VFS has opened it, and its table of functions is a constant.
        (file, unsafe { &*(*file).pMethods })
    }

    fn read(&mut self, length: usize, offset: i64) -> (c_int, Vec<u8>) {
        let (file, methods) = self.raw();
        let mut buffer = vec![0xAA; length];
        let length = c_int::try_from(length).unwrap();
        // SAFETY: the file is open and the buffer is that long.
        let code = unsafe { methods.xRead.unwrap()(file, buffer.as_mut_ptr().cast::<c_void>(), length, offset) };
        (code, buffer)
    }

    fn write(&mut self, data: &[u8], offset: i64) -> c_int {
        let (file, methods) = self.raw();
        let length = c_int::try_from(data.len()).unwrap();
        // SAFETY: the file is open and the data is that long.
        unsafe { methods.xWrite.unwrap()(file, data.as_ptr().cast(), length, offset) }
    }

    fn truncate(&mut self, size: i64) -> c_int {
        let (file, methods) = self.raw();
        // SAFETY: the file is open.
        unsafe { methods.xTruncate.unwrap()(file, size) }
    }

    fn sync(&mut self) -> c_int {
        let (file, methods) = self.raw();
        // SAFETY: the file is open.
        unsafe { methods.xSync.unwrap()(file, ffi::SQLITE_SYNC_FULL) }
    }

    fn size(&mut self) -> i64 {
        let (file, methods) = self.raw();
        let mut size = 0;
        // SAFETY: the file is open and there is room for the answer.
        assert_eq!(unsafe { methods.xFileSize.unwrap()(file, &raw mut size) }, ffi::SQLITE_OK);
        size
    }

    fn close(mut self) {
        let (file, methods) = self.raw();
        // SAFETY: the file is open, and is not used afterwards.
        assert_eq!(unsafe { methods.xClose.unwrap()(file) }, ffi::SQLITE_OK);
    }
}

/// Reading, writing, cutting and deleting files does what SQLite expects of it.
fn files() {
    let new = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
    assert_eq!(File::open("plain", new & !ffi::SQLITE_OPEN_CREATE).err(), Some(ffi::SQLITE_CANTOPEN));
    let mut file = File::open("plain", new).unwrap();
    assert_eq!(file.size(), 0);
    assert_eq!(file.read(10, 0), (ffi::SQLITE_IOERR_SHORT_READ, vec![0; 10]));
    assert_eq!(file.write(b"hello", 3), ffi::SQLITE_OK);
    assert_eq!(file.size(), 8);
    assert_eq!(file.read(8, 0), (ffi::SQLITE_OK, b"\0\0\0hello".to_vec()));
    assert_eq!(file.read(8, 5), (ffi::SQLITE_IOERR_SHORT_READ, b"llo\0\0\0\0\0".to_vec()));
    assert_eq!(file.read(8, 100), (ffi::SQLITE_IOERR_SHORT_READ, vec![0; 8]));
    // More than a host gives or takes at once.
    let large: Vec<u8> = (0..1_000_003_u32).map(|number| (number % 251) as u8).collect();
    assert_eq!(file.write(&large, 8), ffi::SQLITE_OK);
    assert_eq!(file.read(large.len(), 8), (ffi::SQLITE_OK, large));
    assert_eq!(file.truncate(4), ffi::SQLITE_OK);
    assert_eq!(file.size(), 4);
    assert_eq!(file.sync(), ffi::SQLITE_OK);
    assert_eq!(file.truncate(6), ffi::SQLITE_OK);
    assert_eq!(file.read(6, 0), (ffi::SQLITE_OK, b"\0\0\0h\0\0".to_vec()));
    file.close();
    assert_eq!(fs::metadata("/data/plain").unwrap().len(), 6);

    let once = new | ffi::SQLITE_OPEN_EXCLUSIVE;
    assert_eq!(File::open("plain", once).err(), Some(ffi::SQLITE_CANTOPEN), "it is there already");
    let folder = folder().unwrap();
    assert!(folder.delete("plain").unwrap());
    assert!(!folder.delete("plain").unwrap());
    fs::create_dir("/data/folder").unwrap();
    assert!(File::open("folder", new).is_err());
    fs::remove_dir("/data/folder").unwrap();
    println!("files: ok");
}

/// Only plain names in the one directory are opened.
fn names() {
    for name in ["../out.db", "/etc/passwd", "sub/check.db", "..", "", "file:check.db?vfs=unix"] {
        let opened = Connection::open(name);
        // An empty name is a private temporary database, which is allowed.
        assert!(name.is_empty() || opened.is_err(), "{name:?} was opened");
    }
    println!("names: ok");
}

/// The database is in WAL mode, is found again with and without a clean close, and its log goes away on closing.
fn log() {
    let connection = open("FULL");
    connection.execute("INSERT INTO message VALUES (1, 'a', 'x')", []).unwrap();
    assert!(fs::metadata("/data/check.db-wal").unwrap().len() > 0);
    integrity(&connection);
    drop(connection);
    assert!(fs::metadata("/data/check.db-wal").is_err(), "closing copies the log and deletes it");
    let connection = open("NORMAL");
    assert_eq!(rows(&connection), 1);
    // A transaction larger than SQLite's cache spills into the log, is read back from there, and is undone.
    connection.execute_batch("PRAGMA cache_size=10; BEGIN").unwrap();
    fill(&connection, 2, 5_000);
    assert_eq!(rows(&connection), 5_001);
    connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(rows(&connection), 1);
    // The same, kept: frames are overwritten and their checksums mended.
    connection.execute_batch("BEGIN").unwrap();
    fill(&connection, 2, 5_000);
    connection.execute_batch("UPDATE message SET json = json || 'y'; COMMIT").unwrap();
    assert_eq!(rows(&connection), 5_001);
    integrity(&connection);
    // Left open, as if killed: the next one recovers it.
    std::mem::forget(connection);
    println!("log: ok");
}

fn rows(connection: &Connection) -> u32 {
    connection.query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap()
}

fn fill(connection: &Connection, first: u32, count: u32) {
    let mut insert = connection.prepare("INSERT INTO message VALUES (?1, ?2, ?3)").unwrap();
    for seq in first..first + count {
        let scattered = seq.wrapping_mul(2_654_435_761);
        insert.execute((seq, format!("{scattered:08x}{seq}"), "m".repeat(200))).unwrap();
    }
}

/// A sort of more than the cache holds goes through temporary files, which are gone afterwards.
fn sort(megabytes: u32) {
    let connection = open("FULL");
    connection.execute_batch("PRAGMA cache_size=-1000; BEGIN").unwrap();
    fill(&connection, 1, megabytes * 4000);
    connection.execute_batch("COMMIT").unwrap();
    let folder = folder().unwrap();
    let mut statement = connection.prepare("SELECT id, json FROM message ORDER BY json || id DESC, seq").unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut before = None;
    let (mut seen, mut temporary) = (0, 0);
    while let Some(row) = rows.next().unwrap() {
        let id: String = row.get(0).unwrap();
        assert!(before.as_ref().is_none_or(|before| *before > id));
        before = Some(id);
        if seen == 0 {
            temporary = temporary_files(&folder);
        }
        seen += 1;
    }
    assert_eq!(seen, megabytes * 4000);
    assert!(temporary > 0, "the sort was in memory");
    drop(rows);
    drop(statement);
    assert_eq!(temporary_files(&folder), 0);
    println!("sort: ok, {temporary} temporary files, {} MiB of memory", memory());
}

/// A vacuum goes through a temporary file as well, and gives room back.
fn vacuum(megabytes: u32) {
    let connection = open("FULL");
    connection.execute_batch("PRAGMA cache_size=-1000; BEGIN").unwrap();
    fill(&connection, 1, megabytes * 4000);
    connection.execute_batch("COMMIT; DELETE FROM message WHERE seq % 4 > 0; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let before = fs::metadata("/data/check.db").unwrap().len();
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let after = fs::metadata("/data/check.db").unwrap().len();
    assert!(after * 2 < before, "{before} bytes became {after}");
    integrity(&connection);
    assert_eq!(rows(&connection), megabytes * 1000);
    assert_eq!(temporary_files(&folder().unwrap()), 0);
    println!("vacuum: ok, {} MiB of memory", memory());
}

/// How much memory the component has asked for.
fn memory() -> usize {
    #[cfg(target_arch = "wasm32")]
    return core::arch::wasm32::memory_size(0) / 16;
    #[cfg(not(target_arch = "wasm32"))]
    return 0;
}

/// Prints what SQLite draws first: two instances must not draw the same.
fn random() {
    let connection = open("FULL");
    let drawn: String = connection.query_row("SELECT hex(randomblob(16))", [], |row| row.get(0)).unwrap();
    let now: i64 =
        connection.query_row("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)", [], |row| row.get(0)).unwrap();
    println!("{drawn} {now}");
}

/// Reads in a directory that can only be read, with a log or without.
fn read() {
    let connection = Connection::open(DATABASE).unwrap();
    let _: String = connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |row| row.get(0)).unwrap();
    let count = rows(&connection);
    integrity(&connection);
    let refused = connection.execute("DELETE FROM message", []).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ffi::ErrorCode::ReadOnly), "{refused}");
    println!("{count}");
}

/// One transaction per row, each reported once it is committed.
fn insert(count: u32, synchronous: &str) {
    let connection = open(synchronous);
    integrity(&connection);
    let first = rows(&connection) + 1;
    let mut statement = connection.prepare("INSERT INTO message VALUES (?1, ?2, ?3)").unwrap();
    let json = "m".repeat(200);
    let begun = std::time::Instant::now();
    for seq in first..first + count {
        statement.execute((seq, format!("{seq:020}"), &json)).unwrap();
        if env::var_os("REPORT").is_some() {
            println!("{seq}");
        }
    }
    println!("insert: {count} in {:?}", begun.elapsed());
}

/// Commits, begins another transaction that spills into the log, and traps in the middle of it.
fn trap(count: u32) {
    let connection = open("NORMAL");
    let first = rows(&connection) + 1;
    fill(&connection, first, count);
    connection.execute_batch("PRAGMA cache_size=10; BEGIN").unwrap();
    fill(&connection, first + count, 5_000);
    println!("{}", first + count - 1);
    std::process::abort();
}
