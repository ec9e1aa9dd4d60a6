//! What message a node of a ChatGPT conversation becomes.
//!
//! | ChatGPT | message |
//! | --- | --- |
//! | user, assistant, system | the same role |
//! | assistant to a recipient other than `all` | role `assistant`, one `dynamic-tool` part named after the recipient |
//! | tool | role `tool`, one `tool-result` part; it answers the node above it, for there are no ids of calls |
//! | hidden notes, profiles of the user | role `system`, origin `hidden` or `user-context` |
//!
//! | content | part |
//! | --- | --- |
//! | text, multimodal_text | a `text` part for every text, a `file` part for every pointer to an image or a sound |
//! | code, execution_output, tether_quote, tether_browsing_display, system_error | `text` |
//! | thoughts | `reasoning` |
//! | anything else | `data-chatgpt` |
//!
//! `metadata.chatgpt` holds all members of the message but its content, and the content where the parts do not say all
//! of it.

use super::super::{
    json::{self, Members, Writer, elements},
    parts::{Own, rest, string, without},
    plan::Sources,
};

const OWN: Own = Own("chatgpt");

/// The role of a message, as a JSON string.
pub(super) fn role<'a>(message: &Members<'a>) -> Option<&'a str> {
    let author = message.get("author")?;
    string(&Members::of(author.as_bytes()), "role").filter(|role| role.len() > 2)
}

/// The message of a node.
pub(super) fn of_node(sources: &Sources<'_>) -> Result<String, String> {
    let node = Members::of(sources.record.as_bytes());
    let message = Members::of(node.get("message").unwrap_or_default().as_bytes());
    let author = Members::of(message.get("author").unwrap_or_default().as_bytes());
    let content = Members::of(message.get("content").unwrap_or_default().as_bytes());
    let metadata = Members::of(message.get("metadata").unwrap_or_default().as_bytes());
    let said = author.text("role").unwrap_or_default();
    let recipient = string(&message, "recipient").filter(|recipient| !matches!(*recipient, "\"all\"" | "\"\""));

    let mut role = role(&message).unwrap_or("\"unknown\"");
    let mut origin = None;
    if content.text("content_type").as_deref() == Some("user_editable_context") {
        (role, origin) = ("\"system\"", Some("user-context"));
    } else if is_hidden(&message, &metadata) {
        origin = Some("hidden");
        if said == "user" {
            role = "\"system\"";
        }
    }

    let mut parts = Writer::array();
    let mut whole = true;
    if said == "tool" {
        let id = string(&node, "parent");
        let (output, all) = output(&content);
        whole = all;
        parts.push(&OWN.result(id, string(&author, "name"), output.as_deref(), false, item, None));
    } else if let Some(recipient) = recipient.filter(|_| said == "assistant") {
        let id = json::quoted(sources.id);
        let (input, all) = text(&content);
        whole = all;
        parts.push(&call(recipient, &id, input));
    } else {
        whole &= content_parts(&content, &mut parts);
    }

    let mut kept = Writer::object();
    kept.put("message", &without(&message, if whole { &["content"] } else { &[] }).end());
    Ok(OWN.message(sources, role, origin, parts, kept))
}

/// Whether nobody was meant to read it.
fn is_hidden(message: &Members<'_>, metadata: &Members<'_>) -> bool {
    let weightless = message.get("weight").and_then(|raw| raw.parse::<f64>().ok()) == Some(0.0);
    let flag = |key: &str| metadata.get(key) == Some("true");
    weightless || flag("is_visually_hidden_from_conversation") || flag("is_user_system_message")
}

