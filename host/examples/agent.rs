//! An agent in sixty lines: its memory, its tools, its history, and summaries when that grows long.
//!
//! The model is a script, so that this runs without a key: put a call of yours in its place.
use futures::TryStreamExt as _;
use serde_json::{Value, from_str, json};
use talktree::{BlockDefinition, BlockKind, ConfigurationChange, NumberSetting, Session, Talktree};

/// Answers with text, or with a call of a tool. A real one is sent the prompt, the tools and the messages.
fn model(_system: &str, _tools: &[Value], messages: &[Value]) -> Value {
    let text = messages[messages.len() - 1]["parts"][0]["text"].as_str();
    match text.and_then(|text| text.strip_prefix("Remember: ")) {
        Some(fact) => json!({"tool": "set_context", "input": {"label": "memory", "content": fact, "action": "append"}}),
        None => json!({"text": format!("I have read {} messages.", messages.len())}),
    }
}

/// One turn: the user's message, the model's calls of tools, its answer. Each is stored before the model is asked again.
async fn turn(session: &Session, number: usize, text: &str) -> talktree::Result<String> {
    let user = json!({"id": format!("u{number}"), "role": "user", "parts": [{"type": "text", "text": text}]});
    session.append_message(user.to_string()).await?;
    let (system, tools) = (session.system_prompt().await?, session.tools().await?);
    let tool =
        |t: &talktree::Tool| json!({"name": t.name, "description": t.description, "input_schema": t.input_schema});
    let (tools, mut parts): (Vec<_>, Vec<_>) = (tools.iter().map(tool).collect(), Vec::new());
    loop {
        let history: Vec<_> = session.history().try_collect().await?;
        let messages: Vec<Value> = history.iter().filter_map(|message| from_str(&message.json).ok()).collect();
        let mut answer = model(&system, &tools, &messages);
        parts.push(match answer["tool"].as_str() {
            None => json!({"type": "text", "text": answer["text"]}),
            Some(name) => {
                let output = session.call_tool(name, &answer["input"].to_string()).await?.content;
                let (kind, call) = (format!("tool-{name}"), format!("c{number}.{}", parts.len()));
                json!({"type": kind, "toolCallId": call, "input": answer["input"].take(), "output": output})
            }
        });
        // The first time it is appended, then it grows: the model sees its own calls, and a crash loses none of them.
        let assistant = json!({"id": format!("a{number}"), "role": "assistant", "parts": parts});
        session.upsert_message(assistant.to_string()).await?;
        if let Some(text) = answer["text"].as_str() {
            return Ok(text.to_owned());
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let talktree = Talktree::open(directory.path()).await?;
    let session = talktree.tenant("easy:agent")?.session("");
    let content = Some("You are terse.".to_owned());
    let soul = BlockDefinition { kind: BlockKind::ReadOnly, content, ..Default::default() };
    session.define_block("soul", soul).await?;
    session.define_block("memory", BlockDefinition { max_tokens: Some(500), ..Default::default() }).await?;
    let [compact_after, keep_recent_tokens] = [600, 200].map(NumberSetting::Value);
    session.configure(ConfigurationChange { compact_after, keep_recent_tokens, ..Default::default() }).await?;
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
