//! The Model Context Protocol, on stdin and stdout and over HTTP. `tests/mcp` has the same with a client of others.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::client::{Server, append, command, token};

/// A running `talktree mcp`.
struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

impl Mcp {
    fn start(root: &Path, options: &[&str]) -> Self {
        let mut child = command()
            .args(["mcp", "--root"])
            .arg(root)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut mcp = Self { child, input, output, next: 0 };
        let answer = mcp.ask("initialize", initialize());
        assert_eq!(answer["result"]["serverInfo"]["name"], "talktree", "{answer}");
        mcp.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        mcp
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "{method}: the output has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Calls a tool: the whole result.
    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{name}: {answer}");
        answer["result"].take()
    }

    /// Calls a tool that has to succeed: its structured content.
    #[track_caller]
    fn done(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.call(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that must fail: what it says.
    #[track_caller]
    fn wrong(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], true, "{name}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// Ends the input, and the process has to end in good order.
    fn finish(mut self) {
        self.input = None;
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn texts(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

#[test]
fn an_agent_writes_forks_and_reads_byte_for_byte() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "easy"]);
    let odd = r#"{"role":"user","id":"m1","parts":[{"type":"text","text":"\ud83d \u0000 é"}],"n":[1.0,1e3,18446744073709551616]}"#;
    let appended = mcp.done("append_message", json!({"message": odd}));
    assert_eq!((&appended["id"], &appended["inserted"]), (&json!("m1"), &json!(true)));
    assert_eq!(mcp.done("append_message", json!({"message": odd}))["inserted"], false);
    let made = mcp.done("append_message", json!({"text": "an answer", "role": "assistant"}));
    let made_id = made["id"].as_str().unwrap().to_owned();
    // A fork is an answer to what was answered already.
    mcp.done("append_message", json!({"text": "another answer", "role": "assistant", "parentId": "m1"}));
    let branches = mcp.done("list_branches", json!({"id": "m1"}));
    assert_eq!(texts(&branches["messages"]).len(), 2);
    assert_eq!(mcp.done("switch_branch", json!({"id": made_id})), json!({"leafId": made_id}));
    let history = mcp.call("read_history", json!({}));
    assert_eq!(texts(&history["structuredContent"]["messages"])[0], odd);
    let words = history["content"][0]["text"].as_str().unwrap();
    assert!(
        words.contains("[m1] user: ") && words.contains("assistant: an answer") && !words.contains("another"),
        "{words}"
    );
    let nodes = mcp.done("list_messages", json!({"limit": 2}));
    assert_eq!(nodes["messages"].as_array().unwrap().len(), 2);
    let rest = mcp.done("list_messages", json!({"limit": 2, "cursor": nodes["cursor"]}));
    assert_eq!((rest["messages"].as_array().unwrap().len(), &rest["cursor"]), (1, &Value::Null));
    assert_eq!(mcp.done("get_message", json!({"id": "m1"}))["message"], odd);
    assert_eq!(mcp.done("delete_messages", json!({"ids": [made_id], "dryRun": true}))["deleted"], 1);
    assert_eq!(mcp.done("compact", json!({})), json!({"compaction": null}));
    mcp.finish();
}

#[test]
fn tools_tell_what_they_take_give_and_do() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &[]);
    let tools = mcp.tools();
    assert!(tools.len() >= 15, "{}", tools.len());
    for tool in &tools {
        let name = &tool["name"];
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        assert_eq!((&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]), (&json!("object"), &json!("object")));
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        let named = tool["inputSchema"]["properties"].get("tenant").is_some();
        assert_eq!(named, name != "list_tenants", "{name}");
    }
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        (tool["annotations"]["readOnlyHint"].clone(), tool["annotations"]["destructiveHint"].clone())
    };
    assert_eq!(hints("read_history"), (json!(true), json!(false)));
    assert_eq!(hints("append_message"), (json!(false), json!(false)));
    assert_eq!(hints("delete_messages"), (json!(false), json!(true)));
    mcp.finish();
}

