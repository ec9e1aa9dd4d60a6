//! Anthropic's models.

use std::collections::{BTreeMap, VecDeque};

use futures::{StreamExt as _, stream};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::{Answering, Model, ModelError, Piece, Question, server::Server};
use crate::{
    export::{Answer, Call, Input, Part, output_text, take},
    import::json::{Writer, inside},
    summarizer::secret,
};

/// The address where none is given.
const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The version of the interface that is spoken here.
const VERSION: &str = "2023-06-01";

/// Tokens that one answer may have.
const MAX_TOKENS: &str = "8192";

/// A model of Anthropic's.
#[derive(Clone, Debug)]
pub struct AnthropicModel {
    server: Server,
    model: String,
}

impl AnthropicModel {
    /// A model, at `https://api.anthropic.com` or another address.
    ///
    /// # Errors
    ///
    /// A sentence, if the address is none, or the key cannot be one.
    pub fn new(model: impl Into<String>, key: &str, base_url: Option<&str>) -> Result<Self, String> {
        let mut headers = HeaderMap::from_iter([secret("x-api-key", key)?]);
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        let server = Server::new(base_url.unwrap_or(DEFAULT_BASE_URL), "v1/messages", headers)?;
        Ok(Self { server, model: model.into() })
    }
}

impl Model for AnthropicModel {
    fn answer(&self, question: Question) -> Answering {
        let events = self.server.ask(body(&self.model, &question)).boxed();
        let state = (events, BTreeMap::new(), VecDeque::new());
        stream::try_unfold(state, |(mut events, mut calls, mut ready)| async move {
            loop {
                if let Some(piece) = ready.pop_front() {
                    return Ok(Some((piece, (events, calls, ready))));
                }
                match events.next().await.transpose()? {
                    Some(data) => take_in(&data, &mut calls, &mut ready)?,
                    None => return Ok(None),
                }
            }
        })
        .boxed()
    }
}

fn body(model: &str, question: &Question) -> String {
    let mut messages: Vec<Blocks> = Vec::new();
    for message in &question.messages {
        add(message, &mut messages);
    }
    if let Some(reminder) = &question.reminder {
        block(&mut messages, "user", text_block(&crate::import::json::quoted(reminder)));
    }
    // A conversation begins with the user, also where a summary stands first.
    if messages.first().is_none_or(|first| first.role == "assistant") {
        let opening = text_block("\"(The beginning of this conversation is summarized.)\"");
        messages.insert(0, Blocks { role: "user", blocks: vec![opening] });
    }
    let mut list = Writer::array();
    for Blocks { role, blocks } in &messages {
        let mut message = Writer::object();
        message.put_text("role", role).put("content", &format!("[{}]", blocks.join(",")));
        list.push(&message.end());
    }
    let mut tools = Writer::array();
    for tool in &question.tools {
        let mut entry = Writer::object();
        entry.put_text("name", &tool.name).put_text("description", &tool.description);
        entry.put("input_schema", &tool.input_schema);
        tools.push(&entry.end());
    }
    let mut body = Writer::object();
    body.put_text("model", model).put("max_tokens", MAX_TOKENS).put("stream", "true");
    if !question.system.is_empty() {
        body.put_text("system", &question.system);
    }
    body.put("messages", &list.end());
    if !tools.is_empty() {
        body.put("tools", &tools.end());
    }
    body.end()
}

/// What one side says before the other does.
struct Blocks {
    role: &'static str,
    blocks: Vec<String>,
}

fn block(messages: &mut Vec<Blocks>, role: &'static str, block: String) {
    match messages.last_mut() {
        Some(last) if last.role == role => last.blocks.push(block),
        _ => messages.push(Blocks { role, blocks: vec![block] }),
    }
}

fn add(message: &str, messages: &mut Vec<Blocks>) {
    let taken = take(message);
    let role = if taken.role == "\"assistant\"" { "assistant" } else { "user" };
    for part in taken.parts {
        match part {
            // A text of white space alone is refused by the server.
            Part::Text(text) if !inside(text).trim().is_empty() => block(messages, role, text_block(text)),
            Part::File { media_type, url, .. } => {
                if let Some(image) = image(media_type, url) {
                    block(messages, "user", image);
                }
            }
            Part::Call(call) => {
                block(messages, "assistant", tool_use(&call));
                if let Some(answer) = &call.answer {
                    block(messages, "user", tool_result(answer));
                }
            }
            Part::Result(answer) => block(messages, "user", tool_result(&answer)),
            Part::Text(_) | Part::Reasoning(_) | Part::Step | Part::Other(_) => {}
        }
    }
}

