//! Nobody gets into a tenant of others: with every method there is, by every way in, under every name that looks alike.
//!
//! The methods are taken from the program's own table, the tools of MCP from its own list: what is added to them is
//! tested here without being named.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Answer, Server, append, kind, methods, next, token};

/// What the tenants of others hold. No answer to anybody else may hold it.
const SECRET: &str = "xyzzy-of-others";

/// Tenants of a token, and tenants that look like those and are none of its.
struct Case {
    options: &'static [&'static str],
    own: &'static [&'static str],
    foreign: &'static [&'static str],
}

const CASES: [Case; 2] = [
    Case {
        options: &["--tenant", "user1", "--tenant", "a:b"],
        own: &["user1", "a:b"],
        foreign: &[
            "user10",
            "user",
            "user1:",
            "user1:x",
            "user1:user1",
            "USER1",
            "User1",
            "user1 ",
            " user1",
            "user1\t",
            "user1.",
            "user1/",
            "./user1",
            "../user1",
            "user1/../user10",
            "user1\0",
            "user1\0x",
            "%75ser1",
            "user1%00",
            "user\u{ff11}",
            "u\u{455}er1",
            "user1\u{200b}",
            "\u{feff}user1",
            "\u{202e}1resu",
            "us\u{e9}r1",
            "a:b:c",
            "a:",
            "b",
            "a:bc",
            "a::b",
            "a\u{ff1a}b",
            "a\u{2236}b",
            "a;b",
            "a%3Ab",
            "a%3ab",
            "A:b",
        ],
    },
    Case {
        options: &["--prefix", "user1:", "--prefix", "a:b:"],
        own: &["user1:x", "user1:", "user1::", "user1:user10:x", "a:b:c", "a:b:"],
        foreign: &[
            "user10:x",
            "user10:",
            "user1",
            "user",
            "user10",
            "a:b",
            "a:bc",
            "a:b c",
            "a",
            "a:",
            "xuser1:",
            "xuser1:x",
            "user1;x",
            "user1\u{ff1a}x",
            "user1\u{2236}x",
            "user1\u{a789}x",
            "user1%3Ax",
            "User1:x",
            " user1:x",
            "user1 :x",
            "user1\0:x",
            "u\u{455}er1:x",
            "user1\u{301}:x",
            "\u{202e}user1:x",
            "../user1:x",
            "a:B:c",
            "A:b:c",
        ],
    },
];

/// A server with the tokens of the cases, and one for all tenants. Every tenant of others is there and holds a secret.
struct World {
    server: Server,
    tokens: Vec<String>,
    all: String,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("tokens.json");
        let tokens = CASES.iter().enumerate().map(|(at, case)| token(&file, &format!("t{at}"), case.options)).collect();
        let all = token(&file, "all", &["--all"]);
        let file = file.to_str().unwrap().to_owned();
        let server = Server::start_in(root, &["--token-file", &file, "--rate", "0"]);
        let world = Self { server, tokens, all };
        // Every second one: a refusal must not tell which.
        for tenant in foreign().iter().step_by(2) {
            let stored = world.server.call_as(Some(&world.all), "appendMessage", &append(tenant, "m", SECRET));
            assert_eq!(stored["result"]["inserted"], true, "{tenant:?}: {stored}");
        }
        world
    }

    fn cases(&self) -> impl Iterator<Item = (&str, &Case)> {
        self.tokens.iter().map(String::as_str).zip(&CASES)
    }

    /// What there is on the disk below the root.
    fn disk(&self) -> BTreeSet<String> {
        files(&self.server.root.path().join("data"))
    }
}

/// The tenants that no token of the cases is good for, each once.
fn foreign() -> Vec<&'static str> {
    let own = |tenant: &str| {
        let named = CASES.iter().any(|case| case.own.contains(&tenant));
        named || CASES[1].options.iter().any(|option| option.ends_with(':') && tenant.starts_with(option))
    };
    let foreign: BTreeSet<_> = CASES.iter().flat_map(|case| case.foreign.iter().copied()).collect();
    foreign.into_iter().filter(|tenant| !own(tenant)).collect()
}

