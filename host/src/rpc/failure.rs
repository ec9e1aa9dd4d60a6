//! Errors as JSON-RPC tells them.

use super::json::Object;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    code: i32,
    message: String,
    /// Boxed, so that results stay small.
    data: Option<Box<Data>>,
}

/// What a program can act on, in errors of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Data {
    kind: &'static str,
    subject: Option<String>,
    current: Option<u64>,
    limit: Option<u64>,
}

impl Failure {
    /// The line is not JSON.
    pub(crate) fn parse(message: impl Into<String>) -> Self {
        Self { code: -32700, message: message.into(), data: None }
    }

    /// The line is JSON, and not a request.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self { code: -32600, message: message.into(), data: None }
    }

    /// There is no such method.
    pub(crate) fn method(name: &str) -> Self {
        Self { code: -32601, message: format!("there is no method {}", shown(name)), data: None }
    }

    /// A param is missing, unknown, there twice or of the wrong type.
    pub(crate) fn param(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into(), data: None }
    }

    /// An error of the store.
    pub(crate) fn store(
        kind: &'static str,
        message: impl Into<String>,
        subject: Option<String>,
        current: Option<u64>,
        limit: Option<u64>,
    ) -> Self {
        Self { code: -32000, message: message.into(), data: Some(Box::new(Data { kind, subject, current, limit })) }
    }

    /// A param of the right type with a value that cannot be.
    pub(crate) fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::store("invalid-argument", message, Some(name.to_owned()), None, None)
    }

    /// A sentence for a person.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What kind it is, in one word: of errors of the store the name of their case.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.data, self.code) {
            (Some(data), _) => data.kind,
            (None, -32700) => "parse-error",
            (None, -32601) => "unknown-method",
            (None, -32602) => "invalid-params",
            (None, _) => "invalid-request",
        }
    }

    /// The error object of an answer.
    pub(crate) fn json(&self) -> String {
        let mut error = Object::new();
        error.number("code", self.code).text("message", &self.message);
        if let Some(data) = &self.data {
            let mut inner = Object::new();
            inner.text("kind", data.kind);
            if let Some(subject) = &data.subject {
                inner.text("subject", subject);
            }
            if let Some(current) = data.current {
                inner.number("current", current);
            }
            if let Some(limit) = data.limit {
                inner.number("limit", limit);
            }
            error.json("data", &inner.finish());
        }
        error.finish()
    }
}

/// A name that the caller made up, quoted, and cut where it is long.
pub(crate) fn shown(name: &str) -> String {
    let short: String = name.chars().take(100).collect();
    if short.len() == name.len() { format!("{name:?}") } else { format!("{short:?}...") }
}
