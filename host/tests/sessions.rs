//! The calls of the contract, as a Rust program makes them.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{kind, message};
use futures::{StreamExt, TryStreamExt};
use talktree::{
    BranchPoint, ConfigurationChange, DeleteMode, ErrorKind, ExpectedLeaf, Json, KeysSetting, Message, NumberSetting,
    Parent, Session, Source, Talktree,
};

async fn session() -> (tempfile::TempDir, Session) {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("easy:test1").unwrap().session("s");
    (root, session)
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[tokio::test]
async fn a_message_comes_back_byte_for_byte_with_its_place() {
    let (_root, session) = session().await;
    let odd =
        r#"{"parts":[{"n":18446744073709551616,"f":1.0,"e":1e3,"s":"\ud83d\u0000\/"}],"id":"m1","role":"user","z":1}"#;
    assert!(session.append_message(odd).await.unwrap().inserted);
    session.append_message(Json(serde_json::json!({"id": "m2", "role": "assistant", "parts": []}))).await.unwrap();
    let found = session.get_message("m1").await.unwrap().unwrap();
    assert_eq!(found.json, odd);
    assert_eq!((found.seq, found.parent_id, found.bytes), (1, None, odd.len() as u64));
    let leaf = session.get_latest_leaf().await.unwrap().unwrap();
    assert_eq!((leaf.id.as_str(), leaf.seq, leaf.parent_id.as_deref()), ("m2", 2, Some("m1")));
    assert_eq!(kind(session.append_message("[]").await), ErrorKind::InvalidMessage);
}

#[tokio::test]
async fn every_call_reaches_the_store() {
    let (_root, session) = session().await;
    let chain = session.append_messages([message("a", "1"), message("b", "2")]).await.unwrap();
    assert!(chain.items.iter().all(|item| item.inserted));
    session.append_message(message("c", "3")).parent("a").expected_leaf("b").await.unwrap();
    assert_eq!(
        kind(session.append_message(message("d", "4")).expected_leaf(ExpectedLeaf::Empty).await),
        ErrorKind::LeafMoved
    );
    session.append_message(message("r", "root")).parent(Parent::Root).await.unwrap();
    assert_eq!(ids(&session.get_branches("a").await.unwrap().messages), ["b", "c"]);
    assert_eq!(ids(&session.get_branches(BranchPoint::Root).await.unwrap().messages), ["a", "r"]);
    assert_eq!(ids(&session.get_history().leaf("c").await.unwrap()), ["a", "c"]);
    assert_eq!(ids(&session.get_history().leaf("c").newest_first(true).await.unwrap()), ["c", "a"]);
    assert_eq!(session.list_messages().await.unwrap().nodes.len(), 4);
    assert_eq!(session.get_history_row_stats().leaf("b").limit(1).await.unwrap().rows[0].id, "a");
    let recent = session.get_recent_history(1).leaf("b").await.unwrap();
    assert_eq!((ids(&recent.messages), recent.truncated), (vec!["b"], true));

    assert_eq!(session.update_message(message("b", "two")).await.unwrap(), Some(message("b", "two")));
    assert_eq!(session.update_message(message("no", "")).await.unwrap(), None);
    assert!(!session.upsert_message(message("b", "zwei")).await.unwrap().inserted);
    assert!(session.upsert_message(message("e", "5")).parent("b").await.unwrap().inserted);
    assert!(session.import_message(message("i", "6"), Some("e"), 1_234).await.unwrap());
    assert_eq!(session.get_message("i").await.unwrap().unwrap().created_at, 1_234);
    assert_eq!(session.set_leaf(Some("c")).await.unwrap().as_deref(), Some("c"));
    assert_eq!(session.get_latest_leaf().await.unwrap().unwrap().id, "c");
    assert_eq!(session.set_leaf(None).await.unwrap().as_deref(), Some("i"));

    assert_eq!(session.delete_messages(["b"]).mode(DeleteMode::Subtree).dry_run(true).await.unwrap().deleted, 3);
    assert_eq!(session.delete_messages(["b"]).await.unwrap().deleted, 1);
    assert_eq!(session.get_message("e").await.unwrap().unwrap().parent_id.as_deref(), Some("a"));
    assert_eq!(session.delete_messages(["e"]).mode(DeleteMode::Subtree).await.unwrap().deleted, 2);
    assert!(session.tenant().check().await.unwrap().sound);
    assert_eq!(session.clear_messages().await.unwrap(), 3);
    assert_eq!(session.get_latest_leaf().await.unwrap(), None);
}

#[tokio::test]
async fn configuration_is_kept_and_reserved_keys_are_left_out_of_what_clients_write() {
    let (_root, session) = session().await;
    let changes = ConfigurationChange { protect_head: NumberSetting::Value(7), ..Default::default() };
    assert_eq!(session.configure(changes).await.unwrap().protect_head, 7);
    let changes = ConfigurationChange {
        reserved_metadata_keys: KeysSetting::Value(vec!["secret".to_owned()]),
        ..Default::default()
    };
    session.tenant().configure(changes).await.unwrap();
    let sent = r#"{"id":"m","role":"user","parts":[],"metadata":{"secret":1,"kept":2}}"#;
    let result = session.append_message(sent).source(Source::Client).await.unwrap();
    let stored = r#"{"id":"m","role":"user","parts":[],"metadata":{"kept":2}}"#;
    assert_eq!(result.message.as_deref(), Some(stored));
    assert_eq!(session.get_message("m").await.unwrap().unwrap().json, stored);
}

#[tokio::test]
async fn keys_that_the_root_reserves_hold_in_every_tenant() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).reserved_metadata_keys(["secret"]).open().await.unwrap();
    for tenant in ["one", "two"] {
        let session = talktree.tenant(tenant).unwrap().session("");
        let sent = r#"{"id":"m","role":"user","parts":[],"metadata":{"secret":1}}"#;
        session.append_message(sent).source(Source::Client).await.unwrap();
        assert_eq!(session.get_message("m").await.unwrap().unwrap().json, r#"{"id":"m","role":"user","parts":[]}"#);
    }
}

