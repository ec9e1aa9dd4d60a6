//! WebSocket `/rpc`.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Server, append, exchange, next};

fn request(id: usize, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn requests_need_not_wait_for_answers_and_keep_their_order() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    for at in 0..300 {
        let tenant = if at % 3 == 0 { "a" } else { "b" };
        let text = request(at, "appendMessage", &append(tenant, &format!("m{at}"), "x"));
        socket.send(Message::text(text)).unwrap();
    }
    let mut seen: Vec<usize> = (0..300)
        .map(|_| {
            let answer: Value = serde_json::from_str(&next(&mut socket).unwrap()).unwrap();
            assert_eq!(answer["result"]["inserted"], true, "{answer}");
            usize::try_from(answer["id"].as_u64().unwrap()).unwrap()
        })
        .collect();
    let of_a: Vec<_> = seen.iter().filter(|at| *at % 3 == 0).copied().collect();
    assert!(of_a.is_sorted(), "{of_a:?}");
    seen.sort_unstable();
    assert_eq!(seen, (0..300).collect::<Vec<_>>());
    let history = server.call("getHistory", &json!({"tenant": "a"}));
    let ids: Vec<_> = history["messages"].as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, (0..300).step_by(3).map(|at| json!(format!("m{at}"))).collect::<Vec<_>>());
}

#[test]
fn a_message_goes_in_and_out_byte_for_byte() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/rpc?user=easy&conversation=test1", &[]).unwrap();
    let odd = r#"{"id":"m","role":"user","parts":[{"type":"text","text":"\u0000 \ud83d \/ é"}],"n":[1.0,1e3,18446744073709551616]}"#;
    let stored = exchange(
        &mut socket,
        format!(r#"{{"jsonrpc":"2.0","id":"a","method":"appendMessage","params":{{"message":{odd}}}}}"#),
    );
    assert!(stored.contains(r#""inserted":true"#), "{stored}");
    assert!(exchange(&mut socket, request(2, "getHistory", &json!({}))).contains(odd));
    assert_eq!(server.call("listTenants", &json!({}))["tenants"], json!(["easy:test1"]));
}

#[test]
fn a_client_that_does_not_read_stops_it_and_loses_nothing() {
    let server = Server::start(&[]);
    server.call("appendMessage", &append("t", "m1", &"x".repeat(100_000)));
    let mut socket = server.socket("/rpc", &[]).unwrap();
    let stream = socket.get_ref().try_clone().unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    // Answers of 400 MB would have to wait somewhere, if it went on reading.
    let mut sent = 0;
    while sent < 4_000 && socket.send(Message::text(request(sent, "getHistory", &json!({"tenant": "t"})))).is_ok() {
        sent += 1;
    }
    let memory = memory_of(server.child.id());
    assert!(memory < 512 << 20, "it holds {memory} bytes");
    let others = server.call("getHistory", &json!({"tenant": "t"}));
    assert_eq!(others["messages"].as_array().unwrap().len(), 1, "others are served meanwhile");
    let first: Value = serde_json::from_str(&next(&mut socket).unwrap()).unwrap();
    assert_eq!(first["id"], 0);
}

/// Bytes of memory that a process holds.
#[cfg(target_os = "linux")]
fn memory_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Elsewhere it is not known how to ask.
#[cfg(not(target_os = "linux"))]
fn memory_of(_process: u32) -> u64 {
    0
}

#[test]
fn what_is_no_request_is_answered_and_what_is_no_text_ends_the_conversation() {
    let server = Server::start(&["--max-message", "4KiB"]);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    for (text, code) in [("{", -32700), ("[]", -32600), ("7", -32600)] {
        let answer: Value = serde_json::from_str(&exchange(&mut socket, text)).unwrap();
        assert_eq!((answer["error"]["code"].as_i64(), &answer["id"]), (Some(code), &Value::Null), "{text}");
    }
    // Too long by a little: skipped, and the next one is read.
    let answer = exchange(&mut socket, "x".repeat(5_000));
    assert!(answer.contains("-32600") && answer.contains("4096"), "{answer}");
    assert!(exchange(&mut socket, request(1, "ping", &json!({}))).contains("\"result\""));
    socket.send(Message::binary(vec![0; 3])).unwrap();
    assert_eq!(next(&mut socket), None);
    // Longer than can be skipped.
    let mut socket = server.socket("/rpc", &[]).unwrap();
    let _ = socket.send(Message::text("x".repeat(3 << 20)));
    assert_eq!(next(&mut socket), None);
    assert!(server.call("ping", &json!({})).is_object(), "the server goes on");
}

#[test]
fn what_a_client_has_asked_for_is_carried_out_when_it_goes_away() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    for at in 0..50 {
        socket.send(Message::text(request(at, "appendMessage", &append("t", &format!("m{at}"), "x")))).unwrap();
    }
    next(&mut socket).unwrap();
    socket.close(None).unwrap();
    while next(&mut socket).is_some() {}
    drop(socket);
    let mut found = 0;
    for _ in 0..100 {
        found = server.call("getHistory", &json!({"tenant": "t"}))["messages"].as_array().unwrap().len();
        if found == 50 {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(found, 50);
}
