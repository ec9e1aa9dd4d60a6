//! Stores that earlier versions wrote: found whole, migrated after a copy, or left as they are.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use talktree_engine::{AppendOptions, FILE_NAME, HistoryView, SCHEMA_VERSION, TEMPORARY_PREFIX};

use super::common::{names, open};
use super::fixture::{SESSIONS, fixtures};
use super::reads::everything;

/// The schemas before the present one.
fn earlier() -> std::ops::Range<i32> {
    1..SCHEMA_VERSION
}

/// A directory with the store that schema `number` left.
fn with_fixture(number: i32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(fixtures().join(format!("schema-{number}.db")), directory.path().join(FILE_NAME)).unwrap();
    directory
}

fn version(file: &Path) -> i32 {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Names and definitions of everything in a database.
fn objects(file: &Path) -> Vec<(String, String, Option<String>)> {
    let connection = Connection::open(file).unwrap();
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_store_of_each_earlier_schema_answers_as_it_did() {
    for number in earlier() {
        let expected = std::fs::read_to_string(fixtures().join(format!("schema-{number}.txt"))).unwrap();
        let directory = with_fixture(number);
        let mut store = open(directory.path());
        assert_eq!(everything(&mut store, &SESSIONS), expected, "schema {number}");
        assert!(store.check().unwrap().sound);
        assert_eq!(store.stats().unwrap().schema_version, SCHEMA_VERSION.unsigned_abs());
        store.append_message("", r#"{"id":"new","role":"user","parts":[]}"#, &AppendOptions::default()).unwrap();
        store.close().unwrap();
        assert_eq!(open(directory.path()).get_history("", &HistoryView::default()).unwrap().last().unwrap().id, "new");
    }
}

#[test]
fn a_migrated_store_has_the_tables_of_a_new_one() {
    let new = tempfile::tempdir().unwrap();
    let mut store = open(new.path());
    store.append_message("", r#"{"id":"m","role":"user","parts":[]}"#, &AppendOptions::default()).unwrap();
    store.close().unwrap();
    for number in earlier() {
        let directory = with_fixture(number);
        assert_ne!(version(&directory.path().join(FILE_NAME)), SCHEMA_VERSION);
        let mut migrated = open(directory.path());
        migrated.check().unwrap();
        migrated.close().unwrap();
        assert_eq!(version(&directory.path().join(FILE_NAME)), SCHEMA_VERSION);
        assert_eq!(objects(&directory.path().join(FILE_NAME)), objects(&new.path().join(FILE_NAME)), "schema {number}");
    }
}

#[test]
fn the_store_as_it_was_is_kept_beside_the_migrated_one() {
    for number in earlier() {
        let directory = with_fixture(number);
        let mut migrated = open(directory.path());
        migrated.check().unwrap();
        migrated.close().unwrap();
        let copy = format!("{FILE_NAME}.schema-{number}");
        assert_eq!(names(directory.path()), [FILE_NAME.to_owned(), copy.clone()]);
        // It is a store like the one that was: put in its place it is migrated as well, and no copy is written over.
        assert_eq!(version(&directory.path().join(&copy)), number);
        let before = std::fs::read(directory.path().join(&copy)).unwrap();
        std::fs::copy(directory.path().join(&copy), directory.path().join(FILE_NAME)).unwrap();
        let expected = std::fs::read_to_string(fixtures().join(format!("schema-{number}.txt"))).unwrap();
        let mut again = open(directory.path());
        assert_eq!(everything(&mut again, &SESSIONS), expected);
        again.close().unwrap();
        assert_eq!(names(directory.path()), [FILE_NAME.to_owned(), copy.clone(), format!("{copy}-2")]);
        assert!(std::fs::read(directory.path().join(&copy)).unwrap() == before);
    }
}

#[test]
fn what_a_kill_during_the_copy_leaves_is_no_store_and_goes() {
    let directory = with_fixture(1);
    let half = std::fs::read(directory.path().join(FILE_NAME)).unwrap();
    std::fs::write(directory.path().join(format!("{TEMPORARY_PREFIX}0123")), &half[..half.len() / 2]).unwrap();
    let mut store = open(directory.path());
    store.check().unwrap();
    store.close().unwrap();
    assert_eq!(names(directory.path()), [FILE_NAME.to_owned(), format!("{FILE_NAME}.schema-1")]);
}

#[test]
fn a_migration_that_fails_leaves_the_old_store_and_no_copy() {
    let directory = with_fixture(1);
    let file = directory.path().join(FILE_NAME);
    // A table that the migration is about to make is there already: nothing of it happens.
    let connection = Connection::open(&file).unwrap();
    let Some(name) = added_table() else { return };
    connection.execute_batch(&format!("CREATE TABLE {name}(x)")).unwrap();
    connection.close().unwrap();
    for _ in 0..2 {
        open(directory.path()).get_history("", &HistoryView::default()).unwrap_err();
    }
    // Looking at the version leaves files of its own.
    assert_eq!(names(directory.path()), [FILE_NAME]);
    assert_eq!(version(&file), 1);
}

/// A table that is in a new store and not in one of schema 1.
fn added_table() -> Option<String> {
    let new = tempfile::tempdir().unwrap();
    let mut store = open(new.path());
    store.append_message("", r#"{"id":"m","role":"user","parts":[]}"#, &AppendOptions::default()).unwrap();
    store.close().unwrap();
    let old = objects(&with_fixture(1).path().join(FILE_NAME));
    objects(&new.path().join(FILE_NAME))
        .into_iter()
        .find(|object| object.0 == "table" && !old.contains(object))
        .map(|(_, name, _)| name)
}
