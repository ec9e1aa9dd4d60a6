//! What is open when a token is taken back: conversations, feeds, and what waits for an event.

use std::{
    fs,
    io::BufRead as _,
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use crate::client::{Connection, Server, append, exchange, kind, next, token};

/// How long a token that was taken back may still be listened to.
const SOON: Duration = Duration::from_secs(20);

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn with_tokens<const N: usize>(options: [&[&str]; N], more: &[&str]) -> (Server, [String; N]) {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("tokens.json");
    let tokens = std::array::from_fn(|at| token(&file, &format!("t{at}"), options[at]));
    let file = file.to_str().unwrap().to_owned();
    (Server::start_in(root, &[&["--token-file", &file], more].concat()), tokens)
}

/// Changes the entry of a token in the file.
fn change(server: &Server, name: &str, change: impl Fn(&mut Value)) {
    let path = server.root.path().join("tokens.json");
    let mut file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let entry = file["tokens"].as_array_mut().unwrap().iter_mut().find(|entry| entry["name"] == name).unwrap();
    change(entry);
    fs::write(&path, file.to_string()).unwrap();
}

fn take_back(server: &Server, name: &str) {
    let path = server.root.path().join("tokens.json");
    let mut file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    file["tokens"].as_array_mut().unwrap().retain(|entry| entry["name"] != name);
    fs::write(&path, file.to_string()).unwrap();
}

fn socket(server: &Server, path: &str, token: &str) -> WebSocket<TcpStream> {
    server.socket(path, &[("authorization", &format!("Bearer {token}"))]).unwrap()
}

fn listen(server: &Server, token: &str) -> Connection {
    let mut connection = server.connect();
    connection
        .send(format!("GET /events?tenant=ann:x HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"));
    let mut line = String::new();
    connection.stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    connection
}

/// Waits for the end of a stream of events, on which none comes any more.
fn ends_without_an_event(mut connection: Connection) {
    loop {
        let mut line = String::new();
        // The last chunk is empty; the connection itself may stay for another request.
        if connection.stream.read_line(&mut line).unwrap_or_default() == 0 || line.trim_end() == "0" {
            return;
        }
        assert!(!line.starts_with("data:"), "{line}");
    }
}

/// The code that a conversation is closed with.
fn closed_with(socket: &mut WebSocket<TcpStream>) -> (u16, String) {
    loop {
        match socket.read().unwrap() {
            Message::Close(frame) => {
                let frame = frame.expect("a reason");
                return (frame.code.into(), frame.reason.to_string());
            }
            Message::Text(text) => panic!("{text}"),
            _ => {}
        }
    }
}

#[test]
fn everything_that_is_open_ends_when_its_token_is_taken_back() {
    let prefix = ["--prefix", "ann:"];
    let (server, [gone, stays]) = with_tokens([&prefix, &prefix], &[]);
    let mut sockets = [socket(&server, "/rpc", &gone), socket(&server, "/agents/coder-agent/ann:x", &gone)];
    let mut subscribed = socket(&server, "/rpc?tenant=ann:x", &gone);
    assert!(exchange(&mut subscribed, r#"{"jsonrpc":"2.0","id":1,"method":"subscribe"}"#).contains("subscription"));
    let events = listen(&server, &gone);
    // A long poll, by itself and on a conversation.
    let wait =
        json!({"jsonrpc": "2.0", "id": 1, "method": "changes", "params": {"tenant": "ann:x", "waitMs": 600_000}});
    let mut waiting = server.connect();
    let head = format!("authorization: Bearer {gone}\r\ncontent-type: application/json");
    let body = wait.to_string();
    waiting.send(format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ));
    let mut waits = socket(&server, "/rpc", &gone);
    waits.send(Message::text(wait.to_string())).unwrap();
    let mut others = [socket(&server, "/rpc", &stays), socket(&server, "/agents/coder-agent/ann:x", &stays)];

    let begun = Instant::now();
    take_back(&server, "t0");
    for socket in &mut sockets {
        let (code, reason) = closed_with(socket);
        assert_eq!((code, reason.as_str()), (1008, "the token is not accepted any more"));
    }
    assert_eq!(closed_with(&mut subscribed).0, 1008);
    ends_without_an_event(events);
    let answer = waiting.answer().expect("an answer");
    assert_eq!((answer.status, &answer.json()["result"]["events"]), (200, &json!([])), "{answer:?}");
    assert!(next(&mut waits).is_some_and(|text| text.contains(r#""events":[]"#)));
    assert_eq!(closed_with(&mut waits).0, 1008);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(server.connect().rpc("/rpc", Some(&gone), PING).status, 401);
    // Nobody else notices.
    assert!(exchange(&mut others[0], PING).contains("\"result\""));
    let frame = json!({"type": "rpc", "id": 1, "method": "listBranches", "args": []});
    assert!(exchange(&mut others[1], frame.to_string()).contains("\"success\":true"));
}

#[test]
fn a_token_for_other_tenants_than_before_has_to_come_in_anew() {
    let (server, [token, more]) = with_tokens([&["--tenant", "ann:x", "--tenant", "ann:y"], &["--all"]], &[]);
    let mut narrowed = socket(&server, "/rpc", &token);
    assert!(exchange(&mut narrowed, PING).contains("\"result\""));
    let mut untouched = socket(&server, "/rpc", &more);
    change(&server, "t0", |entry| entry["tenants"] = json!(["ann:x"]));
    assert_eq!(closed_with(&mut narrowed).0, 1008);
    let mut again = socket(&server, "/rpc", &token);
    let stats =
        |tenant: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "stats", "params": {"tenant": tenant}}).to_string();
    let answer: Value = serde_json::from_str(&exchange(&mut again, stats("ann:y"))).unwrap();
    assert_eq!(kind(&answer), "forbidden");
    assert!(exchange(&mut untouched, PING).contains("\"result\""), "a change of another entry is none of this one");
    // One that has come to its end in the file.
    change(&server, "t1", |entry| entry["expires"] = json!("2020-01-01T00:00:00Z"));
    assert_eq!(closed_with(&mut untouched).0, 1008);
}

#[test]
fn a_token_of_mcp_is_looked_at_with_every_request() {
    let (server, [token]) = with_tokens([&["--prefix", "ann:"]], &[]);
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    // Nothing is kept open between two requests: there is no stream to listen on, and no session to end.
    for method in ["GET", "DELETE"] {
        let refused = server.connect().ask(method, "/mcp", &headers, "");
        assert_eq!(refused.status, 405, "{method}: {}", refused.body);
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut connection = server.connect();
    let answer = connection.ask("POST", "/mcp", &headers, list);
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None), "{}", answer.body);
    take_back(&server, "t0");
    let end = Instant::now() + SOON;
    while connection.ask("POST", "/mcp", &headers, list).status != 401 {
        assert!(Instant::now() < end, "it is still accepted");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn conversations_end_when_the_key_of_their_issuer_is_taken_away() {
    let root = tempfile::tempdir().unwrap();
    let keys = root.path().join("keys.json");
    let set: Value = serde_json::from_str(include_str!("vectors/keys.json")).unwrap();
    fs::write(&keys, set.to_string()).unwrap();
    let vectors: Value = serde_json::from_str(include_str!("vectors/tokens.json")).unwrap();
    let [ed, rsa] = ["EdDSA", "RS256"].map(|name| vectors["good"][name].as_str().unwrap());
    let keys = keys.to_str().unwrap().to_owned();
    let options = ["--jwt-issuer", "https://issuer.example", "--jwt-audience", "talktree", "--jwt-keys", &keys];
    let server = Server::start_in(root, &options);
    let [mut ends, mut stays] = [ed, rsa].map(|token| socket(&server, "/rpc?tenant=ann:x", token));
    let left: Vec<_> = set["keys"].as_array().unwrap().iter().filter(|key| key["kid"] != "ed").collect();
    fs::write(&keys, json!({"keys": left}).to_string()).unwrap();
    assert_eq!(closed_with(&mut ends).0, 1008);
    assert!(exchange(&mut stays, PING).contains("\"result\""));
}

#[test]
fn one_token_cannot_take_all_connections() {
    let (server, [greedy, other]) = with_tokens([&["--all"], &["--all"]], &["--max-per-token", "3"]);
    let mut sockets: Vec<_> = (0..2).map(|_| socket(&server, "/rpc", &greedy)).collect();
    let events = listen(&server, &greedy);
    let refused = server.connect().rpc("/rpc", Some(&greedy), PING);
    assert_eq!((refused.status, refused.kind().as_str()), (429, "busy"));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(server.refused("/rpc", &[("authorization", &format!("Bearer {greedy}"))]), 429);
    assert_eq!(server.connect().rpc("/rpc", Some(&other), PING).status, 200, "others have their own");
    drop((sockets.pop(), events));
    let end = Instant::now() + SOON;
    while server.connect().rpc("/rpc", Some(&greedy), PING).status != 200 {
        assert!(Instant::now() < end, "its place is not given back");
        std::thread::sleep(Duration::from_millis(100));
    }
    let stored = server.call_as(Some(&greedy), "appendMessage", &append("t", "m", "x"));
    assert_eq!(stored["result"]["inserted"], true);
}
