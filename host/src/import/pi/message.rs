//! What message an entry of a Pi session becomes, and back again.
//!
//! | Pi | message |
//! | --- | --- |
//! | user, assistant, system | the same role; `content` as parts |
//! | toolResult | role `tool`, one `tool-result` part |
//! | bashExecution | role `user`, the command and its output as text, origin `bash-execution` |
//! | custom, hookMessage, entry `custom_message` | role `system`, origin `custom` |
//! | branchSummary, entry `branch_summary` | role `assistant`, origin `branch-summary` |
//! | compactionSummary | role `assistant`, origin `compaction-summary` |
//!
//! | block | part |
//! | --- | --- |
//! | text | `text` |
//! | thinking | `reasoning` |
//! | image | `file` with a `data:` URL |
//! | toolCall | `dynamic-tool`, state `input-available` |
//! | anything else | `data-pi` |
//!
//! `metadata.origin` marks what neither the user nor the model said. `metadata.pi` holds what the parts do not say:
//! `entry` is the entry without its content, `content` says what the content was if it was no list of blocks,
//! `before` and `after` are the entries beside it that become no messages. Members of a block that its part has no
//! place for are in the part's provider metadata under `pi`. So the entry can be put together again.

use super::super::{
    json::{Members, Writer, elements, inside, same_key},
    parts::{Own, rest, without},
    plan::Sources,
};

const OWN: Own = Own("pi");

/// What an entry is made into.
struct Shape {
    role: String,
    origin: Option<&'static str>,
    /// The member whose content goes into parts.
    content: &'static str,
}

/// Why an entry of such a type becomes no message; none, if it does.
pub(super) fn refusal(kind: &str, entry: &Members<'_>) -> Option<&'static str> {
    if kind != "message" {
        return None;
    }
    let message = Members::of(entry.get("message").unwrap_or_default().as_bytes());
    let role = message.get("role").is_some_and(|role| role.starts_with('"') && role.len() > 2);
    (!role).then_some("its `message` has no `role`: it was kept in metadata")
}

/// The message of an entry.
pub(super) fn of_entry(sources: &Sources<'_>) -> Result<String, String> {
    let entry = Members::of(sources.record.as_bytes());
    let kind = entry.text("type").unwrap_or_default();
    let nested = Members::of(entry.get("message").unwrap_or_default().as_bytes());
    let said = if kind == "message" { &nested } else { &entry };
    let Shape { role, origin, content } = shape(&kind, said);

    let mut parts = Writer::array();
    let mut left_out = content;
    let mut was = None;
    match (&*kind, content) {
        ("message", "output") => match bash(said) {
            Some(text) => {
                parts.push(&OWN.text(&text, None));
            }
            None => left_out = "",
        },
        (_, "summary") => match said.get("summary").filter(|summary| summary.starts_with('"')) {
            Some(summary) => {
                parts.push(&OWN.text(summary, None));
            }
            None => left_out = "",
        },
        _ => {
            let raw = said.get("content");
            was = not_blocks(raw);
            if role == "\"tool\"" && origin.is_none() && said.text("role").as_deref() == Some("toolResult") {
                parts.push(&tool_result(said, raw));
            } else {
                content_parts(raw, &mut parts);
            }
        }
    }

    let mut own = Writer::object();
    for member in entry.iter() {
        if kind == "message" && same_key(member.key, "message") {
            own.put("message", &without(&nested, &[left_out]).end());
        } else if kind == "message" || !same_key(member.key, left_out) {
            own.copy(member);
        }
    }
    let mut pi = Writer::object();
    pi.put("entry", &own.end());
    if let Some(was) = was {
        pi.put_text("content", was);
    }
    Ok(OWN.message(sources, &role, origin, parts, pi))
}

fn shape(kind: &str, said: &Members<'_>) -> Shape {
    let of = |role: &str, origin, content| Shape { role: format!("\"{role}\""), origin, content };
    match kind {
        "branch_summary" => of("assistant", Some("branch-summary"), "summary"),
        "custom_message" => of("system", Some("custom"), "content"),
        _ => match said.text("role").as_deref() {
            Some(role @ ("user" | "assistant" | "system")) => of(role, None, "content"),
            Some("toolResult") => of("tool", None, "content"),
            Some("bashExecution") => of("user", Some("bash-execution"), "output"),
            Some("custom" | "hookMessage") => of("system", Some("custom"), "content"),
            Some("branchSummary") => of("assistant", Some("branch-summary"), "summary"),
            Some("compactionSummary") => of("assistant", Some("compaction-summary"), "summary"),
            // A role of the future is kept as it is.
            _ => Shape { role: said.get("role").unwrap_or("\"unknown\"").to_owned(), origin: None, content: "content" },
        },
    }
}

/// What a content is that is no list of blocks.
fn not_blocks(raw: Option<&str>) -> Option<&'static str> {
    match raw {
        None => Some("absent"),
        Some("null") => Some("null"),
        Some(raw) if raw.starts_with('[') => None,
        Some(raw) if raw.starts_with('"') => Some("text"),
        Some(_) => Some("other"),
    }
}

