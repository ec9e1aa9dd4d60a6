//! Requests that something in front of the server could read otherwise than the server does, and conversations that are
//! none. What is hidden in the body of a request is never carried out, and whoever is asked next is served.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{PATIENCE, Server, append, next, token};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A whole request that writes into a tenant which must not come into being.
fn hidden() -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": append("hidden", "m", "x")});
    let body = body.to_string();
    let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn what_is_hidden_in_a_body_is_not_carried_out() {
    let server = Server::start(&[]);
    let hidden = hidden();
    // What one that goes by the Content-Length takes for the body; for one that goes by chunks it ends with the first line.
    let chunked = format!("0\r\n\r\n{hidden}");
    let (all, length) = (chunked.len(), hidden.len());
    let shapes: Vec<(&str, &str, String, &str)> = vec![
        ("POST", "1.1", format!("content-length: {all}\r\ntransfer-encoding: chunked"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: CHUNKED\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: chunked, identity\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: identity, chunked\r\ncontent-length: {all}"), &chunked),
        (
            "POST",
            "1.1",
            format!("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\ncontent-length: {all}"),
            &chunked,
        ),
        (
            "POST",
            "1.1",
            format!("transfer-encoding: identity\r\ntransfer-encoding: chunked\r\ncontent-length: {all}"),
            &chunked,
        ),
        ("POST", "1.1", format!("transfer-encoding: xchunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding : chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding:\r\n chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: \u{b}chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer-encoding: \"chunked\"\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("transfer_encoding: chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("x: y\rtransfer-encoding: chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.0", format!("transfer-encoding: chunked\r\ncontent-length: {all}"), &chunked),
        ("POST", "1.1", format!("content-length: 0\r\ncontent-length: {length}"), &hidden),
        ("POST", "1.1", format!("content-length: {length}\r\ncontent-length: 0"), &hidden),
        ("POST", "1.1", format!("content-length: 0, {length}"), &hidden),
        ("POST", "1.1", "content-length: +0".to_owned(), &hidden),
        ("POST", "1.1", "content-length: -1".to_owned(), &hidden),
        ("POST", "1.1", "content-length: 0x0".to_owned(), &hidden),
        ("POST", "1.1", "content-length: 0 0".to_owned(), &hidden),
        ("POST", "1.1", "content-length:".to_owned(), &hidden),
        ("POST", "1.1", "content-length: 18446744073709551616".to_owned(), &hidden),
        ("POST", "1.1", format!("content-length : {length}"), &hidden),
        ("POST", "1.1", format!("content\0-length: {length}"), &hidden),
        ("GET", "1.1", format!("content-length: {length}"), &hidden),
        ("DELETE", "1.1", format!("content-length: {length}"), &hidden),
        ("OPTIONS", "1.1", format!("content-length: {length}\r\nexpect: 100-continue"), &hidden),
        ("POST", "1.1", format!("content-length: {length}\r\nexpect: 100-continue"), &hidden),
        ("POST", "1.1", format!("content-length: {length}\r\nconnection: upgrade\r\nupgrade: websocket"), &hidden),
    ];
    for path in ["/rpc", "/healthz", "/mcp", "/events", "/nowhere"] {
        for (method, version, head, body) in &shapes {
            let mut connection = server.connect();
            connection.send(format!("{method} {path} HTTP/{version}\r\nhost: localhost\r\n{head}\r\n\r\n{body}"));
            let _ = connection.stream.get_ref().shutdown(Shutdown::Write);
            let mut answers = String::new();
            connection.stream.get_mut().read_to_string(&mut answers).unwrap_or_default();
            assert!(!answers.contains("inserted"), "{method} {path} {head}: {answers}");
            assert!(answers.is_empty() || answers.starts_with("HTTP/1."), "{method} {path} {head}: {answers}");
        }
        assert_eq!(server.call("listTenants", &json!({}))["tenants"], json!([]), "{path}");
    }
}

#[test]
fn chunks_that_are_none_end_the_connection() {
    let server = Server::start(&[]);
    let hidden = hidden();
    let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
    for chunks in [
        format!("-1\r\n{hidden}"),
        format!("+0\r\n\r\n{hidden}"),
        format!("0x0\r\n\r\n{hidden}"),
        format!("g\r\n{hidden}"),
        format!("\r\n{hidden}"),
        format!("FFFFFFFFFFFFFFFFF\r\n{hidden}"),
        format!("10000000000000000\r\n\r\n{hidden}"),
        format!("2\r\n{{}}xx0\r\n\r\n{hidden}"),
        format!("0\n\n{hidden}"),
        format!("0\r\r\n{hidden}"),
        format!("0;{}\r\n\r\n{hidden}", "x".repeat(100_000)),
        format!("0\r\n{}\r\n{hidden}", "x: y\r\n".repeat(20_000)),
    ] {
        let mut connection = server.connect();
        connection.send(format!("{head}\r\n\r\n"));
        // It may have been cut off before all is sent.
        let _ = connection.stream.get_mut().write_all(chunks.as_bytes());
        let _ = connection.stream.get_ref().shutdown(Shutdown::Write);
        let mut answers = String::new();
        connection.stream.get_mut().read_to_string(&mut answers).unwrap_or_default();
        assert!(!answers.contains("inserted"), "{:?}: {answers}", &chunks[..20]);
    }
    assert_eq!(server.call("listTenants", &json!({}))["tenants"], json!([]));
    // Good chunks are a body, and the connection ends behind it.
    let mut connection = server.connect();
    connection.send(format!("{head}\r\n\r\n{:x};a=b\r\n{PING}\r\n0\r\nx: y\r\n\r\n", PING.len()));
    let answer = connection.answer().unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{answer:?}");
    assert!(connection.answer().is_none());
}

#[test]
fn each_request_of_a_connection_is_recognised_by_itself() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("tokens.json");
    let [ann, bob] = ["ann", "bob"].map(|user| token(&file, user, &["--prefix", &format!("{user}:")]));
    let server = Server::start_in(root, &["--token-file", file.to_str().unwrap()]);
    let request = |token: Option<&str>, tenant: &str| {
        let params = append(tenant, "m", "x");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": params}).to_string();
        let bearer = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        format!("{head}{bearer}content-length: {}\r\n\r\n{body}", body.len())
    };
    let mut connection = server.connect();
    // All at once, as one that goes before an answer would send them.
    connection.send(
        [
            request(Some(&ann), "ann:x"),
            request(None, "ann:y"),
            request(Some(&bob), "ann:x"),
            request(Some(&bob), "bob:x"),
        ]
        .concat(),
    );
    let answers: Vec<_> = (0..4).map(|_| connection.answer().expect("an answer")).collect();
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 401, 200, 200]);
    assert_eq!(answers[0].json()["result"]["inserted"], true);
    assert_eq!(answers[2].kind(), "forbidden");
    assert_eq!(answers[3].json()["result"]["inserted"], true);
}

#[test]
fn frames_that_are_none_end_a_conversation_and_nothing_else() {
    let server = Server::start(&[]);
    let frames = [
        // Not masked.
        &b"\x81\x02{}"[..],
        // Bits and kinds that mean nothing.
        b"\xf1\x80\0\0\0\0",
        b"\x83\x80\0\0\0\0",
        b"\x8f\x80\0\0\0\0",
        // The rest of nothing.
        b"\x80\x80\0\0\0\0",
        // A long sign of life, and one in parts.
        b"\x89\xfe\x00\x7e\0\0\0\0",
        b"\x09\x80\0\0\0\0",
        // A length of all bits.
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",
        // Text that is none.
        b"\x81\x82\0\0\0\0\xff\xfe",
        // A farewell of one byte, and with a code that is none.
        b"\x88\x81\0\0\0\0x",
        b"\x88\x82\0\0\0\0\x00\x01",
        // No frame at all.
        b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ];
    // The server waits a moment for a farewell, each time.
    thread::scope(|scope| {
        for path in ["/rpc", "/agents/coder-agent/t"] {
            for frame in frames {
                let server = &server;
                scope.spawn(move || {
                    let mut socket = server.socket(path, &[]).unwrap();
                    socket.get_mut().write_all(frame).unwrap();
                    // Some only begin something: without an end the server waits for the rest until it has waited enough.
                    socket.get_ref().shutdown(Shutdown::Write).unwrap();
                    let mut rest = Vec::new();
                    // It comes to an end, in good order or not.
                    let _ = socket.get_mut().read_to_end(&mut rest);
                    assert!(!String::from_utf8_lossy(&rest).contains("HTTP/"), "{path} {frame:?}");
                });
            }
        }
    });
    assert!(server.call("ping", &json!({})).is_object());
}

/// A WebSocket that ends without a farewell is broken: nothing can be sent on it any more. What came before counts.
#[test]
fn what_a_conversation_has_asked_for_is_carried_out_when_its_client_closes_its_half() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/rpc", &[]).unwrap();
    for at in 0..20 {
        let params = append("t", &format!("m{at}"), "x");
        let request = json!({"jsonrpc": "2.0", "id": at, "method": "appendMessage", "params": params});
        socket.send(Message::text(request.to_string())).unwrap();
    }
    socket.get_ref().shutdown(Shutdown::Write).unwrap();
    while let Some(text) = next(&mut socket) {
        assert!(text.contains(r#""inserted":true"#), "{text}");
    }
    // One that is cut off in the middle of a frame asks for nothing.
    let mut socket = server.socket("/rpc", &[]).unwrap();
    socket.get_mut().write_all(b"\x81\xfe\x10\x00\0\0\0\0{\"jsonrpc\"").unwrap();
    socket.get_ref().shutdown(Shutdown::Both).unwrap();
    let stored = || server.call("listMessages", &json!({"tenant": "t"}))["messages"].as_array().unwrap().len();
    let end = Instant::now() + PATIENCE;
    while stored() < 20 {
        assert!(Instant::now() < end, "some were not carried out");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(stored(), 20);
}
