//! Promises of `talktree rpc`, kept by the real program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod program;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
    thread,
    time::Duration,
};

use program::{Server, message, talktree};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn server() -> (TempDir, Server) {
    let root = tempdir().unwrap();
    let server = Server::start(root.path());
    (root, server)
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}

fn kind(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("no error of the store: {answer}"))
}

#[test]
fn a_message_comes_back_byte_for_byte() {
    let (_root, mut server) = server();
    let odd = r#"{"parts":[{"type":"text","text":"\u0000 \ud83d \/ é  "}],"n":[1.0,1e3,18446744073709551616,-0.0],"id":"m","role":"user","x":{"b":1,"a":2,"b":3}}"#;
    server.call_raw("appendMessage", &format!(r#"{{"tenant":"t","message":{odd}}}"#));
    for (method, params) in [
        ("getMessage", r#"{"tenant":"t","id":"m"}"#),
        ("getLatestLeaf", r#"{"tenant":"t"}"#),
        ("getHistory", r#"{"tenant":"t"}"#),
        ("readHistory", r#"{"tenant":"t"}"#),
        ("getRecentHistory", r#"{"tenant":"t","maxBytes":1}"#),
        ("getBranches", r#"{"tenant":"t","id":null}"#),
    ] {
        let line = server.call_raw(method, params);
        assert!(line.contains(odd), "{method}: {line}");
    }
    server.finish();
}

#[test]
fn the_store_decides_what_a_message_is_at_any_depth() {
    let (_root, mut server) = server();
    let nested = |depth: usize| {
        // The message is depth 1, its parts are depth 2.
        let inner = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"tenant":"t","message":{{"id":"d{depth}","role":"user","parts":[{inner}]}}}}"#)
    };
    let stored = server.call_raw("appendMessage", &nested(128));
    assert!(stored.contains(r#""inserted":true"#), "{stored}");
    for message in [nested(129), nested(50_000)] {
        let refused: Value = serde_json::from_str(&server.call_raw("appendMessage", &message)).unwrap();
        assert_eq!(kind(&refused), "invalid-message");
    }
    for message in ["\"text\"", "5", "[]", "true", "{}"] {
        let line = server.call_raw("appendMessage", &format!(r#"{{"tenant":"t","message":{message}}}"#));
        let refused: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((code(&refused), kind(&refused)), (-32000, "invalid-message"));
    }
    // Deeper than what many a library reads as a tree of values.
    let history = server.call_raw("getHistory", r#"{"tenant":"t"}"#);
    assert!(history.contains(&format!("[{}{}]", "[".repeat(126), "]".repeat(126))), "{history}");
    assert_eq!(history.matches("\"role\"").count(), 1, "{history}");
    server.finish();
}

#[test]
fn requests_of_one_tenant_are_carried_out_in_order_without_waiting_for_answers() {
    let (_root, mut server) = server();
    let mut lines = String::new();
    for at in 0..300 {
        let params = json!({"tenant": "t", "message": message(&format!("m{at}"), "user", "x")});
        lines += &json!({"jsonrpc": "2.0", "id": at, "method": "appendMessage", "params": params}).to_string();
        lines.push('\n');
    }
    server.send(lines);
    let answers: Vec<i64> = (0..300).map(|_| server.answer()["id"].as_i64().unwrap()).collect();
    assert_eq!(answers, (0..300).collect::<Vec<_>>());
    assert_eq!(server.history(), (0..300).map(|at| format!("m{at}")).collect::<Vec<_>>());
    server.finish();
}

#[test]
fn everything_read_is_answered_at_the_end_of_input() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    let mut lines = String::new();
    for at in 0..100 {
        for tenant in ["a", "b", "c"] {
            let params = json!({"tenant": tenant, "message": message(&format!("m{at}"), "user", "x")});
            let request =
                json!({"jsonrpc": "2.0", "id": format!("{tenant}{at}"), "method": "appendMessage", "params": params});
            lines += &request.to_string();
            lines.push('\n');
        }
    }
    // The last line needs no end.
    lines.pop();
    server.send(lines);
    server.end_input();
    let answers = server.rest();
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(answers.len(), 300);
    assert!(answers.iter().all(|answer| answer["result"]["inserted"] == json!(true)), "{answers:?}");
}

#[test]
fn a_client_that_does_not_read_stops_it_and_loses_nothing() {
    let root = tempdir().unwrap();
    let mut command = talktree();
    command.args(["rpc", "--root"]).arg(root.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Many times more than may be under way at once, and more answers than a pipe holds.
    let mut lines = String::new();
    for at in 0..20_000 {
        lines += &format!("{{\"jsonrpc\":\"2.0\",\"id\":{at},\"method\":\"ping\"}}\n");
    }
    let sending = thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    thread::sleep(Duration::from_secs(1));
    assert!(!sending.is_finished(), "it stops reading rather than fill its memory");
    let mut seen: Vec<i64> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["id"].as_i64().unwrap())
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20_000).collect::<Vec<_>>());
    sending.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_good_order() {
    for signal in ["TERM", "INT"] {
        let root = tempdir().unwrap();
        let mut server = Server::start(root.path());
        let mut lines = String::new();
        for at in 0..200 {
            let params = json!({"tenant": "t", "message": message(&format!("m{at}"), "user", "x")});
            lines += &json!({"jsonrpc": "2.0", "id": at, "method": "appendMessage", "params": params}).to_string();
            lines.push('\n');
        }
        server.send(lines);
        server.answer();
        let killed = std::process::Command::new("kill").arg(format!("-{signal}")).arg(server.id().to_string()).status();
        assert!(killed.unwrap().success());
        let answered = 1 + server.rest().len();
        assert_eq!(server.wait().code(), Some(0), "{signal}");
        let mut after = Server::start(root.path());
        assert_eq!(after.history().len(), answered, "what was stored was answered, and what was answered is stored");
        after.finish();
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    let root = tempdir().unwrap();
    let mut command = talktree();
    command
        .args(["rpc", "--root"])
        .arg(root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // Nobody reads the answers, so an end in good order is not to be had.
    let sending = thread::spawn(move || {
        let _ = (0..20_000).try_for_each(|_| input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"));
    });
    // One answer shows that it is there and listens.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    // By then the pipe is full, and answers wait that nobody takes.
    thread::sleep(Duration::from_secs(2));
    let signal = |child: &std::process::Child| {
        std::process::Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
        thread::sleep(Duration::from_millis(500));
    };
    signal(&child);
    assert_eq!(child.try_wait().unwrap(), None, "it still tries to answer");
    let ended = (0..60).find_map(|_| {
        signal(&child);
        child.try_wait().unwrap()
    });
    assert_eq!(ended.expect("it ends").code(), Some(1));
    sending.join().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn answers_that_cannot_be_written_are_a_failure() {
    let root = tempdir().unwrap();
    let mut command = talktree();
    command.args(["rpc", "--root"]).arg(root.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("error: "), "{done:?}");
}

#[test]
fn a_closed_stdout_ends_it_cleanly_while_the_input_is_open() {
    let root = tempdir().unwrap();
    let mut child = talktree()
        .args(["rpc", "--root"])
        .arg(root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    let ended = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap()
    });
    assert_eq!(ended.expect("it ends").code(), Some(0));
    let told = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&told.stderr), "");
}

#[test]
fn what_was_answered_survives_a_kill() {
    let root = tempdir().unwrap();
    for at in 0..5 {
        let mut server = Server::start(root.path());
        assert_eq!(server.history().len(), at);
        server.call("appendMessage", json!({"message": message(&format!("m{at}"), "user", "x")}));
        server.kill();
    }
}

#[test]
fn bad_lines_are_answered_and_the_next_is_served() {
    let (_root, mut server) = server();
    for (line, expected) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\""[..], -32700),
        (b"hello", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"[]", -32600),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
    ] {
        server.send([line, b"\n"].concat());
        let answer = server.answer();
        assert_eq!(code(&answer), expected, "{answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        // Blank lines are nothing, and a line may end with CRLF.
        server.send("\n \t\r\n");
        let pong = server.ask("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r");
        assert_eq!(pong["result"]["name"], json!("talktree"));
    }
    server.finish();
}

#[test]
fn a_request_that_is_too_long_is_refused_and_skipped() {
    let root = tempdir().unwrap();
    let mut server = Server::start_with(root.path(), &["--max-request", "1KiB"]);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(5_000_000));
    let answer = server.ask(&long);
    assert_eq!((code(&answer), &answer["id"]), (-32600, &Value::Null));
    let exact = |length: usize| {
        let frame = r#"{"jsonrpc":"2.0","id":2,"method":"ping","x":""}"#;
        frame.replace(r#""x":"""#, &format!(r#""x":"{}""#, "x".repeat(length - frame.len())))
    };
    assert_eq!(server.ask(&exact(1_024))["id"], json!(2));
    assert_eq!(code(&server.ask(&exact(1_025))), -32600);
    server.finish();
}

#[test]
fn a_request_without_an_id_is_carried_out_and_not_answered() {
    let (_root, mut server) = server();
    let params = json!({"tenant": "t", "message": message("m", "user", "x")});
    for request in [
        json!({"jsonrpc": "2.0", "method": "appendMessage", "params": params}),
        json!({"jsonrpc": "2.0", "method": "nosuch"}),
        json!({"jsonrpc": "2.0", "method": "getMessage", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "ping", "params": []}),
    ] {
        server.send(format!("{request}\n"));
    }
    assert_eq!(server.history(), ["m"]);
    // A null id is an id.
    assert_eq!(server.ask(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#)["id"], Value::Null);
    server.finish();
}

#[test]
fn params_that_are_wrong_are_refused_by_name() {
    let (root, mut server) = server();
    for (method, params, name) in [
        ("getMessage", r#"{"id":"x"}"#, "tenant"),
        ("getMessage", r#"{"tenant":"","id":"x"}"#, "tenant"),
        ("getMessage", r#"{"tenant":7,"id":"x"}"#, "tenant"),
        ("getMessage", r#"{"tenant":"\ud83d","id":"x"}"#, "tenant"),
        ("getMessage", r#"{"tenant":"t","session":"\udc00","id":"x"}"#, "session"),
        ("getMessage", r#"{"tenant":"t","session":1,"id":"x"}"#, "session"),
        ("getMessage", r#"{"tenant":"t"}"#, "id"),
        ("getMessage", r#"{"tenant":"t","id":null}"#, "id"),
        ("getMessage", r#"{"tenant":"t","id":"x","bogus":1}"#, "bogus"),
        ("getMessage", r#"{"tenant":"t","id":"x","id":"y"}"#, "id"),
        ("setLeaf", r#"{"tenant":"t"}"#, "id"),
        ("getBranches", r#"{"tenant":"t"}"#, "id"),
        ("appendMessage", r#"{"tenant":"t"}"#, "message"),
        ("appendMessages", r#"{"tenant":"t","messages":{}}"#, "messages"),
        ("appendMessage", r#"{"tenant":"t","message":{},"source":5}"#, "source"),
        ("importMessage", r#"{"tenant":"t","message":{},"createdAt":1}"#, "parentId"),
        ("importMessage", r#"{"tenant":"t","message":{},"parentId":null}"#, "createdAt"),
        ("deleteMessages", r#"{"tenant":"t","ids":"x"}"#, "ids"),
        ("deleteMessages", r#"{"tenant":"t","ids":[5]}"#, "ids"),
        ("readHistory", r#"{"tenant":"t","batchSize":"5"}"#, "batchSize"),
        ("readHistory", r#"{"tenant":"t","batchSize":1.5}"#, "batchSize"),
        ("readHistory", r#"{"tenant":"t","newestFirst":1}"#, "newestFirst"),
        ("getRecentHistory", r#"{"tenant":"t"}"#, "maxBytes"),
        ("listTenants", r#"{"tenant":"t"}"#, "tenant"),
        ("check", r#"{"tenant":"t","session":""}"#, "session"),
        ("configure", r#"{"tenant":"t","reservedMetadataKeys":"k"}"#, "reservedMetadataKeys"),
    ] {
        let answer: Value = serde_json::from_str(&server.call_raw(method, params)).unwrap();
        assert_eq!(code(&answer), -32602, "{method} {params}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(&format!("\"{name}\"")), "{answer}");
    }
    server.finish();
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn values_out_of_their_range_are_invalid_arguments() {
    let (_root, mut server) = server();
    server.call("appendMessage", json!({"message": message("m", "user", "x")}));
    for (method, params) in [
        ("readHistory", r#"{"tenant":"t","batchSize":0}"#),
        ("readHistory", r#"{"tenant":"t","batchSize":1001}"#),
        ("readHistory", r#"{"tenant":"t","batchSize":-1}"#),
        ("readHistory", r#"{"tenant":"t","batchSize":4294967296}"#),
        ("listMessages", r#"{"tenant":"t","limit":1001}"#),
        ("listTenants", r#"{"limit":0}"#),
        ("getRecentHistory", r#"{"tenant":"t","maxBytes":1e400}"#),
        ("appendMessage", r#"{"tenant":"t","message":{},"source":"nobody"}"#),
        ("deleteMessages", r#"{"tenant":"t","ids":[],"mode":"all"}"#),
        ("getMessage", r#"{"tenant":"t","id":"\ud83d"}"#),
        ("configure", r#"{"tenant":"t","tokenFactor":0}"#),
        ("configure", r#"{"tenant":"t","autoCompact":"sometimes"}"#),
    ] {
        let answer: Value = serde_json::from_str(&server.call_raw(method, params)).unwrap();
        assert_eq!(kind(&answer), "invalid-argument", "{method} {params}: {answer}");
    }
    // However a whole number is written.
    for size in ["1", "1.0", "10e-1"] {
        let line = server.call_raw("readHistory", &format!(r#"{{"tenant":"t","batchSize":{size}}}"#));
        assert!(line.contains("\"result\""), "{line}");
    }
    server.finish();
}

#[test]
fn methods_that_are_not_there_are_said_so() {
    let (_root, mut server) = server();
    for method in ["nosuch", "", "AppendMessage", "rpc.discover"] {
        assert_eq!(code(&server.try_call(method, json!({}))), -32601);
    }
    server.finish();
}

#[test]
fn null_means_what_the_method_says() {
    let (_root, mut server) = server();
    server.call("appendMessage", json!({"message": message("a", "user", "x"), "expectedLeaf": null}));
    let moved = server.try_call("appendMessage", json!({"message": message("b", "user", "x"), "expectedLeaf": null}));
    assert_eq!(kind(&moved), "leaf-moved");
    server.call("appendMessage", json!({"message": message("b", "user", "x"), "parentId": null}));
    assert_eq!(server.history(), ["b"], "null is a new root");
    assert_eq!(server.call("getBranches", json!({"id": null}))["messages"].as_array().unwrap().len(), 2);
    server.call("setLeaf", json!({"id": "a"}));
    assert_eq!(server.call("setLeaf", json!({"id": null})), json!({"leafId": "b"}));
    let absent = server.call("getMessage", json!({"id": "zz", "session": null}));
    assert_eq!(
        absent,
        json!({"message": null, "parentId": null, "seq": null, "createdAt": null, "tokenEstimate": null})
    );

    server.call("configure", json!({"session": null, "keepRecentTokens": 7}));
    let inherited = server.call("configure", json!({"session": "s"}));
    assert_eq!(inherited["keepRecentTokens"], json!(7));
    assert_eq!(server.call("configure", json!({"session": "s", "keepRecentTokens": 9}))["keepRecentTokens"], json!(9));
    assert_eq!(
        server.call("configure", json!({"session": "s", "keepRecentTokens": null}))["keepRecentTokens"],
        json!(7)
    );
    let reset = server.call("configure", json!({"session": null, "keepRecentTokens": null}));
    assert_eq!(
        reset,
        json!({
            "compactAfter": null, "keepRecentTokens": 20_000, "protectHead": 3, "minTail": 2,
            "maxPromptTokens": 100_000, "autoCompact": "host", "reservedMetadataKeys": [], "tokenFactor": 1.0,
        })
    );
    server.finish();
}

#[test]
fn reserved_keys_of_the_command_line_hold_for_every_tenant() {
    let root = tempdir().unwrap();
    let mut server = Server::start_with(root.path(), &["--reserved-metadata-keys", "a,b"]);
    for tenant in ["t", "u"] {
        let mut message = message("m", "user", "x");
        message["metadata"] = json!({"a": 1, "b": 2, "c": 3});
        server.call("appendMessage", json!({"tenant": tenant, "message": message, "source": "client"}));
        let stored = server.call("getMessage", json!({"tenant": tenant, "id": "m"}));
        assert_eq!(stored["message"]["metadata"], json!({"c": 3}));
    }
    server.finish();
}

#[test]
fn the_log_never_gets_between_the_answers() {
    let root = tempdir().unwrap();
    let mut server = Server::spawn(
        talktree().args(["rpc", "--root"]).arg(root.path()).env("TALKTREE_LOG", "trace").stderr(Stdio::null()),
    );
    server.call("appendMessage", json!({"message": message("m", "user", "x")}));
    server.try_call("getHistory", json!({"leafId": "zz"}));
    server.end_input();
    assert_eq!(server.rest(), Vec::<Value>::new());
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_second_process_on_the_same_root_gets_busy() {
    let (root, mut server) = server();
    server.call("appendMessage", json!({"message": message("m", "user", "x")}));
    let mut second = Server::start(root.path());
    assert_eq!(kind(&second.try_call("getHistory", json!({}))), "busy");
    // Closing lets go of it.
    assert_eq!(server.call("close", json!({})), json!({"closed": true}));
    assert_eq!(second.history(), ["m"]);
    second.finish();
    assert_eq!(server.history(), ["m"]);
    server.finish();
}

#[test]
fn tenants_are_listed_and_a_store_is_sound() {
    let (_root, mut server) = server();
    for tenant in ["easy:test1", "../x", "é"] {
        server.call("appendMessage", json!({"tenant": tenant, "message": message("m", "user", "x")}));
    }
    let line = server.call_raw("listTenants", "{}");
    let listed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(listed["result"], json!({"tenants": ["../x", "easy:test1", "é"], "cursor": null}));
    assert_eq!(server.call("check", json!({"tenant": "é"})), json!({"sound": true, "problems": []}));
    let pong = server.call_raw("ping", "{}");
    assert!(pong.contains(r#""apiVersion":"0.1.0""#), "{pong}");
    server.finish();
}

#[test]
fn options_are_checked_before_anything_is_served() {
    let root = tempdir().unwrap();
    for bad in [
        &["--durability", "maybe"][..],
        &["--memory-limit", "lots"],
        &["--call-timeout", "0"],
        &["--max-request", "0"],
        &["--summarizer", "openai:nowhere"],
        &["--bogus"],
    ] {
        let done = talktree().args(["rpc", "--root"]).arg(root.path()).args(bad).stdin(Stdio::null()).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{bad:?}");
        assert!(done.stdout.is_empty() && !done.stderr.is_empty());
    }
    for good in [&["--summarizer", "none"][..], &["--summarizer", "command:cat"], &["--durability", "normal"]] {
        let mut server = Server::start_with(root.path(), good);
        server.call("appendMessage", json!({"message": message("m", "user", "x")}));
        server.finish();
    }
}

#[test]
fn a_root_that_cannot_be_is_told_on_stderr() {
    let root = tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    for place in [file, root.path().join("no/such/parent")] {
        let done = talktree().args(["rpc", "--root"]).arg(&place).stdin(Stdio::null()).output().unwrap();
        assert_eq!(done.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&done.stderr).starts_with("error: "), "{done:?}");
        assert!(done.stdout.is_empty());
    }
}
