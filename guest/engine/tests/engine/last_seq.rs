//! A session whose messages have the last numbers that there are: an import may bring such.

use talktree_engine::{
    AppendOptions, BranchPoint, ChangeOptions, Directory, HistoryView, Kind, MediaMode, SearchOptions, Store,
};

use super::common::{kind, message, store};

/// A session with two messages before the end of all numbers, the second of them written in a later call.
fn at_the_end(directory: &std::path::Path) -> Store<Directory> {
    let mut store = store(directory);
    for (id, seq, parent) in [("last but one", u32::MAX - 1, ""), ("last", u32::MAX, r#""parentId":"last but one","#)] {
        let line =
            format!(r#"{{"type":"message","session":"",{parent}"seq":{seq},"message":{}}}"#, message(id, "hello"));
        assert_eq!(store.import_lines(None, &line).unwrap()[0].imported, 1);
        // Each is taken into the index by itself.
        assert!(store.search("hello", &SearchOptions::default()).unwrap().items.iter().any(|found| found.id == id));
    }
    store
}

#[test]
fn the_feed_behind_the_last_number_ends() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = at_the_end(directory.path());
    let mut options = ChangeOptions { limit: Some(1), ..ChangeOptions::default() };
    let mut told = Vec::new();
    for _ in 0..10 {
        let page = store.changes(&options).unwrap();
        told.extend(page.events.into_iter().flat_map(|event| event.ids));
        options.cursor = Some(page.cursor);
    }
    assert_eq!(told, ["last but one", "last"]);
}

#[test]
fn a_search_finds_the_message_with_the_last_number() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = at_the_end(directory.path());
    let found = store.search("hello", &SearchOptions::default()).unwrap().items;
    assert_eq!(found.iter().map(|found| found.seq).collect::<Vec<_>>(), [u32::MAX, u32::MAX - 1]);
}

#[test]
fn the_message_with_the_last_number_is_read_and_nothing_comes_behind_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = at_the_end(directory.path());
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), 2);
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().seq, u32::MAX);
    let under = BranchPoint::Id("last".to_owned());
    assert!(store.get_branches("", &under, None, None).unwrap().items.is_empty());
    let first = store.list_messages("", None, Some(1)).unwrap();
    let second = store.list_messages("", first.cursor.as_deref(), Some(1)).unwrap();
    assert_eq!((second.items[0].seq, second.cursor), (u32::MAX, None));
    let text = message("more", "hello");
    assert_eq!(kind(store.append_message("", &text, &AppendOptions::default())), Kind::OverLimit);
    assert!(store.check().unwrap().sound);
    store.fork_session("", None, "fork").unwrap();
    assert!(store.append_message("fork", &text, &AppendOptions::default()).unwrap().inserted);
}
