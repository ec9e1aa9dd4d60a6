//! Promises of the log: it says which tenant, which session and which operation, and never what was said.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod common;
mod program;

use std::{
    io::{self, Read as _, Write},
    process::Stdio,
    sync::{Arc, Mutex},
};

use common::message;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use talktree::{
    BlockDefinition, BlockKind, ConfigurationChange, NumberSetting, Talktree, rpc,
    summarizer::{SummarizeError, Summary, SummaryRequest, from_fn},
};
use tracing_subscriber::fmt::format::FmtSpan;

/// What is in everything that is said here, and may be nowhere in the log.
const PLANTED: &str = "planted-9e107d9d";

/// All that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers with planted words, and fails with them.
async fn parrot(request: SummaryRequest) -> Result<Summary, SummarizeError> {
    if request.prompt.contains("fail on purpose") {
        return Err(SummarizeError::Other(PLANTED.to_owned()));
    }
    Ok(Summary { text: format!("{PLANTED} summary"), truncated: false, input_tokens: None, output_tokens: None })
}

async fn say_much(talktree: &Talktree) -> talktree::Result<()> {
    let session = talktree.tenant("known-tenant")?.session("known-session");
    for n in 0..40 {
        session.append_message(message(&format!("m{n}"), &format!("{PLANTED} {n} {}", "word ".repeat(60)))).await?;
    }
    session.update_message(message("m3", PLANTED)).await?;
    session.upsert_message(message("m4", PLANTED)).await?;
    session.import_message(message("i1", PLANTED), Some("m4"), 7).await?;
    session.get_message("m1").await?;
    session.history().try_collect::<Vec<_>>().await?;
    session.get_recent_history(1_000).await?;
    session.search(PLANTED).await?;
    session.set_title(Some(PLANTED)).await?;
    let words = BlockDefinition { content: Some(PLANTED.to_owned()), ..Default::default() };
    session.define_block("memory", words).await?;
    let soul = BlockDefinition { kind: BlockKind::ReadOnly, content: Some(PLANTED.to_owned()), ..Default::default() };
    session.define_block("soul", soul).await?;
    session.write_block("memory", format!("{PLANTED} more")).await?;
    session
        .call_tool("set_context", &json!({"label": "memory", "content": PLANTED, "action": "append"}).to_string())
        .await?;
    session.call_tool("search_messages", &json!({"query": PLANTED}).to_string()).await.ok();
    session.system_prompt().await?;
    let sizes = [300, 100].map(NumberSetting::Value);
    let [compact_after, keep_recent_tokens] = sizes;
    session.configure(ConfigurationChange { compact_after, keep_recent_tokens, ..Default::default() }).await?;
    session.compact().await?;
    session.append_message(message("f1", &format!("{PLANTED} fail on purpose {}", "word ".repeat(2_000)))).await?;
    session.append_message(message("f2", &format!("{PLANTED} fail on purpose {}", "word ".repeat(2_000)))).await?;
    session.compact().await.ok();
    session.tenant().changes().stream().next().await;
    session.tenant().export_lines().await?;
    // What fails, too: wrong JSON, a message that is none, an unknown parent.
    for wrong in [format!("{{\"{PLANTED}"), json!({"id": "w", "role": PLANTED}).to_string(), format!("\"{PLANTED}\"")] {
        session.append_message(wrong).await.ok();
    }
    session.call_tool("set_context", &format!("{{\"{PLANTED}")).await.ok();
    session.tenant().import_lines(format!("{{\"{PLANTED}\n{PLANTED}\n")).await.ok();
    session.delete_messages(["m5"]).await?;
    Ok(())
}

/// The same over JSON-RPC, with requests that fail and requests without id.
async fn say_much_by_rpc(talktree: &Talktree) {
    let mut lines = String::new();
    let said = json!({"id": "r1", "role": "user", "parts": [{"type": "text", "text": PLANTED}]});
    for params in [
        json!({"tenant": "known-tenant", "message": said}),
        json!({"tenant": "known-tenant", "message": {"id": "r2", "role": 7, "parts": PLANTED}}),
        json!({"tenant": "known-tenant", "message": said, "unknown": PLANTED}),
        json!({"tenant": "known-tenant", "message": said, "parentId": {"wrong": PLANTED}}),
    ] {
        for id in [json!({"id": 1}), json!({})] {
            let mut request = json!({"jsonrpc": "2.0", "method": "appendMessage", "params": params});
            request.as_object_mut().unwrap().extend(id.as_object().unwrap().clone());
            lines.push_str(&format!("{request}\n"));
        }
    }
    lines.push_str(&format!("{{\"{PLANTED}\n"));
    let input = io::Cursor::new(lines.into_bytes());
    rpc::serve(talktree.clone(), input, io::sink(), rpc::DEFAULT_MAX_REQUEST, std::future::pending()).await.unwrap();
}

#[tokio::test]
async fn spans_name_tenant_session_and_operation_and_nothing_at_any_level_says_what_was_said() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).summarizer(from_fn(parrot)).open().await.unwrap();
    say_much(&talktree).await.unwrap();
    say_much_by_rpc(&talktree).await;
    talktree.close().await.unwrap();
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let span = "call{tenant=\"known-tenant\" session=\"known-session\" operation=\"append-message\"}";
    assert!(logged.contains(span), "{}", &logged[..logged.len().min(4_000)]);
    for operation in ["search", "write-block", "commit-compaction", "configure", "call-tool"] {
        assert!(logged.contains(&format!("operation=\"{operation}\"")), "{operation}");
    }
    let betrayed: Vec<_> = logged.lines().filter(|line| line.contains(PLANTED)).collect();
    assert!(betrayed.is_empty(), "{betrayed:#?}");
}

/// Sends lines to a command of the program at the most talkative level, and gives what it logged.
fn logged_by_the_program(command: &str, lines: &[serde_json::Value]) -> String {
    let root = tempfile::tempdir().unwrap();
    let mut program = program::talktree();
    program.args([command, "--log", "trace,rmcp=trace", "--root"]).arg(root.path());
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut logged = String::new();
        stderr.read_to_string(&mut logged).unwrap();
        logged
    });
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    writeln!(stdin, "{{\"{PLANTED}").unwrap();
    drop(stdin);
    child.wait().unwrap();
    reading.join().unwrap()
}

#[test]
fn the_program_logs_no_content_whatever_is_asked_for() {
    let message = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": PLANTED}]});
    let params = json!({"tenant": "known-tenant", "message": message});
    let by_rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": params});
    let initialize =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let by_mcp = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"tenant": "known-tenant", "query": PLANTED}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "append_message", "arguments": {"tenant": "known-tenant", "message": message.to_string()}}}),
    ];
    for (command, lines) in [("rpc", &[by_rpc][..]), ("mcp", &by_mcp)] {
        let logged = logged_by_the_program(command, lines);
        assert!(logged.contains("known-tenant"), "{command} logs its calls: {logged}");
        let betrayed: Vec<_> = logged.lines().filter(|line| line.contains(PLANTED)).collect();
        assert!(betrayed.is_empty(), "{command}: {betrayed:#?}");
    }
}
