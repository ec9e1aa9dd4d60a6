//! What a search finds of sessions that were forked or deleted.

use talktree_engine::{SearchFields, SearchOptions};

use super::common::{Opened, append, assert_sound, store};

/// The sessions in which a word is found, in messages and summaries, in order.
fn found(store: &mut Opened, word: &str) -> Vec<String> {
    let fields = SearchFields { text: true, summaries: true, ..SearchFields::default() };
    let options = SearchOptions { limit: Some(1000), fields, ..SearchOptions::default() };
    let mut found: Vec<String> =
        store.search(word, &options).unwrap().items.into_iter().map(|result| result.session_id).collect();
    found.sort();
    found
}

#[test]
fn a_search_finds_what_forks_have_and_nothing_of_what_is_deleted() {
    let (_directory, mut store) = store();
    append(&mut store, "a", "alpha");
    append(&mut store, "a", "beta");
    store.add_compaction("a", "gamma", "alpha", "beta").unwrap();
    // The index is there before the fork, and behind it afterwards.
    assert_eq!(found(&mut store, "alpha"), ["a"]);
    store.fork_session("a", None, "b").unwrap();
    assert_eq!(found(&mut store, "beta"), ["a", "b"]);
    assert_eq!(found(&mut store, "gamma"), ["a", "b"]);
    store.delete_session("a").unwrap();
    assert_eq!(found(&mut store, "alpha"), ["b"]);
    assert_eq!(found(&mut store, "gamma"), ["b"]);
    // A fork of a fork that no search has seen yet.
    store.fork_session("b", None, "c").unwrap();
    store.delete_session("b").unwrap();
    append(&mut store, "b", "delta");
    assert_eq!(found(&mut store, "beta"), ["c"]);
    assert_eq!(found(&mut store, "delta"), ["b"]);
    store.delete_session("c").unwrap();
    assert!(found(&mut store, "alpha beta gamma").is_empty());
    assert_sound(&mut store);
}
