//! Answers of HTTP to what is not let in: a status, and a JSON-RPC error for programs that read the body.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::rpc::Failure;

/// What the body of an answer is.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Why a request is not let in.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    failure: Failure,
    /// A header more.
    header: Option<(header::HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, failure: Failure) -> Self {
        Self { status, failure, header: None }
    }

    fn of_kind(status: StatusCode, kind: &'static str, sentence: impl Into<String>) -> Self {
        Self::new(status, Failure::store(kind, sentence, None, None, None))
    }

    /// What a status says, in words.
    pub(super) fn with_status(status: StatusCode, sentence: &str) -> Self {
        Self::of_kind(status, "invalid-argument", sentence)
    }

    /// It makes no sense.
    pub(super) fn bad(sentence: impl Into<String>) -> Self {
        Self::of_kind(StatusCode::BAD_REQUEST, "invalid-argument", sentence)
    }

    /// Nobody was recognised.
    pub(super) fn unknown(sentence: &str) -> Self {
        let scheme = (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Self { header: Some(scheme), ..Self::of_kind(StatusCode::UNAUTHORIZED, "forbidden", sentence) }
    }

    /// Who asks may not do that.
    pub(super) fn forbidden(sentence: &str) -> Self {
        Self::of_kind(StatusCode::FORBIDDEN, "forbidden", sentence)
    }

    /// It takes too long to send.
    pub(super) fn slow(sentence: &str) -> Self {
        let close = (header::CONNECTION, HeaderValue::from_static("close"));
        Self { header: Some(close), ..Self::of_kind(StatusCode::REQUEST_TIMEOUT, "timed-out", sentence) }
    }

    /// There are more than this one client may send.
    pub(super) fn too_many(wait: std::time::Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        let later = (header::RETRY_AFTER, HeaderValue::from(seconds));
        let sentence = "too many requests with this token: try again later";
        Self { header: Some(later), ..Self::of_kind(StatusCode::TOO_MANY_REQUESTS, "busy", sentence) }
    }

    /// One client has more under way than it may.
    pub(super) fn crowded() -> Self {
        let later = (header::RETRY_AFTER, HeaderValue::from_static("1"));
        let sentence = "too many requests and conversations of this token are under way: end some, or try again later";
        Self { header: Some(later), ..Self::of_kind(StatusCode::TOO_MANY_REQUESTS, "busy", sentence) }
    }

    /// There are more than this server can take.
    pub(super) fn busy() -> Self {
        let later = (header::RETRY_AFTER, HeaderValue::from_static("1"));
        let sentence = "too many requests are under way: try again later";
        Self { header: Some(later), ..Self::of_kind(StatusCode::SERVICE_UNAVAILABLE, "busy", sentence) }
    }

    /// What kind of error it is, in one word.
    pub(super) fn kind(&self) -> &'static str {
        self.failure.kind()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = format!(r#"{{"jsonrpc":"2.0","id":null,"error":{}}}"#, self.failure.json());
        let mut response = json(self.status, body);
        response.headers_mut().extend(self.header);
        response
    }
}

/// An answer that is JSON.
pub(super) fn json(status: StatusCode, body: String) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}
