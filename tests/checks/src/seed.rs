//! A small store that has something of everything, the same bytes at every start.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Connection;
use talktree_engine::{
    AppendOptions, AutoCompact, BlockDefinition, BlockKind, BlockScope, BlockWrite, ConfigScope, ConfigurationChange,
    DeleteMode, Directory, ImportItem, Parent, SearchFields, SearchOptions, Setting, Source, Store, Summary,
    WhenChanged, WriteAction,
};

use crate::scratch::Scratch;

/// The sessions that the store has, one that it had, and one that it never had.
pub(crate) const SESSIONS: [&str; 5] = ["", "s", "fork", "gone", "never"];

/// Labels of blocks, and one that is none.
pub(crate) const LABELS: [&str; 5] = ["notes", "rules", "facts", "skills", "nothing"];

/// The number by which cursors of this store are told from those of others.
pub(crate) const EPOCH: i64 = 0x5eed_5eed_5eed;

/// The file of the store, with the index for searches.
pub(crate) fn file() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| make(true))
}

/// The same without the index.
pub(crate) fn without_index() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| make(false))
}

/// A file in which there is nothing but the tables.
pub(crate) fn nothing() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut scratch = Scratch::empty();
        let text = message("m", "user", "soon gone");
        scratch.store.append_message("", &text, &AppendOptions::default()).unwrap();
        scratch.store.delete_session("").unwrap();
        settled(scratch)
    })
}