/// The directories of tenants: what lies in them comes and goes with their use.
fn files(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

/// A name in an address, every byte of it escaped.
fn escaped(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Asks by one address with one token.
fn ask(server: &Server, method: &str, path: &str, token: &str, body: &str) -> Answer {
    let bearer = bearer(token);
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let answer = server.connect().ask(method, path, &headers, body);
    assert!(!answer.body.contains(SECRET), "{method} {path}: {}", answer.body);
    answer
}

/// One answer for all refusals: it does not depend on the tenant's name, or whether there is one.
#[track_caller]
fn is_refusal(answer: &Value, what: &str) {
    assert_eq!(kind(answer), "forbidden", "{what}: {answer}");
    assert_eq!(
        answer["error"],
        json!({"code": -32000, "message": "this tenant is none of those that you may use",
               "data": {"kind": "forbidden", "subject": "tenant"}}),
        "{what}"
    );
}

#[test]
fn the_table_of_methods_is_read_in_full() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/rpc.md")).unwrap();
    let documented: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect();
    let tested: BTreeSet<_> = methods().into_iter().map(|(name, _)| name).collect();
    assert_eq!(tested, documented);
}

#[test]
fn no_method_reaches_a_tenant_of_others_by_post() {
    let world = World::new();
    let before = world.disk();
    for (token, case) in world.cases() {
        let mut connection = world.server.connect();
        for (method, _) in methods().iter().filter(|(_, about_tenant)| *about_tenant) {
            for tenant in case.foreign {
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"tenant": tenant}});
                let answer = connection.rpc("/rpc", Some(token), &body.to_string());
                is_refusal(&answer.json(), &format!("{method} {tenant:?}"));
            }
        }
        for tenant in case.own {
            let stored = world.server.call_as(Some(token), "appendMessage", &append(tenant, "m1", "x"));
            assert_eq!(stored["result"]["inserted"], true, "{tenant}: {stored}");
            let deleted = world.server.call_as(Some(token), "deleteTenant", &json!({"tenant": tenant}));
            assert_eq!(deleted["result"]["deleted"], true, "{deleted}");
        }
    }
    assert_eq!(world.disk(), before, "nothing was made for those who were refused");
    // What others have is as it was.
    for tenant in foreign().iter().step_by(2) {
        let stats = world.server.call_as(Some(&world.all), "stats", &json!({"tenant": tenant}));
        assert_eq!(stats["result"]["messages"], 1, "{tenant:?}: {stats}");
    }
}

#[test]
fn no_method_reaches_a_tenant_of_others_by_a_websocket() {
    let world = World::new();
    for (token, case) in world.cases() {
        let bearer = bearer(token);
        let own = format!("/rpc?tenant={}", escaped(case.own[0]));
        for path in ["/rpc", own.as_str()] {
            let mut socket = world.server.socket(path, &[("authorization", &bearer)]).unwrap();
            let mut sent = 0;
            for (method, _) in methods().iter().filter(|(_, about_tenant)| *about_tenant) {
                // A connection for one tenant is for that one, whatever else the token is good for.
                let others = if path == "/rpc" { &[] } else { &case.own[1..] };
                for tenant in case.foreign.iter().chain(others) {
                    let request = json!({"jsonrpc": "2.0", "id": sent, "method": method, "params": {"tenant": tenant}});
                    socket.send(Message::text(request.to_string())).unwrap();
                    sent += 1;
                }
                while sent > 0 {
                    let answer: Value = serde_json::from_str(&next(&mut socket).unwrap()).unwrap();
                    is_refusal(&answer, method);
                    sent -= 1;
                }
            }
        }
        for tenant in case.foreign {
            let path = format!("/rpc?tenant={}", escaped(tenant));
            assert_eq!(world.server.refused(&path, &[("authorization", &bearer)]), 403, "{tenant:?}");
        }
    }
}

