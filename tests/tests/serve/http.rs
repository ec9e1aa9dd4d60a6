//! `POST /rpc`, `/healthz` and `/metrics`.

use serde_json::{Value, json};

use crate::client::{Server, append, kind};

#[test]
fn a_message_goes_in_and_out_byte_for_byte() {
    let server = Server::start(&[]);
    let odd = r#"{"parts":[{"type":"text","text":"\u0000 \ud83d \/ é  "}],"n":[1.0,1e3,18446744073709551616,-0.0],"id":"m","role":"user","x":{"b":1,"a":2,"b":3}}"#;
    let mut connection = server.connect();
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"\u0061","method":"{method}","params":{params}}}"#)
    };
    let stored =
        connection.rpc("/rpc", None, &request("appendMessage", &format!(r#"{{"tenant":"t","message":{odd}}}"#)));
    assert_eq!(stored.status, 200);
    assert_eq!(stored.header("content-type"), Some("application/json"));
    assert!(stored.body.starts_with(r#"{"jsonrpc":"2.0","id":"\u0061","result":{"inserted":true"#), "{}", stored.body);
    let history = connection.rpc("/rpc", None, &request("getHistory", r#"{"tenant":"t"}"#));
    assert!(history.body.contains(odd), "{}", history.body);
}

#[test]
fn requests_follow_one_another_on_one_connection() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    for at in 0..50 {
        let params = append("t", &format!("m{at}"), "x");
        let body = json!({"jsonrpc": "2.0", "id": at, "method": "appendMessage", "params": params}).to_string();
        assert_eq!(connection.rpc("/rpc", None, &body).json()["result"]["inserted"], true);
    }
    assert_eq!(server.call("getHistory", &json!({"tenant": "t"}))["messages"].as_array().unwrap().len(), 50);
}

#[test]
fn errors_of_methods_are_answers_and_errors_of_http_are_statuses() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    let mut post = |body: &str| connection.rpc("/rpc", None, body);
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"getHistory"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"getMessage","params":{"tenant":"t","id":5}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"getHistory","params":{"tenant":"t","leafId":"x"}}"#, -32000),
    ] {
        let answer = post(body);
        assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (200, Some(code)), "{body}");
    }
    assert_eq!(post("").status, 400);
    assert_eq!(post("  ").status, 400);
    let unanswered = post(r#"{"jsonrpc":"2.0","method":"ping"}"#);
    assert_eq!((unanswered.status, unanswered.body.as_str()), (204, ""));
    let ask = |method, path, headers: &[_]| server.connect().ask(method, path, headers, "{}").status;
    assert_eq!(ask("POST", "/rpc", &[("content-type", "text/plain")]), 415);
    assert_eq!(ask("POST", "/rpc", &[]), 415);
    assert_eq!(ask("GET", "/nothing", &[]), 404);
    assert_eq!(ask("PUT", "/rpc", &[("content-type", "application/json")]), 405);
    assert_eq!(ask("POST", "/rpc", &[("content-type", "Application/JSON; charset=utf-8")]), 200);
}

#[test]
fn a_user_and_a_conversation_in_the_address_are_the_tenant() {
    let server = Server::start(&[]);
    let mut connection = server.connect();
    let message = append("x", "m1", "hi")["message"].clone();
    let body =
        |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": params}).to_string();
    let stored = connection.rpc("/rpc?user=easy&conversation=test1", None, &body(json!({"message": message})));
    assert_eq!(stored.json()["result"]["inserted"], true, "{}", stored.body);
    let history = server.call("getHistory", &json!({"tenant": "easy:test1"}));
    assert_eq!(history["messages"][0]["id"], "m1");
    // Nothing else can be named then.
    let other = body(json!({"message": message, "tenant": "other"}));
    let refused = connection.rpc("/rpc?user=easy&conversation=test1", None, &other).json();
    assert_eq!(kind(&refused), "forbidden");
    let same = body(json!({"message": message, "tenant": "easy:test1"}));
    assert_eq!(connection.rpc("/rpc?user=easy&conversation=test1", None, &same).json()["result"]["inserted"], false);
    for query in ["user=a:b&conversation=c", "user=a%3Ab&conversation=c", "user=a", "user=&conversation=c", "tenant="] {
        let refused = connection.rpc(&format!("/rpc?{query}"), None, &body(json!({"message": message})));
        assert_eq!((refused.status, refused.kind().as_str()), (400, "invalid-argument"), "{query}");
    }
    // A session in the address would not be obeyed, and who names one there means to be confined to it.
    let refused = connection.rpc("/rpc?tenant=easy:test1&session=s", None, &body(json!({"message": message})));
    assert_eq!((refused.status, refused.kind().as_str()), (400, "invalid-argument"));
    assert_eq!(server.refused("/rpc?session=s", &[]), 400);
    assert_eq!(server.call("listTenants", &json!({}))["tenants"], json!(["easy:test1"]));
}

#[test]
fn numbers_for_prometheus_tell_what_has_happened() {
    let server = Server::start(&[]);
    server.call("appendMessage", &append("secret-tenant", "m1", "x"));
    server.call_as(None, "getHistory", &json!({"tenant": "secret-tenant", "leafId": "x"}));
    server.call_as(None, "nothing", &json!({}));
    let answer = server.connect().ask("GET", "/metrics", &[], "");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        r#"talktree_calls_total{method="appendMessage"} 1"#,
        r#"talktree_errors_total{method="getHistory",kind="unknown-message"} 1"#,
        r#"talktree_errors_total{method="none",kind="unknown-method"} 1"#,
        r#"talktree_call_duration_seconds_count{method="appendMessage"} 1"#,
        "talktree_live_tenants 1",
    ] {
        assert!(answer.body.lines().any(|found| found == line), "{line}\n{}", answer.body);
    }
    assert!(answer.body.lines().any(|line| line.starts_with("talktree_connections ")), "{}", answer.body);
    assert!(!answer.body.contains("secret-tenant"));
    let health = server.connect().ask("GET", "/healthz", &[("host", "anything.example")], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
}
