//! WebSocket `/agents/coder-agent/{name}`: the calls of a chat agent, about the tenant of that name.
//!
//! A frame `{"type":"rpc","id":ID,"method":METHOD,"args":[...]}` is answered by `{"type":"rpc","id":ID,"success":true,
//! "result":...}`, or by `"success":false` and an `"error"` in words. Frames are carried out one after the other.
//!
//! | method | args | result |
//! | --- | --- | --- |
//! | `forkFrom` | id of a message (null: a new root), a message or its text | `{id, parentId, inserted, conflict}` |
//! | `listBranches` | id of a message (absent or null: the roots) | the messages that answer it |
//! | `switchToBranch` | id of a message | `{leafId}` |
//! | `searchMemory` | query, how many (absent: 20) | the results of `search` |
//!
//! A text becomes a message of the user with an id of its own. Messages are the client's: reserved metadata is left out.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Extension,
    extract::{
        Path, RawQuery, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::Response,
};
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::{
    Identity, Shared,
    socket::{End, begin, next_text, refuse, say_farewell},
    target::Target,
};
use crate::{
    fresh,
    rpc::{Object, Service, push_text},
};

/// Messages of one page.
const PAGE: u32 = 1_000;

/// A call, as it is sent.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    id: &'a RawValue,
    method: String,
    #[serde(borrow, default)]
    args: Vec<&'a RawValue>,
}

/// Begins a conversation.
pub(super) async fn coder_agent(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    let target = Target::of_query(query.as_deref()).and_then(|target| target.in_path(name));
    let confined =
        target.and_then(|target| Ok((shared.confined(&identity, target.tenant.as_deref())?, target.session)));
    match confined {
        Ok((identity, session)) => begin(upgrade, shared, |shared, socket| converse(shared, identity, session, socket)),
        Err(refusal) => refuse(&shared, refusal),
    }
}

async fn converse(shared: Arc<Shared>, identity: Identity, session: Option<String>, socket: WebSocket) {
    let agent = Agent { service: shared.service(&identity), session: session.unwrap_or_default() };
    let (mut out, mut input) = socket.split();
    let over = shared.authority.over(&identity);
    tokio::pin!(over);
    let end = loop {
        let text = async {
            let text = next_text(&mut input).await?;
            if let Err(wait) = shared.rates.count(identity.name.as_ref()) {
                sleep(wait).await;
            }
            Ok::<_, End>(text)
        };
        let text = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => break End::Stopping,
            over = &mut over => break End::Over(over),
            text = text => match text {
                Ok(text) => text,
                Err(end) => break end,
            },
        };
        // A client that goes away does not take back what it has asked for.
        let agent = agent.clone();
        let Ok(answer) = shared.tasks.spawn(async move { agent.answer(&text).await }).await else { break End::Broken };
        if out.send(Message::text(answer)).await.is_err() {
            return;
        }
    };
    say_farewell(end, out, input).await;
}

/// Carries out frames.
#[derive(Clone)]
struct Agent {
    service: Service,
    session: String,
}

/// What a frame is answered with: JSON, or why not.
type Outcome = Result<String, String>;

impl Agent {
    async fn answer(&self, text: &str) -> String {
        let (id, outcome) = match serde_json::from_str::<Frame<'_>>(text) {
            Ok(frame) if frame.kind == "rpc" => (frame.id.get(), self.carry_out(&frame).await),
            Ok(frame) => (frame.id.get(), Err(format!("there are no frames of type {:?} here", frame.kind))),
            Err(error) => ("null", Err(format!("this is no frame: {error}"))),
        };
        let mut answer = Object::new();
        answer.text("type", "rpc").json("id", id).flag("success", outcome.is_ok());
        match outcome {
            Ok(result) => answer.json("result", &result),
            Err(sentence) => answer.text("error", &sentence),
        };
        answer.finish()
    }

    async fn carry_out(&self, frame: &Frame<'_>) -> Outcome {
        let arg = |at: usize| frame.args.get(at).map_or("null", |arg| arg.get());
        let most = match frame.method.as_str() {
            "forkFrom" | "searchMemory" => 2,
            "listBranches" | "switchToBranch" => 1,
            method => return Err(format!("there is no method {method:?}")),
        };
        if frame.args.len() > most {
            return Err(format!("{:?} takes {most} args at most", frame.method));
        }
        match frame.method.as_str() {
            "forkFrom" => self.fork_from(arg(0), arg(1)).await,
            "searchMemory" => self.search_memory(arg(0), arg(1)).await,
            "listBranches" => self.list_branches(arg(0)).await,
            _ => self.call("setLeaf", self.params().json("id", arg(0))).await,
        }
    }

    /// The params that every method has; the tenant goes without saying.
    fn params(&self) -> Object {
        let mut params = Object::new();
        params.text("session", &self.session);
        params
    }

    async fn call(&self, method: &str, params: &mut Object) -> Outcome {
        self.service.invoke(method, params).await.map_err(|failure| failure.message().to_owned())
    }

    async fn fork_from(&self, parent: &str, message: &str) -> Outcome {
        let message = if message.starts_with('"') { user_message(message)? } else { message.to_owned() };
        let id = members(&message).and_then(|message| message.get("id").map(|id| id.get().to_owned()));
        let mut params = self.params();
        params.json("message", &message).json("parentId", parent).text("source", "client");
        let done = self.call("appendMessage", &mut params).await?;
        let done = members(&done).unwrap_or_default();
        let mut answer = Object::new();
        answer.maybe_json("id", id.as_deref()).json("parentId", parent);
        for name in ["inserted", "conflict"] {
            answer.maybe_json(name, done.get(name).map(|flag| flag.get()));
        }
        Ok(answer.finish())
    }

    async fn list_branches(&self, id: &str) -> Outcome {
        let mut params = self.params();
        params.json("id", id).number("limit", PAGE);
        part(&self.call("getBranches", &mut params).await?, "messages")
    }

    async fn search_memory(&self, query: &str, limit: &str) -> Outcome {
        let mut params = self.params();
        params.json("query", query).json("limit", limit);
        part(&self.call("search", &mut params).await?, "results")
    }
}

/// A message of the user that says this, given as a JSON string.
fn user_message(text: &str) -> Result<String, String> {
    let text: String = serde_json::from_str(text).map_err(|error| format!("the text is none: {error}"))?;
    fresh::text_message("user", &text).map(|(_, message)| message).map_err(|error| error.message().to_owned())
}

fn members(json: &str) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_str(json).ok()
}

/// A member of a result.
fn part(result: &str, name: &str) -> Outcome {
    match members(result).and_then(|members| members.get(name).map(|member| member.get().to_owned())) {
        Some(member) => Ok(member),
        None => {
            let mut sentence = String::from("the answer has no ");
            push_text(&mut sentence, name);
            Err(sentence)
        }
    }
}