#[test]
fn no_method_reaches_a_tenant_of_others_by_the_address() {
    let world = World::new();
    let (token, case) = world.cases().next().unwrap();
    let own = format!("/rpc?tenant={}", escaped(case.own[0]));
    for (method, about_tenant) in methods() {
        let request =
            |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        for tenant in case.foreign {
            let path = format!("/rpc?tenant={}", escaped(tenant));
            let refused = ask(&world.server, "POST", &path, token, &request(json!({})));
            assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{method} {tenant:?}");
        }
        if about_tenant {
            for tenant in [case.own[1], case.foreign[0]] {
                let answer = ask(&world.server, "POST", &own, token, &request(json!({"tenant": tenant})));
                is_refusal(&answer.json(), &method);
            }
        }
    }
}

#[test]
fn a_tenant_that_is_named_twice_is_none() {
    let world = World::new();
    let (token, case) = world.cases().next().unwrap();
    let (own, other) = (case.own[0], case.foreign[0]);
    for params in [
        format!(r#"{{"tenant":"{own}","tenant":"{other}"}}"#),
        format!(r#"{{"tenant":"{other}","tenant":"{own}"}}"#),
        format!(r#"{{"tenant":"{own}","\u0074enant":"{other}"}}"#),
        format!(r#"{{"tenant":["{own}","{other}"]}}"#),
        format!(r#"{{"tenant":{{"name":"{own}"}}}}"#),
        format!(r#"{{"tenant":"{own}\ud800"}}"#),
        format!(r#"{{"Tenant":"{other}"}}"#),
        r#"{"tenant":null}"#.to_owned(),
        r#"{"tenant":1}"#.to_owned(),
        r#"{"tenant":""}"#.to_owned(),
    ] {
        for (method, _) in methods().iter().filter(|(_, about_tenant)| *about_tenant) {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            let answer = ask(&world.server, "POST", "/rpc", token, &body).json();
            assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
        }
    }
    for (body, code) in [
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"stats","params":{{"tenant":"{own}"}},"params":{{"tenant":"{other}"}}}}"#
            ),
            -32600,
        ),
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"stats","params":{{"tenant":"{own}"}},"par\u0061ms":{{"tenant":"{other}"}}}}"#
            ),
            -32600,
        ),
        (
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"ping","method":"deleteTenant","params":{{"tenant":"{other}"}}}}"#
            ),
            -32600,
        ),
        (format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"stats","params":{{"tenant":"{other}"}}}}]"#), -32600),
    ] {
        let answer = ask(&world.server, "POST", "/rpc", token, &body).json();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
    // The escape of a letter is that letter.
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"stats","params":{{"ten\u0061nt":"{other}"}}}}"#);
    is_refusal(&ask(&world.server, "POST", "/rpc", token, &body).json(), &body);
}

