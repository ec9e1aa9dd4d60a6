//! Bad bytes, huge bodies, slow senders, half-closed connections.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::client::{PATIENCE, Server, append};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn head(length: usize) -> String {
    format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[test]
fn bytes_that_are_no_http_end_the_connection_cleanly() {
    let server = Server::start(&[]);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /rpc HTTP/9.9\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /rpc HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\n \xff: \r\n\r\n",
    ] {
        let mut connection = server.connect();
        connection.send(bytes);
        let _ = connection.stream.get_ref().shutdown(Shutdown::Write);
        if let Some(answer) = connection.answer() {
            assert!((400..500).contains(&answer.status), "{bytes:?}: {answer:?}");
        }
    }
    // A head without an end.
    let mut connection = server.connect();
    let line = format!("x-{}: y\r\n", "a".repeat(1_000));
    let _ = connection.stream.get_mut().write_all(format!("GET / HTTP/1.1\r\n{}", line.repeat(500)).as_bytes());
    let status = connection.answer().map(|answer| answer.status);
    assert!(matches!(status, None | Some(431 | 400)), "{status:?}");
    assert!(server.call("ping", &json!({})).is_object());
}

#[test]
fn a_body_that_is_no_text_is_a_parse_error() {
    let server = Server::start(&[]);
    for body in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}", b"\0"] {
        let mut connection = server.connect();
        connection.send(head(body.len()));
        connection.send(body);
        let answer = connection.answer().unwrap();
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (200, Some(-32700)), "{body:?}");
    }
}

#[test]
fn a_body_above_the_limit_is_refused_and_the_answer_arrives() {
    let server = Server::start(&["--max-request", "64KiB"]);
    let long = "x".repeat(1 << 20);
    // With its length, and without one.
    let mut connection = server.connect();
    connection.send(head(long.len()));
    let _ = connection.stream.get_mut().write_all(long.as_bytes());
    let refused = connection.answer().expect("an answer");
    assert_eq!((refused.status, refused.json()["error"]["code"].as_i64()), (413, Some(-32600)));
    let mut connection = server.connect();
    connection.send(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for _ in 0..16 {
        let chunk = &long[..1 << 16];
        let _ = connection.stream.get_mut().write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes());
    }
    assert_eq!(connection.answer().expect("an answer").status, 413);
    // One that lies about its length.
    let mut connection = server.connect();
    connection.send(head(1 << 40));
    assert_eq!(connection.answer().expect("an answer").status, 413);
    let mut connection = server.connect();
    connection.send(head(usize::MAX));
    assert!((400..500).contains(&connection.answer().expect("an answer").status));
    assert!(server.call("ping", &json!({})).is_object());
}

#[test]
fn a_message_of_64_mib_goes_in_and_out() {
    let server = Server::start(&[]);
    let text = "é".repeat(32 << 20);
    server.call("appendMessage", &append("t", "m1", &text));
    let found = server.call("getMessage", &json!({"tenant": "t", "id": "m1"}));
    assert!(found["message"]["parts"][0]["text"] == text.as_str(), "it is another text");
}

#[test]
fn slow_senders_are_given_up_and_hold_up_nobody() {
    let server = Server::start(&[]);
    let begun = Instant::now();
    // A head that never ends, and a body that comes by the byte.
    let mut slow_head = server.connect();
    slow_head.send("POST /rpc HTTP/1.1\r\nhost: loc");
    let mut slow_body = server.connect();
    slow_body.send(head(1_000));
    let mut idle: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    for _ in 0..5 {
        slow_body.send("x");
        std::thread::sleep(Duration::from_millis(200));
        assert!(server.call("ping", &json!({})).is_object(), "others are served");
    }
    assert!(matches!(slow_head.answer().map(|answer| answer.status), None | Some(408)));
    let refused = slow_body.answer().expect("an answer");
    assert_eq!((refused.status, refused.kind().as_str()), (408, "timed-out"));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    for connection in &mut idle {
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        // Whatever it says before, it closes.
        let _ = connection.read_to_end(&mut Vec::new()).unwrap();
    }
}

#[test]
fn who_has_said_all_may_close_its_half_and_is_answered() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    connection.send(format!("{}{PING}", head(PING.len())));
    connection.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(connection.answer().expect("an answer").status, 200);
    assert!(connection.answer().is_none(), "then the connection ends");
    // One that ends in the middle of a body is no request.
    let mut connection = server.connect();
    connection.send(format!("{}{}", head(PING.len()), &PING[..5]));
    connection.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    if let Some(answer) = connection.answer() {
        assert_eq!(answer.status, 400);
    }
    assert!(server.call("ping", &json!({})).is_object());
}

#[test]
fn what_a_client_has_asked_for_is_carried_out_when_it_goes_away() {
    let server = Server::start(&[]);
    for at in 0..20 {
        let params = append("t", &format!("m{at}"), "x");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": params}).to_string();
        let mut connection = server.connect();
        connection.send(format!("{}{body}", head(body.len())));
    }
    let end = Instant::now() + PATIENCE;
    while server.call("listMessages", &json!({"tenant": "t"}))["messages"].as_array().unwrap().len() < 20 {
        assert!(Instant::now() < end, "some were not carried out");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn more_connections_than_allowed_wait_for_their_turn() {
    let server = Server::start(&["--max-connections", "2"]);
    let mut first = server.connect();
    let second = server.socket("/rpc", &[]).unwrap();
    assert_eq!(first.rpc("/rpc", None, PING).status, 200);
    let mut third = server.connect();
    third.send(format!("{}{PING}", head(PING.len())));
    third.stream.get_ref().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut byte = [0];
    assert!(third.stream.get_mut().read(&mut byte).is_err(), "it has to wait");
    drop(second);
    third.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(third.answer().expect("an answer").status, 200);
}
