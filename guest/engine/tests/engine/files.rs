//! When a file comes into being, and which files are refused and left as they are.

use std::path::Path;

use rusqlite::Connection;
use talktree_engine::{
    APPLICATION_ID, AppendOptions, BranchPoint, ConfigScope, ConfigurationChange, DeleteMode, ExpectedLeaf, FILE_NAME,
    HistoryView, ImportItem, Kind, MediaMode, Parent, ReadOptions, RecentOptions, SCHEMA_VERSION, Setting, Source,
};

use super::common::{append, files, kind, message, store};

fn recent() -> RecentOptions {
    RecentOptions { max_bytes: 1000, leaf_id: None, overlays: true, media: MediaMode::Inline }
}

#[test]
fn reads_of_a_store_that_was_never_written_create_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    assert_eq!(store.get_message("s", "m", MediaMode::Inline).unwrap(), None);
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap(), None);
    assert!(store.get_history("", &HistoryView::default()).unwrap().is_empty());
    assert!(store.read_history("", &ReadOptions::default(), None).unwrap().items.is_empty());
    assert_eq!(store.get_recent_history("", &recent()).unwrap().total_content_bytes, 0);
    assert!(store.get_history_row_stats("", None, None, None).unwrap().items.is_empty());
    assert!(store.get_branches("", &BranchPoint::Root, None, None).unwrap().items.is_empty());
    assert!(store.list_messages("", None, None).unwrap().items.is_empty());
    assert_eq!(store.configure(&ConfigScope::Store, &ConfigurationChange::default()).unwrap().protect_head, 3);
    assert!(store.check().unwrap().sound);
    assert_eq!(store.stats().unwrap().bytes.file, 0);
    store.close().unwrap();
    assert!(files(directory.path()).is_empty());
}

#[test]
fn a_first_write_that_fails_or_changes_nothing_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let text = message("m", "hello");
    let under_nothing = AppendOptions { parent: Parent::Id("x".to_owned()), ..AppendOptions::default() };
    assert_eq!(kind(store.append_message("", "{}", &AppendOptions::default())), Kind::InvalidMessage);
    assert_eq!(kind(store.append_message("", &text, &under_nothing)), Kind::UnknownParent);
    assert_eq!(kind(store.append_messages("", &[text.clone(), text.clone()], &under_nothing)), Kind::UnknownParent);
    let moved = AppendOptions { expected_leaf: ExpectedLeaf::Id("x".to_owned()), ..AppendOptions::default() };
    assert_eq!(kind(store.append_message("", &text, &moved)), Kind::LeafMoved);
    assert_eq!(kind(store.append_message(&"s".repeat(1025), &text, &AppendOptions::default())), Kind::InvalidArgument);
    let orphan = ImportItem { message: text.clone(), parent_id: Some("x".to_owned()), created_at: 0 };
    assert_eq!(kind(store.import_message("", &orphan)), Kind::UnknownParent);
    let root = ImportItem { parent_id: None, message: message("r", "hello"), created_at: 0 };
    assert_eq!(kind(store.import_messages("", &[root, orphan])), Kind::UnknownParent);
    assert_eq!(store.update_message("", &text, Source::Server).unwrap(), None);
    assert_eq!(kind(store.upsert_message("", &text, &under_nothing.parent, Source::Server)), Kind::UnknownParent);
    let ids = ["m".to_owned()];
    assert_eq!(store.delete_messages("", &ids, DeleteMode::Subtree, false).unwrap().deleted, 0);
    assert_eq!(store.clear_messages("").unwrap(), 0);
    assert_eq!(store.set_leaf("", None).unwrap(), None);
    assert_eq!(kind(store.set_leaf("", Some("m"))), Kind::UnknownMessage);
    let wrong = ConfigurationChange { token_factor: Setting::Value(-1.0), ..ConfigurationChange::default() };
    assert_eq!(kind(store.configure(&ConfigScope::Store, &wrong)), Kind::InvalidArgument);
    assert!(store.append_messages("", &[], &AppendOptions::default()).unwrap().items.is_empty());
    assert!(files(directory.path()).is_empty());
    // And the first that succeeds does make one.
    append(&mut store, "", "m");
    assert!(files(directory.path()).contains_key(FILE_NAME));
}

