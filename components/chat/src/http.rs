//! Requests in, answers out.
//!
//! An answer to a POST is a stream of the AI SDK's UI message protocol, which `useChat` reads, or `{"message": ...}` for a
//! client that accepts `application/json`. The answer to a GET is `{"messages": [...]}`. A problem is `{"error": {"kind",
//! "message"}}` with a status: 400 for what the client got wrong, 409 where the id is another message's, 429 and 502 for the
//! model's, 503 where the store is busy and the same request can be sent again.

use std::io::{Read as _, Write};

use serde_json::json;
use wasip2::http::types::{Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam};

use crate::chat::{Answer, history, turn};
use crate::problem::Problem;
use crate::query::session;

/// More than any message that a person writes.
const MAX_BODY: u64 = 16 << 20;

/// What is answered.
pub(crate) enum Reply {
    Json(String),
    Events(String),
    History(String),
}

/// Finds out what is asked for, and does it.
pub(crate) fn route(request: &IncomingRequest) -> Result<Reply, Problem> {
    let path = request.path_with_query().unwrap_or_default();
    if path.split('?').next() != Some("/api/chat") {
        return Err(Problem::new(404, "not-found", "there is /api/chat?user=U&conversation=C".to_owned()));
    }
    match request.method() {
        Method::Get => Ok(Reply::History(session(&path)?)),
        Method::Post => {
            let session = session(&path)?;
            let answer = turn(&session, &body(request)?)?;
            Ok(if wants_json(request) {
                Reply::Json(format!("{{\"message\":{}}}", answer.json))
            } else {
                Reply::Events(events(&answer))
            })
        }
        _ => Err(Problem::new(405, "method-not-allowed", "GET and POST are allowed".to_owned())),
    }
}

fn wants_json(request: &IncomingRequest) -> bool {
    let accepted = request.headers().get("accept");
    accepted.iter().any(|value| String::from_utf8_lossy(value).contains("application/json"))
}

fn body(request: &IncomingRequest) -> Result<Vec<u8>, Problem> {
    let unreadable = |reason: String| Problem::bad_request(format!("the body cannot be read: {reason}"));
    let body = request.consume().map_err(|()| unreadable("it was read before".to_owned()))?;
    let stream = body.stream().map_err(|()| unreadable("it was read before".to_owned()))?;
    let mut bytes = Vec::new();
    stream.take(MAX_BODY + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_BODY {
        return Err(Problem::new(413, "too-large", format!("a body has at most {MAX_BODY} bytes")));
    }
    Ok(bytes)
}

/// An answer as the AI SDK streams one.
fn events(answer: &Answer) -> String {
    let chunks = [
        json!({ "type": "start", "messageId": answer.id }),
        json!({ "type": "text-start", "id": "0" }),
        json!({ "type": "text-delta", "id": "0", "delta": answer.text }),
        json!({ "type": "text-end", "id": "0" }),
        json!({ "type": "finish" }),
    ];
    let mut text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    text
}

/// Sends it.
pub(crate) fn respond(response: ResponseOutparam, reply: Result<Reply, Problem>) {
    let (status, kind) = match &reply {
        Ok(Reply::Events(_)) => (200, "text/event-stream"),
        Ok(Reply::Json(_) | Reply::History(_)) => (200, "application/json"),
        Err(problem) => (problem.status, "application/json"),
    };
    let headers = Fields::new();
    let mut fields = vec![("content-type", kind)];
    match status {
        200 if kind == "text/event-stream" => fields.push(("x-vercel-ai-ui-message-stream", "v1")),
        405 => fields.push(("allow", "GET, POST")),
        503 => fields.push(("retry-after", "1")),
        _ => {}
    }
    for (name, value) in fields {
        if let Err(error) = headers.append(name, value.as_bytes()) {
            eprintln!("the host refuses the header {name}: {error}");
        }
    }
    let outgoing = OutgoingResponse::new(headers);
    if outgoing.set_status_code(status).is_err() {
        eprintln!("the host refuses the status {status}");
    }
    let Ok(body) = outgoing.body() else {
        eprintln!("the host gives the answer no body");
        return;
    };
    ResponseOutparam::set(response, Ok(outgoing));
    // A client that has gone away in the middle gets no more, and one that has half of an answer sees that it is half.
    match write(&body, &reply) {
        Ok(()) => {
            if let Err(error) = OutgoingBody::finish(body, None) {
                eprintln!("an answer could not be ended: {error}");
            }
        }
        Err(error) => eprintln!("an answer broke off: {error}"),
    }
}

fn write(body: &OutgoingBody, reply: &Result<Reply, Problem>) -> std::io::Result<()> {
    let mut stream = body.write().map_err(|()| std::io::Error::other("the body cannot be written"))?;
    match reply {
        Ok(Reply::Json(text) | Reply::Events(text)) => stream.write_all(text.as_bytes())?,
        Ok(Reply::History(session)) => {
            stream.write_all(b"{\"messages\":")?;
            history(session, |text| stream.write_all(text.as_bytes()))?;
            stream.write_all(b"}")?;
        }
        Err(problem) => stream.write_all(problem.json().as_bytes())?,
    }
    Write::flush(&mut stream)
}
