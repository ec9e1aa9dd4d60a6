//! A client of servers that speak chat completions (OpenAI's, llama.cpp's, vLLM's, Ollama's and many more), over `wasi:http`.
//!
//! It waits for the whole answer: what asks is a component's synchronous function.
#![deny(missing_docs)]

mod http;

use std::env;

use serde_json::{Value, json};

use http::{Place, post};

/// A server, and which of its models.
pub struct Server {
    place: Place,
    model: String,
    key: Option<String>,
}

/// What the server said.
pub struct Completion {
    /// The text.
    pub text: String,
    /// The model stopped because of the length.
    pub truncated: bool,
    /// Tokens that went in.
    pub input_tokens: Option<u32>,
    /// Tokens that came out.
    pub output_tokens: Option<u32>,
}

/// Why it said nothing, with a sentence for the log.
#[derive(Debug)]
pub enum Failure {
    /// It cannot be reached, or has a problem of its own.
    Unavailable(String),
    /// Too many requests.
    RateLimited(String),
    /// What was asked does not fit the model.
    TooLong(String),
    /// Anything else.
    Other(String),
}

/// A message as these servers take it.
#[must_use]
pub fn message(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

impl Server {
    /// The server of the variables `PREFIX_URL` (up to and without `/chat/completions`), `PREFIX_MODEL`, and `PREFIX_KEY` where
    /// there is one. None when there is no `PREFIX_URL`.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn from_environment(prefix: &str) -> Result<Option<Self>, Failure> {
        let variable = |name: &str| env::var(format!("{prefix}_{name}")).ok().filter(|value| !value.is_empty());
        let Some(url) = variable("URL") else { return Ok(None) };
        let place = Place::parse(&format!("{}/chat/completions", url.trim_end_matches('/')))
            .ok_or_else(|| Failure::Unavailable(format!("{prefix}_URL is no http or https URL: {url}")))?;
        let model = variable("MODEL").unwrap_or_else(|| "default".to_owned());
        Ok(Some(Self { place, model, key: variable("KEY") }))
    }

    /// Asks with [messages](message).
    ///
    /// # Errors
    /// When the server cannot be reached or does not answer with a text.
    pub fn complete(&self, messages: &[Value], max_tokens: u32) -> Result<Completion, Failure> {
        let request = json!({ "model": self.model, "max_completion_tokens": max_tokens, "messages": messages });
        let (status, body) =
            post(&self.place, self.key.as_deref(), request.to_string().as_bytes()).map_err(Failure::Unavailable)?;
        if status != 200 {
            return Err(failure(status, &body));
        }
        read(&body).ok_or_else(|| Failure::Other("there is no text in the server's answer".to_owned()))
    }
}

fn failure(status: u16, body: &[u8]) -> Failure {
    let said: String = String::from_utf8_lossy(body).chars().take(300).collect();
    let sentence = format!("the server answered {status}: {said}");
    match status {
        429 => Failure::RateLimited(sentence),
        413 => Failure::TooLong(sentence),
        _ if said.contains("context_length") => Failure::TooLong(sentence),
        500.. => Failure::Unavailable(sentence),
        _ => Failure::Other(sentence),
    }
}

fn read(body: &[u8]) -> Option<Completion> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let choice = answer.get("choices")?.get(0)?;
    let count = |name: &str| answer.get("usage")?.get(name)?.as_u64()?.try_into().ok();
    Some(Completion {
        text: choice.get("message")?.get("content")?.as_str()?.to_owned(),
        truncated: choice.get("finish_reason").is_some_and(|reason| reason == "length"),
        input_tokens: count("prompt_tokens"),
        output_tokens: count("completion_tokens"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn an_answer_is_read_with_its_usage() {
        let body =
            br#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"length"}],"usage":{"prompt_tokens":7}}"#;
        let answer = read(body).unwrap();
        assert_eq!((answer.text.as_str(), answer.truncated), ("Hi", true));
        assert_eq!((answer.input_tokens, answer.output_tokens), (Some(7), None));
        for nothing in ["", "{}", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"content":null}}]}"#] {
            assert!(read(nothing.as_bytes()).is_none(), "{nothing}");
        }
    }

    #[test]
    fn what_the_server_refuses_is_told_apart() {
        assert!(matches!(failure(429, b""), Failure::RateLimited(_)));
        assert!(matches!(failure(400, b"context_length_exceeded"), Failure::TooLong(_)));
        assert!(matches!(failure(503, b""), Failure::Unavailable(_)));
        assert!(matches!(failure(401, b""), Failure::Other(_)));
    }
}