#[test]
fn no_tool_and_no_resource_of_mcp_reaches_a_tenant_of_others() {
    let world = World::new();
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    for (token, case) in world.cases() {
        let post =
            |path: &str, method: &str, params: Value| ask(&world.server, "POST", path, token, &request(method, params));
        let tools = post("/mcp", "tools/list", json!({})).json()["result"]["tools"].clone();
        let tools: Vec<_> = tools.as_array().unwrap().iter().filter(|tool| tool["name"] != "list_tenants").collect();
        assert!(tools.len() >= 15, "{}", tools.len());
        for tool in &tools {
            for tenant in case.foreign {
                // Everything that it needs, so that nothing but the tenant is wrong.
                let mut arguments = json!({});
                for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
                    if tool["inputSchema"]["required"].as_array().unwrap().contains(&json!(name)) {
                        arguments[name] = sample(schema);
                    }
                }
                if tool["name"] == "append_message" {
                    arguments["text"] = json!("x");
                }
                if tool["name"] == "update_message" {
                    arguments["message"] = json!(r#"{"id":"m","role":"user","parts":[]}"#);
                }
                arguments["tenant"] = json!(tenant);
                let answer = post("/mcp", "tools/call", json!({"name": tool["name"], "arguments": arguments})).json();
                assert_eq!(answer["result"]["isError"], true, "{} {tenant:?}: {answer}", tool["name"]);
                assert_eq!(
                    answer["result"]["content"][0]["text"], "forbidden: this tenant is none of those that you may use",
                    "{} {tenant:?}",
                    tool["name"]
                );
            }
        }
        for tenant in case.foreign {
            let path = format!("/mcp?tenant={}", escaped(tenant));
            for method in ["initialize", "tools/list", "tools/call", "resources/list", "prompts/list", "ping"] {
                assert_eq!(post(&path, method, json!({})).status, 403, "{method} {tenant:?}");
            }
            for form in ["transcript", "messages"] {
                let uri = format!("talktree://{form}/{}/", escaped(tenant));
                let answer = post("/mcp", "resources/read", json!({"uri": uri})).json();
                assert!(answer["error"]["message"].as_str().unwrap().starts_with("forbidden"), "{uri}: {answer}");
            }
        }
        // Who is confined by the address cannot name another tenant, one of the token's neither.
        let own = format!("/mcp?tenant={}", escaped(case.own[0]));
        for tenant in [case.own[1], case.foreign[0]] {
            for tool in &tools {
                let arguments = json!({"name": tool["name"], "arguments": {"tenant": tenant}});
                let answer = post(&own, "tools/call", arguments).json();
                let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
                assert!(said.contains("has no argument \"tenant\""), "{}: {answer}", tool["name"]);
            }
            let uri = format!("talktree://transcript/{}/", escaped(tenant));
            let answer = post(&own, "resources/read", json!({"uri": uri})).json();
            assert!(answer["error"]["message"].as_str().unwrap().starts_with("forbidden"), "{uri}: {answer}");
        }
        let listed = post("/mcp", "tools/call", json!({"name": "list_tenants", "arguments": {}})).json();
        assert_eq!(listed["result"]["structuredContent"]["tenants"], json!([]), "{listed}");
        let listed = post("/mcp", "resources/list", json!({})).json();
        assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
    }
}

/// A value that a schema allows.
fn sample(schema: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap();
    match kind {
        "string" => json!("m"),
        "integer" => json!(1),
        "boolean" => json!(true),
        "array" => json!([sample(&schema["items"])]),
        other => panic!("{other}"),
    }
}

#[test]
fn events_and_agents_are_for_the_token_s_own_tenants() {
    let world = World::new();
    for (token, case) in world.cases() {
        let bearer = bearer(token);
        for tenant in case.foreign {
            for more in ["", "&from=oldest", "&session=", "&types=append", "&cursor=0"] {
                let path = format!("/events?tenant={}{more}", escaped(tenant));
                let refused = ask(&world.server, "GET", &path, token, "");
                assert_eq!((refused.status, refused.kind().as_str()), (403, "forbidden"), "{tenant:?}");
            }
            let path = format!("/agents/coder-agent/{}", escaped(tenant));
            assert_eq!(world.server.refused(&path, &[("authorization", &bearer)]), 403, "{tenant:?}");
        }
        for tenant in case.own {
            let path = format!("/agents/coder-agent/{}", escaped(tenant));
            drop(world.server.socket(&path, &[("authorization", &bearer)]).unwrap());
        }
    }
}

