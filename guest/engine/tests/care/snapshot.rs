//! Copies that are handed out while the store is in use.

use std::path::Path;

use talktree_engine::{Directory, FILE_NAME, HistoryView, Kind, Store, TEMPORARY_PREFIX};

use super::common::{append, names, open};
use super::fixture::{SESSIONS, fill};
use super::reads::everything;

/// Takes a snapshot in pieces, with something done between them, and puts it where a store belongs.
fn snapshot(
    store: &mut Store<Directory>,
    piece: u64,
    to: &Path,
    mut between: impl FnMut(&mut Store<Directory>),
) -> usize {
    let mut content = Vec::new();
    let mut pieces = 0;
    let mut cursor = None;
    loop {
        let next = store.snapshot(cursor.as_deref(), Some(piece)).unwrap();
        assert!(next.data.len() as u64 <= piece);
        content.extend_from_slice(&next.data);
        pieces += 1;
        let Some(more) = next.cursor else {
            assert_eq!(content.len() as u64, next.bytes);
            break;
        };
        cursor = Some(more);
        between(store);
    }
    std::fs::write(to.join(FILE_NAME), content).unwrap();
    pieces
}

#[test]
fn a_snapshot_answers_as_the_store_did_when_it_was_begun() {
    let (directory, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = open(directory.path());
    fill(&mut store);
    let expected = everything(&mut store, &SESSIONS);
    let mut written = 0;
    let pieces = snapshot(&mut store, 10_000, restored.path(), |store| {
        append(store, 100 + written..101 + written, "meanwhile");
        written += 1;
    });
    assert!(pieces > 10 && written == pieces - 1);
    let mut copy = open(restored.path());
    assert!(copy.check().unwrap().sound);
    assert_eq!(everything(&mut copy, &SESSIONS), expected);
    // It is a store like any other.
    append(&mut copy, 1000..1010, "on");
    copy.close().unwrap();
    assert!(store.check().unwrap().sound);
    store.close().unwrap();
    assert_eq!(names(directory.path()), [FILE_NAME], "the copy went with its last piece");
}

#[test]
fn a_cursor_of_the_original_is_none_of_a_restored_store() {
    let (directory, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = open(directory.path());
    append(&mut store, 0..10, "hello");
    let cursor = store.list_messages("", None, Some(5)).unwrap().cursor.unwrap();
    snapshot(&mut store, 1 << 20, restored.path(), |_| {});
    store.list_messages("", Some(&cursor), None).unwrap();
    let error = open(restored.path()).list_messages("", Some(&cursor), None).unwrap_err();
    assert_eq!(error.kind, Kind::StaleCursor);
}

#[test]
fn another_snapshot_ends_the_first_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    append(&mut store, 0..10, "hello");
    let first = store.snapshot(None, Some(1000)).unwrap().cursor.unwrap();
    let second = store.snapshot(None, Some(1000)).unwrap().cursor.unwrap();
    assert_eq!(store.snapshot(Some(&first), None).unwrap_err().kind, Kind::StaleCursor);
    store.snapshot(Some(&second), Some(1000)).unwrap();
    let copies = names(directory.path()).into_iter().filter(|name| name.starts_with(TEMPORARY_PREFIX)).count();
    assert_eq!(copies, 1);
    assert_eq!(store.snapshot(Some("none of ours"), None).unwrap_err().kind, Kind::StaleCursor);
    assert_eq!(store.snapshot(None, Some(0)).unwrap_err().kind, Kind::InvalidArgument);
}

#[test]
fn a_snapshot_that_was_given_up_goes_at_the_next_opening() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path());
    append(&mut store, 0..10, "hello");
    let cursor = store.snapshot(None, Some(1000)).unwrap().cursor.unwrap();
    store.close().unwrap();
    assert_eq!(store.snapshot(Some(&cursor), None).unwrap_err().kind, Kind::StaleCursor);
    store.close().unwrap();
    assert_eq!(names(directory.path()), [FILE_NAME]);
}

#[test]
fn a_snapshot_of_nothing_is_empty_and_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let piece = open(directory.path()).snapshot(None, None).unwrap();
    assert_eq!((piece.data.len(), piece.bytes, piece.cursor), (0, 0, None));
    assert!(names(directory.path()).is_empty());
    // Restored it is an empty store, too.
    std::fs::write(directory.path().join(FILE_NAME), piece.data).unwrap();
    assert!(open(directory.path()).get_history("", &HistoryView::default()).unwrap().is_empty());
}
