//! The list of sessions: its order, what it says, and that it reads no messages.

use rusqlite::Connection;
use talktree_engine::{
    ConfigScope, ConfigurationChange, DeleteMode, FILE_NAME, ImportItem, Kind, SessionEntry, Setting, Source,
};

use super::common::{Opened, append, append_under, kind, message, store};

fn all(store: &mut Opened, limit: u32) -> Vec<SessionEntry> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.list_sessions(cursor.as_deref(), Some(limit)).unwrap();
        assert!(page.items.len() == limit as usize || page.cursor.is_none());
        all.extend(page.items);
        cursor = page.cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

fn ids(store: &mut Opened) -> Vec<String> {
    all(store, 2).into_iter().map(|entry| entry.id).collect()
}

#[test]
fn appends_updates_and_imports_bring_a_session_to_the_front_and_nothing_else_does() {
    let (_directory, mut store) = store();
    for session in ["a", "b", "c", "d"] {
        append(&mut store, session, "m1");
    }
    assert_eq!(ids(&mut store), ["d", "c", "b", "a"]);
    append(&mut store, "b", "m2");
    assert_eq!(ids(&mut store), ["b", "d", "c", "a"]);
    store.update_message("a", &message("m1", "changed"), Source::Server).unwrap();
    assert_eq!(ids(&mut store), ["a", "b", "d", "c"]);
    let item = ImportItem { message: message("m2", "x"), parent_id: None, created_at: 5 };
    assert!(store.import_message("c", &item).unwrap());
    let order = ["c", "a", "b", "d"];
    assert_eq!(ids(&mut store), order);
    // What is no activity.
    store.update_message("d", &message("m1", "m1"), Source::Server).unwrap();
    store.import_message("b", &ImportItem { message: message("m2", "y"), ..item }).unwrap();
    store.set_title("d", Some("title"), false).unwrap();
    store.set_leaf("a", Some("m1")).unwrap();
    store.delete_messages("b", &["m1".to_owned()], DeleteMode::Splice, false).unwrap();
    store.add_compaction("a", "summary", "m1", "m1").unwrap();
    store.clear_messages("b").unwrap();
    assert_eq!(ids(&mut store), order);
    // After a restart too.
    store.close().unwrap();
    append(&mut store, "c", "m3");
    append(&mut store, "a", "m2");
    assert_eq!(ids(&mut store), ["a", "c", "b", "d"]);
}

#[test]
fn an_entry_says_what_the_session_holds() {
    let (_directory, mut store) = store();
    assert_eq!(kind(store.session_info("")), Kind::UnknownSession);
    assert!(all(&mut store, 10).is_empty());
    append(&mut store, "", "m1");
    append(&mut store, "", "m2");
    append_under(&mut store, "", "b", "m1");
    let entry = store.session_info("").unwrap();
    assert_eq!(all(&mut store, 10), std::slice::from_ref(&entry));
    assert_eq!((entry.messages, entry.leaf_id.as_deref()), (3, Some("b")));
    assert!(entry.tokens > 0 && entry.created_at > 0 && entry.last_activity_at >= entry.created_at);
    assert_eq!((entry.title, entry.title_automatic), (None, false));
    store.set_leaf("", Some("m2")).unwrap();
    assert_eq!(store.session_info("").unwrap().leaf_id.as_deref(), Some("m2"));
    store.clear_messages("").unwrap();
    let cleared = store.session_info("").unwrap();
    assert_eq!((cleared.messages, cleared.tokens, cleared.leaf_id), (0, 0, None));
    // One that has only a configuration is a session too.
    let change = ConfigurationChange { protect_head: Setting::Value(1), ..ConfigurationChange::default() };
    store.configure(&ConfigScope::Session("empty".to_owned()), &change).unwrap();
    assert_eq!(ids(&mut store), ["empty", ""]);
}

#[test]
fn pages_go_on_where_they_ended_while_sessions_move() {
    let (_directory, mut store) = store();
    for number in 0..10 {
        append(&mut store, &format!("s{number}"), "m");
    }
    let first = store.list_sessions(None, Some(4)).unwrap();
    append(&mut store, "s8", "n");
    store.delete_session("s6").unwrap();
    let second = store.list_sessions(first.cursor.as_deref(), Some(100)).unwrap();
    let ids: Vec<_> = second.items.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["s5", "s4", "s3", "s2", "s1", "s0"]);
    assert_eq!(second.cursor, None);
    for wrong in ["", "x", "d1.00000000", first.cursor.as_deref().unwrap().trim_start_matches('d')] {
        assert_eq!(kind(store.list_sessions(Some(wrong), None)), Kind::StaleCursor, "{wrong}");
    }
    assert_eq!(kind(store.list_sessions(None, Some(0))), Kind::InvalidArgument);
    assert_eq!(kind(store.list_sessions(None, Some(1001))), Kind::InvalidArgument);
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_looks_at_the_sessions_on_it_and_at_no_other() {
    let (directory, mut opened) = store();
    append(&mut opened, "", "m");
    opened.close().unwrap();
    let connection = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
             INSERT INTO session(last_seq, messages, bytes, tokens, outside, overlays, tangled, deletions, corrected,
               created_at, active_at, last_event, rank, id)
             SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, n, n, n + 10, n + 10, 's' || n FROM number",
        )
        .unwrap();
    connection.close().unwrap();
    let before = bytes_read();
    let first = opened.list_sessions(None, None).unwrap();
    assert_eq!((first.items.len(), first.items[0].id.as_str()), (100, "s100000"));
    let page = opened.list_sessions(first.cursor.as_deref(), None).unwrap();
    assert_eq!(page.items[0].id, "s99900");
    // All sessions are more than eight million bytes.
    let read = bytes_read() - before;
    assert!(read < 500_000, "{read}");
}

/// Bytes that this thread has read from files.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let counters = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}
