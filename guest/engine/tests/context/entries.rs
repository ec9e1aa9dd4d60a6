//! Blocks of entries: keys, titles, order, removal.

use talktree_engine::{BlockDefinition, BlockEntry, BlockKind, BlockWrite, Kind};

use super::common::{append, entry, keys, kind, refused, replace, store, titled};

#[test]
fn entries_are_in_the_order_in_which_their_keys_were_first_written() {
    for of in [BlockKind::Searchable, BlockKind::Loadable] {
        let (_directory, mut store) = store();
        store.define_block("", "notes", &kind(of)).unwrap();
        store.write_block("", "notes", &titled("b", "Title", "one")).unwrap();
        store.write_block("", "notes", &entry("a", "two")).unwrap();
        let block = store.write_block("", "notes", &entry("b", "three four")).unwrap();
        assert_eq!(block.content, "three four\n\ntwo");
        assert_eq!((block.tokens, block.version), (3, 3));
        let shown = |key: &str, title: Option<&str>, tokens| BlockEntry {
            key: key.to_owned(),
            title: title.map(str::to_owned),
            tokens,
            loaded: false,
        };
        assert_eq!(block.entries, [shown("b", Some("Title"), 2), shown("a", None, 1)], "a title stays");
        // A key that comes back is one that is new.
        store.write_block("", "notes", &entry("b", "")).unwrap();
        store.write_block("", "notes", &entry("b", "five")).unwrap();
        assert_eq!(keys(&mut store, "notes"), ["a", "b"]);
    }
}

#[test]
fn an_entry_is_appended_to_on_a_line_of_its_own() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    let more = |content: &str| BlockWrite { key: Some("k".into()), ..append(content) };
    store.write_block("", "notes", &more("one")).unwrap();
    assert_eq!(store.write_block("", "notes", &more("two")).unwrap().content, "one\ntwo");
    assert_eq!(store.write_block("", "notes", &more("")).unwrap().version, 2);
}

#[test]
fn an_entry_is_removed_by_its_key_and_nothing_else_goes() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    store.write_block("", "notes", &entry("a", "one")).unwrap();
    store.write_block("", "notes", &entry("b", "two")).unwrap();
    let block = store.write_block("", "notes", &entry("a", "")).unwrap();
    assert_eq!((block.content.as_str(), block.version, block.tokens), ("two", 3, 1));
    assert_eq!(store.write_block("", "notes", &entry("never", "")).unwrap().version, 3);
    let error = store.write_block("", "notes", &replace("")).unwrap_err();
    assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("content")));
    assert_eq!(keys(&mut store, "notes"), ["b"]);
}

#[test]
fn a_title_is_set_kept_and_taken_away() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Loadable)).unwrap();
    let title = |store: &mut super::common::Memory| store.get_block("", "notes").unwrap().entries[0].title.clone();
    store.write_block("", "notes", &titled("k", "One", "text")).unwrap();
    store.write_block("", "notes", &entry("k", "text 2")).unwrap();
    assert_eq!(title(&mut store).as_deref(), Some("One"));
    assert_eq!(
        store.write_block("", "notes", &titled("k", "Two", "text 2")).unwrap().version,
        3,
        "a title is a change"
    );
    store.write_block("", "notes", &titled("k", "", "text 2")).unwrap();
    assert_eq!(title(&mut store), None);
}

#[test]
fn an_entry_without_a_key_is_a_new_one_with_a_key_of_the_stores_making() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    let named = |title: &str, content: &str| BlockWrite { title: Some(title.into()), ..replace(content) };
    store.write_block("", "notes", &named("Release window", "Friday")).unwrap();
    store.write_block("", "notes", &named("Release window", "Monday")).unwrap();
    store.write_block("", "notes", &named("发布窗口", "周五")).unwrap();
    store.write_block("", "notes", &replace("The name is Easy")).unwrap();
    store.write_block("", "notes", &append("发布窗口是周五")).unwrap();
    let made = keys(&mut store, "notes");
    assert_eq!(made[..3], ["release-window", "release-window-2", "发布窗口"]);
    assert!(made[3].starts_with("the-name-is-easy-") && made[4].starts_with("发布窗口是周五-"), "{made:?}");
    // A retry stores nothing twice.
    store.write_block("", "notes", &replace("The name is Easy")).unwrap();
    assert_eq!(store.write_block("", "notes", &named("Release window", "Friday")).unwrap().version, 5);
    assert_eq!(keys(&mut store, "notes"), made);
}

#[test]
fn content_in_a_declaration_is_the_first_entry() {
    let (_directory, mut store) = store();
    let definition = BlockDefinition { content: Some("a note".into()), ..kind(BlockKind::Searchable) };
    let block = store.define_block("", "notes", &definition).unwrap();
    assert_eq!((block.content.as_str(), block.entries.len(), block.version), ("a note", 1, 1));
}

#[test]
fn a_text_has_no_keys_and_titles() {
    let (_directory, mut store) = store();
    for of in [BlockKind::Writable, BlockKind::ReadOnly] {
        store.define_block("", of_label(of), &kind(of)).unwrap();
        assert_eq!(refused(store.write_block("", of_label(of), &entry("k", "x"))), Kind::InvalidArgument);
        let write = BlockWrite { title: Some("t".into()), ..replace("x") };
        let error = store.write_block("", of_label(of), &write).unwrap_err();
        assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("title")));
    }
}

fn of_label(kind: BlockKind) -> &'static str {
    if kind == BlockKind::Writable { "memory" } else { "soul" }
}

#[test]
fn bad_keys_and_titles_are_refused() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Loadable)).unwrap();
    for key in ["", "a\tb", &"k".repeat(257)] {
        assert_eq!(refused(store.write_block("", "notes", &entry(key, "x"))), Kind::InvalidArgument);
    }
    for title in ["two\nlines", &"t".repeat(1025)] {
        assert_eq!(refused(store.write_block("", "notes", &titled("k", title, "x"))), Kind::InvalidArgument);
    }
    assert!(store.get_block("", "notes").unwrap().entries.is_empty());
    store.write_block("", "notes", &titled(&"k".repeat(256), &"t".repeat(1024), "x")).unwrap();
}