/// Tries to read and to write a file that must be refused, and looks whether anything of it has changed.
fn refused(directory: &Path, expected: Kind) {
    let before = files(directory);
    for _ in 0..2 {
        let mut store = store(directory);
        assert_eq!(kind(store.get_latest_leaf("", MediaMode::Inline)), expected);
        assert_eq!(kind(store.append_message("", &message("m", "hello"), &AppendOptions::default())), expected);
        assert_eq!(kind(store.check()), expected);
        assert_eq!(kind(store.clear_messages("")), expected);
        store.close().unwrap();
    }
    let after = files(directory);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after, "the content of a file has changed");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    for content in [b"xy".to_vec(), b"just some notes".repeat(1000), vec![0; 20_000], vec![0xff; 4096]] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(FILE_NAME), content).unwrap();
        refused(directory.path(), Kind::NotAStore);
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    for sql in [
        "CREATE TABLE t(x); INSERT INTO t VALUES (1)",
        "PRAGMA application_id = 7; CREATE TABLE message(x)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1; CREATE TABLE message(x)",
        "PRAGMA journal_mode = WAL; CREATE TABLE t(x)",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let foreign = Connection::open(directory.path().join(FILE_NAME)).unwrap();
        foreign.execute_batch(sql).unwrap();
        foreign.close().unwrap();
        refused(directory.path(), Kind::NotAStore);
    }
}

#[test]
fn a_database_of_another_program_that_was_killed_is_refused_and_left_alone() {
    let lively = tempfile::tempdir().unwrap();
    let foreign = Connection::open(lively.path().join(FILE_NAME)).unwrap();
    foreign.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)").unwrap();
    let directory = tempfile::tempdir().unwrap();
    for name in [FILE_NAME.to_owned(), format!("{FILE_NAME}-wal")] {
        std::fs::copy(lively.path().join(&name), directory.path().join(&name)).unwrap();
    }
    refused(directory.path(), Kind::NotAStore);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FILE_NAME);
    let newer = Connection::open(&file).unwrap();
    newer.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 9")).unwrap();
    newer.close().unwrap();
    let error = store(directory.path()).get_latest_leaf("", MediaMode::Inline).unwrap_err();
    assert_eq!((error.kind, error.current), (Kind::SchemaTooNew, Some(9)));
    assert_eq!(error.limit, Some(SCHEMA_VERSION.unsigned_abs().into()));
    refused(directory.path(), Kind::SchemaTooNew);
}

#[test]
fn an_empty_file_is_as_good_as_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FILE_NAME);
    std::fs::write(&file, "").unwrap();
    let mut store = store(directory.path());
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap(), None);
    assert_eq!(std::fs::read(&file).unwrap().len(), 0);
    append(&mut store, "", "m");
    store.close().unwrap();
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().id, "m");
}

#[test]
fn a_store_whose_maker_was_killed_at_any_step_can_be_written() {
    // What a kill between the first page and the tables leaves: a database in the right mode with nothing in it.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FILE_NAME);
    Connection::open(&file).unwrap().execute_batch("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL").unwrap();
    let before = files(directory.path());
    assert!(before.contains_key(FILE_NAME));
    assert_eq!(store(directory.path()).get_latest_leaf("", MediaMode::Inline).unwrap(), None);
    assert!(files(directory.path()) == before, "a read has written");
    let mut store = store(directory.path());
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap(), None);
    append(&mut store, "", "m");
    store.close().unwrap();
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), 1);
    assert!(store.check().unwrap().sound);
}

#[test]
fn the_file_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    append(&mut store, "", "m");
    store.close().unwrap();
    assert_eq!(
        files(directory.path()).keys().collect::<Vec<_>>(),
        [FILE_NAME],
        "nothing is left beside a closed store"
    );
    let connection = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    let pragma =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    assert_eq!(pragma("application_id"), i64::from(APPLICATION_ID).into());
    assert_eq!(pragma("user_version"), i64::from(SCHEMA_VERSION).into());
    assert_eq!(pragma("page_size"), 4096.into());
    assert_eq!(pragma("auto_vacuum"), 0.into());
    assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
}
