//! The search of past messages.

use serde_json::json;
use talktree_engine::{ImportItem, SearchOptions};

use super::common::{Memory, call, is_empty, say, store};

fn find(store: &mut Memory, query: &str) -> String {
    call(store, "session_search", &json!({"query": query}))
}

#[test]
fn messages_of_all_sessions_are_found_and_those_of_others_say_where() {
    let (_directory, mut store) = store();
    let past = |id: &str, role: &str, text: &str| ImportItem {
        message: json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]}).to_string(),
        parent_id: None,
        created_at: 1_709_251_199_000,
    };
    store.import_messages("", &[past("m1", "user", "The release window is Friday")]).unwrap();
    store.import_messages("old \"one\"", &[past("m1", "assistant", "发布窗口是周五, releases on Fridays")]).unwrap();
    let answer = find(&mut store, "window");
    assert_eq!(
        answer,
        "Found in past messages, best first.\n---\n[user, 2024-02-29 23:59 UTC]\nThe release window is Friday"
    );
    for query in ["窗口", "releases fridays \"发布\""] {
        let answer = find(&mut store, query);
        assert!(
            answer.ends_with(
                "\n---\n[assistant, 2024-02-29 23:59 UTC, in the session \"old \\\"one\\\"\"]\n发布窗口是周五, releases on Fridays"
            ),
            "{answer}"
        );
    }
    assert_eq!(find(&mut store, "release friday").matches("\n---\n").count(), 2);
    let nothing = find(&mut store, "berlin");
    assert!(nothing.starts_with("No results found for \"berlin\" in past messages."), "{nothing}");
}

#[test]
fn a_message_is_found_right_after_it_was_appended_and_not_after_it_was_deleted() {
    let (_directory, mut store) = store();
    say(&mut store, "", "m1", "alpha");
    assert!(find(&mut store, "alpha").contains("alpha"));
    say(&mut store, "", "m2", "beta");
    assert!(find(&mut store, "beta").ends_with("beta"));
    store.clear_messages("").unwrap();
    assert!(find(&mut store, "beta").starts_with("No results found"));
}

#[test]
fn any_text_is_a_query_and_a_store_that_is_not_there_stays_so() {
    let (directory, mut store) = store();
    for query in ["x", "NOT", "\"", "*", "NEAR(", "\u{0}", "-x OR (y", "👩‍👧"] {
        assert!(find(&mut store, query).starts_with("No results found"), "{query}");
    }
    assert!(is_empty(directory.path()));
}

#[test]
fn an_answer_has_at_most_ten_messages_and_only_a_part_of_long_ones() {
    let (_directory, mut store) = store();
    for number in 0..15 {
        say(&mut store, "", &format!("m{number}"), &format!("{}部署 {number}", "word ".repeat(2000)));
    }
    let answer = find(&mut store, "部署");
    assert_eq!(answer.matches("\n---\n").count(), 10);
    assert!(
        answer.starts_with("Found in past messages, best first; there are more: search for more words."),
        "{answer}"
    );
    assert_eq!(answer.matches("[部署]").count(), 10);
    assert!(answer.chars().count() < 5000, "{}", answer.chars().count());
    let options = SearchOptions { session: Some(String::new()), ..SearchOptions::default() };
    assert_eq!(store.search("部署", &options).unwrap().items.len(), 15);
}
