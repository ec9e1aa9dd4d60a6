//! Room that is given back, and what is left of what was deleted.

use std::path::Path;

use talktree_engine::{DeleteMode, Directory, FILE_NAME, HistoryView, Kind, SearchOptions, Store};

use super::common::{append, names, open};
use super::fixture::{SESSIONS, fill};
use super::mount::Mount;
use super::reads::everything;

/// Every byte of the directory.
fn bytes(directory: &Path) -> Vec<u8> {
    names(directory).into_iter().flat_map(|name| std::fs::read(directory.join(name)).unwrap()).collect()
}

fn holds(directory: &Path, word: &str) -> bool {
    bytes(directory).windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn a_vacuum_gives_back_what_deletes_freed() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    append(&mut store, 0..300, &"x".repeat(5_000));
    let ids: Vec<String> = (0..290).map(|number| format!("m{number}")).collect();
    store.delete_messages("", &ids, DeleteMode::Splice, false).unwrap();
    let report = store.vacuum().unwrap();
    assert!(report.before > 290 * 5_000, "{report:?}");
    assert!(report.after < 300_000, "{report:?}");
    let size = |name: &str| std::fs::metadata(directory.path().join(name)).unwrap().len();
    assert_eq!(size(FILE_NAME), report.after);
    assert_eq!(size(&format!("{FILE_NAME}-wal")), 0);
    assert_eq!(store.stats().unwrap().bytes.free, 0);
    // Nothing else has changed, and the store goes on.
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), 10);
    assert!(store.check().unwrap().sound);
    append(&mut store, 300..301, "on");
    let again = store.vacuum().unwrap();
    assert!(again.after <= report.after + 4096, "{again:?}");
}

#[test]
fn a_vacuum_changes_nothing_that_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    fill(&mut store);
    let before = everything(&mut store, &SESSIONS);
    store.vacuum().unwrap();
    assert_eq!(everything(&mut store, &SESSIONS), before);
    store.close().unwrap();
    assert_eq!(everything(&mut open(directory.path()), &SESSIONS), before);
}

#[test]
fn no_byte_of_a_deleted_message_is_left_after_a_vacuum() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    append(&mut store, 0..200, "kept");
    append(&mut store, 200..400, "Zanzibarquince in a small message");
    append(&mut store, 400..402, &"Zanzibarquince in a large one. ".repeat(10_000));
    append(&mut store, 402..500, "kept");
    assert!(holds(directory.path(), "Zanzibarquince"));
    let ids: Vec<String> = (200..402).map(|number| format!("m{number}")).collect();
    store.delete_messages("", &ids, DeleteMode::Splice, false).unwrap();
    store.vacuum().unwrap();
    assert!(!holds(directory.path(), "Zanzibarquince"), "while the store is open");
    assert!(!holds(directory.path(), "anzibarquinc"));
    store.close().unwrap();
    assert!(!holds(directory.path(), "Zanzibarquince"), "when it is closed");
}

#[test]
fn no_word_of_a_deleted_message_is_left_in_the_index_after_a_vacuum() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    append(&mut store, 0..100, "kept");
    append(&mut store, 100..110, "zanzibarquince");
    let found = |store: &mut Store<Directory>, query| {
        store.search(query, &SearchOptions { limit: Some(1000), ..SearchOptions::default() }).unwrap().items.len()
    };
    assert_eq!((found(&mut store, "zanzibarquince"), found(&mut store, "kept")), (10, 100));
    let ids: Vec<String> = (100..110).map(|number| format!("m{number}")).collect();
    store.delete_messages("", &ids, DeleteMode::Splice, false).unwrap();
    store.vacuum().unwrap();
    // The index keeps the stems of words.
    assert!(!holds(directory.path(), "zanzibar"));
    assert_eq!((found(&mut store, "zanzibarquince"), found(&mut store, "kept")), (0, 100));
    assert!(store.check().unwrap().sound);
}

#[test]
fn a_vacuum_of_nothing_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let report = open(directory.path()).vacuum().unwrap();
    assert_eq!((report.before, report.after), (0, 0));
    assert!(names(directory.path()).is_empty());
}

#[test]
fn without_room_neither_a_vacuum_nor_a_snapshot_changes_anything() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(directory.path(), "24m") else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let mut store = open(directory.path());
    append(&mut store, 0..1000, &"x".repeat(5_000));
    store.close().unwrap();
    let before = std::fs::read(directory.path().join(FILE_NAME)).unwrap();
    let filler = directory.path().join("filler");
    std::fs::write(&filler, vec![1; (22 << 20) - before.len()]).unwrap();
    assert_eq!(store.vacuum().unwrap_err().kind, Kind::StorageFull);
    assert_eq!(store.snapshot(None, None).unwrap_err().kind, Kind::StorageFull);
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), 1000);
    store.close().unwrap();
    assert!(std::fs::read(directory.path().join(FILE_NAME)).unwrap() == before);
    assert_eq!(names(directory.path()), ["filler", FILE_NAME]);
    std::fs::remove_file(&filler).unwrap();
    store.vacuum().unwrap();
    store.snapshot(None, None).unwrap();
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), 1000);
}
