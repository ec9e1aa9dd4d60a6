//! Tool calls: what they do, what they answer, and what a model gets wrong.

use serde_json::json;
use talktree_engine::{BlockDefinition, BlockKind};

use super::common::{Memory, call, entry, keys, kind, shared, store, titled, wrong};

/// Blocks of every kind.
fn all_kinds() -> (tempfile::TempDir, Memory) {
    let (directory, mut store) = store();
    store
        .define_block("", "soul", &BlockDefinition { content: Some("Be terse.".into()), ..kind(BlockKind::ReadOnly) })
        .unwrap();
    store.define_block("", "memory", &BlockDefinition { max_tokens: Some(50), ..kind(BlockKind::Writable) }).unwrap();
    store.define_block("", "free", &kind(BlockKind::Writable)).unwrap();
    store.define_block("", "notes", &kind(BlockKind::Searchable)).unwrap();
    store.define_block("", "skills", &shared(BlockKind::Loadable)).unwrap();
    (directory, store)
}

fn content(store: &mut Memory, label: &str) -> String {
    store.get_block("", label).unwrap().content
}

#[test]
fn set_context_writes_and_says_how_full_the_block_is() {
    let (_directory, mut store) = all_kinds();
    let answer = call(&mut store, "set_context", &json!({"label": "memory", "content": "The name is Easy"}));
    assert_eq!(answer, "Written to memory. Usage: 8% — 4/50 tokens.");
    let more = json!({"label": "memory", "content": "The town is Ulm", "action": "append"});
    call(&mut store, "set_context", &more);
    assert_eq!(content(&mut store, "memory"), "The name is Easy\nThe town is Ulm");
    let free = json!({"label": "free", "content": "x", "action": "replace", "title": null, "key": ""});
    assert_eq!(call(&mut store, "set_context", &free), "Written to free. Usage: 1 tokens.");
    let again = call(&mut store, "set_context", &free);
    assert!(again.contains("free") && store.get_block("", "free").unwrap().version == 1, "{again}");
    call(&mut store, "set_context", &json!({"label": "free", "content": ""}));
    assert_eq!(content(&mut store, "free"), "");
}

#[test]
fn set_context_writes_entries_under_the_title_or_the_key_that_it_is_given() {
    let (_directory, mut store) = all_kinds();
    let answer =
        call(&mut store, "set_context", &json!({"label": "notes", "content": "Friday", "title": "Release window"}));
    assert!(answer.contains("notes") && answer.contains("\"release-window\""), "{answer}");
    call(&mut store, "set_context", &json!({"label": "notes", "content": "Monday", "title": "Release window"}));
    call(
        &mut store,
        "set_context",
        &json!({"label": "notes", "content": "at noon", "title": "Release window", "action": "append"}),
    );
    assert_eq!((keys(&mut store, "notes").len(), content(&mut store, "notes").as_str()), (1, "Monday\nat noon"));
    call(&mut store, "set_context", &json!({"label": "notes", "content": "x"}));
    call(&mut store, "set_context", &json!({"label": "notes", "content": "x"}));
    call(&mut store, "set_context", &json!({"label": "skills", "content": "y", "key": "pdf", "title": "PDF"}));
    assert_eq!((keys(&mut store, "notes").len(), keys(&mut store, "skills")), (2, vec!["pdf".to_owned()]));
    let answer = call(&mut store, "set_context", &json!({"label": "notes", "content": "", "key": "release-window"}));
    assert!(answer.starts_with("Removed the entry \"release-window\" from notes."), "{answer}");
    assert_eq!(content(&mut store, "notes"), "x");
}

