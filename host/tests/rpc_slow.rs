//! Promises of the methods of `talktree rpc` that take their time: compaction and import.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod program;

use std::time::{Duration, Instant};

use program::{Server, message};
use serde_json::{Value, json};
use tempfile::tempdir;

/// Messages that can be compacted.
fn fill(server: &mut Server) {
    server.call("configure", json!({"keepRecentTokens": 600}));
    let messages: Vec<_> =
        (1..=20).map(|number| message(&format!("m{number}"), "user", &"Alpha met beta there. ".repeat(60))).collect();
    server.call("appendMessages", json!({"messages": messages}));
}

#[test]
fn a_compaction_has_the_members_that_are_promised() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    fill(&mut server);
    let plan = server.call("prepareCompaction", json!({}))["plan"].take();
    for member in ["token", "prompt", "firstId", "lastId", "count", "tokensBefore", "tokensAfter"] {
        assert!(!plan[member].is_null(), "{member}");
    }
    let made = server.call("commitCompaction", json!({"token": plan["token"], "summary": "They met."}));
    let made = &made["compaction"];
    assert_eq!(
        (&made["firstId"], &made["lastId"], &made["count"]),
        (&plan["firstId"], &plan["lastId"], &plan["count"])
    );
    assert!(made["createdAt"].is_i64() && made.get("replacedBy").is_none(), "{made}");
    let own = server.call("addCompaction", json!({"summary": "S", "firstId": "m1", "lastId": "m2"}));
    let all = server.call("getCompactions", json!({}));
    assert_eq!(all["compactions"], json!([made, own["compaction"]]));
    let removed = |server: &mut Server| server.call("removeCompaction", json!({"id": made["id"]}))["removed"].take();
    assert_eq!((removed(&mut server), removed(&mut server)), (json!(true), json!(false)));
    server.finish();
}

#[test]
fn a_compaction_lets_others_go_past_and_ends_in_time_with_the_input() {
    let root = tempdir().unwrap();
    let mut server = Server::start_with(root.path(), &["--summarizer", "command:sleep 100"]);
    fill(&mut server);
    server.send("{\"jsonrpc\":\"2.0\",\"id\":\"slow\",\"method\":\"compact\",\"params\":{\"tenant\":\"t\"}}\n");
    assert_eq!(server.history().len(), 20);
    server.end_input();
    let started = Instant::now();
    let rest = server.rest();
    let [answer] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((&answer["id"], &answer["error"]["data"]["kind"]), (&json!("slow"), &json!("summarizer-failed")));
    assert_eq!(server.wait().code(), Some(0));
    assert!(started.elapsed() > Duration::from_secs(9) && started.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_automatic_compaction_is_dropped_at_the_end_of_input() {
    let root = tempdir().unwrap();
    let mut server = Server::start_with(root.path(), &["--summarizer", "command:sleep 100"]);
    server.call("configure", json!({"compactAfter": 1000}));
    fill(&mut server);
    let started = Instant::now();
    server.finish();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn an_import_takes_over_a_transcript_once() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    let data = json!([message("a", "user", "Hi"), message("b", "assistant", "Hello")]).to_string();
    let import = |server: &mut Server| -> Value {
        let mut done = server.call("importData", json!({"format": "ai-sdk", "data": data, "session": "s"}));
        done["sessions"][0].take()
    };
    let first = import(&mut server);
    assert_eq!((&first["id"], &first["imported"], &first["skipped"]), (&json!("s"), &json!(2), &json!(0)));
    assert_eq!(first["failed"], json!([]));
    assert_eq!(import(&mut server)["skipped"], json!(2));
    let damaged = server.call("importData", json!({"format": "ai-sdk", "data": "{\n", "session": "s"}));
    assert_eq!(damaged["failed"].as_array().map(Vec::len), Some(1), "{damaged}");
    let refused = server.try_call("importData", json!({"format": "word", "data": ""}));
    assert_eq!(refused["error"]["data"]["kind"], "invalid-argument");
    server.finish();
}
