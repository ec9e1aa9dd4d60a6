//! What calls cost, counted in rows and pages: time is the bench's matter.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use talktree_engine::{
    AppendOptions, DeleteMode, Directory, FILE_NAME, HistoryView, MediaMode, ReadOptions, RecentOptions, Source, Store,
};

use super::common::{append, append_many, append_under, files, message, store};

/// All rows of all tables, as a look at a copy of the files shows them.
fn rows(directory: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let copy = tempfile::tempdir().unwrap();
    for (name, content) in files(directory) {
        std::fs::write(copy.path().join(name), content).unwrap();
    }
    let connection = Connection::open(copy.path().join(FILE_NAME)).unwrap();
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    tables
        .into_iter()
        .map(|table| {
            let mut all = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = all.column_count();
            let all = all.query_map([], |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
            (table, all.map(Result::unwrap).collect())
        })
        .collect()
}

/// How many rows of each table are new or different after something was done.
fn written(directory: &Path, store: &mut Store<Directory>, work: impl FnOnce(&mut Store<Directory>)) -> Vec<String> {
    let before = rows(directory);
    work(store);
    let mut changed = Vec::new();
    for (table, after) in rows(directory) {
        let count = after.iter().filter(|row| !before[&table].contains(row)).count();
        if count > 0 {
            changed.push(format!("{table} {count}"));
        }
    }
    changed
}

#[test]
fn an_append_writes_one_message_and_one_session() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, 200);
    for number in 200..205 {
        let id = format!("m{number}");
        let changed = written(directory.path(), &mut opened, |store| append(store, "", &id));
        assert_eq!(changed, ["message 1", "session 1"]);
    }
    // A new branch is one more row, and so is the note that the writing has moved there.
    let changed = written(directory.path(), &mut opened, |store| {
        append_under(store, "fork", "m7").unwrap();
    });
    assert_eq!(changed, ["chain 1", "message 1", "run 1", "session 1", "sqlite_sequence 1"]);
    let changed = written(directory.path(), &mut opened, |store| append(store, "", "fork-2"));
    assert_eq!(changed, ["message 1", "session 1"]);
    // Only what no message's row tells has a row of its own in the feed.
    let changed = written(directory.path(), &mut opened, |store| {
        store.update_message("", &message("m7", "changed"), Source::Server).unwrap();
    });
    assert_eq!(changed, ["correction 6", "event 1", "message 1", "session 1"]);
}

#[test]
fn a_retry_an_equal_update_and_an_equal_choice_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, 10);
    opened.set_leaf("", Some("m4")).unwrap();
    let before = files(directory.path());
    opened.append_message("", &message("m5", "hello"), &AppendOptions::default()).unwrap();
    opened.append_messages("", &[message("m5", "hello"), message("m6", "other")], &AppendOptions::default()).unwrap();
    opened.update_message("", &message("m5", "hello"), Source::Server).unwrap();
    opened.set_leaf("", Some("m4")).unwrap();
    opened.delete_messages("", &["unknown".to_owned()], DeleteMode::Splice, false).unwrap();
    opened.delete_messages("", &["m5".to_owned()], DeleteMode::Subtree, true).unwrap();
    assert!(files(directory.path()) == before, "something was written");
}

#[test]
fn deleting_near_the_root_of_a_long_conversation_rewrites_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, 20_000);
    opened.close().unwrap();
    assert_eq!(opened.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().seq, 20_000);
    let log = log_pages(directory.path(), || {
        opened.delete_messages("", &["m1".to_owned()], DeleteMode::Splice, false).unwrap();
    });
    assert!(log < 16, "{log} pages");
}

/// Pages that work writes to the log. It must not be so much that the log is written back.
fn log_pages(directory: &Path, work: impl FnOnce()) -> u64 {
    let log = directory.join(format!("{FILE_NAME}-wal"));
    let size = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let before = size();
    work();
    let after = size();
    assert!(after >= before, "the log was cut");
    after.saturating_sub(before).div_ceil(24 + 4096)
}

/// Bytes that this thread has read from files.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counters = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// What a call reads in a session of so many messages, in a store that was just opened; and what an append writes.
#[cfg(target_os = "linux")]
fn costs(count: usize) -> BTreeMap<&'static str, u64> {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, count);
    opened.close().unwrap();
    let reads = |work: &dyn Fn(&mut Store<Directory>)| {
        let mut fresh = store(directory.path());
        let before = bytes_read();
        work(&mut fresh);
        let read = bytes_read() - before;
        fresh.close().unwrap();
        read / 4096
    };
    let recent = RecentOptions { max_bytes: 4000, leaf_id: None, overlays: true, media: MediaMode::Inline };
    let middle = HistoryView { leaf_id: Some(format!("m{}", count / 2)), newest_first: true, ..HistoryView::default() };
    let middle = ReadOptions { view: middle, batch_size: Some(20), max_batch_bytes: None };
    let mut costs = BTreeMap::from([
        ("open and latest leaf", reads(&|store| drop(store.get_latest_leaf("", MediaMode::Inline).unwrap()))),
        ("recent history", reads(&|store| assert!(store.get_recent_history("", &recent).unwrap().truncated))),
        ("a page of history", reads(&|store| drop(store.read_history("", &middle, None).unwrap()))),
        ("a page of row stats", reads(&|store| drop(store.get_history_row_stats("", None, None, Some(20)).unwrap()))),
        ("a page of the tree", reads(&|store| drop(store.list_messages("", None, Some(20)).unwrap()))),
        ("an append", reads(&|store| append(store, "", "x"))),
        ("a delete", reads(&|store| drop(store.delete_messages("", &["m2".to_owned()], DeleteMode::Splice, false)))),
    ]);
    let mut fresh = store(directory.path());
    append(&mut fresh, "", "y");
    costs.insert("pages that an append writes", log_pages(directory.path(), || append(&mut fresh, "", "z")));
    costs
}

#[test]
#[cfg(target_os = "linux")]
fn no_call_costs_more_in_a_long_session_than_in_a_short_one() {
    let (short, long) = (costs(1_000), costs(100_000));
    for (what, &pages) in &short {
        // A tree of a hundred times the rows is one level deeper, or two.
        let most = pages + 8;
        assert!(long[what] <= most, "{what}: {pages} pages in 1,000 messages, {} in 100,000", long[what]);
    }
    assert!(short["an append"] < 40, "{short:?}");
    assert!(short["pages that an append writes"] <= 5, "{short:?}");
    println!("{short:?}\n{long:?}");
}