fn text_block(text: &str) -> String {
    let mut block = Writer::object();
    block.put_text("type", "text").put("text", text);
    block.end()
}

fn image(media_type: &str, url: &str) -> Option<String> {
    let (_, bytes) = inside(url).split_once(";base64,").filter(|(start, _)| start.starts_with("data:"))?;
    inside(media_type).strip_prefix("image/")?;
    let mut source = Writer::object();
    source.put_text("type", "base64").put("media_type", media_type).put("data", &format!("\"{bytes}\""));
    let mut block = Writer::object();
    block.put_text("type", "image").put("source", &source.end());
    Some(block.end())
}

fn tool_use(call: &Call<'_>) -> String {
    let input = match call.input {
        Input::Json(json) if json.starts_with('{') => json,
        _ => "{}",
    };
    let mut block = Writer::object();
    block.put_text("type", "tool_use").put("id", call.id).put_text("name", &call.name).put("input", input);
    block.end()
}

fn tool_result(answer: &Answer<'_>) -> String {
    let mut block = Writer::object();
    block.put_text("type", "tool_result").put("tool_use_id", answer.id).put("content", &output_text(answer.output));
    if answer.failed {
        block.put("is_error", "true");
    }
    block.end()
}

/// A call of a tool whose arguments are still coming.
#[derive(Default)]
struct Under {
    id: String,
    name: String,
    arguments: String,
}

fn take_in(data: &str, calls: &mut BTreeMap<u64, Under>, ready: &mut VecDeque<Piece>) -> Result<(), ModelError> {
    let event: Value =
        serde_json::from_str(data).map_err(|_| ModelError("a piece of the model's answer is not JSON".to_owned()))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let index = event["index"].as_u64().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            let (id, name) = (text(&event["content_block"]["id"]), text(&event["content_block"]["name"]));
            calls.insert(index, Under { id, name, arguments: String::new() });
        }
        "content_block_delta" => match (calls.get_mut(&index), &event["delta"]) {
            (Some(call), delta) => call.arguments.push_str(&text(&delta["partial_json"])),
            (None, delta) if delta["type"] == "text_delta" => ready.push_back(Piece::Text(text(&delta["text"]))),
            _ => {}
        },
        "content_block_stop" => {
            if let Some(Under { id, name, arguments }) = calls.remove(&index) {
                let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
                ready.push_back(Piece::Call { id, name, arguments });
            }
        }
        "message_delta" if event["delta"]["stop_reason"] == "max_tokens" => ready.push_back(Piece::Cut),
        "error" => return Err(ModelError("the model's server broke the answer off".to_owned())),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn question(messages: &[&str]) -> Question {
        let messages = messages.iter().map(|message| (*message).to_owned()).collect();
        Question { system: "s".into(), reminder: None, messages, tools: Vec::new() }
    }

    #[test]
    fn results_follow_their_calls_as_words_of_the_user() {
        let question = question(&[
            r#"{"id":"u","role":"user","parts":[{"type":"text","text":"go"}]}"#,
            r#"{"id":"a","role":"assistant","parts":[{"type":"text","text":" "},{"type":"tool-find","toolCallId":"c","input":{"q": 1},"output":"two"},{"type":"text","text":"Two."}]}"#,
        ]);
        let body: Value = serde_json::from_str(&body("m", &question)).unwrap();
        let roles: Vec<_> =
            body["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
        assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
        assert_eq!(body["messages"][2]["content"][0]["content"], "two");
    }

    #[test]
    fn a_conversation_begins_with_the_user() {
        let question =
            question(&[r#"{"id":"compaction_1","role":"assistant","parts":[{"type":"text","text":"They met."}]}"#]);
        let body: Value = serde_json::from_str(&body("m", &question)).unwrap();
        assert_eq!(body["messages"][0]["role"], "user");
    }

    #[test]
    fn text_and_calls_come_out_of_the_events() {
        let (mut calls, mut ready) = (BTreeMap::new(), VecDeque::new());
        for data in [
            r#"{"type":"message_start"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"n","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        ] {
            take_in(data, &mut calls, &mut ready).unwrap();
        }
        let call = Piece::Call { id: "c".into(), name: "n".into(), arguments: r#"{"a":1}"#.into() };
        assert_eq!(ready, [Piece::Text("Hi".into()), call]);
        assert!(take_in(r#"{"type":"error"}"#, &mut calls, &mut ready).is_err());
    }
}
