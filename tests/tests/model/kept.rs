//! What was found once, by the promise that was broken.

use talktree_engine::{AppendOptions, BranchPoint, Durability, Kind, Parent};
use talktree_tests::model::Text;
use talktree_tests::subject::Native;
use talktree_tests::{Component, Subject};

fn plain(id: &str) -> String {
    Text::plain(id, "user", "hello").compact()
}

/// The same on the engine by itself and on the component.
fn on_both(test: impl Fn(&mut dyn Subject)) {
    test(&mut Native::new(Durability::Normal).unwrap());
    test(&mut Component::new().unwrap());
}

#[test]
fn a_stored_root_conflicts_with_a_parent_that_is_not_there() {
    on_both(|store| {
        store.append_message("", &plain("r"), &AppendOptions::default()).unwrap();
        let options = AppendOptions { parent: Parent::Id("gone".to_owned()), ..AppendOptions::default() };
        let result = store.append_messages("", &[plain("r"), plain("a")], &options).unwrap();
        let items: Vec<_> = result.items.iter().map(|item| (item.inserted, item.conflict)).collect();
        assert_eq!(items, [(false, true), (true, false)]);
    });
}

#[test]
fn a_cursor_is_stale_in_a_session_that_was_never_written() {
    on_both(|store| {
        for id in ["a", "b"] {
            let root = AppendOptions { parent: Parent::Root, ..AppendOptions::default() };
            store.append_message("", &plain(id), &root).unwrap();
        }
        let cursor = store.get_branches("", &BranchPoint::Root, None, Some(1)).unwrap().cursor;
        assert!(cursor.is_some());
        let elsewhere = store.get_branches("never", &BranchPoint::Root, cursor.as_deref(), None);
        assert_eq!(elsewhere.map_err(|(kind, _)| kind), Err(Kind::StaleCursor));
    });
}
