//! `GET /events`, and subscriptions on a WebSocket.

use std::io::BufRead as _;

use serde_json::{Value, json};

use crate::client::{Connection, Server, append, exchange, next};

/// Begins to read events.
fn listen(server: &Server, query: &str, headers: &str) -> Connection {
    let mut connection = server.connect();
    connection.send(format!("GET /events?{query} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"));
    let mut line = String::new();
    connection.stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let mut head = String::new();
    while connection.stream.read_line(&mut head).unwrap() > 2 {}
    assert!(head.contains("text/event-stream"), "{head}");
    connection
}

/// The next event: its name, its id and its data.
fn event(connection: &mut Connection) -> (String, String, Value) {
    let (mut name, mut id, mut data) = (String::new(), String::new(), Value::Null);
    loop {
        let mut line = String::new();
        assert!(connection.stream.read_line(&mut line).unwrap() > 0, "the events have ended");
        // Lengths of chunks stand between them.
        match line.trim_end().split_once(": ") {
            Some(("event", value)) => name = value.to_owned(),
            Some(("id", value)) => id = value.to_owned(),
            Some(("data", value)) => data = serde_json::from_str(value).unwrap(),
            _ if line.trim().is_empty() && !data.is_null() => return (name, id, data),
            _ => {}
        }
    }
}

#[test]
fn events_come_as_they_happen_and_go_on_where_they_were() {
    let server = Server::start(&[]);
    server.call("appendMessage", &append("a:b", "m0", "before"));
    let mut all = listen(&server, "tenant=a:b&from=oldest", "");
    let mut fresh = listen(&server, "user=a&conversation=b", "");
    let (_, first, data) = event(&mut all);
    assert_eq!((&data["type"], &data["message"]["id"]), (&json!("append"), &json!("m0")));
    let odd = json!({"tenant": "a:b", "message": {"id": "m1", "role": "user", "parts": [], "n": 1.0, "t": "a\nb"}});
    server.call("appendMessage", &odd);
    for connection in [&mut all, &mut fresh] {
        let (name, id, data) = event(connection);
        assert_eq!((name.as_str(), &data["message"]), ("", &odd["message"]));
        assert_eq!(data["cursor"], id);
    }
    drop(all);
    // A browser repeats the address and says what it has seen.
    let mut again = listen(&server, "tenant=a:b", &format!("last-event-id: {first}\r\n"));
    assert_eq!(event(&mut again).2["message"]["id"], "m1");
    let mut some = listen(&server, "tenant=a:b&from=oldest&types=session,delete", "");
    server.call("appendMessage", &append("a:b", "m2", "x"));
    server.call("deleteMessages", &json!({"tenant": "a:b", "ids": ["m1"]}));
    assert_eq!(event(&mut some).2["type"], "delete");
    // A cursor that is none of ours.
    let mut lost = listen(&server, "tenant=a:b&cursor=nonsense", "");
    let (name, id, data) = event(&mut lost);
    assert_eq!((name.as_str(), &data["cursor"]), ("reset", &json!(id)));
}

#[test]
fn what_is_wrong_with_the_address_is_said_before_anything_is_sent() {
    let server = Server::start(&[]);
    for query in ["", "session=x", "user=a:b&conversation=c", "tenant=t&types=nonsense"] {
        let answer = server.connect().ask("GET", &format!("/events?{query}"), &[], "");
        assert_eq!((answer.status, answer.kind().as_str()), (400, "invalid-argument"), "{query}");
    }
}

#[test]
fn events_end_with_the_server() {
    let mut server = Server::start(&[]);
    let mut connection = listen(&server, "tenant=t", "");
    #[cfg(unix)]
    server.terminate();
    #[cfg(not(unix))]
    server.child.kill().unwrap();
    let mut rest = String::new();
    while connection.stream.read_line(&mut rest).is_ok_and(|read| read > 0) {}
    server.wait();
}

#[test]
fn a_subscription_sends_events_beside_answers() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/rpc?tenant=t", &[]).unwrap();
    let begun: Value =
        serde_json::from_str(&exchange(&mut socket, r#"{"jsonrpc":"2.0","id":1,"method":"subscribe"}"#)).unwrap();
    let subscription = begun["result"]["subscription"].clone();
    assert!(subscription.is_number(), "{begun}");
    server.call("appendMessage", &append("t", "m1", "x"));
    let note: Value = serde_json::from_str(&next(&mut socket).unwrap()).unwrap();
    assert_eq!((&note["method"], &note["params"]["subscription"]), (&json!("event"), &subscription), "{note}");
    assert_eq!(note["params"]["event"]["message"]["id"], "m1");
    let end = json!({"jsonrpc": "2.0", "id": 2, "method": "unsubscribe", "params": {"subscription": subscription}});
    assert!(exchange(&mut socket, end.to_string()).contains("\"unsubscribed\":true"));
    server.call("appendMessage", &append("t", "m2", "x"));
    let answer = exchange(&mut socket, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert!(answer.contains("\"id\":3"), "no event comes any more: {answer}");
    // There is no stream that events could come by.
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"tenant":"t"}}"#;
    let refused = server.connect().rpc("/rpc", None, body).json();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
}
