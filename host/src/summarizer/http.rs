//! What the summarizers that ask a server have in common: one request at a time, tried again where that can help, and
//! errors that hold neither content nor keys.
//!
//! An answer's own words are never part of an error: servers repeat what they were sent, keys among it.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url, redirect};
use serde_json::Value;

use super::SummarizeError;

/// How often a request is tried again.
const RETRIES: u32 = 3;

/// The pause before the first retry; the next ones are twice as long each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause that a server can ask for. If it asks for more, the request has failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long one attempt may take.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How long it may take until a server is reached.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of an answer. More is none.
const MAX_ANSWER: usize = 4 << 20;

/// A place that answers JSON with JSON.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
}

/// Whether another attempt can help, and after what pause if the server said so.
struct Attempt {
    error: SummarizeError,
    again: bool,
    pause: Option<Duration>,
}

impl Endpoint {
    /// Below a base address, with headers for every request.
    pub(super) fn new(base_url: &str, path: &str, headers: HeaderMap) -> Result<Self, String> {
        let url = format!("{}/{path}", base_url.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|error| format!("the base address is none: {error}"))?;
        let client = Client::builder()
            .default_headers(headers)
            .timeout(TIME_LIMIT)
            .connect_timeout(CONNECT_LIMIT)
            // A key must not go where somebody points to.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("talktree/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("HTTP cannot be used: {}", error.without_url()))?;
        Ok(Self { client, url })
    }

    /// Asks, and asks again after a pause where the server is busy, broken or out of reach.
    pub(super) async fn ask(&self, body: &Value) -> Result<Value, SummarizeError> {
        let body = body.to_string();
        let mut pause = FIRST_PAUSE;
        let mut retries = RETRIES;
        loop {
            let failed = match self.attempt(body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if !failed.again || retries == 0 || failed.pause.is_some_and(|pause| pause > LONGEST_PAUSE) {
                return Err(failed.error);
            }
            tokio::time::sleep(failed.pause.unwrap_or(pause).max(FIRST_PAUSE)).await;
            pause *= 2;
            retries -= 1;
        }
    }

    async fn attempt(&self, body: String) -> Result<Value, Attempt> {
        let request = self.client.post(self.url.clone()).header("content-type", "application/json").body(body);
        let mut answer = request.send().await.map_err(|error| unreached(&error))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(refused(status, answer.headers()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| unreached(&error))? {
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(other(format!("the answer has more than {MAX_ANSWER} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&bytes).map_err(|_| other("the answer is not JSON".to_owned()))
    }
}

/// A header that must not be seen in any log.
pub(crate) fn secret(name: &'static str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let mut header =
        HeaderValue::from_str(value).map_err(|_| "the key holds characters that no key can have".to_owned())?;
    header.set_sensitive(true);
    Ok((HeaderName::from_static(name), header))
}

/// What an answer without the text that it should have is.
pub(super) fn no_text() -> SummarizeError {
    SummarizeError::Other("the answer holds no text".to_owned())
}

/// A number of tokens in an answer.
pub(super) fn tokens(usage: &Value, name: &str) -> Option<u32> {
    usage.get(name).and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok())
}

fn other(sentence: String) -> Attempt {
    Attempt { error: SummarizeError::Other(sentence), again: false, pause: None }
}

fn unreached(error: &reqwest::Error) -> Attempt {
    let how = if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "cannot be reached"
    } else {
        "broke off"
    };
    // One that took all the time that an attempt has would do so again.
    let again = !error.is_timeout() || error.is_connect();
    Attempt { error: SummarizeError::Unavailable(format!("the server {how}")), again, pause: None }
}

fn refused(status: StatusCode, headers: &HeaderMap) -> Attempt {
    let sentence = format!("the server answered {status}");
    let pause = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| {
        // A date is as if nothing was said: clocks differ.
        text.trim().parse().ok().map(Duration::from_secs)
    });
    let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let error = match status {
        StatusCode::TOO_MANY_REQUESTS => SummarizeError::RateLimited(sentence),
        StatusCode::PAYLOAD_TOO_LARGE => SummarizeError::TooLong(sentence),
        _ if status.is_server_error() => SummarizeError::Unavailable(sentence),
        _ => SummarizeError::Other(sentence),
    };
    Attempt { error, again, pause }
}
