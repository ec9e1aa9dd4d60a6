//! What search costs those who do not search, and those who do.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;
use talktree_engine::{FILE_NAME, SearchOptions, Source};

use super::common::{ids, page, say, store};

/// All rows of the tables of the index, and of what says how far it is.
fn index_rows(directory: &Path) -> BTreeMap<String, Vec<Vec<Value>>> {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let connection = Connection::open(copy.path().join(FILE_NAME)).unwrap();
    let mut tables = connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'search*' AND sql NOT LIKE '%VIRTUAL%'",
        )
        .unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let read = |sql: &str| {
        let mut rows = connection.prepare(sql).unwrap();
        let columns = rows.column_count();
        let rows = rows.query_map([], |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let mut all: BTreeMap<_, _> =
        tables.into_iter().map(|table| (table.clone(), read(&format!("SELECT * FROM {table}")))).collect();
    all.insert("meta".to_owned(), read("SELECT * FROM meta WHERE name GLOB 'search*'"));
    all
}

#[test]
fn a_store_that_is_never_searched_has_no_index() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    assert_eq!(page(&mut opened, "x", &SearchOptions::default()).items, []);
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "a search made files");
    say(&mut opened, "", "m", "hello");
    assert_eq!(page(&mut opened, "( \" *", &SearchOptions::default()).items, []);
    assert_eq!(index_rows(directory.path()), BTreeMap::from([("meta".to_owned(), Vec::new())]));
    assert_eq!(opened.stats().unwrap().bytes.index, 0);
    ids(&mut opened, "hello");
    assert!(index_rows(directory.path()).len() > 4);
    assert!(opened.stats().unwrap().bytes.index > 0);
}

#[test]
fn appends_and_updates_of_the_same_words_write_nothing_into_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    for number in 0..50 {
        say(&mut opened, "", &format!("m{number}"), &format!("word {number}"));
    }
    assert_eq!(ids(&mut opened, "7"), ["m7"]);
    let before = index_rows(directory.path());
    say(&mut opened, "", "new", "word new");
    say(&mut opened, "other", "m", "word new");
    let same =
        json!({"id": "m7", "role": "user", "parts": [{"type": "text", "text": "Word, 7!"}], "metadata": {"a": 1}});
    opened.update_message("", &same.to_string(), Source::Server).unwrap();
    let late = json!({"id": "new", "role": "user", "parts": [{"type": "text", "text": "later"}]});
    opened.update_message("", &late.to_string(), Source::Server).unwrap();
    assert!(index_rows(directory.path()) == before, "the index was written");
    assert_eq!(ids(&mut opened, "later"), ["new"]);
    // With nothing new a search only reads.
    let before = index_rows(directory.path());
    assert_eq!(ids(&mut opened, "new"), ["m"]);
    opened.set_leaf("", Some("m3")).unwrap();
    assert_eq!(ids(&mut opened, "new"), ["m"]);
    assert!(index_rows(directory.path()) == before, "a search wrote");
}
