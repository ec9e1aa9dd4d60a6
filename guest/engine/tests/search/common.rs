//! What these tests share: stores, messages, searches.

use std::path::Path;

use serde_json::json;
use talktree_engine::{
    AppendOptions, Directory, Options, Page, Place, SearchFields, SearchOptions, SearchResult, Store,
};

/// A store in a directory.
pub(crate) fn store(directory: &Path) -> Store<Directory> {
    Store::new(Directory::new(directory), Options::default())
}

/// A message of one text part.
pub(crate) fn message(id: &str, role: &str, text: &str) -> String {
    json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]}).to_string()
}

/// Appends a message of the user's to a session.
pub(crate) fn say<P: Place>(store: &mut Store<P>, session: &str, id: &str, text: &str) {
    let message = message(id, "user", text);
    assert!(store.append_message(session, &message, &AppendOptions::default()).unwrap().inserted);
}

/// A page of results.
pub(crate) fn page<P: Place>(store: &mut Store<P>, query: &str, options: &SearchOptions) -> Page<SearchResult> {
    store.search(query, options).unwrap()
}

/// All results, page by page.
pub(crate) fn all<P: Place>(store: &mut Store<P>, query: &str, options: &SearchOptions) -> Vec<SearchResult> {
    let mut options = options.clone();
    let mut results = Vec::new();
    loop {
        let mut next = page(store, query, &options);
        results.append(&mut next.items);
        options.cursor = next.cursor;
        if options.cursor.is_none() {
            return results;
        }
    }
}

/// The ids of all that a query finds in text, in order of id.
pub(crate) fn ids<P: Place>(store: &mut Store<P>, query: &str) -> Vec<String> {
    ids_with(store, query, &SearchOptions { limit: Some(1000), ..SearchOptions::default() })
}

/// The ids of all that a query finds, in order of id.
pub(crate) fn ids_with<P: Place>(store: &mut Store<P>, query: &str, options: &SearchOptions) -> Vec<String> {
    let mut ids: Vec<String> = all(store, query, options).into_iter().map(|result| result.id).collect();
    ids.sort();
    ids
}

/// Everything that can be looked at.
pub(crate) fn everything() -> SearchOptions {
    let fields = SearchFields { text: true, tools: true, reasoning: true, summaries: true };
    SearchOptions { fields, limit: Some(1000), ..SearchOptions::default() }
}