#[test]
fn what_a_model_gets_wrong_is_said_with_what_is_right() {
    let (_directory, mut store) = all_kinds();
    let before = store.list_blocks("").unwrap();
    for (name, arguments, says) in [
        ("set_context", r#"{"bad":1}"#, &["label is missing", "memory, free, notes, skills"][..]),
        ("set_context", r#"{"label":"memory"}"#, &["content is missing"]),
        ("set_context", r#"{"label":"nope","content":"x"}"#, &["\"nope\"", "memory, free, notes, skills"]),
        ("set_context", r#"{"label":"soul","content":"x"}"#, &["soul is read-only", "memory, free, notes, skills"]),
        ("set_context", r#"{"label":7,"content":"x"}"#, &["label must be a string, and it is a number", "memory"]),
        ("set_context", r#"{"label":"memory","content":7}"#, &["content must be a string, and it is a number"]),
        ("set_context", r#"{"label":"memory","content":["x"]}"#, &["content must be a string, and it is an array"]),
        ("set_context", r#"{"label":"memory","content":null}"#, &["content is missing"]),
        ("set_context", r#"{"label":"memory","content":"x","action":"delete"}"#, &["\"replace\" or \"append\""]),
        ("set_context", r#"{"label":"memory","content":"x","action":true}"#, &["action must be a string"]),
        ("set_context", r#"{"label":"memory","content":"x","key":"k"}"#, &["memory", "leave key out"]),
        ("set_context", r#"{"label":"memory","content":"x","title":"t"}"#, &["memory", "leave title out"]),
        ("set_context", r#"{"label":"notes","content":""}"#, &["content"]),
        ("set_context", r#"{"label":"notes","content":"x","key":"a\nb"}"#, &["key", "256 bytes"]),
        ("set_context", "{", &["one JSON object"]),
        ("set_context", "[]", &["one JSON object", "an array"]),
        ("set_context", "", &["label is missing"]),
        ("search_context", r#"{"label":"memory","query":"x"}"#, &["memory is writable", "one of: notes"]),
        ("search_context", r#"{"label":"notes"}"#, &["query is missing"]),
        ("search_context", r#"{"label":"notes","query":"  "}"#, &["query is empty"]),
        ("load_context", r#"{"label":"notes","key":"x"}"#, &["one of: skills"]),
        ("load_context", r#"{"label":"skills","key":"x"}"#, &["\"x\"", "no entries yet"]),
        ("load_context", r#"{"label":"skills"}"#, &["key is missing"]),
        ("unload_context", r#"{"label":"skills","key":"x"}"#, &["\"x\"", "no entries yet"]),
        ("session_search", r#"{}"#, &["query is missing"]),
        ("session_search", r#"{"query":{}}"#, &["query must be a string, and it is an object"]),
        (
            "erase_all",
            "{}",
            &["erase_all", "set_context, search_context, load_context, unload_context, session_search"],
        ),
    ] {
        let answer = wrong(&mut store, name, arguments);
        for part in says {
            assert!(answer.contains(part), "{name} {arguments}: {answer}");
        }
    }
    assert_eq!(store.list_blocks("").unwrap(), before, "something was written");
}

#[test]
fn above_the_limit_the_model_is_told_the_numbers_and_nothing_is_written() {
    let (_directory, mut store) = all_kinds();
    call(&mut store, "set_context", &json!({"label": "memory", "content": "one"}));
    let long = json!({"label": "memory", "content": "Alpha met beta there. ".repeat(100)}).to_string();
    let answer = wrong(&mut store, "set_context", &long);
    assert!(answer.contains("memory") && answer.contains("at most 50"), "{answer}");
    assert_eq!(content(&mut store, "memory"), "one");
}

#[test]
fn a_tool_that_the_blocks_do_not_need_is_answered_in_words() {
    let (_directory, mut store) = store();
    for name in ["set_context", "search_context", "load_context", "unload_context"] {
        assert!(wrong(&mut store, name, r#"{"label":"x","key":"k","content":"c","query":"q"}"#).contains("no block"));
    }
}

#[test]
fn labels_in_the_capitals_of_the_prompt_are_understood_where_they_are_clear() {
    let (_directory, mut store) = all_kinds();
    call(&mut store, "set_context", &json!({"label": "MEMORY", "content": "x"}));
    assert_eq!(content(&mut store, "memory"), "x");
    store.define_block("", "Memory", &kind(BlockKind::Writable)).unwrap();
    wrong(&mut store, "set_context", r#"{"label":"MEMORY","content":"y"}"#);
    call(&mut store, "set_context", &json!({"label": "Memory", "content": "z"}));
    assert_eq!((content(&mut store, "memory"), content(&mut store, "Memory")), ("x".to_owned(), "z".to_owned()));
}

#[test]
fn arguments_in_a_string_and_members_that_nobody_asked_for_are_taken() {
    let (_directory, mut store) = all_kinds();
    let inner = json!({"label": "memory", "content": "a\n\"b\" \u{0} 部署 👩‍👧"}).to_string();
    call(&mut store, "set_context", &json!(inner));
    assert_eq!(content(&mut store, "memory"), "a\n\"b\" \u{0} 部署 👩‍👧");
    call(&mut store, "set_context", &json!({"label": "memory", "content": "x", "reason": {"deep": [1, 2]}}));
    assert_eq!(content(&mut store, "memory"), "x");
}

#[test]
fn search_context_finds_entries_by_words_of_content_title_and_key() {
    let (_directory, mut store) = all_kinds();
    store.write_block("", "notes", &titled("window", "Release plan", "发布窗口是周五")).unwrap();
    store.write_block("", "notes", &entry("cafe", "The café in Ulm")).unwrap();
    let mut find = |query: &str| call(&mut store, "search_context", &json!({"label": "notes", "query": query}));
    for query in ["窗口", "周五", "release", "WINDOW", "plan 发布"] {
        let answer = find(query);
        assert!(answer.contains("notes") && answer.contains("发布窗口是周五") && !answer.contains("Ulm"), "{answer}");
    }
    assert!(find("ulm the").contains("[cafe]\nThe café in Ulm"));
    for query in ["berlin", "release ulm", "!!!"] {
        assert!(find(query).starts_with("No results found in notes, which has 2 entries."), "{query}");
    }
}

#[test]
fn a_long_search_answer_is_cut_and_says_so() {
    let (_directory, mut store) = all_kinds();
    for number in 0..30 {
        store
            .write_block("", "notes", &entry(&format!("k{number}"), &format!("word {number} {}", "部署".repeat(5000))))
            .unwrap();
    }
    let answer = call(&mut store, "search_context", &json!({"label": "notes", "query": "word"}));
    assert!(answer.starts_with("Found in notes: 30 of 30 entries."), "{answer}");
    assert_eq!(answer.matches("[cut: ").count(), 10);
    assert!(answer.contains("[k29]") && answer.contains("[k20]") && !answer.contains("[k19]"), "newest first");
    assert!(answer.contains("20 more are left out"));
    assert!(answer.chars().count() < 42_000);
}

#[test]
fn an_entry_is_loaded_and_unloaded_for_the_session_alone() {
    let (_directory, mut store) = all_kinds();
    store.write_block("", "skills", &titled("pdf", "PDF files", "Use the tool.")).unwrap();
    store.write_block("", "skills", &entry("xls", "Use the other tool.")).unwrap();
    let loaded = |store: &mut Memory, session: &str| -> Vec<bool> {
        store.get_block(session, "skills").unwrap().entries.iter().map(|entry| entry.loaded).collect()
    };
    let answer = call(&mut store, "load_context", &json!({"label": "skills", "key": "pdf"}));
    assert_eq!(answer, "Loaded \"pdf\" (PDF files) from skills:\n\nUse the tool.");
    assert_eq!(
        call(&mut store, "load_context", &json!({"label": "skills", "key": "pdf"})),
        answer,
        "loading again is fine"
    );
    assert_eq!((loaded(&mut store, ""), loaded(&mut store, "other")), (vec![true, false], vec![false, false]));
    assert_eq!(store.get_block("", "skills").unwrap().version, 2, "loading is no change of the block");
    let missing = wrong(&mut store, "load_context", r#"{"label":"skills","key":"doc"}"#);
    assert!(missing.contains("its keys are: pdf, xls"), "{missing}");
    let answer = call(&mut store, "unload_context", &json!({"label": "skills", "key": "pdf"}));
    assert_eq!(answer, "Unloaded \"pdf\" from skills.");
    assert_eq!(loaded(&mut store, ""), [false, false]);
    let answer = call(&mut store, "unload_context", &json!({"label": "skills", "key": "pdf"}));
    assert!(answer.contains("was not loaded"), "{answer}");
    // What is written anew stays loaded, what is removed does not.
    call(&mut store, "load_context", &json!({"label": "skills", "key": "pdf"}));
    store.write_block("", "skills", &entry("pdf", "Use a newer tool.")).unwrap();
    assert_eq!(loaded(&mut store, ""), [true, false]);
    store.write_block("", "skills", &entry("pdf", "")).unwrap();
    store.write_block("", "skills", &entry("pdf", "Back again.")).unwrap();
    assert_eq!(loaded(&mut store, ""), [false, false]);
}

#[test]
fn many_keys_are_listed_in_part() {
    let (_directory, mut store) = all_kinds();
    for number in 0..60 {
        store.write_block("", "skills", &entry(&format!("k{number}"), "x")).unwrap();
    }
    let answer = wrong(&mut store, "load_context", r#"{"label":"skills","key":"doc"}"#);
    assert!(answer.contains("k49, and 10 more") && !answer.contains("k50"), "{answer}");
}
