//! Titles: who gave them, and which stays.

use talktree_engine::{ChangeOptions, EventKind, Kind};

use super::common::{append, kind, store};

#[test]
fn a_users_title_is_never_changed_by_a_program() {
    let (_directory, mut store) = store();
    append(&mut store, "a", "m");
    let mut set = |title: Option<&str>, automatic| {
        let entry = store.set_title("a", title, automatic).unwrap();
        assert_eq!(store.session_info("a").unwrap(), entry);
        (entry.title, entry.title_automatic)
    };
    let automatic = |title: &str| (Some(title.to_owned()), true);
    let users = |title: &str| (Some(title.to_owned()), false);
    assert_eq!(set(None, false), (None, false));
    assert_eq!(set(Some("one"), true), automatic("one"));
    assert_eq!(set(Some("two"), true), automatic("two"));
    assert_eq!(set(None, true), (None, false));
    assert_eq!(set(Some("two"), true), automatic("two"));
    assert_eq!(set(Some("two"), false), users("two"));
    assert_eq!(set(Some("three"), true), users("two"));
    assert_eq!(set(None, true), users("two"));
    assert_eq!(set(Some("four"), false), users("four"));
    assert_eq!(set(None, false), (None, false));
    assert_eq!(set(Some("five"), true), automatic("five"));
    // Six of them changed nothing, or were refused.
    let page = store.changes(&ChangeOptions::default()).unwrap();
    let titles = page.events.iter().filter(|event| event.kind == EventKind::SessionChanged).count();
    assert_eq!(titles, 8);
}

#[test]
fn an_empty_title_is_none_and_keeps_no_other_away() {
    let (_directory, mut store) = store();
    append(&mut store, "s", "m");
    assert_eq!(store.set_title("s", Some(""), false).unwrap().title, None);
    assert_eq!(store.set_title("s", Some("Auto"), true).unwrap().title.as_deref(), Some("Auto"));
}

#[test]
fn a_title_is_at_most_1_024_bytes_and_belongs_to_a_session_that_is_there() {
    let (directory, mut store) = store();
    assert_eq!(kind(store.set_title("a", Some("x"), false)), Kind::UnknownSession);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a refusal creates nothing");
    append(&mut store, "a", "m");
    assert_eq!(kind(store.set_title("b", None, false)), Kind::UnknownSession);
    let long = "é".repeat(512);
    assert_eq!(store.set_title("a", Some(&long), false).unwrap().title, Some(long.clone()));
    let error = store.set_title("a", Some(&format!("{long}x")), false).unwrap_err();
    assert_eq!((error.kind, error.current, error.limit), (Kind::InvalidArgument, Some(1025), Some(1024)));
    store.close().unwrap();
    assert_eq!(store.session_info("a").unwrap().title, Some(long));
}