#[test]
fn a_confined_agent_reaches_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let mut open = Mcp::start(root.path(), &[]);
    for (tenant, session) in [("a", ""), ("a", "notes"), ("b", "")] {
        let text = format!("{tenant} {session}");
        open.done("append_message", json!({"tenant": tenant, "session": session, "text": text}));
    }
    open.finish();
    let mut confined = Mcp::start(root.path(), &["--tenant", "a", "--session", "notes"]);
    assert_eq!(texts(&confined.done("read_history", json!({}))["messages"]).len(), 1);
    for arguments in [json!({"tenant": "b"}), json!({"session": ""}), json!({"tenant": "a"})] {
        assert!(confined.wrong("read_history", arguments).contains("no argument"));
    }
    for tool in ["list_tenants", "list_sessions", "fork_session", "nothing"] {
        let answer = confined.ask("tools/call", json!({"name": tool, "arguments": {}}));
        assert!(answer["error"]["message"].as_str().unwrap().contains("no tool"), "{answer}");
        assert!(confined.tools().iter().all(|known| known["name"] != tool));
    }
    let listed = confined.ask("resources/list", json!({}));
    let uris: Vec<_> = listed["result"]["resources"].as_array().unwrap().iter().map(|known| &known["uri"]).collect();
    assert_eq!(uris, [&json!("talktree://transcript/a/notes")]);
    for uri in
        ["talktree://transcript/b/", "talktree://transcript/a/", "talktree://messages/b/notes", "file:///etc/passwd"]
    {
        let answer = confined.ask("resources/read", json!({"uri": uri}));
        assert!(answer.get("error").is_some(), "{uri}: {answer}");
    }
    let read = confined.ask("resources/read", json!({"uri": "talktree://transcript/a/notes"}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().ends_with("user: a notes"), "{read}");
    confined.finish();

    let mut reader = Mcp::start(root.path(), &["--tenant", "a", "--read-only"]);
    assert!(reader.tools().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let answer = reader.ask("tools/call", json!({"name": "append_message", "arguments": {"text": "x"}}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("no tool"), "{answer}");
    reader.finish();
}

#[test]
fn what_an_agent_gets_wrong_is_said_to_it() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "t"]);
    for (name, arguments, said) in [
        ("append_message", json!({}), "message"),
        ("append_message", json!({"message": "{"}), "JSON"),
        ("append_message", json!({"message": r#"{},"tenant":"x""#}), "JSON"),
        ("append_message", json!({"message": "{}"}), "invalid-message"),
        ("append_message", json!({"text": "x", "parentId": "unknown"}), "unknown-parent"),
        ("read_history", json!({"leafId": "unknown"}), "unknown-message"),
        ("read_history", json!({"maxBytes": "many"}), "maxBytes"),
        ("list_messages", json!({"limit": 0}), "limit"),
        ("get_message", json!({"ident": "x"}), "ident"),
        ("get_message", json!({}), "id"),
    ] {
        let text = mcp.wrong(name, arguments.clone());
        assert!(text.contains(said), "{name} {arguments}: {text}");
    }
    assert_eq!(mcp.done("read_history", json!({}))["messages"], json!([]));
    mcp.finish();
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_while_it_waits_for_input() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "t"]);
    mcp.done("append_message", json!({"text": "x"}));
    let id = mcp.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let end = std::time::Instant::now() + crate::client::PATIENCE;
    while mcp.child.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < end, "it does not end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(mcp.child.wait().unwrap().code(), Some(0));
}

