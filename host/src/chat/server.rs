//! What the models of servers have in common: a request whose answer comes as Server-Sent Events.
//!
//! A server's own words are never part of an error: servers repeat what they were sent, keys among it.

use std::time::Duration;

use futures::{Stream, stream};
use reqwest::{Client, Response, Url, header::HeaderMap, redirect};

use super::ModelError;

/// How long it may take until a server is reached.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a server may say nothing.
const SILENCE: Duration = Duration::from_secs(120);

/// Bytes of one event. More is none.
const MAX_EVENT: usize = 4 << 20;

/// A place that answers with events.
#[derive(Clone, Debug)]
pub(super) struct Server {
    client: Client,
    url: Url,
}

impl Server {
    /// Below a base address, with headers for every request. Errors: a sentence.
    pub(super) fn new(base_url: &str, path: &str, headers: HeaderMap) -> Result<Self, String> {
        let url = format!("{}/{path}", base_url.trim_end_matches('/'));
        let url = Url::parse(&url).map_err(|error| format!("the base address is none: {error}"))?;
        let client = Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE)
            // A key must not go where somebody points to.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("talktree/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("HTTP cannot be used: {}", error.without_url()))?;
        Ok(Self { client, url })
    }

    /// Asks; the answer is the data of each event, up to `[DONE]`.
    pub(super) fn ask(&self, body: String) -> impl Stream<Item = Result<String, ModelError>> + Send + 'static {
        let request = self.client.post(self.url.clone()).header("content-type", "application/json").body(body);
        stream::try_unfold(Events::Asking(Box::new(request)), |events| async move {
            let mut lines = match events {
                Events::Asking(request) => Lines { response: begin(*request).await?, buffer: Vec::new(), scanned: 0 },
                Events::Reading(lines) => lines,
            };
            let data = lines.next_data().await?;
            Ok(data.filter(|data| data != "[DONE]").map(|data| (data, Events::Reading(lines))))
        })
    }
}

enum Events {
    Asking(Box<reqwest::RequestBuilder>),
    Reading(Lines),
}

async fn begin(request: reqwest::RequestBuilder) -> Result<Response, ModelError> {
    let response = request.send().await.map_err(|error| unreached(&error))?;
    let status = response.status();
    if status.is_success() { Ok(response) } else { Err(ModelError(format!("the model's server answered {status}"))) }
}

struct Lines {
    response: Response,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no end of a line.
    scanned: usize,
}

impl Lines {
    /// The data of the next event. Events of models have one line of it each.
    async fn next_data(&mut self) -> Result<Option<String>, ModelError> {
        loop {
            if let Some(end) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=self.scanned + end).collect();
                self.scanned = 0;
                let line =
                    std::str::from_utf8(&line).map_err(|_| ModelError("the model's answer is not UTF-8".to_owned()))?;
                match line.trim_end().strip_prefix("data:") {
                    Some(data) => return Ok(Some(data.trim_start().to_owned())),
                    None => continue,
                }
            }
            self.scanned = self.buffer.len();
            match self.response.chunk().await.map_err(|error| unreached(&error))? {
                Some(chunk) if self.buffer.len() + chunk.len() <= MAX_EVENT => self.buffer.extend_from_slice(&chunk),
                Some(_) => {
                    return Err(ModelError(format!("a piece of the model's answer has more than {MAX_EVENT} bytes")));
                }
                None => return Ok(None),
            }
        }
    }
}

fn unreached(error: &reqwest::Error) -> ModelError {
    let how = if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "cannot be reached"
    } else {
        "broke off"
    };
    ModelError(format!("the model's server {how}"))
}