#[tokio::test]
async fn history_streams_every_message_once_in_both_directions() {
    let (_root, session) = session().await;
    let sent: Vec<_> = (0..137).map(|n| message(&format!("m{n}"), &n.to_string())).collect();
    session.append_messages(&sent).await.unwrap();

    let forwards: Vec<_> = session.history().batch_size(10).map_ok(|found| found.json).try_collect().await.unwrap();
    assert_eq!(forwards, sent);
    let mut backwards: Vec<_> =
        session.history().newest_first(true).batch_size(13).map_ok(|found| found.json).try_collect().await.unwrap();
    backwards.reverse();
    assert_eq!(backwards, sent);
    assert!(session.tenant().session("other").history().next().await.is_none());
}

#[tokio::test]
async fn a_history_stream_is_not_disturbed_by_appends_and_ends_after_an_error() {
    let (_root, session) = session().await;
    session.append_messages((0..20).map(|n| message(&format!("m{n}"), "x"))).await.unwrap();
    let mut history = session.history().batch_size(5);
    assert_eq!(history.next().await.unwrap().unwrap().id, "m0");
    session.append_message(message("late", "x")).await.unwrap();
    let rest: Vec<_> = history.by_ref().map_ok(|found| found.id).try_collect().await.unwrap();
    assert_eq!(rest.last().map(String::as_str), Some("m19"));

    let mut history = session.history().batch_size(5);
    history.next().await.unwrap().unwrap();
    session.delete_messages(["m10"]).await.unwrap();
    let read: Vec<_> = history.collect().await;
    assert_eq!(read.len(), 5, "four of the page, then the error, then the end");
    assert_eq!(kind(read.into_iter().next_back().unwrap()), ErrorKind::StaleCursor);
}
