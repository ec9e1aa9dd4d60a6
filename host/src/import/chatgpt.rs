//! `chatgpt`: the conversations of an export of ChatGPT, `conversations.json` or one of its numbered parts.
//!
//! A conversation is an object whose `mapping` holds the nodes of a tree. Nodes without a message are links and nothing
//! else. What hangs where is told by `parent` alone, since `children` may be left out. The conversation stands at
//! `current_node`, or, where there is no such node, at its newest message. How a node becomes a message is in `message`.

mod message;

use std::io;

use super::{
    conversations::{self, Named, Shape},
    format::{Likeness, Rules},
    input::{Input, Span},
    json::{self, Members},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    plan::Sources,
    time,
};

/// The rules of the format.
pub(crate) struct ChatGpt;

impl Rules for ChatGpt {
    fn likeness(&self, head: &[u8], name: &str) -> Likeness {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let has = |key: &[u8]| text.windows(key.len()).any(|window| window == key);
        let mapped = matches!(text.first(), Some(b'[' | b'{')) && has(b"\"mapping\"");
        let named = name.starts_with("conversations") && name.ends_with(".json");
        match (mapped, has(b"\"children\"") || has(b"\"parent\"")) {
            (true, true) => Likeness::Sure,
            (true, false) => Likeness::Maybe,
            // The first conversation may have a name that is longer than what is looked at.
            _ if named && has(b"\"create_time\"") => Likeness::Maybe,
            _ => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        conversations::survey(&mut Mapping, input, outline)
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        message::of_node(sources)
    }
}

struct Mapping;

impl Shape for Mapping {
    fn list(&self) -> &'static str {
        "mapping"
    }

    fn is_keyed(&self) -> bool {
        true
    }

    fn is_message(&self, key: Option<&str>, members: &Members<'_>) -> bool {
        key.is_some()
            && members.text("id").as_deref() == key
            && (members.get("message").is_some() || members.get("parent").is_some())
    }

    fn message(&mut self, outline: &mut Outline, key: Option<&str>, text: &str, span: Span, place: Place) {
        let node = Members::of(text.as_bytes());
        let said = node.get("message").filter(|raw| raw.starts_with('{'));
        let message = Members::of(said.unwrap_or_default().as_bytes());
        let mut kind = if said.is_some() { Kind::Message } else { Kind::Lost };
        if said.is_some() && message::role(&message).is_none() {
            outline.fail(place, "no message: its author has no `role`");
            kind = Kind::Lost;
        } else if node.get("message").is_some_and(|raw| raw != "null") && said.is_none() {
            outline.fail(place, "its `message` is no JSON object");
        }
        let id = key.map(str::to_owned).or_else(|| node.text("id")).filter(|id| may_be_id(id));
        let parent = node.get("parent").map_or(Parent::Root, parent);
        let id = id.unwrap_or_else(|| derived_id("", text.as_bytes()));
        let created_at = message.get("create_time").and_then(time::of_json);
        outline.add(NewNode { kind, id: &id, parent, span, place, created_at, bytes: text.as_bytes() });
    }

    fn lost(&mut self, outline: &mut Outline, key: Option<&str>, bytes: &[u8], place: Place) {
        if let Some(id) = key.filter(|id| may_be_id(id)) {
            conversations::add_lost(outline, id, Members::of(bytes).get("parent").map(parent), place);
        }
    }

    fn end(&mut self, outline: &mut Outline, named: &Named) {
        conversations::name(outline, named.text("conversation_id").or_else(|| named.text("id")), named.text("title"));
        conversations::stand_at(outline, named.text("current_node"));
    }
}

fn parent(raw: &str) -> Parent {
    match raw {
        "null" => Parent::Root,
        raw => Parent::Id(json::text(raw).unwrap_or_else(|| raw.to_owned()).into()),
    }
}
