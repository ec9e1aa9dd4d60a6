//! Declaring and removing blocks: what a label is, who sees it, what declaring again does.

use talktree_engine::{Block, BlockDefinition, BlockKind, BlockScope, Kind, WhenChanged};

use super::common::{is_empty, kind, labels, refused, replace, say, shared, store};

#[test]
fn a_block_is_what_it_was_declared_to_be() {
    let (_directory, mut store) = store();
    let definition = BlockDefinition {
        description: Some("Facts".to_owned()),
        max_tokens: Some(50),
        kind: BlockKind::Writable,
        scope: BlockScope::Session,
        when_changed: WhenChanged::Remind,
        content: Some("one two".to_owned()),
    };
    let block = store.define_block("s", "memory", &definition).unwrap();
    assert_eq!(
        block,
        Block {
            label: "memory".to_owned(),
            description: Some("Facts".to_owned()),
            kind: BlockKind::Writable,
            scope: BlockScope::Session,
            when_changed: WhenChanged::Remind,
            content: "one two".to_owned(),
            entries: Vec::new(),
            tokens: 2,
            max_tokens: Some(50),
            version: 1,
        }
    );
    assert_eq!(store.get_block("s", "memory").unwrap(), block);
    assert_eq!(store.list_blocks("s").unwrap(), [block]);
}

#[test]
fn declaring_again_changes_description_limit_and_reminding_and_never_the_content() {
    let (_directory, mut store) = store();
    store
        .define_block("", "memory", &BlockDefinition { content: Some("old".into()), ..kind(BlockKind::Writable) })
        .unwrap();
    store.write_block("", "memory", &replace("written by the model")).unwrap();
    let again = BlockDefinition {
        description: Some("Facts".into()),
        max_tokens: Some(1),
        when_changed: WhenChanged::Remind,
        content: Some("old".into()),
        ..kind(BlockKind::Writable)
    };
    let block = store.define_block("", "memory", &again).unwrap();
    assert_eq!((block.content.as_str(), block.version), ("written by the model", 2));
    assert_eq!((block.description.as_deref(), block.max_tokens), (Some("Facts"), Some(1)));
    assert_eq!(block.when_changed, WhenChanged::Remind);
    // What was not said the second time is not kept from the first.
    let block = store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    assert_eq!((block.description, block.max_tokens, block.when_changed), (None, None, WhenChanged::Wait));
}

#[test]
fn another_kind_or_scope_is_refused() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    for other in [BlockKind::ReadOnly, BlockKind::Searchable, BlockKind::Loadable] {
        assert_eq!(refused(store.define_block("", "memory", &kind(other))), Kind::InvalidArgument);
    }
    let error = store.define_block("", "memory", &shared(BlockKind::Writable)).unwrap_err();
    assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("memory")));
    store.define_block("", "rules", &shared(BlockKind::ReadOnly)).unwrap();
    assert_eq!(refused(store.define_block("other", "rules", &kind(BlockKind::ReadOnly))), Kind::InvalidArgument);
}

#[test]
fn blocks_of_the_store_are_seen_by_all_sessions_and_those_of_a_session_by_it_alone() {
    let (_directory, mut store) = store();
    store.define_block("a", "own", &kind(BlockKind::Writable)).unwrap();
    store.define_block("a", "shared", &shared(BlockKind::Writable)).unwrap();
    store.define_block("b", "own", &kind(BlockKind::Loadable)).unwrap();
    store.define_block("a", "later", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(labels(&mut store, "a"), ["own", "shared", "later"], "in the order of declaration");
    assert_eq!(labels(&mut store, "b"), ["shared", "own"]);
    assert_eq!(labels(&mut store, "never written"), ["shared"]);
    store.write_block("never written", "shared", &replace("x")).unwrap();
    assert_eq!(store.get_block("b", "shared").unwrap().content, "x");
    assert_eq!(refused(store.get_block("never written", "own")), Kind::UnknownBlock);
    // One of the store would stand beside one of a session, whoever declares it.
    assert_eq!(refused(store.define_block("c", "later", &shared(BlockKind::Writable))), Kind::InvalidArgument);
    store.remove_block("a", "later").unwrap();
    store.define_block("c", "later", &shared(BlockKind::Writable)).unwrap();
}

#[test]
fn removing_says_whether_there_was_one_and_takes_the_versions_along() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("secret")).unwrap();
    assert!(store.remove_block("", "memory").unwrap());
    assert!(!store.remove_block("", "memory").unwrap());
    assert_eq!(refused(store.get_block("", "memory")), Kind::UnknownBlock);
    let block = store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    assert_eq!((block.content.as_str(), block.version), ("", 0));
    assert!(store.block_history("", "memory").unwrap().is_empty());
    store.define_block("a", "shared", &shared(BlockKind::Writable)).unwrap();
    assert!(store.remove_block("b", "shared").unwrap(), "any session may remove one of the store");
    assert!(labels(&mut store, "a").is_empty());
}

