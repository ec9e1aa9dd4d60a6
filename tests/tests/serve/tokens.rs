//! JSON Web Tokens made by others: `vectors/make.py` has signed them with every algorithm, and forged them in every way.

use std::{collections::BTreeMap, sync::OnceLock};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::client::{Connection, Server, append, kind};

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/vectors/keys.json");
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

struct Vectors {
    issuer: String,
    audience: String,
    good: BTreeMap<String, String>,
    bad: BTreeMap<String, String>,
}

fn vectors() -> &'static Vectors {
    static VECTORS: OnceLock<Vectors> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let file: Value = serde_json::from_str(include_str!("vectors/tokens.json")).unwrap();
        let text = |name: &str| file[name].as_str().unwrap().to_owned();
        let tokens = |name: &str| serde_json::from_value(file[name].clone()).unwrap();
        Vectors { issuer: text("issuer"), audience: text("audience"), good: tokens("good"), bad: tokens("bad") }
    })
}

fn server() -> Server {
    let Vectors { issuer, audience, .. } = vectors();
    let options = ["--jwt-issuer", issuer, "--jwt-audience", audience, "--jwt-keys", KEYS, "--jwt-user-claim", "sub"];
    Server::start(&[&options[..], &["--rate", "0"]].concat())
}

fn status(connection: &mut Connection, token: &str) -> u16 {
    connection.rpc("/rpc", Some(token), PING).status
}

#[test]
fn tokens_of_every_algorithm_let_in_to_their_tenants_and_no_others() {
    let server = server();
    assert!(vectors().good.len() >= 13);
    for (name, token) in &vectors().good {
        let stored = server.call_as(Some(token), "appendMessage", &append("ann:x", name, "x"));
        assert_eq!(stored["result"]["inserted"], true, "{name}: {stored}");
        for tenant in ["ann", "anna:x", "an:x", "bob:x", "Ann:x"] {
            let refused = server.call_as(Some(token), "stats", &json!({"tenant": tenant}));
            assert_eq!(kind(&refused), "forbidden", "{name}: {tenant}");
        }
        let bearer = format!("Bearer {token}");
        assert_eq!(server.connect().ask("GET", "/metrics", &[("authorization", &bearer)], "").status, 403, "{name}");
    }
}

#[test]
fn forged_expired_and_foreign_tokens_are_refused_by_every_way_in() {
    let server = server();
    assert!(vectors().bad.len() >= 60, "{}", vectors().bad.len());
    let mut connection = server.connect();
    for (name, token) in &vectors().bad {
        let refused = connection.rpc("/rpc", Some(token), PING);
        assert_eq!((refused.status, refused.kind().as_str()), (401, "forbidden"), "{name}");
        // What is wrong with it is for the log, not for who has made it.
        assert!(refused.body.contains("this token is not accepted, or not any more"), "{name}: {}", refused.body);
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        for path in ["/events?tenant=ann:x", "/mcp?tenant=ann:x", "/metrics"] {
            assert_eq!(connection.ask("GET", path, &headers, "").status, 401, "{name}: {path}");
        }
        for path in ["/rpc", "/agents/coder-agent/ann:x"] {
            assert_eq!(server.refused(path, &headers), 401, "{name}: {path}");
        }
        let offered = format!("talktree, bearer.{token}");
        // What cannot stand in that header does not even get so far.
        if !token.contains('=') {
            assert_eq!(server.refused("/rpc", &[("sec-websocket-protocol", &offered)]), 401, "{name}");
        }
    }
}

#[test]
fn a_token_that_is_cut_short_or_changed_anywhere_is_refused() {
    let server = server();
    let mut connection = server.connect();
    for name in ["RS256", "PS384", "ES256", "ES384", "EdDSA"] {
        let token = &vectors().good[name];
        assert_eq!(status(&mut connection, token), 200, "{name}");
        // Not every length of a long signature: those around its dots, and steps between.
        let dots: Vec<_> = token.match_indices('.').map(|(at, _)| at).collect();
        let near = |at: usize| dots.iter().any(|dot| at.abs_diff(*dot) < 3) || at < 3 || token.len() - at < 5;
        for at in (0..token.len()).filter(|at| near(*at) || at % 7 == 0) {
            assert_eq!(status(&mut connection, &token[..at]), 401, "{name}: the first {at}");
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(status(&mut connection, &changed), 401, "{name}: changed at {at}");
        }
        for more in ["A", ".", "..", "=", "%00", "\u{e9}", ".A", "\t.A"] {
            let answer = connection.rpc("/rpc", Some(&format!("{token}{more}")), PING);
            assert_eq!(answer.status, 401, "{name}: with {more:?}");
        }
    }
}

/// The last letter of base64 may have bits that mean nothing: other letters there would be the same signature.
#[test]
fn a_token_has_one_spelling() {
    let server = server();
    let mut connection = server.connect();
    let token = &vectors().good["ES256"];
    let signature = token.rsplit('.').next().unwrap();
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    assert_ne!(bytes.len() % 3, 0, "there are bits to spare");
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let accepted: Vec<_> = letters
        .chars()
        .filter(|letter| status(&mut connection, &format!("{}{letter}", &token[..token.len() - 1])) == 200)
        .collect();
    assert_eq!(accepted, [token.chars().last().unwrap()]);
}

#[test]
fn parts_of_different_tokens_do_not_go_together() {
    let server = server();
    let mut connection = server.connect();
    let split = |token: &'static str| -> [&'static str; 3] { token.split('.').collect::<Vec<_>>().try_into().unwrap() };
    let parts: Vec<_> = vectors().good.iter().map(|(name, token)| (name, split(token))).collect();
    for (name, [header, claims, _]) in &parts {
        for (other, [other_header, other_claims, other_signature]) in &parts {
            if (header, claims) != (other_header, other_claims) {
                let mixed = format!("{header}.{claims}.{other_signature}");
                assert_eq!(status(&mut connection, &mixed), 401, "{name}, signed as {other}");
            }
        }
    }
}
