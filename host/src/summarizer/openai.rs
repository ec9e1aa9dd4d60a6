//! Servers that speak OpenAI's chat completions.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::http::{Endpoint, no_text, secret, tokens};
use super::{SummarizeError, Summarizer, Summarizing, Summary, SummaryRequest};

/// Where the key is looked for.
const KEY: &str = "OPENAI_API_KEY";

/// Asks a server for chat completions: OpenAI's, or any that speaks as that does, a local one too.
///
/// A request is tried again up to three times where the server is busy, broken or out of reach.
#[derive(Clone, Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    model: String,
}

impl OpenAi {
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
        Ok(Self { endpoint: Endpoint::new(base_url, "chat/completions", headers)?, model: model.into() })
    }

    /// The same, with the key in the environment variable `OPENAI_API_KEY`, if there is one.
    ///
    /// # Errors
    ///
    /// As of [`new`](Self::new).
    pub fn from_env(base_url: &str, model: impl Into<String>) -> Result<Self, String> {
        let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
        Self::new(base_url, model, key.as_deref())
    }
}

impl Summarizer for OpenAi {
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a> {
        Box::pin(async move {
            let body = json!({
                "model": self.model,
                "messages": [{"role": "user", "content": request.prompt}],
                "max_tokens": request.max_tokens,
            });
            summary(&self.endpoint.ask(&body).await?)
        })
    }
}

fn summary(answer: &Value) -> Result<Summary, SummarizeError> {
    let choice = &answer["choices"][0];
    let text = choice["message"]["content"].as_str().ok_or_else(no_text)?;
    Ok(Summary {
        text: text.to_owned(),
        truncated: choice["finish_reason"] == "length",
        input_tokens: tokens(&answer["usage"], "prompt_tokens"),
        output_tokens: tokens(&answer["usage"], "completion_tokens"),
    })
}