#[test]
fn blocks_sessions_and_words_are_found_again() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "t"]);
    mcp.done("append_message", json!({"session": "a", "text": "we talked about the deployment window 部署窗口"}));
    mcp.done("append_message", json!({"session": "b", "text": "something else"}));
    let found = mcp.done("search_messages", json!({"query": "部署"}));
    assert_eq!((&found["results"][0]["sessionId"], found["results"].as_array().unwrap().len()), (&json!("a"), 1));
    assert_eq!(mcp.done("search_messages", json!({"query": "部署", "session": "b"}))["results"], json!([]));
    assert_eq!(mcp.done("list_sessions", json!({}))["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(mcp.done("set_title", json!({"session": "a", "title": "Deployment"}))["title"], "Deployment");
    assert_eq!(mcp.done("fork_session", json!({"session": "a", "newSession": "c"}))["messages"], 1);
    let block =
        mcp.done("define_block", json!({"label": "notes", "maxTokens": 100, "description": "what to remember"}));
    assert_eq!(block["block"]["version"], 0, "{block}");
    let written = mcp.call("write_block", json!({"label": "notes", "content": "likes tea"}));
    assert!(written["content"][0]["text"].as_str().unwrap().contains("likes tea"), "{written}");
    assert_eq!(mcp.done("list_blocks", json!({}))["blocks"][0]["content"], "likes tea");
    assert!(mcp.done("system_prompt", json!({}))["prompt"].as_str().unwrap().contains("NOTES"));
    assert!(mcp.wrong("write_block", json!({"label": "other", "content": "x"})).starts_with("unknown-block"));
    assert!(
        mcp.wrong("write_block", json!({"label": "notes", "content": "x", "version": 7}))
            .starts_with("version-mismatch")
    );
    assert_eq!(mcp.done("remove_block", json!({"label": "notes"}))["removed"], true);
    mcp.finish();
}

#[test]
fn messages_are_resources_one_a_line() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &[]);
    let messages = [r#"{"id":"m1","role":"user","parts":[],"n":1.0}"#, r#"{"id":"m2","role":"assistant","parts":[]}"#];
    for message in messages {
        mcp.done("append_message", json!({"tenant": "a:b", "message": message}));
    }
    let templates = mcp.ask("resources/templates/list", json!({}));
    let first = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(first, "talktree://transcript/{tenant}/{session}");
    let listed = mcp.ask("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "talktree://transcript/a%3Ab/");
    let read = mcp.ask("resources/read", json!({"uri": "talktree://messages/a%3Ab/"}));
    assert_eq!(read["result"]["contents"][0]["text"], messages.join("\n"));
    mcp.finish();
}

#[test]
fn prompts_are_there_for_people() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "t"]);
    let listed = mcp.ask("prompts/list", json!({}));
    let names: Vec<_> = listed["result"]["prompts"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["recall", "remember"]);
    let got = mcp.ask("prompts/get", json!({"name": "recall", "arguments": {"about": "the port"}}));
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("search_messages") && text.ends_with("the port"), "{text}");
    for wrong in [json!({"name": "recall"}), json!({"name": "forget", "arguments": {"about": "x"}})] {
        assert!(mcp.ask("prompts/get", wrong.clone()).get("error").is_some(), "{wrong}");
    }
    mcp.finish();
}

#[test]
fn an_empty_text_stands_for_what_is_null_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let mut mcp = Mcp::start(root.path(), &["--tenant", "t"]);
    mcp.done("append_message", json!({"text": "a root", "expectedLeaf": ""}));
    mcp.done("append_message", json!({"text": "an answer"}));
    mcp.done("append_message", json!({"text": "another root", "parentId": ""}));
    assert_eq!(mcp.done("list_branches", json!({"id": ""}))["messages"].as_array().unwrap().len(), 2);
    assert!(mcp.wrong("append_message", json!({"text": "x", "expectedLeaf": ""})).starts_with("leaf-moved"));
    mcp.done("switch_branch", json!({"id": ""}));
    mcp.finish();
}

/// Each window of a runtime starts a process of its own.
#[test]
fn several_agents_take_turns_in_one_tenant() {
    let root = tempfile::tempdir().unwrap();
    let mut agents: Vec<_> = (0..3).map(|_| Mcp::start(root.path(), &["--tenant", "t"])).collect();
    for round in 0..3 {
        for (at, agent) in agents.iter_mut().enumerate() {
            let stored = agent.done("append_message", json!({"text": format!("{round} of {at}")}));
            assert_eq!(stored["inserted"], true);
        }
    }
    for agent in &mut agents {
        assert_eq!(texts(&agent.done("read_history", json!({}))["messages"]).len(), 9);
    }
    agents.into_iter().for_each(Mcp::finish);
}

