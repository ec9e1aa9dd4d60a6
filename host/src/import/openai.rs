//! `openai-messages`: messages as chat completions take them, with `role` and `content`.
//!
//! Which shapes of files are accepted is said in `chains`. Messages have no ids: each is given one that is made from
//! its text and the id before it, so that the same conversation has the same ids at every import. A time is taken from
//! `created_at`, `createdAt` or `timestamp` where there is one.
//!
//! | message | becomes |
//! | --- | --- |
//! | user, assistant, system | the same role |
//! | developer | role `system` |
//! | tool, function | role `tool`, one `tool-result` part |
//!
//! | content | part |
//! | --- | --- |
//! | a string, text, refusal | `text` |
//! | `reasoning_content`, `reasoning` | `reasoning` |
//! | image_url, input_audio, file with bytes | `file` |
//! | `tool_calls`, `function_call` | `dynamic-tool`, state `input-available`; arguments that are no JSON are `rawInput` |
//! | anything else | `data-openai-messages` |
//!
//! `metadata.openai-messages` holds all other members.

use std::io;

use super::{
    chains::{self, Link},
    format::{Likeness, Rules},
    input::Input,
    json::{Members, Writer, elements, inside},
    outline::Outline,
    parts::{Own, rest, string, without},
    plan::Sources,
    time,
};

const OWN: Own = Own("openai-messages");

/// The rules of the format.
pub(crate) struct OpenAi;

impl Rules for OpenAi {
    fn likeness(&self, head: &[u8], _name: &str) -> Likeness {
        let Some(first) = first_object(head) else { return Likeness::No };
        let members = Members::of(first);
        let has = |key: &str| members.get(key).is_some();
        if !has("role") || has("parts") {
            return Likeness::No;
        }
        match has("content") || has("tool_calls") || has("function_call") {
            true => Likeness::Sure,
            // The content may be longer than what is looked at.
            false if first.windows(9).any(|window| window == b"\"content\"") => Likeness::Maybe,
            false => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        chains::survey(&OpenAi, input, outline)
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        let record = Members::of(sources.record.as_bytes());
        let mut parts = Writer::array();
        let mut known = vec!["content", "tool_calls", "function_call"];
        let said = record.text("role").unwrap_or_default();
        let role = match &*said {
            "developer" => "\"system\"",
            "tool" | "function" => "\"tool\"",
            _ => {
                known.push("role");
                string(&record, "role").unwrap_or("\"unknown\"")
            }
        };
        if role == "\"tool\"" {
            if said == "tool" {
                known.push("role");
            }
            known.extend(["tool_call_id", "name"]);
            let id = string(&record, "tool_call_id");
            parts.push(&OWN.result(id, string(&record, "name"), record.get("content"), false, item, None));
        } else {
            for key in ["reasoning_content", "reasoning"] {
                if let Some(text) = string(&record, key).filter(|text| *text != "\"\"") {
                    known.push(key);
                    parts.push(&OWN.reasoning(text, None));
                }
            }
            content(record.get("content"), &mut parts);
            if let Some(refusal) = string(&record, "refusal") {
                known.push("refusal");
                parts.push(&OWN.text(refusal, Some("{\"refusal\":true}".to_owned())));
            }
            calls(&record, &mut parts);
        }
        let mut kept = Writer::object();
        if let Some(rest) = rest(&record, &known) {
            kept.put("message", &rest);
        }
        Ok(OWN.message(sources, role, None, parts, kept))
    }
}

impl Link for OpenAi {
    fn content(&self) -> &'static [&'static str] {
        &["content", "tool_calls", "function_call"]
    }

