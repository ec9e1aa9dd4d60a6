//! `POST /api/chat`: an agent's answer to the user's last message, as it is made.
//!
//! `?user=U&conversation=C` (or `tenant`, and `session`) says where. The body is what the AI SDK's chat sends: `message`, or
//! `messages`, of which the last counts; or `{"trigger":"regenerate-message","messageId":ID}` for another answer, where `ID`
//! is the answer's or the question's. `parentId` puts the message below another one than the present leaf.
//!
//! `GET` of the same address says whether a model is configured: 204, or 404.
//!
//! The answer is a stream of Server-Sent Events in the AI SDK's UI message stream protocol.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Identity, Refusal, Shared, post::check_json, socket::refuse, target::Target};
use crate::{
    Parent, Session,
    chat::{Happening, Prompt, Turn},
    rpc::{Failure, Object},
};

/// What says that the events are of that protocol.
const PROTOCOL: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-vercel-ai-ui-message-stream"), HeaderValue::from_static("v1"));

/// How often a sign of life is sent. A client that has gone without a word is noticed by the one after the next.
const SIGN: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
    trigger: Option<String>,
    message_id: Option<String>,
    /// Absent: the present leaf; null: a new root.
    #[serde(default, deserialize_with = "given")]
    parent_id: Option<Option<String>>,
}

fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Answers.
pub(super) async fn chat(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    match begin(&shared, &identity, request).await {
        Ok(response) => response,
        Err(refusal) => refuse(&shared, refusal),
    }
}

/// Says whether there is a model: 204, or 404.
pub(super) async fn is_there(State(shared): State<Arc<Shared>>) -> Response {
    if shared.agent.is_some() { StatusCode::NO_CONTENT.into_response() } else { nobody().into_response() }
}

fn nobody() -> Refusal {
    Refusal::with_status(StatusCode::NOT_FOUND, "no model is configured here (see --chat-model)")
}

async fn begin(shared: &Arc<Shared>, identity: &Identity, request: Request) -> Result<Response, Refusal> {
    let agent = shared.agent.as_ref().ok_or_else(nobody)?;
    let target = Target::of_query(request.uri().query())?;
    let identity = shared.confined(identity, target.tenant.as_deref())?;
    let Some(tenant) = target.tenant.as_deref() else {
        return Err(Refusal::bad("the address has to name the tenant: ?user=U&conversation=C, or ?tenant=T"));
    };
    identity.caller.check(tenant).map_err(|failure| Refusal::new(StatusCode::FORBIDDEN, failure))?;
    let (head, body) = request.into_parts();
    check_json(&head.headers)?;
    let room = shared.bodies.read(&head.headers, body).await?;
    let session = shared.talktree.tenant(tenant).map_err(refused)?.session(target.session.unwrap_or_default());
    let prompt = prompt(&session, &room.bytes).await?;
    let turn = agent.answer(session, prompt).await.map_err(refused)?;
    drop(room);
    let stopping = shared.stopping.clone();
    let events = Events { turn, open: None, begun: false, over: false };
    let events = stream::unfold(events, Events::next).flat_map(stream::iter).map(Ok::<_, Infallible>);
    let events = events.take_until(Box::pin(async move { stopping.cancelled().await }));
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN)).into_response();
    response.headers_mut().insert(PROTOCOL.0, PROTOCOL.1);
    Ok(response)
}

fn refused(error: crate::Error) -> Refusal {
    let status = match error.kind().as_str() {
        "busy" => StatusCode::SERVICE_UNAVAILABLE,
        "unknown-message" => StatusCode::NOT_FOUND,
        "invalid-message" | "invalid-argument" | "over-limit" => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Refusal::new(status, Failure::from(error))
}

async fn prompt(session: &Session, body: &[u8]) -> Result<Prompt, Refusal> {
    let body: Body<'_> =
        serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("the body is none of a chat: {error}")))?;
    if body.trigger.as_deref() == Some("regenerate-message") {
        let id =
            body.message_id.ok_or_else(|| Refusal::bad("\"messageId\" has to say what is to be answered again"))?;
        let known = session.get_message(&id).await.map_err(refused)?;
        // Of an answer, the message that it answered.
        let question = known.filter(|message| message.role == "assistant").and_then(|message| message.parent_id);
        return Ok(Prompt::again(question.unwrap_or(id)));
    }
    let message = body.message.or(body.messages.last().copied());
    let message = message.ok_or_else(|| Refusal::bad("\"message\" has to hold the user's message"))?;
    let prompt = Prompt::message(message.get()).map_err(refused)?;
    Ok(match body.parent_id {
        Some(parent) => prompt.parent(Parent::from(parent)),
        None => prompt,
    })
}

/// Turns what happens into events.
struct Events {
    turn: Turn,
    /// The text that has begun and not ended.
    open: Option<usize>,
    begun: bool,
    over: bool,
}

impl Events {
    async fn next(mut self) -> Option<(Vec<Event>, Self)> {
        if self.over {
            return None;
        }
        let mut events = Vec::new();
        if !self.begun {
            self.begun = true;
            events.push(event(Object::new().text("type", "start").text("messageId", self.turn.answer_id())));
            events.push(event(Object::new().text("type", "start-step")));
            return Some((events, self));
        }
        let happening = self.turn.next().await?;
        match happening {
            Happening::Text { part, text } => {
                let id = format!("text-{part}");
                if self.open != Some(part) {
                    self.end_text(&mut events);
                    events.push(event(Object::new().text("type", "text-start").text("id", &id)));
                    self.open = Some(part);
                }
                events.push(event(Object::new().text("type", "text-delta").text("id", &id).text("delta", &text)));
            }
            Happening::Call { id, name, arguments } => {
                self.end_text(&mut events);
                let mut call = Object::new();
                call.text("type", "tool-input-available").text("toolCallId", &id).text("toolName", &name);
                match serde_json::from_str::<&RawValue>(&arguments) {
                    Ok(input) => call.json("input", input.get()),
                    Err(_) => call.text("input", &arguments),
                };
                events.push(event(&mut call));
            }
            Happening::Output { id, content, is_error } => {
                let (kind, field) =
                    if is_error { ("tool-output-error", "errorText") } else { ("tool-output-available", "output") };
                events.push(event(Object::new().text("type", kind).text("toolCallId", &id).text(field, &content)));
                events.push(event(Object::new().text("type", "finish-step")));
                events.push(event(Object::new().text("type", "start-step")));
            }
            Happening::Finished => {
                self.end_text(&mut events);
                events.push(event(Object::new().text("type", "finish-step")));
                events.push(event(Object::new().text("type", "finish")));
                events.push(Event::default().data("[DONE]"));
                self.over = true;
            }
            Happening::Failed(sentence) => {
                self.end_text(&mut events);
                events.push(event(Object::new().text("type", "error").text("errorText", &sentence)));
                events.push(Event::default().data("[DONE]"));
                self.over = true;
            }
        }
        Some((events, self))
    }

    fn end_text(&mut self, events: &mut Vec<Event>) {
        if let Some(part) = self.open.take() {
            events.push(event(Object::new().text("type", "text-end").text("id", &format!("text-{part}"))));
        }
    }
}

fn event(object: &mut Object) -> Event {
    Event::default().data(object.finish())
}
