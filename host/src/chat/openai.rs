//! Models behind OpenAI's chat completions, or anything that speaks as that does.

use std::collections::{BTreeMap, VecDeque};

use futures::{StreamExt as _, stream};
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{Answering, Model, ModelError, Piece, Question, server::Server};
use crate::{export::openai_messages, import::json::Writer, summarizer::secret};

/// A model of a server that speaks OpenAI's chat completions, a local one too.
#[derive(Clone, Debug)]
pub struct OpenAiModel {
    server: Server,
    model: String,
}

impl OpenAiModel {
    /// A model of a server, such as `https://api.openai.com/v1`; local servers need no key.
    ///
    /// # Errors
    ///
    /// A sentence, if the address is none, or the key cannot be one.
    pub fn new(base_url: &str, model: impl Into<String>, key: Option<&str>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.extend([secret("authorization", &format!("Bearer {key}"))?]);
        }
        Ok(Self { server: Server::new(base_url, "chat/completions", headers)?, model: model.into() })
    }
}

impl Model for OpenAiModel {
    fn answer(&self, question: Question) -> Answering {
        let events = self.server.ask(body(&self.model, &question)).boxed();
        stream::try_unfold(
            (events, Calls::default(), VecDeque::new()),
            |(mut events, mut calls, mut ready)| async move {
                loop {
                    if let Some(piece) = ready.pop_front() {
                        return Ok(Some((piece, (events, calls, ready))));
                    }
                    match events.next().await.transpose()? {
                        Some(data) => calls.take_in(&data, &mut ready)?,
                        None if calls.0.is_empty() => return Ok(None),
                        None => calls.finish(&mut ready),
                    }
                }
            },
        )
        .boxed()
    }
}

fn body(model: &str, question: &Question) -> String {
    let system = |text: &str| {
        let mut message = Writer::object();
        message.put_text("role", "system").put_text("content", text);
        message.end()
    };
    let mut messages = Writer::array();
    messages.push(&system(&question.system));
    for message in question.messages.iter().flat_map(|message| openai_messages(message)) {
        messages.push(&message);
    }
    if let Some(reminder) = &question.reminder {
        messages.push(&system(reminder));
    }
    let mut tools = Writer::array();
    for tool in &question.tools {
        let mut function = Writer::object();
        function.put_text("name", &tool.name).put_text("description", &tool.description);
        function.put("parameters", &tool.input_schema);
        let mut entry = Writer::object();
        entry.put_text("type", "function").put("function", &function.end());
        tools.push(&entry.end());
    }
    let mut body = Writer::object();
    body.put_text("model", model).put("stream", "true").put("messages", &messages.end());
    if !tools.is_empty() {
        body.put("tools", &tools.end());
    }
    body.end()
}

/// Calls of tools whose arguments are still coming, by their place in the answer.
#[derive(Default)]
struct Calls(BTreeMap<u64, Call>);

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    fn take_in(&mut self, data: &str, ready: &mut VecDeque<Piece>) -> Result<(), ModelError> {
        let event: Value = serde_json::from_str(data)
            .map_err(|_| ModelError("a piece of the model's answer is not JSON".to_owned()))?;
        if !event["error"].is_null() {
            return Err(ModelError("the model's server broke the answer off".to_owned()));
        }
        let choice = &event["choices"][0];
        if let Some(text) = choice["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
            ready.push_back(Piece::Text(text.to_owned()));
        }
        for (at, part) in (0..).zip(choice["delta"]["tool_calls"].as_array().into_iter().flatten()) {
            let call = self.0.entry(part["index"].as_u64().unwrap_or(at)).or_default();
            for (field, value) in [
                (&mut call.id, &part["id"]),
                (&mut call.name, &part["function"]["name"]),
                (&mut call.arguments, &part["function"]["arguments"]),
            ] {
                field.push_str(value.as_str().unwrap_or_default());
            }
        }
        if choice["finish_reason"] == "length" {
            ready.push_back(Piece::Cut);
        }
        Ok(())
    }

    fn finish(&mut self, ready: &mut VecDeque<Piece>) {
        let calls = std::mem::take(&mut self.0).into_values();
        ready.extend(calls.map(|Call { id, name, arguments }| Piece::Call { id, name, arguments }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;
    use crate::Tool;

    #[test]
    fn the_request_holds_prompt_messages_reminder_and_tools() {
        let question = Question {
            system: "Be terse.".into(),
            reminder: Some("Changed.".into()),
            messages: vec![r#"{"id":"u","role":"user","parts":[{"type":"text","text":"a \ud83d"}]}"#.into()],
            tools: vec![Tool {
                name: "t".into(),
                description: "d".into(),
                input_schema: r#"{"type":"object"}"#.into(),
            }],
        };
        assert_eq!(
            body("m", &question),
            r#"{"model":"m","stream":true,"messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"a \ud83d"},{"role":"system","content":"Changed."}],"tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object"}}}]}"#
        );
    }

    #[test]
    fn a_call_comes_whole_out_of_its_pieces() {
        let (mut calls, mut ready) = (Calls::default(), VecDeque::new());
        for data in [
            r#"{"choices":[{"delta":{"content":"Let me "}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"find","arguments":"{\"q\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ] {
            calls.take_in(data, &mut ready).unwrap();
        }
        calls.finish(&mut ready);
        let call = Piece::Call { id: "c1".into(), name: "find".into(), arguments: r#"{"q":1}"#.into() };
        assert_eq!(ready, [Piece::Text("Let me ".into()), call]);
        assert!(calls.take_in("{", &mut ready).is_err());
        assert!(calls.take_in(r#"{"error":{"message":"key sk-1"}}"#, &mut ready).is_err());
    }
}
