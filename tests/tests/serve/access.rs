//! Who may do what.

use std::{fs, net::TcpListener, process::Stdio};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Server, append, command, exchange, kind, token};

/// A server with tokens: the directory, the server, and the tokens by their options.
fn with_tokens<const N: usize>(options: [&[&str]; N], more: &[&str]) -> (Server, [String; N]) {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("tokens.json");
    let tokens = std::array::from_fn(|at| token(&file, &format!("t{at}"), options[at]));
    let file = file.to_str().unwrap().to_owned();
    let mut all = vec!["--token-file", &file];
    all.extend(more);
    (Server::start_in(root, &all), tokens)
}

#[test]
fn an_address_of_others_is_refused_without_tokens() {
    let root = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "10.255.255.1:0"] {
        let mut serve = command();
        serve.args(["serve", "--listen", address, "--root"]).arg(root.path());
        let ended = serve.output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{address}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("tokens have to be configured"), "{address}");
        assert!(ended.stdout.is_empty());
    }
    // An address that is in use is said so.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut serve = command();
    serve.args(["serve", "--listen", &taken.local_addr().unwrap().to_string(), "--root"]).arg(root.path());
    assert_eq!(serve.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code(), Some(1));
}

#[test]
fn nobody_comes_in_without_a_token_that_is_accepted() {
    let (server, [good, late]) = with_tokens([&["--all"], &["--all", "--days", "1"]], &[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(server.connect().rpc("/rpc", Some(&good), ping).status, 200);
    assert_eq!(server.connect().rpc("/rpc", Some(&late), ping).status, 200);
    for wrong in ["", "tt_", "x", &good[..good.len() - 1], &format!("{good}x"), &good.to_lowercase()] {
        let refused = server.connect().rpc("/rpc", Some(wrong), ping);
        assert_eq!((refused.status, refused.kind().as_str()), (401, "forbidden"), "{wrong}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    for path in ["/rpc", "/events?tenant=t", "/metrics", "/mcp", "/agents/coder-agent/t", "/agents/coder-agent/%"] {
        assert_eq!(server.connect().ask("GET", path, &[], "").status, 401, "{path}");
    }
    assert_eq!(server.refused("/rpc", &[]), 401);
    assert_eq!(server.refused("/agents/coder-agent/t", &[("authorization", "Bearer x")]), 401);
    assert_eq!(server.connect().ask("GET", "/healthz", &[], "").status, 200);
    // A browser's WebSocket cannot send the header.
    let offered = format!("talktree, bearer.{good}");
    let mut socket = server.socket("/rpc", &[("sec-websocket-protocol", &offered)]).unwrap();
    assert!(exchange(&mut socket, ping).contains("\"result\""));
}

#[test]
fn a_list_of_tenants_shows_only_those_of_the_token() {
    let (server, [some, all, none]) =
        with_tokens([&["--tenant", "b", "--prefix", "user1:"], &["--all"], &["--metrics"]], &[]);
    let tenants = ["a", "b", "c", "user1", "user10:x", "user1:x", "user1:y"];
    for tenant in tenants {
        server.call_as(Some(&all), "appendMessage", &append(tenant, "m", "x"));
    }
    let list = |token: &str, params: Value| server.call_as(Some(token), "listTenants", &params)["result"].clone();
    assert_eq!(list(&all, json!({}))["tenants"], json!(tenants));
    assert_eq!(list(&some, json!({}))["tenants"], json!(["b", "user1:x", "user1:y"]));
    assert_eq!(list(&none, json!({})), json!({"tenants": [], "cursor": null}));
    // Pages hold none of the others, and tell nothing of them.
    let page = list(&some, json!({"limit": 1}));
    assert_eq!(page["tenants"], json!(["b"]));
    let page = list(&some, json!({"limit": 1, "cursor": page["cursor"]}));
    assert_eq!(page["tenants"], json!(["user1:x"]));
    let page = list(&some, json!({"limit": 5, "cursor": page["cursor"]}));
    assert_eq!(page, json!({"tenants": ["user1:y"], "cursor": null}));
}

#[test]
fn a_token_is_no_way_into_other_addresses() {
    let (server, [one, metrics]) = with_tokens([&["--prefix", "ann:"], &["--metrics"]], &[]);
    let bearer = format!("Bearer {one}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let ask = |method, path: &str| server.connect().ask(method, path, &headers, "{}");
    for path in ["/rpc?user=bob&conversation=x", "/rpc?tenant=ann", "/mcp?user=ann2&conversation=x"] {
        let refused = ask("POST", path);
        assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{path}");
    }
    assert_eq!(ask("GET", "/events?tenant=bob:x").status, 403);
    assert_eq!(ask("GET", "/metrics").status, 403, "the numbers of all are not for one");
    let reads = format!("Bearer {metrics}");
    assert_eq!(server.connect().ask("GET", "/metrics", &[("authorization", &reads)], "").status, 200);
    for path in ["/rpc?user=bob&conversation=x", "/agents/coder-agent/bob:x", "/agents/coder-agent/ann"] {
        assert_eq!(server.refused(path, &[("authorization", &bearer)]), 403, "{path}");
    }
    let mut socket = server.socket("/rpc", &[("authorization", &bearer)]).unwrap();
    let refused = exchange(&mut socket, r#"{"jsonrpc":"2.0","id":1,"method":"stats","params":{"tenant":"bob:x"}}"#);
    assert!(refused.contains("\"forbidden\""), "{refused}");
}

#[test]
fn a_token_that_is_taken_back_is_refused_within_seconds() {
    let (server, [token]) = with_tokens([&["--all"]], &[]);
    let file = server.root.path().join("tokens.json");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let status = || server.connect().rpc("/rpc", Some(&token), ping).status;
    assert_eq!(status(), 200);
    // A file that makes no sense changes nothing.
    fs::write(&file, "{").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(status(), 200);
    fs::write(&file, r#"{"tokens":[]}"#).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(status(), 401);
}

#[test]
fn a_token_has_its_rate() {
    let (server, [one, other]) = with_tokens([&["--all"], &["--all"]], &["--rate", "5"]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut connection = server.connect();
    let answers: Vec<_> = (0..30).map(|_| connection.rpc("/rpc", Some(&one), ping)).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(refused.len() >= 10 && refused.len() <= 20, "{} of 30 were refused", refused.len());
    assert_eq!(refused[0].kind(), "busy");
    assert!(refused[0].header("retry-after").is_some());
    assert_eq!(connection.rpc("/rpc", Some(&other), ping).status, 200);
}

/// A server that accepts tokens of an issuer, who signs with this key.
fn with_issuer() -> (Server, Ed25519KeyPair) {
    let root = TempDir::new().unwrap();
    let random = ring::rand::SystemRandom::new();
    let key = Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
    let public = BASE64_URL_SAFE_NO_PAD.encode(key.public_key());
    let keys = root.path().join("keys.json");
    let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": public}]});
    fs::write(&keys, set.to_string()).unwrap();
    let keys = keys.to_str().unwrap().to_owned();
    let options = [
        "--jwt-issuer",
        "https://issuer",
        "--jwt-audience",
        "talktree",
        "--jwt-keys",
        &keys,
        "--jwt-user-claim",
        "sub",
    ];
    (Server::start_in(root, &options), key)
}

fn signed(key: &Ed25519KeyPair, claims: &Value) -> String {
    let part = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let message = format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": "k1"})), part(claims));
    format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())))
}

fn seconds_from_now(seconds: i64) -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + seconds
}

#[test]
fn a_web_token_lets_its_user_in_and_nobody_else() {
    let (server, key) = with_issuer();
    let claims = json!({"iss": "https://issuer", "aud": "talktree", "sub": "ann", "exp": seconds_from_now(60)});
    let ann = signed(&key, &claims);
    let stored = server.call_as(Some(&ann), "appendMessage", &append("ann:x", "m1", "x"));
    assert_eq!(stored["result"]["inserted"], true, "{stored}");
    for tenant in ["ann", "anna:x", "bob:x", "an:x"] {
        let refused = server.call_as(Some(&ann), "appendMessage", &append(tenant, "m1", "x"));
        assert_eq!(kind(&refused), "forbidden", "{tenant}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let status = |token: &str| server.connect().rpc("/rpc", Some(token), ping).status;
    let changed = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        signed(&key, &claims)
    };
    for wrong in [
        changed("exp", json!(seconds_from_now(-1))),
        changed("iss", json!("https://other")),
        changed("aud", json!("other")),
        changed("nbf", json!(seconds_from_now(120))),
        changed("sub", json!("ann:x")),
        signed(&with_issuer().1, &claims),
        format!("{}.e30.{}", ann.split('.').next().unwrap(), ann.rsplit('.').next().unwrap()),
    ] {
        assert_eq!(status(&wrong), 401, "{wrong}");
    }
    assert_eq!(status(&ann), 200);
}

#[test]
fn a_conversation_ends_when_its_token_does() {
    let (server, key) = with_issuer();
    let claims = json!({"iss": "https://issuer", "aud": "talktree", "sub": "ann", "exp": seconds_from_now(3)});
    let bearer = format!("Bearer {}", signed(&key, &claims));
    let mut socket = server.socket("/rpc", &[("authorization", &bearer)]).unwrap();
    assert!(exchange(&mut socket, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).contains("\"result\""));
    let begun = std::time::Instant::now();
    assert_eq!(crate::client::next(&mut socket), None);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10));
}
