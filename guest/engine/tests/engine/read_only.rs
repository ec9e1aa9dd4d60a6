//! Places that can only be read.

use talktree_engine::{
    AppendOptions, BranchPoint, ConfigScope, ConfigurationChange, DeleteMode, HistoryView, Kind, MediaMode, Setting,
    Source, Store,
};

use super::common::{append, append_many, files, kind, message, store};
use super::read_only_place::{ReadOnly, read_only};

fn writes_are_refused(store: &mut Store<ReadOnly>) {
    let text = message("w", "hello");
    let ids = ["m0".to_owned()];
    assert_eq!(kind(store.append_message("", &text, &AppendOptions::default())), Kind::ReadOnly);
    assert_eq!(kind(store.append_messages("", std::slice::from_ref(&text), &AppendOptions::default())), Kind::ReadOnly);
    assert_eq!(kind(store.update_message("", &text, Source::Server)), Kind::ReadOnly);
    assert_eq!(kind(store.delete_messages("", &ids, DeleteMode::Splice, false)), Kind::ReadOnly);
    assert_eq!(kind(store.clear_messages("")), Kind::ReadOnly);
    assert_eq!(kind(store.set_leaf("", Some("m0"))), Kind::ReadOnly);
    let change = ConfigurationChange { protect_head: Setting::Value(1), ..ConfigurationChange::default() };
    assert_eq!(kind(store.configure(&ConfigScope::Store, &change)), Kind::ReadOnly);
}

fn reads_work(store: &mut Store<ReadOnly>, count: usize) {
    assert_eq!(store.get_history("", &HistoryView::default()).unwrap().len(), count);
    assert_eq!(store.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().seq as usize, count);
    assert_eq!(store.get_branches("", &BranchPoint::Root, None, None).unwrap().items.len(), 1);
    assert_eq!(store.list_messages("", None, Some(1000)).unwrap().items.len(), count.min(1000));
    assert!(store.check().unwrap().sound);
    let ids = ["m0".to_owned()];
    assert_eq!(store.delete_messages("", &ids, DeleteMode::Splice, true).unwrap().deleted, 1, "a dry run is a read");
}

#[test]
fn a_closed_store_is_read_and_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = store(directory.path());
    append_many(&mut writer, 0, 300);
    writer.close().unwrap();
    let before = files(directory.path());
    let mut reader = read_only(directory.path());
    reads_work(&mut reader, 300);
    writes_are_refused(&mut reader);
    reader.close().unwrap();
    assert!(files(directory.path()) == before, "something was written");
}

#[test]
fn a_store_with_a_log_is_read_with_all_that_the_log_says() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = store(directory.path());
    append_many(&mut writer, 0, 50);
    writer.close().unwrap();
    append(&mut writer, "", "last");
    // The log is still there, as after a kill.
    let killed = tempfile::tempdir().unwrap();
    for (name, content) in files(directory.path()) {
        std::fs::write(killed.path().join(name), content).unwrap();
    }
    let before = files(killed.path());
    assert_eq!(before.len(), 2);
    let mut reader = read_only(killed.path());
    reads_work(&mut reader, 51);
    writes_are_refused(&mut reader);
    reader.close().unwrap();
    assert!(files(killed.path()) == before, "something was written");
}

#[test]
fn nothing_at_all_is_read_as_something_empty() {
    let directory = tempfile::tempdir().unwrap();
    let mut reader = read_only(directory.path());
    assert!(reader.get_history("", &HistoryView::default()).unwrap().is_empty());
    writes_are_refused(&mut reader);
    assert!(files(directory.path()).is_empty());
}
