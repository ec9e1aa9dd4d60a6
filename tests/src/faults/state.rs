//! The whole of what a store says, but for the times of things.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use super::{Store, life::WORDS};

/// What a store says, as one JSON text.
pub type State = String;

/// What tells when something happened, or names a place in a list of one life.
const OF_ONE_LIFE: [&str; 5] = ["createdAt", "lastActivityAt", "cursor", "score", "token"];

/// Characters of the id of a compaction, all of them hexadecimal.
const DRAWN_ID: usize = 20;

/// Reads everything. The store must be sound, its pages must fit together, and its feed must have no gap.
///
/// # Errors
/// It is not, they do not, or a call fails.
pub fn read(store: &mut Store) -> Result<State> {
    let report = store.ask("check", &json!({}))?;
    ensure!(report["sound"] == json!(true), "the store is not sound: {report}");
    let mut all = Map::new();
    let mut sessions = pages(store, "listSessions", "sessions", &json!({}))?;
    // Those of the same moment have no order.
    sessions.sort_by_key(|session| session["id"].to_string());
    for session in &sessions {
        let id = &session["id"];
        let of = |more: Value| {
            let mut params = more;
            params["session"] = id.clone();
            params
        };
        let nodes = pages(store, "listMessages", "messages", &of(json!({})))?;
        let mut messages = Vec::new();
        for node in &nodes {
            messages.push(store.ask("getMessage", &of(json!({"id": node["id"]})))?);
        }
        let label_of = |block: &Value| of(json!({"label": block["label"]}));
        let blocks = store.ask("listBlocks", &of(json!({})))?;
        let mut versions = Vec::new();
        for block in blocks["blocks"].as_array().into_iter().flatten() {
            versions.push(store.ask("blockHistory", &label_of(block))?);
        }
        let session = json!({
            "nodes": nodes,
            "messages": messages,
            "path": store.ask("getHistory", &of(json!({"overlays": false})))?,
            "shown": store.ask("getHistory", &of(json!({"overlays": true})))?,
            "recent": store.ask("getRecentHistory", &of(json!({"maxBytes": 4_096})))?,
            "compactions": store.ask("getCompactions", &of(json!({})))?,
            "blocks": blocks,
            "versions": versions,
            "info": session,
        });
        all.insert(id.to_string(), session);
    }
    for word in WORDS {
        let mut found = pages(store, "search", "results", &json!({"query": word}))?;
        // Those that fit as well have no order, and the ids of summaries are drawn.
        found.sort_by_key(|result| format!("{} {} {}", result["sessionId"], result["seq"], result["content"]));
        all.insert(format!("search {word}"), json!(found));
    }
    all.insert("feed".into(), json!(feed(store)?));
    let mut all = Value::Object(all);
    forget(&mut all);
    Ok(numbered(&all.to_string()))
}

/// All pages of a list.
fn pages(store: &mut Store, method: &str, items: &str, params: &Value) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut params = params.clone();
    params["limit"] = json!(40);
    loop {
        let mut page = store.ask(method, &params)?;
        all.extend(page[items].as_array_mut().map(std::mem::take).unwrap_or_default());
        if page["cursor"].is_null() {
            return Ok(all);
        }
        params["cursor"] = page["cursor"].take();
    }
}

/// The events from the oldest kept on.
fn feed(store: &mut Store) -> Result<Vec<Value>> {
    let mut events = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut page = store.ask("changes", &json!({"cursor": cursor, "limit": 30}))?;
        ensure!(cursor.is_null() || page["reset"] == json!(false), "the feed has a gap behind {cursor}");
        let more = page["events"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if more.is_empty() {
            return Ok(events);
        }
        events.extend(more);
        cursor = page["cursor"].take();
    }
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !OF_ONE_LIFE.contains(&key.as_str()));
            object.values_mut().for_each(forget);
        }
        Value::Array(array) => array.iter_mut().for_each(forget),
        _ => {}
    }
}

/// The text with the ids of compactions, which are drawn, in the order in which they come.
fn numbered(text: &str) -> String {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|character: char| character.is_ascii_hexdigit()) {
        let word = &rest[at..];
        let end = word.find(|character: char| !character.is_ascii_hexdigit()).unwrap_or(word.len());
        all.push_str(&rest[..at]);
        let word = &word[..end];
        if end == DRAWN_ID {
            let next = known.len();
            all.push_str(&format!("#{}", known.entry(word).or_insert(next)));
        } else {
            all.push_str(word);
        }
        rest = &rest[at + end..];
    }
    all.push_str(rest);
    all
}

/// Where two states begin to differ, for people.
pub(super) fn difference(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b).unwrap_or_else(|| one.len().min(other.len()));
    let around = |text: &str| {
        let from = text.floor_char_boundary(at.saturating_sub(160));
        text[from..text.floor_char_boundary((at + 160).min(text.len()))].to_owned()
    };
    format!("\n  expected ...{}...\n  found    ...{}...", around(one), around(other))
}
