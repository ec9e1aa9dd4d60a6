//! `claude-ai`: the conversations of an export of Claude, `conversations.json`.
//!
//! A conversation is an object whose `chat_messages` are its messages. Where they have `parent_message_uuid` they are a
//! tree, whose root is called `00000000-0000-4000-8000-000000000000`; older exports have none, and a chain. The
//! conversation stands at `current_leaf_message_uuid`, or else at its newest message.
//!
//! `content` becomes parts as `blocks` says; `text`, which holds the same words, counts where there is no content.
//! Attachments and files are parts `data-claude-ai` behind it. `metadata.claude-ai` holds all other members.

use std::io;

use super::{
    blocks,
    conversations::{self, Named, Shape},
    format::{Likeness, Rules},
    input::{Input, Span},
    json::{self, Members, Writer, elements},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    parts::{Own, string, without},
    plan::Sources,
    time,
};

const OWN: Own = Own("claude-ai");

/// The id that stands for the root of every conversation.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

/// The rules of the format.
pub(crate) struct ClaudeAi;

impl Rules for ClaudeAi {
    fn likeness(&self, head: &[u8], name: &str) -> Likeness {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let has = |key: &[u8]| text.windows(key.len()).any(|window| window == key);
        if !matches!(text.first(), Some(b'[' | b'{')) {
            return Likeness::No;
        }
        let named = name.starts_with("conversations") && name.ends_with(".json");
        match has(b"\"chat_messages\"") {
            true => Likeness::Sure,
            false if named && has(b"\"uuid\"") => Likeness::Maybe,
            false => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        conversations::survey(&mut Chat::default(), input, outline)
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        let record = Members::of(sources.record.as_bytes());
        let role = match record.text("sender").as_deref() {
            Some("human") => "\"user\"",
            _ => string(&record, "sender").unwrap_or("\"unknown\""),
        };
        let mut parts = Writer::array();
        let content = record.get("content").filter(|content| !elements(content).is_empty());
        blocks::content(OWN, content.or_else(|| string(&record, "text")), &mut parts);
        for key in ["attachments", "files", "files_v2"] {
            for file in record.get(key).map(elements).unwrap_or_default() {
                let mut kind = Writer::object();
                kind.put(key, file);
                parts.push(&OWN.data(&kind.end()));
            }
        }
        let mut known = vec!["content", "attachments", "files", "files_v2"];
        if record.get("text").is_none_or(|text| content.is_none() || says_the_same(text, content)) {
            known.push("text");
        }
        let mut kept = Writer::object();
        kept.put("message", &without(&record, &known).end());
        Ok(OWN.message(sources, role, None, parts, kept))
    }
}

/// Whether a text is what the text blocks of a content say.
fn says_the_same(text: &str, content: Option<&str>) -> bool {
    let blocks = content.map(elements).unwrap_or_default();
    let said = blocks.iter().filter_map(|block| {
        let members = Members::of(block.as_bytes());
        string(&members, "text").map(json::inside)
    });
    let said: Vec<_> = said.collect();
    ["", "\\n", "\\n\\n"].iter().any(|between| said.join(between) == json::inside(text))
}

/// The messages of one conversation after the other.
#[derive(Debug, Default)]
struct Chat {
    /// The message before, in the same conversation.
    previous: Option<u32>,
}

impl Shape for Chat {
    fn list(&self) -> &'static str {
        "chat_messages"
    }

    fn is_keyed(&self) -> bool {
        false
    }

    fn is_message(&self, _key: Option<&str>, members: &Members<'_>) -> bool {
        members.text("uuid").is_some() && string(members, "sender").is_some()
    }

    fn message(&mut self, outline: &mut Outline, _key: Option<&str>, text: &str, span: Span, place: Place) {
        let members = Members::of(text.as_bytes());
        let mut kind = Kind::Message;
        if string(&members, "sender").is_none_or(|sender| sender.len() < 3) {
            outline.fail(place, "no message: it has no `sender`");
            kind = Kind::Lost;
        }
        let parent = match members.get("parent_message_uuid") {
            None => self.previous.map_or(Parent::Root, Parent::Node),
            Some(raw) => parent(raw),
        };
        let id = members.text("uuid").filter(|id| may_be_id(id)).unwrap_or_else(|| {
            let above = self.previous.map(|previous| &*outline.nodes[previous as usize].id);
            derived_id(above.unwrap_or_default(), text.as_bytes())
        });
        let created_at = members.get("created_at").and_then(time::of_json);
        let bytes = text.as_bytes();
        self.previous = Some(outline.add(NewNode { kind, id: &id, parent, span, place, created_at, bytes }));
    }

    fn lost(&mut self, outline: &mut Outline, _key: Option<&str>, bytes: &[u8], place: Place) {
        let members = Members::of(bytes);
        if let Some(id) = members.text("uuid").filter(|id| may_be_id(id)) {
            let parent = members.get("parent_message_uuid").map(parent);
            self.previous = Some(conversations::add_lost(outline, &id, parent, place));
        }
    }

    fn end(&mut self, outline: &mut Outline, named: &Named) {
        self.previous = None;
        conversations::name(outline, named.text("uuid"), named.text("name"));
        conversations::stand_at(outline, named.text("current_leaf_message_uuid"));
    }
}

fn parent(raw: &str) -> Parent {
    match json::text(raw) {
        None if raw == "null" => Parent::Root,
        Some(id) if id == ROOT => Parent::Root,
        id => Parent::Id(id.unwrap_or_else(|| raw.to_owned()).into()),
    }
}