/// Writes the parts of a content. Answers whether they say all of it.
fn content_parts(content: &Members<'_>, parts: &mut Writer) -> bool {
    match content.text("content_type").as_deref() {
        Some("text" | "multimodal_text") => {
            let mut whole = rest(content, &["content_type", "parts"]).is_none();
            for raw in elements(content.get("parts").unwrap_or_default()) {
                match part(raw) {
                    Some(part) => {
                        parts.push(&part);
                    }
                    None => whole = false,
                }
            }
            whole
        }
        Some("thoughts") => {
            for raw in elements(content.get("thoughts").unwrap_or_default()) {
                let thought = Members::of(raw.as_bytes());
                let text = ["content", "summary"].into_iter().filter_map(|key| string(&thought, key));
                if let Some(text) = text.into_iter().find(|text| *text != "\"\"") {
                    parts.push(&OWN.reasoning(text, None));
                }
            }
            false
        }
        Some("code" | "execution_output" | "tether_quote" | "tether_browsing_display" | "system_error") => {
            let (text, whole) = text(content);
            if let Some(text) = text {
                parts.push(&OWN.text(&text, None));
            }
            whole
        }
        None if content.iter().next().is_none() => true,
        _ => {
            let mut raw = Writer::object();
            content.iter().for_each(|member| {
                raw.copy(member);
            });
            parts.push(&OWN.data(&raw.end()));
            true
        }
    }
}

/// One part of a content; none for what says nothing.
fn part(raw: &str) -> Option<String> {
    match raw.as_bytes().first() {
        Some(b'"') => (raw != "\"\"").then(|| OWN.text(raw, None)),
        Some(b'{') => Some(object(raw)),
        _ if raw == "null" => None,
        _ => Some(OWN.data(raw)),
    }
}

fn object(raw: &str) -> String {
    let members = Members::of(raw.as_bytes());
    let kind = members.text("content_type").unwrap_or_default();
    if let Some(text) = string(&members, "text").filter(|_| kind == "audio_transcription") {
        return OWN.text(text, rest(&members, &["text"]));
    }
    let media_type = match &*kind {
        "image_asset_pointer" => "\"image\"",
        "audio_asset_pointer" => "\"audio\"",
        _ => return OWN.data(raw),
    };
    match string(&members, "asset_pointer") {
        Some(pointer) => OWN.file(media_type, pointer, rest(&members, &["asset_pointer"])),
        None => OWN.data(raw),
    }
}

/// All that a content says as one JSON string, and whether it says nothing else.
fn text(content: &Members<'_>) -> (Option<String>, bool) {
    if let Some(list) = content.get("parts") {
        let parts = elements(list);
        let texts: Vec<&str> = parts.iter().copied().filter(|part| part.starts_with('"')).map(json::inside).collect();
        let whole =
            texts.len() == parts.len() && texts.len() < 2 && rest(content, &["content_type", "parts"]).is_none();
        return (Some(format!("\"{}\"", texts.join("\\n"))), whole);
    }
    let key = ["text", "result"].into_iter().find(|key| string(content, key).is_some());
    (key.and_then(|key| string(content, key)).map(str::to_owned), false)
}

/// A call; its input is JSON where the text is an object, else the text.
fn call(name: &str, id: &str, input: Option<String>) -> String {
    let decoded = input.as_deref().and_then(json::text);
    let object = decoded.as_deref().and_then(|text| json::valid(text.as_bytes()).ok());
    let object = object.filter(|object| object.starts_with('{'));
    OWN.call(name, id, object.or(input.as_deref()), None)
}

/// What a tool answered: a JSON string, or a list.
fn output(content: &Members<'_>) -> (Option<String>, bool) {
    let parts = content.get("parts").map(elements).unwrap_or_default();
    if parts.iter().any(|part| part.starts_with('{')) {
        let mut list = Writer::array();
        for part in parts.iter().filter(|part| **part != "null") {
            list.push(part);
        }
        return (Some(list.end()), rest(content, &["content_type", "parts"]).is_none());
    }
    match text(content) {
        (None, whole) if content.iter().next().is_some() => {
            let mut raw = Writer::object();
            content.iter().for_each(|member| {
                raw.copy(member);
            });
            (Some(raw.end()), whole)
        }
        said => said,
    }
}

fn item(raw: &str) -> String {
    if raw.starts_with('"') {
        let mut item = Writer::object();
        item.put_text("type", "text").put("text", raw);
        return item.end();
    }
    OWN.custom_item(raw)
}
