//! The end of a server in good order.
#![cfg(unix)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Server, append, next};

#[test]
fn what_was_accepted_is_answered_and_nothing_is_lost() {
    let root = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(root, &[]);
    // Conversations and requests that are under way when it is told to end.
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::new();
    for client in 0..4 {
        let mut socket = server.socket("/rpc", &[]).unwrap();
        let stop = Arc::clone(&stop);
        clients.push(thread::spawn(move || {
            let mut sent = 0;
            let mut acknowledged = Vec::new();
            loop {
                if !stop.load(Ordering::Relaxed) {
                    let params = append(&format!("s{client}"), &format!("m{sent}"), "x");
                    let request = json!({"jsonrpc": "2.0", "id": sent, "method": "appendMessage", "params": params});
                    if socket.send(Message::text(request.to_string())).is_err() {
                        return acknowledged;
                    }
                    sent += 1;
                }
                let Some(text) = next(&mut socket) else { return acknowledged };
                let answer: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(answer["result"]["inserted"], true, "{answer}");
                acknowledged.push(answer["id"].as_u64().unwrap());
            }
        }));
    }
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20));
    stop.store(true, Ordering::Relaxed);
    let acknowledged: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let root = std::mem::replace(&mut server.root, tempfile::tempdir().unwrap());
    let server = Server::start_in(root, &[]);
    for (client, acknowledged) in acknowledged.iter().enumerate() {
        assert!(!acknowledged.is_empty());
        let mut cursor = Value::Null;
        let mut stored = 0;
        loop {
            let page =
                server.call("listMessages", &json!({"tenant": format!("s{client}"), "limit": 1000, "cursor": cursor}));
            stored += page["messages"].as_array().unwrap().len();
            cursor = page["cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert!(stored >= acknowledged.len(), "{stored} stored, {} acknowledged", acknowledged.len());
    }
}

#[test]
fn idle_connections_do_not_hold_it_up() {
    let mut server = Server::start(&[]);
    let idle = server.connect();
    let mut used = server.connect();
    assert_eq!(used.rpc("/rpc", None, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 200);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    let mut agent = server.socket("/agents/coder-agent/t", &[]).unwrap();
    let begun = Instant::now();
    server.terminate();
    assert_eq!(next(&mut socket), None);
    assert_eq!(next(&mut agent), None);
    drop((socket, agent));
    assert_eq!(server.wait(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(idle);
    assert!(used.answer().is_none());
}
