//! What these tests share.

use std::path::Path;

use talktree_engine::{
    AppendOptions, BlockDefinition, BlockKind, BlockScope, BlockWrite, Directory, Durability, Error, Kind, Options,
    Result, Store, ToolAnswer, WhenChanged, WriteAction,
};

pub(crate) type Memory = Store<Directory>;

/// A store in a directory.
pub(crate) fn open(directory: &Path) -> Memory {
    // The disk is not what is tested here.
    Store::new(Directory::new(directory), Options { durability: Durability::Normal, ..Options::default() })
}

/// A store in a directory of its own.
pub(crate) fn store() -> (tempfile::TempDir, Memory) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    (directory, store)
}

/// A block of a kind, with nothing else said of it.
pub(crate) fn kind(kind: BlockKind) -> BlockDefinition {
    BlockDefinition { kind, ..BlockDefinition::default() }
}

/// The same for the whole store.
pub(crate) fn shared(kind: BlockKind) -> BlockDefinition {
    BlockDefinition { kind, scope: BlockScope::Store, ..BlockDefinition::default() }
}

/// The same, to be reminded of.
pub(crate) fn reminding(kind: BlockKind) -> BlockDefinition {
    BlockDefinition { kind, when_changed: WhenChanged::Remind, ..BlockDefinition::default() }
}

/// Replaces what there is.
pub(crate) fn replace(content: &str) -> BlockWrite {
    BlockWrite { content: content.to_owned(), ..BlockWrite::default() }
}

/// Goes behind what there is.
pub(crate) fn append(content: &str) -> BlockWrite {
    BlockWrite { content: content.to_owned(), action: WriteAction::Append, ..BlockWrite::default() }
}

/// An entry of a key.
pub(crate) fn entry(key: &str, content: &str) -> BlockWrite {
    BlockWrite { key: Some(key.to_owned()), ..replace(content) }
}

/// An entry of a key with a title.
pub(crate) fn titled(key: &str, title: &str, content: &str) -> BlockWrite {
    BlockWrite { title: Some(title.to_owned()), ..entry(key, content) }
}

/// Appends a message.
pub(crate) fn say(store: &mut Memory, session: &str, id: &str, text: &str) {
    let message = serde_json::json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    assert!(store.append_message(session, &message.to_string(), &AppendOptions::default()).unwrap().inserted);
}

/// The labels that a session sees.
pub(crate) fn labels(store: &mut Memory, session: &str) -> Vec<String> {
    store.list_blocks(session).unwrap().into_iter().map(|block| block.label).collect()
}

/// The keys of a block.
pub(crate) fn keys(store: &mut Memory, label: &str) -> Vec<String> {
    store.get_block("", label).unwrap().entries.into_iter().map(|entry| entry.key).collect()
}

/// A call of a tool that goes well.
#[track_caller]
pub(crate) fn call(store: &mut Memory, name: &str, arguments: &serde_json::Value) -> String {
    let ToolAnswer { content, is_error } = store.call_tool("", name, &arguments.to_string()).unwrap();
    assert!(!is_error && !content.starts_with("Error"), "{content}");
    content
}

/// A call in which the model got something wrong.
#[track_caller]
pub(crate) fn wrong(store: &mut Memory, name: &str, arguments: &str) -> String {
    let ToolAnswer { content, is_error } = store.call_tool("", name, arguments).unwrap();
    assert!(is_error && content.starts_with("Error: "), "{content}");
    content
}

/// The case of a call that must have failed.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> Kind {
    answer.unwrap_err().kind
}

/// Whether there is nothing in a directory.
pub(crate) fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}
