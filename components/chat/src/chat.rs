//! One turn of a conversation.
//!
//! A request may be sent again, and several at once: the answer to the message `m` has the id `m-answer` and hangs under it,
//! so that neither is ever stored twice, and a request whose answer is there gets that one. Two messages that come at the same
//! time stand one after the other; each has its own answer.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::bindings::talktree::sessions::store;
use crate::bindings::talktree::sessions::types::{
    AppendOptions, ExpectedLeaf, HistoryView, MediaMode, Parent, ReadOptions, RecentOptions, Source,
};
use crate::model;
use crate::problem::Problem;

/// What the model is shown of a long conversation: the newest messages that fit.
const PROMPT_BYTES: u64 = 256 << 10;

/// What a client posts. Everything else that it says is ignored.
#[derive(Deserialize)]
struct Posted<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
}

/// What has to be known of a message; it is stored as it came.
#[derive(Deserialize)]
struct Message {
    id: String,
    role: String,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

impl Message {
    fn text(&self) -> String {
        let texts: Vec<_> =
            self.parts.iter().filter(|part| part.kind == "text").map(|part| part.text.as_str()).collect();
        texts.join("\n")
    }
}

/// The answer to a message.
pub(crate) struct Answer {
    /// Its id.
    pub(crate) id: String,
    /// What it says.
    pub(crate) text: String,
    /// The message as it is stored.
    pub(crate) json: String,
}

/// Stores the client's message, asks the model, stores its answer.
pub(crate) fn turn(session: &str, body: &[u8]) -> Result<Answer, Problem> {
    let posted: Posted<'_> = serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is not what is posted here: {error}")))?;
    let raw = posted
        .message
        .or(posted.messages.last().copied())
        .ok_or_else(|| Problem::bad_request("the body has neither a message nor messages".to_owned()))?;
    let message: Message = serde_json::from_str(raw.get())
        .map_err(|error| Problem::bad_request(format!("the message is no UIMessage: {error}")))?;
    if message.role != "user" {
        return Err(Problem::bad_request(format!("the role of a client's message is user, not {}", message.role)));
    }
    let appended = store::append_message(session, raw.get(), &options(Parent::Latest, Source::Client))?;
    if appended.conflict {
        return Err(Problem::new(409, "conflict", format!("another message has the id {}", message.id)));
    }
    let id = format!("{}-answer", message.id);
    if let Some(there) = answered(session, &id)? {
        return Ok(there);
    }
    let text = model::answer(&conversation(session, &message.id)?)?;
    let json = json!({ "id": id, "role": "assistant", "parts": [{ "type": "text", "text": text }] }).to_string();
    let appended = store::append_message(session, &json, &options(Parent::Id(message.id), Source::Server))?;
    if appended.conflict
        && let Some(there) = answered(session, &id)?
    {
        // Somebody else was asked the same at the same time, and was faster.
        return Ok(there);
    }
    Ok(Answer { id, text, json })
}

/// The conversation as an array of messages, page by page.
pub(crate) fn history(session: &str, mut write: impl FnMut(&str) -> std::io::Result<()>) -> std::io::Result<()> {
    let view = HistoryView { leaf_id: None, newest_first: false, overlays: false, media: MediaMode::Inline };
    let options = ReadOptions { view, batch_size: None, max_batch_bytes: None };
    let mut cursor = None;
    let mut before = "[";
    loop {
        let page = store::read_history(session, &options, cursor.as_deref())
            .map_err(|error| std::io::Error::other(Problem::from(error).json()))?;
        for message in &page.messages {
            write(before)?;
            write(&message.json)?;
            before = ",";
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return write(if before == "[" { "[]" } else { "]" });
        }
    }
}

fn options(parent: Parent, source: Source) -> AppendOptions {
    AppendOptions { parent, source, expected_leaf: ExpectedLeaf::Any }
}

fn answered(session: &str, id: &str) -> Result<Option<Answer>, Problem> {
    let Some(stored) = store::get_message(session, id, MediaMode::Reference)? else { return Ok(None) };
    let text = read(&stored.json).map_or_else(String::new, |message| message.text());
    Ok(Some(Answer { id: stored.id, text, json: stored.json }))
}

/// Role and text of what the model is shown: summaries stand for what they cover.
fn conversation(session: &str, leaf: &str) -> Result<Vec<(String, String)>, Problem> {
    let options = RecentOptions {
        max_bytes: PROMPT_BYTES,
        leaf_id: Some(leaf.to_owned()),
        overlays: true,
        media: MediaMode::Reference,
    };
    let recent = store::get_recent_history(session, &options)?;
    Ok(recent
        .messages
        .iter()
        .filter_map(|stored| read(&stored.json))
        .map(|message| (message.role.clone(), message.text()))
        .collect())
}

fn read(json: &str) -> Option<Message> {
    serde_json::from_str(json).ok()
}
