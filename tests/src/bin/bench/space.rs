//! What a store takes: bytes on disk per message; rows, pages and system calls per append.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use crate::arguments::{Arguments, Group};
use crate::contender::{Durability, Side};
use crate::figures::{Row, Samples, Target, Unit};
use crate::lab::Lab;

/// Bytes on disk that are allowed for each byte of text: 1,700 for 1,421.
const DISK_PER_TEXT: f64 = 1_700.0 / 1_421.0;

/// Appends whose pages are counted: few enough that no checkpoint falls into them.
const COUNTED: u64 = 100;

/// Header of a log, and of each frame in it, in bytes.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// All rows about space that are wanted.
pub(crate) fn rows(arguments: &Arguments, lab: &mut Lab) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // First of all: later on, single appends have made the large stores a little larger.
    if arguments.wants(Group::Disk) {
        rows.extend(disk(lab)?);
    }
    if arguments.wants(Group::Writes) {
        rows.extend(writes(lab)?);
    }
    Ok(rows)
}

fn disk(lab: &mut Lab) -> Result<Vec<Row>> {
    let large = lab.scale.large;
    let mut disk = Samples::default();
    let mut text = 0.0;
    for side in lab.sides_of_round(0) {
        let subject = lab.subject(side, large)?;
        let amount = subject.store.read_all()?;
        ensure!(amount.messages == subject.written(), "{} messages of {}", amount.messages, subject.written());
        subject.store.close()?;
        let file = fs::metadata(subject.store.database()?)?.len();
        text = amount.bytes as f64 / amount.messages as f64;
        disk.add(side, file as f64 / amount.messages as f64);
    }
    let row = Row::new(format!("disk per message of {large}"), Unit::Bytes, disk)
        .target(Target::AtMost((text * DISK_PER_TEXT).round()))
        .note(format!("text {text:.0}"));
    Ok(vec![row])
}

fn writes(lab: &mut Lab) -> Result<Vec<Row>> {
    let large = lab.scale.large;
    let (mut rows, mut pages, mut bytes) = (Samples::default(), Samples::default(), Samples::default());
    let (mut reads, mut calls) = (Samples::default(), Samples::default());
    let mut note = String::new();
    for side in lab.sides_of_round(0) {
        let mut small = lab.new_subject(side, 100, Durability::Full)?;
        small.store.close()?;
        let before = contents(&small.store.database()?)?;
        small.fill(101)?;
        small.store.close()?;
        let after = contents(&small.store.database()?)?;
        rows.add(side, after.difference(&before).count() as f64);

        let subject = lab.subject(side, large)?;
        subject.reopen(Durability::Full)?;
        let messages = subject.next(COUNTED + 1);
        subject.store.append(&messages[0])?;
        let database = subject.store.database()?;
        let already = log(&database)?.pages.len();
        let from = SystemCalls::now();
        for message in &messages[1..] {
            subject.store.append(message)?;
        }
        let to = SystemCalls::now();
        let log = log(&database)?;
        ensure!(log.pages.len() > already, "the log of {} did not grow", side.name());
        let written = &log.pages[already..];
        let per_append = |count: usize| count as f64 / COUNTED as f64;
        pages.add(side, per_append(written.len()));
        bytes.add(side, per_append(written.len() * (FRAME_HEADER + log.page_size)));
        if let (Some(from), Some(to)) = (from, to) {
            reads.add(side, (to.reads - from.reads) as f64 / COUNTED as f64);
            calls.add(side, (to.writes - from.writes) as f64 / COUNTED as f64);
        }
        if side == Side::Engine {
            subject.store.close()?;
            note = by_table(&database, written)?;
        }
    }
    Ok(vec![
        Row::new("rows written per append", Unit::Count, rows),
        Row::new(format!("pages written per append, {large} before"), Unit::Count, pages).note(note),
        Row::new("bytes of log per append", Unit::Bytes, bytes),
        Row::new("write calls per append", Unit::Count, calls),
        Row::new("read calls per append", Unit::Count, reads),
    ])
}

/// Every row of every table, as text: what an append adds or changes is what is new in it.
fn contents(database: &Path) -> Result<HashSet<String>> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut contents = HashSet::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| row.get(column)).collect::<rusqlite::Result<Vec<Value>>>()?;
            contents.insert(format!("{table} {values:?}"));
        }
    }
    Ok(contents)
}

/// The pages in a log, in the order in which they were written.
struct Log {
    page_size: usize,
    pages: Vec<u32>,
}

fn log(database: &Path) -> Result<Log> {
    let mut path = OsString::from(database);
    path.push("-wal");
    let path = PathBuf::from(path);
    let log = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    let number = |at: usize| -> Option<u32> { Some(u32::from_be_bytes(log.get(at..at + 4)?.try_into().ok()?)) };
    let page_size = number(8).context("a log has a header")? as usize;
    let salts = log.get(16..24);
    let frames = (LOG_HEADER..log.len()).step_by(FRAME_HEADER + page_size);
    // Frames with other salts are left from before the log began anew.
    let pages = frames.take_while(|at| log.get(at + 8..at + 16) == salts).map_while(number).collect();
    Ok(Log { page_size, pages })
}

/// Which table or index the pages belong to, as pages per append.
fn by_table(database: &Path, pages: &[u32]) -> Result<String> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut names = BTreeMap::new();
    connection
        .prepare("SELECT pageno, name FROM dbstat")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .try_for_each(|row| {
            let (page, name): (u32, String) = row?;
            names.insert(page, name);
            Ok::<_, rusqlite::Error>(())
        })?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for page in pages {
        *counts.entry(names.get(page).map_or("free", String::as_str)).or_default() += 1;
    }
    let parts = counts.iter().map(|(name, count)| format!("{name} {:.2}", *count as f64 / COUNTED as f64));
    Ok(parts.collect::<Vec<_>>().join(", "))
}

/// How many times this process has asked the system to read and to write. Linux counts that; syncs are not among it.
#[derive(Debug, Clone, Copy)]
struct SystemCalls {
    reads: u64,
    writes: u64,
}

impl SystemCalls {
    fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { reads: value("syscr:")?, writes: value("syscw:")? })
    }
}