/// A message of one text part.
pub(crate) fn message(id: &str, role: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// Everything that can be searched.
pub(crate) const ALL_FIELDS: SearchFields = SearchFields { text: true, tools: true, reasoning: true, summaries: true };

fn make(indexed: bool) -> Vec<u8> {
    let mut scratch = Scratch::empty();
    let store = &mut scratch.store;
    main_session(store);
    branches(store);
    memory(store);
    other_sessions(store);
    if indexed {
        let options = SearchOptions { fields: ALL_FIELDS, ..SearchOptions::default() };
        assert!(!store.search("deploy", &options).unwrap().items.is_empty());
    }
    let report = store.check().unwrap();
    assert!(report.sound, "{report:?}");
    settled(scratch)
}

/// Closes the store and takes out of its file what is different each time.
fn settled(scratch: Scratch) -> Vec<u8> {
    let Scratch { directory, mut store } = scratch;
    store.close().unwrap();
    let connection = Connection::open(store.place().path().join(talktree_engine::FILE_NAME)).unwrap();
    connection.execute("UPDATE meta SET value = ?1 WHERE name = 'epoch'", [EPOCH]).unwrap();
    connection
        .execute_batch(
            "UPDATE event SET ids = (SELECT 'summary-' || key FROM overlay o WHERE o.id = ids)
               WHERE ids IN (SELECT id FROM overlay);
             UPDATE overlay SET id = 'summary-' || key, created_at = 1700000000000;
             UPDATE session SET created_at = 1700000000000, active_at = 1700000000000;
             UPDATE message SET created_at = 1700000000000 + (key & 4294967295);
             UPDATE block_version SET created_at = 1700000000000;
             VACUUM;",
        )
        .unwrap();
    connection.close().unwrap();
    Scratch { directory, store }.into_bytes()
}

/// A path with everything that messages may hold, compacted twice, with holes.
fn main_session(store: &mut Store<Directory>) {
    let texts = ["deployed on Friday", "部署窗口 gen后", "café naïve", "running v1.2.3", "กินข้าวที่บ้าน 42"];
    for number in 0..24 {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        import(store, "", &message(&format!("m{number}"), role, texts[number % texts.len()]));
    }
    let picture = STANDARD.encode((0..3000_u32).map(|n| (n * n % 251) as u8).collect::<Vec<u8>>());
    let parts = format!(r#"{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{picture}"}}"#);
    for id in ["picture", "again"] {
        import(store, "", &format!(r#"{{"id":"{id}","role":"user","parts":[{parts},{parts}]}}"#));
    }
    let call = r#"{"type":"tool-search","toolCallId":"c1","state":"input-available","input":{"q":"rollback"}}"#;
    let result = r#"{"type":"tool-search","toolCallId":"c1","state":"output-available","input":{},"output":"found"}"#;
    for (id, part) in [("call", call), ("result", result), ("open", &call.replace("c1", "c2"))] {
        import(store, "", &format!(r#"{{"id":"{id}","role":"assistant","parts":[{part}]}}"#));
    }
    import(store, "", r#"{"id":"odd","role":"user","metadata":{"owner":"x","n":1e3},"parts":[]}"#);
    let change = ConfigurationChange {
        compact_after: Setting::Value(100),
        keep_recent_tokens: Setting::Value(40),
        protect_head: Setting::Value(1),
        max_prompt_tokens: Setting::Value(2000),
        auto_compact: Setting::Value(AutoCompact::Off),
        reserved_metadata_keys: Setting::Value(vec!["owner".to_owned()]),
        ..ConfigurationChange::default()
    };
    store.configure(&ConfigScope::Store, &change).unwrap();
    store.add_compaction("", "first summary about windows", "m2", "m5").unwrap();
    store.add_compaction("", "second summary, which holds more", "m1", "m9").unwrap();
    let plan = store.prepare_compaction("", None).unwrap().unwrap();
    let blank = Summary { text: "x".repeat(100_000), ..Summary::default() };
    store.commit_compaction("", &plan.token, &blank).unwrap_err();
    let summary = Summary { text: "what was said".to_owned(), input_tokens: Some(7), ..Summary::default() };
    store.commit_compaction("", &plan.token, &summary).unwrap();
    for number in 30..40 {
        let text = message(&format!("m{number}"), "user", "merge and rollback");
        store.append_message("", &text, &AppendOptions::default()).unwrap();
    }
    store.delete_messages("", &["m3".to_owned(), "m31".to_owned()], DeleteMode::Splice, false).unwrap();
    store.update_message("", &message("m32", "user", "a longer text than it had before"), Source::Server).unwrap();
    store.update_message("", &message("m20", "user", "short"), Source::Server).unwrap();
}

/// Branches of it, one of which goes, and a leaf that was chosen.
fn branches(store: &mut Store<Directory>) {
    for (parent, count) in [("m4", 3), ("m12", 2), ("b4-1", 2)] {
        let mut under = Parent::Id(parent.to_owned());
        for number in 0..count {
            let id = format!("b{}-{number}", parent.trim_start_matches(['m', 'b']));
            let options = AppendOptions { parent: under, ..AppendOptions::default() };
            store.append_message("", &message(&id, "user", "another way"), &options).unwrap();
            under = Parent::Id(id);
        }
    }
    // On a path of its own, so that most reads cost little.
    let root = AppendOptions { parent: Parent::Root, ..AppendOptions::default() };
    store.append_message("", &message("root", "system", "a second root"), &root).unwrap();
    let large = message("large", "assistant", &"all work and no play ".repeat(6_500));
    store.append_message("", &large, &AppendOptions::default()).unwrap();
    store.delete_messages("", &["b12-0".to_owned()], DeleteMode::Subtree, false).unwrap();
    store.set_leaf("", Some("m39")).unwrap();
    store.set_title("", Some("The main one"), false).unwrap();
}

/// Blocks of each kind, with versions and entries, and a prompt that is frozen.
fn memory(store: &mut Store<Directory>) {
    let kinds = [BlockKind::Writable, BlockKind::ReadOnly, BlockKind::Searchable, BlockKind::Loadable];
    for (number, (label, kind)) in LABELS.into_iter().zip(kinds).enumerate() {
        let definition = BlockDefinition {
            description: Some(format!("what goes into {label}")),
            max_tokens: Some(500),
            kind,
            scope: if number == 2 { BlockScope::Store } else { BlockScope::Session },
            when_changed: WhenChanged::Remind,
            content: (number < 2).then(|| "to begin with".to_owned()),
        };
        store.define_block("", label, &definition).unwrap();
        for write in 0..4 {
            let entry = number >= 2;
            let write = BlockWrite {
                content: format!("text {write}"),
                action: if write % 2 == 0 { WriteAction::Append } else { WriteAction::Replace },
                key: entry.then(|| format!("key{}", write % 3)),
                title: entry.then(|| "a title".to_owned()),
                version: None,
            };
            store.write_block("", label, &write).unwrap();
        }
        if number == 1 {
            store.system_prompt("").unwrap();
        }
    }
    store.call_tool("", "load_context", r#"{"label":"skills","key":"key1"}"#).unwrap();
}

/// A session with a few messages, a fork, one that is gone, and lines from elsewhere.
fn other_sessions(store: &mut Store<Directory>) {
    let chain: Vec<String> = (0..6).map(|number| message(&format!("s{number}"), "user", "window deploy")).collect();
    store.append_messages("s", &chain, &AppendOptions::default()).unwrap();
    store.delete_messages("s", &["s2".to_owned(), "s3".to_owned()], DeleteMode::Splice, false).unwrap();
    store.fork_session("", Some("m16"), "fork").unwrap();
    store.set_title("fork", Some("A fork"), true).unwrap();
    store.append_message("gone", &message("g", "user", "x"), &AppendOptions::default()).unwrap();
    let many: Vec<String> = (0..300).map(|number| message(&format!("long-id-{number}"), "user", "")).collect();
    store.append_messages("gone", &many, &AppendOptions::default()).unwrap();
    let ids: Vec<String> = (0..300).map(|number| format!("long-id-{number}")).collect();
    store.delete_messages("gone", &ids, DeleteMode::Splice, false).unwrap();
    store.delete_session("gone").unwrap();
    let lines = concat!(
        "{\"type\":\"talktree\",\"version\":1}\n",
        "{\"type\":\"session\",\"session\":\"s\",\"createdAt\":5}\n",
        "{\"type\":\"message\",\"session\":\"s\",\"seq\":20,\"createdAt\":5,\"message\":",
        "{\"id\":\"line\",\"role\":\"user\",\"parts\":[]}}\n",
        "{\"type\":\"place\",\"session\":\"s\",\"seq\":21,\"parentId\":\"line\"}\n",
    );
    store.import_lines(None, lines).unwrap();
}

fn import(store: &mut Store<Directory>, session: &str, message: &str) {
    let parent_id = store.get_latest_leaf(session, Default::default()).unwrap().map(|leaf| leaf.id);
    let item = ImportItem { message: message.to_owned(), parent_id, created_at: 1_600_000_000_000 };
    assert!(store.import_message(session, &item).unwrap());
}
