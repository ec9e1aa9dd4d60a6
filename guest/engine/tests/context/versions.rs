//! Writes of a text, their versions, and bringing versions back.

use talktree_engine::{BlockDefinition, BlockKind, BlockWrite, Kind};

use super::common::{append, entry, kind, refused, replace, store, titled};

#[test]
fn replacing_takes_the_place_and_appending_goes_on_a_line_of_its_own() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    for (write, holds) in [
        (append("one"), "one"),
        (append("two"), "one\ntwo"),
        (append("three\n"), "one\ntwo\nthree\n"),
        (append("four"), "one\ntwo\nthree\nfour"),
        (append("\nfive"), "one\ntwo\nthree\nfour\nfive"),
        (append("\u{0} 部署"), "one\ntwo\nthree\nfour\nfive\n\u{0} 部署"),
        (replace(" x "), " x "),
        (replace(""), ""),
        (append("\n"), "\n"),
        (append("\n"), "\n\n"),
    ] {
        let block = store.write_block("", "memory", &write).unwrap();
        assert_eq!(block.content, holds);
        assert_eq!(store.get_block("", "memory").unwrap(), block);
    }
}

#[test]
fn a_program_writes_read_only_blocks_too() {
    let (_directory, mut store) = store();
    store.define_block("", "soul", &kind(BlockKind::ReadOnly)).unwrap();
    assert_eq!(store.write_block("", "soul", &replace("You are terse.")).unwrap().content, "You are terse.");
}

#[test]
fn each_write_is_one_version_more_and_one_that_changes_nothing_is_none() {
    let (_directory, mut store) = store();
    assert_eq!(store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap().version, 0);
    for (write, version) in [
        (replace(""), 0),
        (append(""), 0),
        (replace("a"), 1),
        (replace("a"), 1),
        (append(""), 1),
        (append("b"), 2),
        (replace(""), 3),
    ] {
        assert_eq!(store.write_block("", "memory", &write).unwrap().version, version);
    }
    let with_content = BlockDefinition { content: Some("x".into()), ..kind(BlockKind::Writable) };
    assert_eq!(store.define_block("", "other", &with_content).unwrap().version, 1);
    let with_nothing = BlockDefinition { content: Some(String::new()), ..kind(BlockKind::Writable) };
    assert_eq!(store.define_block("", "third", &with_nothing).unwrap().version, 0);
}

#[test]
fn a_write_of_what_was_not_seen_is_refused() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    let seen = |version, content: &str| BlockWrite { version: Some(version), ..replace(content) };
    assert_eq!(store.write_block("", "memory", &seen(0, "one")).unwrap().version, 1);
    assert_eq!(store.write_block("", "memory", &seen(1, "two")).unwrap().version, 2);
    for stale in [0, 1, 3, u32::MAX] {
        let error = store.write_block("", "memory", &seen(stale, "two")).unwrap_err();
        assert_eq!(
            (error.kind, error.subject.as_deref(), error.current),
            (Kind::VersionMismatch, Some("memory"), Some(2))
        );
    }
    assert_eq!(store.get_block("", "memory").unwrap().content, "two");
}

#[test]
fn the_last_20_versions_are_kept_newest_first() {
    let (directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    for number in 1..=30 {
        store.write_block("", "memory", &replace(&format!("text {number}"))).unwrap();
    }
    drop(store);
    let mut store = super::common::open(directory.path());
    let history = store.block_history("", "memory").unwrap();
    assert_eq!(history.iter().map(|kept| kept.version).collect::<Vec<_>>(), (11..=30).rev().collect::<Vec<_>>());
    for kept in &history {
        assert_eq!(kept.content, format!("text {}", kept.version));
        assert!(kept.created_at > 1_600_000_000_000);
    }
    assert!(history.windows(2).all(|pair| pair[0].created_at >= pair[1].created_at));
    let block = store.restore_block("", "memory", 11).unwrap();
    assert_eq!((block.content.as_str(), block.version), ("text 11", 31));
    assert_eq!(refused(store.restore_block("", "memory", 11)), Kind::InvalidArgument, "it is the 21st now");
    for never in [0, 32, u32::MAX] {
        assert_eq!(refused(store.restore_block("", "memory", never)), Kind::InvalidArgument);
    }
}

#[test]
fn restoring_what_is_there_already_is_no_version() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    assert_eq!(store.restore_block("", "memory", 1).unwrap().version, 1);
    store.write_block("", "memory", &replace("y")).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    assert_eq!(store.restore_block("", "memory", 1).unwrap().version, 3);
}

#[test]
fn an_empty_version_comes_back_empty() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    store.write_block("", "memory", &replace("")).unwrap();
    store.write_block("", "memory", &replace("y")).unwrap();
    let block = store.restore_block("", "memory", 2).unwrap();
    assert_eq!((block.content.as_str(), block.tokens, block.version), ("", 0, 4));
    let history = store.block_history("", "memory").unwrap();
    assert_eq!(history.iter().map(|kept| kept.content.as_str()).collect::<Vec<_>>(), ["", "y", "", "x"]);
}

#[test]
fn restoring_above_a_limit_that_was_set_since_is_refused() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("one two three")).unwrap();
    store.write_block("", "memory", &replace("one")).unwrap();
    store.define_block("", "memory", &BlockDefinition { max_tokens: Some(2), ..kind(BlockKind::Writable) }).unwrap();
    assert_eq!(refused(store.restore_block("", "memory", 1)), Kind::OverLimit);
    assert_eq!(store.get_block("", "memory").unwrap().content, "one");
}

#[test]
fn restoring_brings_back_entries_exactly() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Loadable)).unwrap();
    store.write_block("", "notes", &titled("a", "First", "one")).unwrap();
    store.write_block("", "notes", &entry("b", "two\n\nthree")).unwrap();
    let before = store.write_block("", "notes", &entry("c", "\u{0}")).unwrap();
    store.write_block("", "notes", &entry("a", "")).unwrap();
    store.write_block("", "notes", &titled("b", "Second", "two\n\nthree")).unwrap();
    store.write_block("", "notes", &entry("d", "four")).unwrap();
    store.write_block("", "notes", &entry("a", "one anew")).unwrap();
    let mut after = store.restore_block("", "notes", before.version).unwrap();
    assert_eq!(after.version, 8);
    after.version = before.version;
    assert_eq!(after, before);
    // And forward again.
    let block = store.restore_block("", "notes", 7).unwrap();
    let shown: Vec<_> = block.entries.iter().map(|entry| (entry.key.as_str(), entry.title.as_deref())).collect();
    assert_eq!(shown, [("b", Some("Second")), ("c", None), ("d", None), ("a", None)]);
    assert_eq!(block.content, "two\n\nthree\n\n\u{0}\n\nfour\n\none anew");
}