/// Clients wait some seconds for the first answer; compiling takes longer on a slow machine.
#[test]
fn the_first_question_is_answered_before_anything_is_compiled() {
    let root = tempfile::tempdir().unwrap();
    let mut program = command();
    program.args(["mcp", "--tenant", "t", "--root"]).arg(root.path().join("data"));
    program.env("XDG_CACHE_HOME", root.path().join("cache")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
    let mut mcp = Mcp { child, input, output, next: 0 };
    let begun = Instant::now();
    mcp.ask("initialize", initialize());
    mcp.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert!(mcp.tools().len() >= 15);
    let first = begun.elapsed();
    mcp.done("append_message", json!({"text": "x"}));
    assert!(first * 2 < begun.elapsed(), "{first:?} of {:?}", begun.elapsed());
    mcp.finish();
}

#[test]
fn what_cannot_be_opened_ends_it_with_a_reason() {
    let root = tempfile::tempdir().unwrap();
    let mut program = command();
    program.args(["mcp", "--tenant", "t", "--root"]).arg(root.path().join("not/there"));
    let mut child = program.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The end of the input would end it, too.
    let _input = child.stdin.take();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("the directory above it"), "{ended:?}");
}

/// Asks over HTTP, each request for itself.
fn post(server: &Server, path: &str, token: Option<&str>, method: &str, params: &Value) -> Value {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let answer = server.connect().ask("POST", path, &headers, &body);
    assert_eq!(answer.status, 200, "{method}: {}", answer.body);
    answer.json()
}

#[test]
fn tools_are_served_over_http_for_whoever_asks() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("tokens.json");
    let [ann, bob] = ["ann", "bob"].map(|user| token(&file, user, &["--prefix", &format!("{user}:")]));
    let server = Server::start_in(root, &["--token-file", file.to_str().unwrap()]);
    let started = post(&server, "/mcp", Some(&ann), "initialize", &initialize());
    assert_eq!(started["result"]["serverInfo"]["name"], "talktree", "{started}");
    let call = |path: &str, token: &str, name: &str, arguments: Value| {
        post(&server, path, Some(token), "tools/call", &json!({"name": name, "arguments": arguments}))["result"].clone()
    };
    let written = call("/mcp", &ann, "append_message", json!({"tenant": "ann:x", "text": "hi"}));
    assert_eq!(written["structuredContent"]["inserted"], true, "{written}");
    for (token, tenant) in [(&bob, "ann:x"), (&ann, "bob:x"), (&ann, "ann")] {
        let refused = call("/mcp", token, "read_history", json!({"tenant": tenant}));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().starts_with("forbidden"), "{refused}");
    }
    let confined = call("/mcp?user=ann&conversation=x&readonly=true", &ann, "read_history", json!({}));
    assert_eq!(texts(&confined["structuredContent"]["messages"]).len(), 1, "{confined}");
    let tools = post(&server, "/mcp?user=ann&conversation=x&readonly=true", Some(&ann), "tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{tools:?}");
    assert!(tools.iter().all(|tool| tool["inputSchema"]["properties"].get("tenant").is_none()));
    let listed = call("/mcp", &bob, "list_tenants", json!({}));
    assert_eq!(listed["structuredContent"]["tenants"], json!([]));
    // A body that is no JSON, and one that is too long.
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let bearer = format!("Bearer {ann}");
    let all = [headers[0], headers[1], ("authorization", bearer.as_str())];
    let answer = server.connect().ask("POST", "/mcp", &all, "{");
    assert!((400..500).contains(&answer.status), "{answer:?}");
    let stored = server.call_as(Some(&ann), "appendMessage", &append("ann:x", "m9", "x"));
    assert_eq!(stored["result"]["inserted"], true);
}