/// The ways in that take a tenant in the address, as statuses of what they answer.
fn by_all_addresses(world: &World, token: &str, query: &str) -> BTreeSet<u16> {
    let bearer = bearer(token);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#;
    let socket = |path: String| match world.server.socket(&path, &[("authorization", &bearer)]) {
        Ok(_) => 200,
        Err(_) => world.server.refused(&path, &[("authorization", &bearer)]),
    };
    // The events of a tenant that may be read go on for ever: the head is enough.
    let mut events = world.server.connect();
    events.send(format!("GET /events?{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n\r\n"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut events.stream, &mut line).unwrap();
    BTreeSet::from([
        ask(&world.server, "POST", &format!("/rpc?{query}"), token, ping).status,
        ask(&world.server, "POST", &format!("/mcp?{query}"), token, initialize).status,
        socket(format!("/rpc?{query}")),
        line.split(' ').nth(1).unwrap().parse().unwrap(),
    ])
}

#[test]
fn an_address_is_read_in_one_way_only() {
    let world = World::new();
    let [names, prefixes] = [&world.tokens[0], &world.tokens[1]];
    for (token, query, status) in [
        // One name, however it is spelled.
        (names, "tenant=user1", 200),
        (names, "tenant=%75%73er1", 200),
        (names, "tenant=a%3Ab", 200),
        (names, "tenant=a%3ab", 200),
        (names, "user=a&conversation=b", 200),
        (names, "conversation=b&user=%61&_pk=1", 200),
        (names, "tenant=a:b&user=a&conversation=b", 200),
        (prefixes, "user=user1&conversation=x", 200),
        // Escaped twice it is another one, and so is one with something before or behind it.
        (names, "tenant=%2575ser1", 403),
        (names, "tenant=user1%00", 403),
        (names, "tenant=user1+", 403),
        (names, "tenant=user1%20", 403),
        (names, "tenant=user1;tenant=user10", 403),
        (names, "tenant=user%EF%BC%91", 403),
        (names, "user=user1&conversation=x", 403),
        (prefixes, "user=user10&conversation=x", 403),
        (prefixes, "user=user1%20&conversation=x", 403),
        (prefixes, "user=user1%EF%BC%9A&conversation=x", 403),
        (prefixes, "user=a&conversation=bc", 403),
        // Two users never meet: `a:b` with `c` is refused, whoever asks.
        (names, "user=a:b&conversation=c", 400),
        (prefixes, "user=a:b&conversation=c", 400),
        (&world.all, "user=a%3Ab&conversation=c", 400),
        (&world.all, "user=a:&conversation=b", 400),
        (&world.all, "user=:&conversation=b", 400),
        // Nothing is guessed from what is named twice, in part, or in no text.
        (names, "tenant=user1&tenant=user10", 400),
        (names, "tenant=user10&tenant=user1", 400),
        (names, "tenant=user1&%74enant=user10", 400),
        (names, "tenant=a:b&user=a&conversation=c", 400),
        (names, "user=a&user=b&conversation=b", 400),
        (names, "user=a", 400),
        (names, "tenant=", 400),
        (names, "tenant=user1%FF", 400),
        (names, "tenant=%C1%B5ser1", 400),
        (names, "tenant=user1%ED%A0%80", 400),
        (&world.all, "tenant=%", 200),
    ] {
        assert_eq!(by_all_addresses(&world, token, query), BTreeSet::from([status]), "{query}");
    }
}

#[test]
fn a_path_leads_to_one_place_or_nowhere() {
    let world = World::new();
    let bearer = bearer(&world.tokens[0]);
    let headers = [("authorization", bearer.as_str())];
    for (path, status) in [
        ("/agents/coder-agent/user1%2f..%2fuser10", 403),
        ("/agents/coder-agent/user1%00", 403),
        ("/agents/coder-agent/%2575ser1", 403),
        ("/agents/coder-agent/user10?user=user1&conversation=x", 400),
        ("/agents/coder-agent/user1?tenant=user10", 400),
        ("/agents/coder-agent/user1%ff", 400),
    ] {
        assert_eq!(world.server.refused(path, &headers), status, "{path}");
    }
    for path in [
        "/agents/coder-agent/user1/../user10",
        "/agents/coder-agent/user1/user10",
        "/agents/coder-agent/",
        "/agents/other-agent/user1",
        "/agents",
        "/rpc/",
        "//rpc",
        "/rpc/../metrics",
        "/./metrics",
        "/metrics/",
        "/metrics;x",
        "/Metrics",
        "/metrics%2f",
        "/%6detrics",
        "/mcp/user10",
    ] {
        let answer = ask(&world.server, "GET", path, &world.tokens[0], "");
        assert_eq!(answer.status, 404, "{path}");
    }
}
