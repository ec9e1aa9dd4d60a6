//! What pages of other sites can and cannot do.

use crate::client::{Answer, Server};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn post(server: &Server, headers: &[(&str, &str)]) -> Answer {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    server.connect().ask("POST", "/rpc", &all, PING)
}

#[test]
fn a_name_that_was_made_to_lead_here_is_refused() {
    let server = Server::start(&["--allow-host", "talk.example"]);
    let port = server.address.port();
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost.evil.example",
    ] {
        let refused = post(&server, &[("host", host)]);
        assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{host}");
        assert_eq!(server.connect().ask("GET", "/metrics", &[("host", host)], "").status, 403, "{host}");
    }
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "talk.example", &format!("talk.example:{port}")] {
        assert_eq!(post(&server, &[("host", host)]).status, 200, "{host}");
    }
    assert_eq!(post(&server, &[("host", "localhost"), ("host", "localhost")]).status, 400);
    let mut connection = server.connect();
    connection.send("GET /metrics HTTP/1.1\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 400);
    let mut connection = server.connect();
    connection.send("GET http://evil.example/metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 400);
    let mut connection = server.connect();
    connection.send("GET http://evil.example/metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    assert_eq!(connection.answer().unwrap().status, 403);
}

#[test]
fn pages_of_other_origins_are_refused_everywhere() {
    let server = Server::start(&["--allow-origin", "https://app.example"]);
    let own = format!("http://{}", server.address);
    for origin in
        ["https://evil.example", "null", "http://localhost:1", "https://app.example.evil.example", "http://app.example"]
    {
        let refused = post(&server, &[("origin", origin)]);
        assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{origin}");
        assert_eq!(refused.header("access-control-allow-origin"), None);
        for path in ["/rpc", "/agents/coder-agent/t"] {
            assert_eq!(server.refused(path, &[("origin", origin)]), 403, "{path} {origin}");
        }
        for path in ["/events?tenant=t", "/mcp", "/metrics"] {
            assert_eq!(server.connect().ask("GET", path, &[("origin", origin)], "").status, 403, "{path} {origin}");
        }
    }
    let own = post(&server, &[("origin", &own)]);
    assert_eq!((own.status, own.header("access-control-allow-origin")), (200, None));
    let allowed = post(&server, &[("origin", "https://app.example")]);
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some("https://app.example")));
    assert!(server.socket("/rpc", &[("origin", "https://app.example")]).is_ok());
}

#[test]
fn a_browser_is_told_what_pages_of_an_allowed_origin_may_send() {
    let server = Server::start(&["--allow-origin", "https://app.example"]);
    let asked = |origin| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        server.connect().ask("OPTIONS", "/rpc", &headers, "")
    };
    let allowed = asked("https://app.example");
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("authorization"));
    let refused = asked("https://evil.example");
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
}

#[test]
fn what_is_no_origin_cannot_be_allowed() {
    let root = tempfile::tempdir().unwrap();
    let mut serve = crate::client::command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--allow-origin", "*", "--root"]).arg(root.path());
    assert_eq!(serve.output().unwrap().status.code(), Some(1));
}

#[test]
fn no_answer_is_a_page() {
    let server = Server::start(&["--allow-origin", "https://app.example"]);
    let allowed = [("origin", "https://app.example")];
    let evil = [("origin", "https://evil.example")];
    let answers = [
        post(&server, &[]),
        post(&server, &allowed),
        post(&server, &evil),
        server.connect().ask("GET", "/healthz", &[], ""),
        server.connect().ask("GET", "/metrics", &[], ""),
        server.connect().ask("GET", "/nothing", &[], ""),
        server.connect().ask("GET", "/events", &[], ""),
        server.connect().ask("GET", "/mcp", &[], ""),
        server.connect().ask("PUT", "/rpc", &[], ""),
    ];
    for answer in &answers {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{answer:?}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{answer:?}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{answer:?}");
        assert!(answer.header("content-security-policy").unwrap().starts_with("default-src 'none'"), "{answer:?}");
        assert!(answer.header("cache-control").is_some(), "{answer:?}");
    }
}
