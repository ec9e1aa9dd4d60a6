//! A limit on the size of the file: refused whole, read as before, and room again at once after deleting.

use std::path::Path;

use talktree_engine::{
    AppendOptions, DeleteMode, Directory, Durability, Error, HistoryView, Kind, Options, Place, SearchOptions, Store,
};

use super::common::message;

const LIMIT: u64 = 1 << 20;

fn store(directory: &Path, limit: Option<u64>) -> Store<Directory> {
    let options = Options { durability: Durability::Normal, max_file_bytes: limit, ..Options::default() };
    Store::new(Directory::new(directory), options)
}

/// Appends until that is refused; answers the error, and how many are stored.
fn fill<P: Place>(store: &mut Store<P>, name: &str) -> (Error, usize) {
    let text = format!("banana {}", "x".repeat(20_000));
    for number in 0..1000 {
        let message = message(&format!("{name}{number}"), &text);
        if let Err(error) = store.append_message("", &message, &AppendOptions::default()) {
            return (error, number);
        }
    }
    panic!("nothing was refused");
}

fn ids<P: Place>(store: &mut Store<P>) -> Vec<String> {
    let history = store.get_history("", &HistoryView::default()).unwrap();
    history.into_iter().map(|message| message.id).collect()
}

fn length(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("talktree.db")).unwrap().len()
}

#[test]
fn what_needs_more_than_the_limit_is_refused_whole_and_the_rest_is_read_and_searched() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path(), Some(LIMIT));
    let (refused, stored) = fill(&mut opened, "m");
    assert_eq!((refused.kind, refused.limit), (Kind::StorageFull, Some(LIMIT)), "{refused}");
    assert!(refused.current.unwrap() <= LIMIT, "{refused:?}");
    assert!(stored * 20_000 > LIMIT as usize / 2, "{stored}");
    let log = directory.path().join("talktree.db-wal");
    assert_eq!(std::fs::metadata(log).unwrap().len(), 0, "what was refused stays in the log");
    assert_eq!(ids(&mut opened).len(), stored);
    let found = opened.search("banana", &SearchOptions { limit: Some(1000), ..SearchOptions::default() }).unwrap();
    assert_eq!(found.items.len(), stored);
    assert!(opened.check().unwrap().sound);
    opened.close().unwrap();
    assert!(length(directory.path()) <= LIMIT);

    let mut again = store(directory.path(), Some(LIMIT));
    assert_eq!(ids(&mut again).len(), stored);
    assert_eq!(fill(&mut again, "n").1, 0);
}

#[test]
fn what_is_deleted_makes_room_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path(), Some(LIMIT));
    let stored = fill(&mut opened, "m").1;
    for round in 0..5 {
        let all = ids(&mut opened);
        let gone: Vec<String> = all.into_iter().take(10).collect();
        assert_eq!(opened.delete_messages("", &gone, DeleteMode::Splice, false).unwrap().deleted, 10);
        assert!(fill(&mut opened, &format!("r{round}-")).1 >= 8);
    }
    opened.clear_messages("").unwrap();
    assert!(fill(&mut opened, "n").1 + 4 >= stored);
    opened.close().unwrap();
    // The events of what went have used the reserve, if anything has.
    assert!(length(directory.path()) <= LIMIT + (1 << 20));
}

#[test]
fn a_store_beyond_its_limit_is_read_emptied_and_made_small() {
    let directory = tempfile::tempdir().unwrap();
    let mut wide = store(directory.path(), None);
    for number in 0..200 {
        let message = message(&format!("m{number}"), &"x".repeat(20_000));
        wide.append_message("", &message, &AppendOptions::default()).unwrap();
    }
    wide.close().unwrap();
    let mut narrow = store(directory.path(), Some(LIMIT));
    assert_eq!(fill(&mut narrow, "n").1, 0);
    assert_eq!(ids(&mut narrow).len(), 200);
    narrow.clear_messages("").unwrap();
    narrow.vacuum().unwrap();
    assert!(length(directory.path()) < LIMIT);
    assert!(fill(&mut narrow, "n").1 > 20);
}
