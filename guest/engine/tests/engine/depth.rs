//! No cap on depth: long chains, and paths that change the chain at every step.

use talktree_engine::{
    BranchPoint, DeleteMode, Directory, HistoryView, Kind, MediaMode, ReadOptions, RecentOptions, Store,
};

use super::common::{append, append_many, append_under, import_tree, store};

/// Reads a whole path in pages, and answers the ids.
fn pages(store: &mut Store<Directory>, newest_first: bool, size: u32) -> Vec<String> {
    let view = HistoryView { newest_first, ..HistoryView::default() };
    let options = ReadOptions { view, batch_size: Some(size), max_batch_bytes: None };
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.read_history("", &options, cursor.as_deref()).unwrap();
        assert!(!page.items.is_empty());
        ids.extend(page.items.into_iter().map(|message| message.id));
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return ids,
        }
    }
}

fn row_count(store: &mut Store<Directory>) -> usize {
    let (mut count, mut cursor) = (0, None);
    loop {
        let page = store.get_history_row_stats("", None, cursor.as_deref(), Some(1000)).unwrap();
        count += page.items.len();
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return count,
        }
    }
}

fn nodes(store: &mut Store<Directory>) -> usize {
    let (mut count, mut cursor) = (0, None);
    loop {
        let page = store.list_messages("", cursor.as_deref(), Some(1000)).unwrap();
        count += page.items.len();
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return count,
        }
    }
}

fn recent(max_bytes: u64) -> RecentOptions {
    RecentOptions { max_bytes, leaf_id: None, overlays: true, media: MediaMode::Inline }
}

#[test]
fn a_chain_of_200_000_messages_is_read_written_and_cut() {
    const COUNT: usize = 200_000;
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, COUNT);
    let expected: Vec<String> = (0..COUNT).map(|number| format!("m{number}")).collect();
    assert!(pages(&mut opened, false, 1000) == expected);
    assert!(pages(&mut opened, true, 1000).iter().rev().eq(&expected));
    assert_eq!(row_count(&mut opened), COUNT);
    assert_eq!(nodes(&mut opened), COUNT);
    let recent = opened.get_recent_history("", &recent(10_000)).unwrap();
    assert!(recent.truncated && recent.messages.len() > 100 && recent.messages.len() < 200);
    assert!(recent.total_content_bytes > COUNT as u64 * 60);
    let gone = opened.delete_messages("", &["m1".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(gone.deleted, 1);
    append(&mut opened, "", "after");
    append_under(&mut opened, "fork", "m100000").unwrap();
    assert_eq!(row_count(&mut opened), 100_001);
    let gone = opened.delete_messages("", &["m2".to_owned()], DeleteMode::Subtree, false).unwrap();
    assert_eq!(gone.deleted as usize, COUNT);
    assert_eq!(pages(&mut opened, false, 7), ["m0"]);
    assert!(opened.check().unwrap().sound);
}

#[test]
fn a_path_that_changes_the_chain_20_000_times_is_read_written_and_cut() {
    const COUNT: usize = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    // Each message has two answers; the path goes on under the second one, which is on a chain of its own.
    let tree = (0..COUNT).flat_map(|number| {
        let parent = number.checked_sub(1).map(|above| format!("a{above}"));
        let twin = (number > 0).then(|| (format!("b{number}"), parent.clone()));
        twin.into_iter().chain([(format!("a{number}"), parent)])
    });
    import_tree(&mut opened, tree);
    let expected: Vec<String> = (0..COUNT).map(|number| format!("a{number}")).collect();
    assert!(pages(&mut opened, false, 1000) == expected);
    assert!(pages(&mut opened, true, 1000).iter().rev().eq(&expected));
    assert_eq!(row_count(&mut opened), COUNT);
    assert_eq!(nodes(&mut opened), 2 * COUNT - 1);
    let newest = opened.get_recent_history("", &recent(2000)).unwrap();
    let bytes: u64 = newest.messages.iter().map(|message| message.bytes).sum();
    assert!(bytes <= 2000 && bytes + newest.messages[0].bytes > 2000, "{bytes} bytes");
    append(&mut opened, "", "after");
    let below = opened.get_branches("", &BranchPoint::Id("a77".to_owned()), None, None).unwrap();
    assert_eq!(below.items.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["b78", "a78"]);
    // A read that is under way notices a delete anywhere on so long a path, and none beside it.
    let options = ReadOptions { batch_size: Some(10), ..ReadOptions::default() };
    let cursor = opened.read_history("", &options, None).unwrap().cursor;
    opened.delete_messages("", &["b300".to_owned()], DeleteMode::Splice, false).unwrap();
    let page = opened.read_history("", &options, cursor.as_deref()).unwrap();
    opened.delete_messages("", &["a19000".to_owned()], DeleteMode::Splice, false).unwrap();
    let error = opened.read_history("", &options, page.cursor.as_deref()).unwrap_err();
    assert_eq!(error.kind, Kind::StaleCursor);
    let gone = opened.delete_messages("", &["a10".to_owned()], DeleteMode::Subtree, false).unwrap();
    assert_eq!(gone.deleted as usize, 2 * (COUNT - 10) - 1 - 1);
    assert_eq!(nodes(&mut opened), 20);
    assert!(opened.check().unwrap().sound);
}

#[test]
fn a_message_with_20_000_answers_is_read_in_pages() {
    const COUNT: usize = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    import_tree(&mut opened, [("r".to_owned(), None)]);
    import_tree(&mut opened, (0..COUNT).map(|number| (format!("m{number}"), Some("r".to_owned()))));
    let (mut count, mut cursor) = (0, None);
    loop {
        let point = BranchPoint::Id("r".to_owned());
        let page = opened.get_branches("", &point, cursor.as_deref(), Some(1000)).unwrap();
        assert!(page.items.iter().zip(count..).all(|(message, number)| message.id == format!("m{number}")));
        count += page.items.len();
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(count, COUNT);
    assert_eq!(nodes(&mut opened), COUNT + 1);
    // All of them become roots.
    opened.delete_messages("", &["r".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(opened.get_branches("", &BranchPoint::Root, None, Some(1000)).unwrap().items.len(), 1000);
}
