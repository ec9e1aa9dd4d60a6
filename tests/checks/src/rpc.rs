//! Lines of JSON-RPC: what comes in is a request, or is answered as what it is.

use std::io::Read;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::bytes::Choices;

#[path = "../../../host/src/rpc/failure.rs"]
mod failure;
#[path = "../../../host/src/rpc/json.rs"]
mod json;
#[path = "../../../host/src/rpc/lines.rs"]
mod lines;
#[path = "../../../host/src/rpc/number.rs"]
mod number;
#[path = "../../../host/src/rpc/params.rs"]
mod params;
#[path = "../../../host/src/rpc/request.rs"]
mod request;

use failure::Failure;
use lines::{Line, Lines};
use params::Params;
use request::Request;

/// Bytes that a line may have here.
const LIMIT: usize = 600;

/// Names of params, all of which a request may have.
const NAMES: [&str; 6] = ["tenant", "session", "id", "message", "messages", "limit"];

/// Takes the bytes as a stream of lines.
///
/// - The lines are the same however the stream is cut into pieces, and together they are the stream.
/// - A line is a request, blank, or refused with an error that is JSON and an id that is the one in the line.
/// - Params are the bytes of the line, and say what another reader of JSON finds there; a value of a wrong type, or one
///   that does not fit, is an error that names the param.
pub fn rpc(data: &[u8]) {
    let mut choices = Choices::new(data);
    let piece = usize::from(choices.byte()) + 1;
    let stream = choices.take(usize::MAX);
    let lines = split(stream, usize::MAX);
    assert_eq!(lines, split(stream, piece), "the size of the pieces makes other lines");
    let plain: Vec<&[u8]> = stream.split(|&byte| byte == b'\n').collect();
    let plain = if stream.last().is_none_or(|&byte| byte == b'\n') { &plain[..plain.len() - 1] } else { &plain };
    assert_eq!(plain.len(), lines.len(), "lines got lost");
    for (line, plain) in lines.into_iter().zip(plain) {
        let plain = plain.strip_suffix(b"\r").unwrap_or(plain);
        match line {
            Line::TooLong => assert!(plain.len() > LIMIT),
            Line::Whole(line) => {
                assert_eq!(line, plain);
                request(line);
            }
        }
    }
}

/// Gives the bytes in pieces of a size, as a pipe may.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let take = self.1.min(self.0.len()).min(buffer.len());
        buffer[..take].copy_from_slice(&self.0[..take]);
        self.0 = &self.0[take..];
        Ok(take)
    }
}

fn split(stream: &[u8], piece: usize) -> Vec<Line> {
    let mut lines = Lines::new(Drip(stream, piece), LIMIT);
    let mut all = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        all.push(line);
    }
    all
}

fn request(line: Vec<u8>) {
    let value = serde_json::from_slice::<Value>(&line).ok();
    match Request::parse(line.clone()) {
        Ok(None) => assert!(line.iter().all(|byte| b" \t\r".contains(byte)), "a line is taken for blank"),
        Ok(Some(request)) => {
            serde_json::from_slice::<&RawValue>(&line).expect("what is taken for a request is no JSON");
            if let Some(id) = &request.id {
                serde_json::from_str::<&RawValue>(id).expect("an id is no JSON");
            }
            if let Some(value) = &value {
                assert_eq!(value["jsonrpc"], json!("2.0"));
                assert_eq!(value["method"], json!(request.method));
            }
            params(&request, value.as_ref());
        }
        Err(refused) => {
            told(&refused.failure);
            let id = refused.id.map(|id| serde_json::from_str::<Value>(&id).ok());
            if let (Some(Some(id)), Some(value)) = (id, &value) {
                assert!(id.is_null() || id == value["id"], "another request is answered");
            }
        }
    }
}

fn params(request: &Request, value: Option<&Value>) {
    let params = match Params::of(request, &[&NAMES]) {
        Ok(params) => params,
        Err(failure) => return told(&failure),
    };
    let given = |name: &str| value.and_then(|value| value["params"].get(name));
    let check = |name: &str, read: Result<Option<Value>, Failure>| match read {
        Ok(Some(read)) => {
            if let Some(given) = given(name) {
                assert_eq!(&read, given, "{name} is read as something else");
            }
        }
        Ok(None) => assert!(given(name).is_none_or(Value::is_null), "{name} is read as nothing"),
        Err(failure) => {
            told(&failure);
            assert!(failure.json().contains(name), "{name} is not named: {}", failure.json());
        }
    };
    check("tenant", params.tenant(Some("else")).map(|tenant| given("tenant").map(|_| json!(tenant))));
    check("session", params.session_if_given().map(|session| session.map(Value::from)));
    check("id", params.text("id").map(|id| id.map(Value::from)));
    check("limit", params.number::<u32>("limit").map(|_| given("limit").cloned()));
    if let Ok(limit) = params.number::<u32>("limit")
        && let Some(plain) = given("limit").and_then(Value::as_u64)
    {
        assert_eq!(limit.map(u64::from), Some(plain));
    }
    if let Ok(message) = params.json("message") {
        assert!(request.line.contains(&message), "a message is not in the bytes of its line");
    }
    match params.jsons_if_given("messages") {
        Ok(messages) => {
            for message in messages.into_iter().flatten() {
                assert!(request.line.contains(&message), "a message is not in the bytes of its line");
            }
        }
        Err(failure) => told(&failure),
    }
}

fn told(failure: &Failure) {
    let error: Value = serde_json::from_str(&failure.json()).expect("an error is no JSON");
    assert!(error["code"].is_i64() && error["message"].is_string());
    assert!(!failure.json().contains('\n'), "an error breaks its line");
}