    fn lacks(&self, members: &Members<'_>) -> Option<&'static str> {
        if string(members, "role").is_none_or(|role| role.len() < 3) {
            return Some("no message: it has no `role`");
        }
        let said = self.content().iter().chain(&["refusal"]).any(|key| members.get(key).is_some());
        (!said).then_some("no message: it has neither `content` nor `tool_calls`")
    }

    fn is_certain(&self, members: &Members<'_>) -> bool {
        let role = members.text("role");
        let known = ["user", "assistant", "system", "developer", "tool", "function"];
        role.is_some_and(|role| known.contains(&&*role)) && self.lacks(members).is_none()
    }

    fn created_at(&self, members: &Members<'_>) -> Option<i64> {
        ["created_at", "createdAt", "timestamp"].iter().find_map(|key| members.get(key).and_then(time::of_json))
    }
}

/// The first message of a file, of which only the first bytes may be there.
fn first_object(head: &[u8]) -> Option<&[u8]> {
    let mut text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    while let Some(rest) = text.strip_prefix(b"[") {
        text = rest.trim_ascii_start();
    }
    if !text.starts_with(b"{") {
        return None;
    }
    let members = Members::of(text);
    if members.get("role").is_some() {
        return Some(text);
    }
    let key = b"\"messages\"";
    let at = text.windows(key.len()).position(|window| window == key)?;
    let list = text.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let first = list.strip_prefix(b"[")?.trim_ascii_start();
    first.starts_with(b"{").then_some(first)
}

fn content(raw: Option<&str>, parts: &mut Writer) {
    match raw {
        None | Some("null" | "\"\"") => {}
        Some(text) if text.starts_with('"') => {
            parts.push(&OWN.text(text, None));
        }
        Some(list) if list.starts_with('[') => {
            for block in elements(list) {
                parts.push(&part(block));
            }
        }
        Some(other) => {
            parts.push(&OWN.data(other));
        }
    }
}

fn part(block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let inner = |key: &str| Members::of(members.get(key).unwrap_or_default().as_bytes());
    let mapped = match members.text("type").as_deref() {
        Some("text") => string(&members, "text").map(|text| OWN.text(text, rest(&members, &["type", "text"]))),
        Some("refusal") => {
            string(&members, "refusal").map(|text| OWN.text(text, Some("{\"refusal\":true}".to_owned())))
        }
        Some("image_url") => {
            let image = inner("image_url");
            let url = string(&image, "url");
            url.map(|url| OWN.file(&media_type(url, "\"image\""), url, rest(&image, &["url"])))
        }
        Some("input_audio") => {
            let audio = inner("input_audio");
            let both = string(&audio, "data").zip(string(&audio, "format"));
            both.map(|(data, format)| OWN.inline_file(&format!("\"audio/{}\"", inside(format)), data, None))
        }
        Some("file") => {
            let file = inner("file");
            let data = string(&file, "file_data").filter(|data| data.starts_with("\"data:"));
            data.map(|data| {
                let media_type = media_type(data, "\"application/octet-stream\"");
                OWN.file(&media_type, data, rest(&file, &["file_data"]))
            })
        }
        _ => None,
    };
    mapped.unwrap_or_else(|| OWN.data(block))
}

/// The media type that a `data:` URL names, as a JSON string.
fn media_type(url: &str, otherwise: &str) -> String {
    let named = inside(url).strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    named.filter(|named| !named.is_empty()).map_or_else(|| otherwise.to_owned(), |named| format!("\"{named}\""))
}

fn calls(record: &Members<'_>, parts: &mut Writer) {
    for call in record.get("tool_calls").map(elements).unwrap_or_default() {
        let members = Members::of(call.as_bytes());
        let function = Members::of(members.get("function").unwrap_or_default().as_bytes());
        let Some(name) = string(&function, "name") else {
            parts.push(&OWN.data(call));
            continue;
        };
        let mut beyond = without(&members, &["id", "type", "function"]);
        if let Some(kind) = members.get("type").filter(|kind| *kind != "\"function\"") {
            beyond.put("type", kind);
        }
        let beyond = (!beyond.is_empty()).then(|| beyond.end());
        let id = string(&members, "id").unwrap_or("\"\"");
        parts.push(&OWN.call_of_text(name, id, function.get("arguments"), beyond));
    }
    if let Some(function) = record.get("function_call").filter(|raw| raw.starts_with('{')) {
        let members = Members::of(function.as_bytes());
        let name = string(&members, "name").unwrap_or("\"\"");
        parts.push(&OWN.call_of_text(name, "\"\"", members.get("arguments"), None));
    }
}

/// A block of a tool's answer.
fn item(block: &str) -> String {
    OWN.item(block, &["text"])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn message(record: &str) -> serde_json::Value {
        let sources = Sources { id: "m", record, before: Vec::new(), after: Vec::new(), more: Vec::new() };
        serde_json::from_str(&OpenAi.message(&sources).unwrap()).unwrap()
    }

    #[test]
    fn arguments_become_json_where_they_are_json() {
        let call = |arguments: &str| {
            let arguments = crate::import::json::quoted(arguments);
            message(&format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":{arguments}}}}}]}}"#
            ))
        };
        assert_eq!(call("{\"a\":[1]}")["parts"][0]["input"], serde_json::json!({"a": [1]}));
        assert_eq!(call("{\"a\":")["parts"][0]["rawInput"], "{\"a\":");
        assert_eq!(call("")["parts"][0]["rawInput"], "");
    }
}
