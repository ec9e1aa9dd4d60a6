//! Sessions that are deleted: nothing of them is left, and their ids are free.

use rusqlite::Connection;
use talktree_engine::{
    AppendOptions, BlockDefinition, BlockScope, ChangeOptions, ConfigScope, ConfigurationChange, DeleteMode, EventKind,
    FILE_NAME, Kind, MediaMode, Setting,
};

use super::common::{append, append_under, assert_sound, kind, message, store};

#[test]
fn nothing_of_a_deleted_session_is_left() {
    let (directory, mut store) = store();
    append(&mut store, "other", "m");
    for number in 0..5 {
        append(&mut store, "a", &format!("m{number}"));
    }
    append_under(&mut store, "a", "b", "m2");
    let image = format!("data:image/png;base64,{}", "AAAA".repeat(2000));
    let media =
        format!(r#"{{"id":"i","role":"user","parts":[{{"type":"file","mediaType":"image/png","url":"{image}"}}]}}"#);
    store.append_message("a", &media, &AppendOptions::default()).unwrap();
    store.append_message("a", &message("large", &"x".repeat(300_000)), &AppendOptions::default()).unwrap();
    store.add_compaction("a", "summary", "m1", "m2").unwrap();
    store.set_title("a", Some("title"), false).unwrap();
    let change = ConfigurationChange { protect_head: Setting::Value(1), ..ConfigurationChange::default() };
    store.configure(&ConfigScope::Session("a".to_owned()), &change).unwrap();
    let block = BlockDefinition { content: Some("what was learnt".to_owned()), ..BlockDefinition::default() };
    store.define_block("a", "memory", &block).unwrap();
    store.define_block("a", "shared", &BlockDefinition { scope: BlockScope::Store, ..block }).unwrap();
    store.system_prompt("a").unwrap();
    store.delete_messages("a", &["m4".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(store.delete_session("a").unwrap(), 7);
    assert_eq!(kind(store.delete_session("a")), Kind::UnknownSession);
    assert_eq!(kind(store.session_info("a")), Kind::UnknownSession);
    assert_sound(&mut store);
    store.close().unwrap();
    let connection = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        let expected = match table.as_str() {
            // Of the other session, or of the store.
            "message" | "session" | "chain" | "run" | "block" | "block_entry" | "block_version" => 1,
            "meta" | "sqlite_sequence" | "sqlite_stat1" | "event" => continue,
            // What the session was called, for those who follow.
            "gone" => 1,
            _ => 0,
        };
        assert_eq!(count, expected, "{table}");
    }
}

#[test]
fn a_deleted_session_that_comes_again_is_a_new_one() {
    let (_directory, mut store) = store();
    append(&mut store, "b", "n");
    append(&mut store, "a", "m1");
    append(&mut store, "a", "m2");
    store.set_title("a", Some("old"), false).unwrap();
    let cursor = store.changes(&ChangeOptions::default()).unwrap().cursor;
    store.delete_session("a").unwrap();
    append(&mut store, "a", "m2");
    let again = store.get_latest_leaf("a", MediaMode::Inline).unwrap().unwrap();
    assert_eq!((again.id.as_str(), again.seq, again.parent_id), ("m2", 1, None));
    assert_eq!(store.session_info("a").unwrap().title, None);
    // Without what is known in memory too.
    store.delete_session("a").unwrap();
    store.close().unwrap();
    append(&mut store, "b", "n2");
    append(&mut store, "a", "m3");
    let options = ChangeOptions { cursor: Some(cursor), ..ChangeOptions::default() };
    let told: Vec<_> = store
        .changes(&options)
        .unwrap()
        .events
        .into_iter()
        .map(|event| (event.kind, event.session_id, event.ids.join(" "), event.message.is_some()))
        .collect();
    let expected = [
        (EventKind::SessionChanged, "a", "", false),
        (EventKind::Appended, "a", "m2", false),
        (EventKind::SessionChanged, "a", "", false),
        (EventKind::Appended, "b", "n2", true),
        (EventKind::Appended, "a", "m3", true),
    ]
    .map(|(kind, session, ids, there)| (kind, session.to_owned(), ids.to_owned(), there));
    assert_eq!(told, expected);
    // All that the id ever stood for is told under it.
    let all = store.changes(&ChangeOptions { session: Some("a".to_owned()), ..ChangeOptions::default() }).unwrap();
    assert_eq!(all.events.len(), 7);
    assert_sound(&mut store);
}

#[test]
fn a_session_can_be_deleted_by_the_first_call_after_opening() {
    for others in [0, 1] {
        let (_directory, mut store) = store();
        if others == 1 {
            append(&mut store, "other", "m");
        }
        append(&mut store, "a", "m");
        let cursor = store.changes(&ChangeOptions::default()).unwrap().cursor;
        store.close().unwrap();
        assert_eq!(store.delete_session("a").unwrap(), 1);
        store.close().unwrap();
        append(&mut store, "b", "n");
        let page = store.changes(&ChangeOptions { cursor: Some(cursor), ..ChangeOptions::default() }).unwrap();
        let kinds: Vec<_> = page.events.iter().map(|event| event.kind).collect();
        assert_eq!((kinds, page.reset), (vec![EventKind::SessionChanged, EventKind::Appended], false));
        assert_sound(&mut store);
    }
}
