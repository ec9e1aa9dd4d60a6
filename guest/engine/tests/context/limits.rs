//! Limits: nothing is written above one, and nothing is ever cut.

use talktree_engine::{BlockDefinition, BlockKind, Kind};

use super::common::{append, entry, is_empty, kind, refused, replace, shared, store, wrong};

const MIB: usize = 1024 * 1024;

#[test]
fn above_max_tokens_nothing_is_written_and_the_error_names_the_numbers() {
    let (_directory, mut store) = store();
    let definition = BlockDefinition { max_tokens: Some(4), ..kind(BlockKind::Writable) };
    store.define_block("", "memory", &definition).unwrap();
    store.write_block("", "memory", &replace("one two three")).unwrap();
    for write in [replace("one two three four five six"), append("four five")] {
        let error = store.write_block("", "memory", &write).unwrap_err();
        assert_eq!((error.kind, error.subject.as_deref(), error.limit), (Kind::OverLimit, Some("memory"), Some(4)));
        let proposed = error.current.unwrap();
        assert!(proposed > 4);
        for number in [3, 4, proposed] {
            assert!(error.message.contains(&format!(" {number}")), "{error}");
        }
    }
    let block = store.write_block("", "memory", &replace("one two three four")).unwrap();
    assert_eq!((block.tokens, block.version), (4, 2), "up to the limit is not above it");
}

#[test]
fn the_limit_of_a_block_of_entries_is_for_all_of_them() {
    let (_directory, mut store) = store();
    let definition = BlockDefinition { max_tokens: Some(4), ..kind(BlockKind::Searchable) };
    store.define_block("", "notes", &definition).unwrap();
    store.write_block("", "notes", &entry("a", "one two")).unwrap();
    store.write_block("", "notes", &entry("b", "three four")).unwrap();
    let error = store.write_block("", "notes", &entry("c", "five")).unwrap_err();
    assert_eq!((error.kind, error.current, error.limit), (Kind::OverLimit, Some(5), Some(4)));
    store.write_block("", "notes", &entry("a", "one")).unwrap();
    store.write_block("", "notes", &entry("c", "five")).unwrap();
}

#[test]
fn a_limit_that_was_lowered_lets_entries_be_removed() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    store.write_block("", "notes", &entry("a", "one two three")).unwrap();
    store.write_block("", "notes", &entry("b", "one two three")).unwrap();
    let lower = BlockDefinition { max_tokens: Some(2), ..kind(BlockKind::Searchable) };
    assert_eq!(store.define_block("", "notes", &lower).unwrap().tokens, 6, "an agent may lower it at its start");
    assert_eq!(refused(store.write_block("", "notes", &entry("a", "one two"))), Kind::OverLimit);
    assert_eq!(store.write_block("", "notes", &entry("a", "")).unwrap().tokens, 3);
    assert_eq!(store.write_block("", "notes", &entry("b", "")).unwrap().tokens, 0);
}

#[test]
fn a_block_holds_at_most_a_mebibyte() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    let most = "x".repeat(MIB);
    assert_eq!(store.write_block("", "memory", &replace(&most)).unwrap().content, most);
    let error = store.write_block("", "memory", &append("y")).unwrap_err();
    assert_eq!((error.kind, error.current, error.limit), (Kind::OverLimit, Some(MIB as u64 + 2), Some(MIB as u64)));
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    store.write_block("", "notes", &entry("a", &most[1..])).unwrap();
    store.write_block("", "notes", &entry("b", "x")).unwrap();
    assert_eq!(refused(store.write_block("", "notes", &entry("c", "x"))), Kind::OverLimit);
    let arguments = serde_json::json!({"label": "memory", "content": "y", "action": "append"}).to_string();
    assert!(wrong(&mut store, "set_context", &arguments).contains("memory"));
}

#[test]
fn a_block_has_at_most_a_thousand_entries() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    for number in 0..1000 {
        store.write_block("", "notes", &entry(&number.to_string(), "x")).unwrap();
    }
    let error = store.write_block("", "notes", &entry("one more", "x")).unwrap_err();
    assert_eq!((error.kind, error.current, error.limit), (Kind::OverLimit, Some(1001), Some(1000)));
    store.write_block("", "notes", &entry("7", "y")).unwrap();
    store.write_block("", "notes", &entry("8", "")).unwrap();
    store.write_block("", "notes", &entry("one more", "x")).unwrap();
    assert_eq!(store.restore_block("", "notes", 1000).unwrap().entries.len(), 1000);
}

#[test]
fn a_session_and_the_store_have_at_most_a_hundred_blocks_each() {
    let (_directory, mut store) = store();
    for number in 0..100 {
        store.define_block("", &format!("own {number}"), &kind(BlockKind::Writable)).unwrap();
        store.define_block("", &format!("shared {number}"), &shared(BlockKind::Writable)).unwrap();
    }
    for definition in [kind(BlockKind::Writable), shared(BlockKind::Writable)] {
        let error = store.define_block("", "one more", &definition).unwrap_err();
        assert_eq!((error.kind, error.current, error.limit), (Kind::OverLimit, Some(101), Some(100)));
    }
    store.define_block("other", "one more", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(store.list_blocks("").unwrap().len(), 200);
}

#[test]
fn the_blocks_of_a_session_hold_at_most_16_mebibytes_together() {
    let (_directory, mut store) = store();
    let most = "x".repeat(MIB);
    for number in 0..17 {
        store.define_block("", &number.to_string(), &kind(BlockKind::Writable)).unwrap();
    }
    for number in 0..16 {
        store.write_block("", &number.to_string(), &replace(&most)).unwrap();
    }
    let error = store.write_block("", "16", &replace("x")).unwrap_err();
    assert_eq!((error.kind, error.limit), (Kind::OverLimit, Some(16 * MIB as u64)));
    store.write_block("", "3", &replace("")).unwrap();
    store.write_block("", "16", &replace("x")).unwrap();
    assert!(store.system_prompt("").unwrap().len() > 15 * MIB);
}

#[test]
fn a_first_write_that_is_refused_leaves_no_store_behind() {
    let (directory, mut store) = store();
    let definition = BlockDefinition { content: Some("x".repeat(MIB + 1)), ..kind(BlockKind::Writable) };
    assert_eq!(refused(store.define_block("", "memory", &definition)), Kind::OverLimit);
    assert!(is_empty(directory.path()));
}
