//! The calls of a chat agent.

use std::net::TcpStream;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::WebSocket;

use crate::client::{Server, append, exchange};

fn call(socket: &mut WebSocket<TcpStream>, method: &str, args: Value) -> Value {
    let frame = json!({"type": "rpc", "id": "c\u{e9}1", "method": method, "args": args});
    let answer: Value = serde_json::from_str(&exchange(socket, frame.to_string())).unwrap();
    assert_eq!((&answer["type"], &answer["id"]), (&json!("rpc"), &json!("c\u{e9}1")), "{answer}");
    answer
}

#[track_caller]
fn result(socket: &mut WebSocket<TcpStream>, method: &str, args: Value) -> Value {
    let mut answer = call(socket, method, args);
    assert_eq!(answer["success"], true, "{answer}");
    answer["result"].take()
}

#[test]
fn a_chat_forks_lists_its_branches_and_switches_between_them() {
    let server = Server::start(&[]);
    for (id, text) in [("m1", "first"), ("m2", "second"), ("m3", "third")] {
        server.call("appendMessage", &append("easy:test1", id, text));
    }
    let mut socket = server.socket("/agents/coder-agent/easy:test1?user=easy&conversation=test1&_pk=x", &[]).unwrap();
    let forked = result(&mut socket, "forkFrom", json!(["m1", "another way"]));
    assert_eq!((&forked["parentId"], &forked["inserted"]), (&json!("m1"), &json!(true)));
    let forked_id = forked["id"].as_str().unwrap().to_owned();
    let message = json!({"id": "m5", "role": "user", "parts": [{"type": "text", "text": "a third way"}], "x": 1.0});
    let forked = result(&mut socket, "forkFrom", json!(["m1", message]));
    assert_eq!(forked, json!({"id": "m5", "parentId": "m1", "inserted": true, "conflict": false}));

    let ids = |messages: &Value| -> Vec<Value> {
        messages.as_array().unwrap().iter().map(|message| message["id"].clone()).collect()
    };
    let branches = result(&mut socket, "listBranches", json!(["m1"]));
    assert_eq!(ids(&branches), [json!("m2"), json!(forked_id), json!("m5")]);
    assert_eq!(branches[1]["parts"][0]["text"], "another way");
    assert_eq!(ids(&result(&mut socket, "listBranches", json!([]))), [json!("m1")]);

    assert_eq!(result(&mut socket, "switchToBranch", json!(["m3"])), json!({"leafId": "m3"}));
    let found = result(&mut socket, "searchMemory", json!(["another"]));
    assert_eq!(ids(&found), [json!(forked_id)]);
    assert_eq!(result(&mut socket, "searchMemory", json!(["way", 1])).as_array().unwrap().len(), 1);
    let history = server.call("getHistory", &json!({"tenant": "easy:test1"}));
    assert_eq!(ids(&history["messages"]), [json!("m1"), json!("m2"), json!("m3")]);
}

#[test]
fn what_is_wrong_with_a_call_is_said_in_words() {
    let server = Server::start(&[]);
    server.call("appendMessage", &append("a:b", "m1", "x"));
    let mut socket = server.socket("/agents/coder-agent/a%3Ab", &[]).unwrap();
    for (method, args) in [
        ("nothing", json!([])),
        ("switchToBranch", json!(["unknown"])),
        ("switchToBranch", json!(["m1", "m2"])),
        ("switchToBranch", json!([5])),
        ("forkFrom", json!(["unknown", "text"])),
        ("forkFrom", json!(["m1"])),
        ("forkFrom", json!(["m1", {"id": "x"}])),
        ("listBranches", json!(["unknown"])),
        ("searchMemory", json!([])),
    ] {
        let answer = call(&mut socket, method, args.clone());
        assert_eq!(answer["success"], false, "{method} {args}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|sentence| !sentence.is_empty()), "{answer}");
    }
    for frame in ["", "{", "[]", "5", "{}", r#"{"type":"rpc","id":1}"#, r#"{"type":"chat","id":1,"method":"forkFrom"}"#]
    {
        let answer: Value = serde_json::from_str(&exchange(&mut socket, frame)).unwrap();
        assert_eq!((&answer["type"], &answer["success"]), (&json!("rpc"), &json!(false)), "{frame}: {answer}");
    }
    // Nothing of that was written.
    assert_eq!(server.call("listMessages", &json!({"tenant": "a:b"}))["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn two_users_never_meet() {
    let server = Server::start(&[]);
    for path in [
        "/agents/coder-agent/a:b:c?user=a:b&conversation=c",
        "/agents/coder-agent/a:b?user=a&conversation=c",
        "/agents/coder-agent/a:b?user=a",
        "/agents/coder-agent/a:b?tenant=x",
        "/agents/coder-agent/%ff",
    ] {
        assert_eq!(server.refused(path, &[]), 400, "{path}");
    }
}

#[test]
fn reserved_metadata_of_a_client_is_left_out() {
    let server = Server::start(&["--reserved-metadata-keys", "secret"]);
    let mut socket = server.socket("/agents/coder-agent/a:b", &[]).unwrap();
    let message = json!({"id": "m", "role": "user", "parts": [], "metadata": {"secret": 1, "open": 2}});
    result(&mut socket, "forkFrom", json!([null, message]));
    let stored = server.call("getMessage", &json!({"tenant": "a:b", "id": "m"}));
    assert_eq!(stored["message"]["metadata"], json!({"open": 2}));
}
