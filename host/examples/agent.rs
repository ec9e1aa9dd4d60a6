//! An agent in sixty lines: its memory, its tools, its history, and summaries when that grows long.
//!
//! The model is a script, so that this runs without a key: put a call of yours in its place.

use futures::TryStreamExt as _;
use serde_json::{Value, json};
use talktree::{BlockDefinition, BlockKind, ConfigurationChange, NumberSetting, Session, Talktree};

/// Answers with text, or with a call of a tool. A real one gets the prompt, the tools and the messages.
fn model(_system: &str, tools: &[Value], messages: &[Value]) -> Value {
    let last = &messages[messages.len() - 1];
    let text = last["parts"][0]["text"].as_str().unwrap_or_default();
    match text.strip_prefix("Remember: ") {
        Some(fact) if !tools.is_empty() => {
            json!({"tool": "set_context", "input": {"label": "memory", "content": fact, "action": "append"}})
        }
        _ => json!({"text": format!("I have read {} messages; the last one says {text:?}.", messages.len())}),
    }
}

/// One turn: the user's message, the model's calls of tools, its answer. Each is stored before the next begins.
async fn turn(session: &Session, number: usize, text: &str) -> talktree::Result<String> {
    let user = json!({"id": format!("u{number}"), "role": "user", "parts": [{"type": "text", "text": text}]});
    session.append_message(user.to_string()).await?;
    let system = session.system_prompt().await?;
    let tools: Vec<Value> = session.tools().await?.iter().map(|tool| json!({"name": tool.name})).collect();
    let mut parts = Vec::new();
    loop {
        let history: Vec<_> = session.history().try_collect().await?;
        let messages: Vec<Value> = history.iter().filter_map(|m| serde_json::from_str(&m.json).ok()).collect();
        let answer = model(&system, if parts.is_empty() { &tools } else { &[] }, &messages);
        let Some(name) = answer["tool"].as_str() else {
            let text = answer["text"].as_str().unwrap_or_default().to_owned();
            parts.push(json!({"type": "text", "text": text}));
            let id = format!("a{number}");
            session.append_message(json!({"id": id, "role": "assistant", "parts": parts}).to_string()).await?;
            return Ok(text);
        };
        let output = session.call_tool(name, &answer["input"].to_string()).await?;
        parts.push(json!({"type": format!("tool-{name}"), "toolCallId": format!("c{number}.{}", parts.len()),
            "state": "output-available", "input": answer["input"], "output": output.content}));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let talktree = Talktree::open(directory.path()).await?;
    let session = talktree.tenant("easy:agent")?.session("");
    let soul =
        BlockDefinition { kind: BlockKind::ReadOnly, content: Some("You are terse.".into()), ..Default::default() };
    session.define_block("soul", soul).await?;
    session.define_block("memory", BlockDefinition { max_tokens: Some(500), ..Default::default() }).await?;
    let few = NumberSetting::Value(600);
    let compaction =
        ConfigurationChange { compact_after: few, keep_recent_tokens: NumberSetting::Value(200), ..Default::default() };
    session.configure(compaction).await?;

    println!("{}", turn(&session, 0, "Remember: deploys happen on Fridays.").await?);
    for number in 1..20 {
        turn(&session, number, &format!("Message {number} about the deploy window and what came of it.")).await?;
    }
    session.compact().await?;
    println!("{}", session.refresh_system_prompt().await?);
    println!("{} messages are read instead of 40", session.get_history().await?.len());
    println!("found: {}", session.search("deploy fridays").await?.results[0].snippet);
    Ok(talktree.close().await?)
}
