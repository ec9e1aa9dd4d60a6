//! Anthropic's messages.

use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::http::{Endpoint, no_text, secret, tokens};
use super::{SummarizeError, Summarizer, Summarizing, Summary, SummaryRequest};

/// Where the key is looked for.
const KEY: &str = "ANTHROPIC_API_KEY";

/// Where another address can be given.
const BASE_URL: &str = "ANTHROPIC_BASE_URL";

/// The address where none is given.
const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The version of the interface that is spoken here.
const VERSION: &str = "2023-06-01";

/// Asks a model of Anthropic's.
///
/// A request is tried again up to three times where the server is busy, broken or out of reach.
#[derive(Clone, Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    model: String,
}

impl Anthropic {
    /// A model, at `https://api.anthropic.com` or another address.
    ///
    /// # Errors
    ///
    /// A sentence, if the address is none, or the key cannot be one.
    pub fn new(model: impl Into<String>, key: &str, base_url: Option<&str>) -> Result<Self, String> {
        let mut headers = HeaderMap::from_iter([secret("x-api-key", key)?]);
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        let endpoint = Endpoint::new(base_url.unwrap_or(DEFAULT_BASE_URL), "v1/messages", headers)?;
        Ok(Self { endpoint, model: model.into() })
    }

    /// The same, with the key in the environment variable `ANTHROPIC_API_KEY`, and another address in
    /// `ANTHROPIC_BASE_URL` if there is one.
    ///
    /// # Errors
    ///
    /// As of [`new`](Self::new), and if there is no key.
    pub fn from_env(model: impl Into<String>) -> Result<Self, String> {
        let given = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let key = given(KEY).ok_or_else(|| format!("anthropic needs a key in the environment variable {KEY}"))?;
        Self::new(model, &key, given(BASE_URL).as_deref())
    }
}

impl Summarizer for Anthropic {
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
    let blocks = answer["content"].as_array().ok_or_else(no_text)?;
    let texts: Vec<_> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    if texts.is_empty() {
        return Err(no_text());
    }
    Ok(Summary {
        text: texts.concat(),
        truncated: answer["stop_reason"] == "max_tokens",
        input_tokens: tokens(&answer["usage"], "input_tokens"),
        output_tokens: tokens(&answer["usage"], "output_tokens"),
    })
}