fn content_parts(raw: Option<&str>, parts: &mut Writer) {
    match (raw, not_blocks(raw)) {
        (Some(raw), None) => {
            for block in elements(raw) {
                parts.push(&part(block));
            }
        }
        (Some(raw), Some("text")) => {
            parts.push(&OWN.text(raw, None));
        }
        (Some(raw), Some("other")) => {
            parts.push(&OWN.data(raw));
        }
        _ => {}
    }
}

/// A command of the user's with its output, as one JSON string.
fn bash(said: &Members<'_>) -> Option<String> {
    let command = said.get("command").filter(|raw| raw.starts_with('"'))?;
    let output = said.get("output").filter(|raw| raw.starts_with('"'))?;
    Some(format!("\"$ {}\\n{}\"", inside(command), inside(output)))
}

fn part(block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let string = |key: &str| members.get(key).filter(|raw| raw.starts_with('"'));
    let mapped = match members.text("type").as_deref() {
        Some("text") => string("text").map(|text| OWN.text(text, rest(&members, &["type", "text"]))),
        Some("thinking") => string("thinking").map(|thinking| {
            let mut part = Writer::object();
            part.put_text("type", "reasoning").put("text", thinking);
            OWN.put_rest(&mut part, "providerMetadata", rest(&members, &["type", "thinking"]));
            part.end()
        }),
        Some("image") => string("data").zip(string("mimeType")).map(|(data, media_type)| {
            let mut part = Writer::object();
            let url = format!("\"data:{};base64,{}\"", inside(media_type), inside(data));
            part.put_text("type", "file").put("mediaType", media_type).put("url", &url);
            OWN.put_rest(&mut part, "providerMetadata", rest(&members, &["type", "data", "mimeType"]));
            part.end()
        }),
        Some("toolCall") => string("id").zip(string("name")).map(|(id, name)| {
            let mut part = Writer::object();
            part.put_text("type", "dynamic-tool").put("toolName", name).put("toolCallId", id);
            part.put_text("state", "input-available");
            if let Some(input) = members.get("arguments") {
                part.put("input", input);
            }
            OWN.put_rest(&mut part, "callProviderMetadata", rest(&members, &["type", "id", "name", "arguments"]));
            part.end()
        }),
        _ => None,
    };
    mapped.unwrap_or_else(|| OWN.data(block))
}

fn tool_result(said: &Members<'_>, raw: Option<&str>) -> String {
    let error = said.get("isError") == Some("true");
    let mut part = Writer::object();
    part.put_text("type", "tool-result");
    for key in ["toolCallId", "toolName"] {
        if let Some(value) = said.get(key) {
            part.put(key, value);
        }
    }
    let text_type = if error { "error-text" } else { "text" };
    let mut output = Writer::object();
    match (raw, not_blocks(raw)) {
        (Some(raw), Some("text")) => {
            output.put_text("type", text_type).put("value", raw);
        }
        (Some(raw), Some("other")) => {
            output.put_text("type", "json").put("value", raw);
        }
        _ => {
            let blocks = raw.map(elements).unwrap_or_default();
            if let [only] = &*blocks
                && let Some(text) = plain_text(only)
            {
                output.put_text("type", text_type).put("value", text);
            } else {
                let mut value = Writer::array();
                for block in blocks {
                    value.push(&output_item(block));
                }
                output.put_text("type", "content").put("value", &value.end());
                if error {
                    part.put("isError", "true");
                }
            }
        }
    }
    part.put("output", &output.end());
    part.end()
}

/// The text of a block that is text and nothing else.
fn plain_text(block: &str) -> Option<&str> {
    let members = Members::of(block.as_bytes());
    let text = members.get("text").filter(|raw| raw.starts_with('"'))?;
    let plain = members.text("type").as_deref() == Some("text") && rest(&members, &["type", "text"]).is_none();
    plain.then_some(text)
}

/// A block as an item of a tool's output.
fn output_item(block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let string = |key: &str| members.get(key).filter(|raw| raw.starts_with('"'));
    let mut item = Writer::object();
    let rest = match members.text("type").as_deref() {
        Some("text") if string("text").is_some() => {
            item.put_text("type", "text").put("text", string("text").unwrap_or_default());
            rest(&members, &["type", "text"])
        }
        Some("image") if string("data").is_some() && string("mimeType").is_some() => {
            item.put_text("type", "image-data").put("data", string("data").unwrap_or_default());
            item.put("mediaType", string("mimeType").unwrap_or_default());
            rest(&members, &["type", "data", "mimeType"])
        }
        _ => {
            item.put_text("type", "custom");
            Some(block.to_owned())
        }
    };
    OWN.put_rest(&mut item, "providerOptions", rest);
    item.end()
}