#[test]
fn a_label_has_1_to_256_bytes_and_no_control_characters() {
    let (directory, mut store) = store();
    for bad in ["", "a\nb", "a\u{0}", "\u{7f}", &"é".repeat(129)] {
        let error = store.define_block("", bad, &kind(BlockKind::Writable)).unwrap_err();
        assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("label")), "{bad:?}");
    }
    assert!(is_empty(directory.path()));
    for good in ["a", " ", "记忆 🧠", "a'; DROP TABLE block;--", &"é".repeat(128)] {
        store.define_block("", good, &kind(BlockKind::Writable)).unwrap();
        assert_eq!(store.write_block("", good, &replace(good)).unwrap().content, good);
    }
    assert_eq!(labels(&mut store, "").len(), 5);
    // Labels are compared byte for byte.
    store.define_block("", "A", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(store.get_block("", "A").unwrap().content, "");
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let (directory, mut store) = store();
    let long = "x".repeat(4097);
    for definition in [
        BlockDefinition { max_tokens: Some(0), ..BlockDefinition::default() },
        BlockDefinition { description: Some("two\nlines".into()), ..BlockDefinition::default() },
        BlockDefinition { description: Some(long), ..BlockDefinition::default() },
    ] {
        assert_eq!(refused(store.define_block("", "memory", &definition)), Kind::InvalidArgument);
    }
    let definition =
        BlockDefinition { content: Some("one two three".into()), max_tokens: Some(2), ..BlockDefinition::default() };
    assert_eq!(refused(store.define_block("", "memory", &definition)), Kind::OverLimit);
    assert_eq!(
        refused(store.define_block(&"s".repeat(1025), "memory", &kind(BlockKind::Writable))),
        Kind::InvalidArgument
    );
    assert!(is_empty(directory.path()), "a refused declaration left something behind");
}

#[test]
fn reads_of_a_session_that_was_never_written_create_nothing() {
    let (directory, mut store) = store();
    assert!(store.list_blocks("s").unwrap().is_empty());
    assert_eq!(refused(store.get_block("s", "memory")), Kind::UnknownBlock);
    assert_eq!(refused(store.block_history("s", "memory")), Kind::UnknownBlock);
    assert_eq!(refused(store.restore_block("s", "memory", 1)), Kind::UnknownBlock);
    assert_eq!(refused(store.write_block("s", "memory", &replace("x"))), Kind::UnknownBlock);
    assert!(!store.remove_block("s", "memory").unwrap());
    assert_eq!(store.system_prompt("s").unwrap(), "");
    assert_eq!(store.refresh_system_prompt("s").unwrap(), "");
    assert_eq!(store.reminder("s").unwrap(), None);
    assert_eq!(store.tools("s").unwrap().len(), 1);
    assert!(store.call_tool("s", "set_context", r#"{"label":"memory","content":"x"}"#).unwrap().is_error);
    assert!(is_empty(directory.path()));
    // In a store that is there they bring no session into being either.
    store.define_block("s", "rules", &shared(BlockKind::ReadOnly)).unwrap();
    assert_eq!(store.stats().unwrap().sessions, 0, "a block of the store is of no session");
    store.define_block("s", "memory", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(store.stats().unwrap().sessions, 1);
}

#[test]
fn clearing_messages_leaves_blocks_and_prompt() {
    let (_directory, mut store) = store();
    say(&mut store, "", "m1", "hello");
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    let prompt = store.system_prompt("").unwrap();
    store.write_block("", "memory", &replace("y")).unwrap();
    store.clear_messages("").unwrap();
    assert_eq!(store.get_block("", "memory").unwrap().content, "y");
    assert_eq!(store.block_history("", "memory").unwrap().len(), 2);
    assert_eq!(store.system_prompt("").unwrap(), prompt);
}
