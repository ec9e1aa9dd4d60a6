//! Which cursors are good, and which answer that something was missed.

use talktree_engine::{
    ChangeOptions, ChangePage, ConfigScope, ConfigurationChange, DeleteMode, Directory, EventKind, Kind, Options,
    Parent, Setting, Store,
};

use super::model::Modelled;

fn behind(store: &mut Store<Directory>, cursor: &str) -> ChangePage {
    store.changes(&ChangeOptions { cursor: Some(cursor.to_owned()), ..ChangeOptions::default() }).unwrap()
}

#[test]
fn who_followed_before_anything_was_written_misses_nothing() {
    let mut modelled = Modelled::new(None);
    let page = modelled.store.changes(&ChangeOptions::default()).unwrap();
    assert_eq!((page.events.len(), page.reset), (0, false));
    assert_eq!(std::fs::read_dir(modelled.directory.path()).unwrap().count(), 0, "a reading creates nothing");
    assert_eq!(behind(&mut modelled.store, &page.cursor), page);
    modelled.append("", "m1", Parent::Latest);
    let told = behind(&mut modelled.store, &page.cursor);
    assert!(!told.reset);
    modelled.check_all(&told.events, 0, &ChangeOptions::default());
}

#[test]
fn a_cursor_of_another_store_or_of_no_store_answers_the_present_end() {
    let mut one = Modelled::new(None);
    let mut other = Modelled::new(None);
    for modelled in [&mut one, &mut other] {
        modelled.append("", "m1", Parent::Latest);
        modelled.append("", "m2", Parent::Latest);
    }
    let end = one.store.changes(&ChangeOptions::default()).unwrap().cursor;
    let foreign = other.store.changes(&ChangeOptions { limit: Some(1), ..ChangeOptions::default() }).unwrap().cursor;
    let sessions = one.store.list_messages("", None, Some(1)).unwrap().cursor.unwrap();
    for wrong in ["", "garbage", "f", "f1", "f1.00000000", &foreign, &sessions, &format!("{end}0"), &"é".repeat(5000)]
    {
        let page = behind(&mut one.store, wrong);
        assert_eq!((page.reset, page.events.len(), &page.cursor), (true, 0, &end), "{wrong}");
    }
    one.append("", "m3", Parent::Latest);
    let (told, _) = one.read(&ChangeOptions { cursor: Some(end), ..ChangeOptions::default() }).unwrap();
    one.check_all(&told, 2, &ChangeOptions::default());
}

#[test]
fn a_cursor_from_beyond_the_end_is_of_another_life() {
    let mut modelled = Modelled::new(None);
    modelled.append("", "m1", Parent::Latest);
    modelled.store.close().unwrap();
    let earlier = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(modelled.directory.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), earlier.path().join(entry.file_name())).unwrap();
    }
    let good = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    modelled.append("", "m2", Parent::Latest);
    let lost = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    let mut restored = Store::new(Directory::new(earlier.path()), Options::default());
    assert!(!behind(&mut restored, &good).reset);
    let page = behind(&mut restored, &lost);
    assert_eq!((page.reset, page.cursor), (true, good));
}

#[test]
fn a_cursor_is_good_until_an_event_behind_it_has_gone() {
    let mut modelled = Modelled::new(Some(64));
    modelled.append("", "m1", Parent::Latest);
    let before = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    modelled.update("", "m1", "the first");
    let first = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    for number in 0..64 {
        modelled.update("", "m1", &format!("text {number}"));
        assert!(!behind(&mut modelled.store, &before).reset, "{number}");
    }
    // Two entries go together, as the second is one too many.
    modelled.update("", "m1", "one more");
    let page = behind(&mut modelled.store, &before);
    assert!(page.reset && page.events.is_empty());
    let options = ChangeOptions { session: Some("another".to_owned()), ..ChangeOptions::default() };
    let filtered = modelled.store.changes(&ChangeOptions { cursor: Some(before), ..options }).unwrap();
    assert!(filtered.reset, "nobody knows of which session the lost events were");
    let page = behind(&mut modelled.store, &first);
    assert!(page.reset);
    let (kept, _) = modelled.read(&ChangeOptions::default()).unwrap();
    assert_eq!(kept.len(), 64);
    modelled.check_all(&kept, modelled.events.len() - 64, &ChangeOptions::default());
}

#[test]
fn what_changes_nothing_and_what_is_no_event_is_not_told() {
    let mut modelled = Modelled::new(None);
    modelled.append("", "m1", Parent::Latest);
    modelled.append("", "m2", Parent::Latest);
    let end = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    let store = &mut modelled.store;
    store.set_leaf("", Some("m1")).unwrap();
    let change = ConfigurationChange { protect_head: Setting::Value(1), ..ConfigurationChange::default() };
    store.configure(&ConfigScope::Store, &change).unwrap();
    store.configure(&ConfigScope::Session("new".to_owned()), &change).unwrap();
    store.system_prompt("").unwrap();
    store.clear_messages("new").unwrap();
    store.delete_messages("", &["x".to_owned()], DeleteMode::Splice, false).unwrap();
    store.delete_messages("", &["m1".to_owned()], DeleteMode::Subtree, true).unwrap();
    store.remove_compaction("", "x").unwrap();
    store.set_title("", None, false).unwrap();
    modelled.append("", "m1", Parent::Latest);
    modelled.update("", "m1", "first");
    assert_eq!(behind(&mut modelled.store, &end).events, []);
    // One append of a session that was not there is one event.
    modelled.append("other", "m1", Parent::Latest);
    let told = behind(&mut modelled.store, &end).events;
    assert_eq!(told.iter().map(|event| event.kind).collect::<Vec<_>>(), [EventKind::Appended]);
    let long = ChangeOptions { session: Some("x".repeat(1025)), ..ChangeOptions::default() };
    assert_eq!(modelled.store.changes(&long).unwrap_err().kind, Kind::InvalidArgument);
    for limit in [0, 1001] {
        let wrong = ChangeOptions { limit: Some(limit), ..ChangeOptions::default() };
        assert_eq!(modelled.store.changes(&wrong).unwrap_err().kind, Kind::InvalidArgument);
    }
}
