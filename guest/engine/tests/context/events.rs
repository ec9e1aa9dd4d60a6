//! What those who follow the store are told of blocks.

use talktree_engine::{BlockDefinition, BlockKind, ChangeOptions, EventKind};

use super::common::{Memory, append, entry, kind, replace, shared, store};

/// The events behind a cursor, which is moved on: session and labels.
fn told(store: &mut Memory, cursor: &mut Option<String>) -> Vec<(String, Vec<String>)> {
    let page = store.changes(&ChangeOptions { cursor: cursor.clone(), ..ChangeOptions::default() }).unwrap();
    assert!(!page.reset);
    *cursor = Some(page.cursor);
    page.events
        .into_iter()
        .map(|event| {
            assert_eq!(event.kind, EventKind::ContextChanged);
            (event.session_id, event.ids)
        })
        .collect()
}

fn of(session: &str, label: &str) -> Vec<(String, Vec<String>)> {
    vec![(session.to_owned(), vec![label.to_owned()])]
}

#[test]
fn each_change_of_a_block_is_one_event_with_its_label() {
    let (_directory, mut store) = store();
    let mut cursor = None;
    let definition = BlockDefinition { content: Some("x".into()), ..kind(BlockKind::Writable) };
    store.define_block("s", "memory", &definition).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
    store.write_block("s", "memory", &replace("one")).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
    store.write_block("s", "memory", &append("two")).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
    store.restore_block("s", "memory", 1).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
    store.define_block("s", "memory", &BlockDefinition { max_tokens: Some(9), ..definition }).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"), "it is shown otherwise");
    assert!(!store.call_tool("s", "set_context", r#"{"label":"memory","content":"y"}"#).unwrap().is_error);
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
    store.remove_block("s", "memory").unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("s", "memory"));
}

#[test]
fn a_block_of_the_store_is_of_no_session_whoever_writes_it() {
    let (_directory, mut store) = store();
    let mut cursor = None;
    store.define_block("s", "rules", &shared(BlockKind::ReadOnly)).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("", "rules"));
    store.write_block("t", "rules", &replace("x")).unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("", "rules"));
    store.remove_block("u", "rules").unwrap();
    assert_eq!(told(&mut store, &mut cursor), of("", "rules"));
}

#[test]
fn what_changes_no_block_is_no_event() {
    let (_directory, mut store) = store();
    let mut cursor = None;
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.define_block("", "skills", &kind(BlockKind::Loadable)).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    store.write_block("", "skills", &entry("pdf", "x")).unwrap();
    assert_eq!(told(&mut store, &mut cursor).len(), 4);
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("x")).unwrap();
    store.write_block("", "skills", &entry("none", "")).unwrap();
    store.restore_block("", "memory", 1).unwrap();
    store.remove_block("", "none").unwrap();
    store.system_prompt("").unwrap();
    store.refresh_system_prompt("").unwrap();
    store.reminder("").unwrap();
    store.call_tool("", "load_context", r#"{"label":"skills","key":"pdf"}"#).unwrap();
    store.call_tool("", "unload_context", r#"{"label":"skills","key":"pdf"}"#).unwrap();
    assert!(store.write_block("", "memory", &entry("k", "x")).is_err());
    assert!(store.call_tool("", "set_context", r#"{"label":"nope","content":"x"}"#).unwrap().is_error);
    assert_eq!(told(&mut store, &mut cursor), []);
}
