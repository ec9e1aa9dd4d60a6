//! Content as Anthropic's messages have it, in a file of Claude Code and in an export of Claude.
//!
//! | block | part |
//! | --- | --- |
//! | text | `text` |
//! | thinking | `reasoning` |
//! | image with bytes, document with bytes | `file` with a `data:` URL |
//! | image with a URL | `file` |
//! | tool_use, `*_tool_use` | `dynamic-tool`, state `input-available` |
//! | tool_result, `*_tool_result` | `tool-result` |
//! | anything else | `data-<format>` |

use super::{
    json::{Members, Writer, elements},
    parts::{Own, rest, string},
};

/// Writes a content, which is a string or a list of blocks, as parts.
pub(crate) fn content(own: Own, raw: Option<&str>, parts: &mut Writer) {
    match raw {
        None | Some("null" | "\"\"") => {}
        Some(text) if text.starts_with('"') => {
            parts.push(&own.text(text, None));
        }
        Some(list) if list.starts_with('[') => {
            for block in elements(list) {
                parts.push(&part(own, block));
            }
        }
        Some(other) => {
            parts.push(&own.data(other));
        }
    }
}

/// Whether a content holds answers of tools and nothing else.
pub(crate) fn only_results(raw: &str) -> bool {
    let blocks = elements(raw);
    !blocks.is_empty() && blocks.iter().all(|block| is_result(&kind(block)))
}

/// The ids of the calls that a content makes or answers.
pub(crate) fn call_ids(raw: &str, results: bool) -> Vec<String> {
    let of = |block: &&str| {
        let members = Members::of(block.as_bytes());
        let kind = members.text("type")?;
        match results {
            true => is_result(&kind).then(|| members.text("tool_use_id")).flatten(),
            false => is_call(&kind).then(|| members.text("id")).flatten(),
        }
    };
    elements(raw).iter().filter_map(of).collect()
}

fn kind(block: &str) -> String {
    Members::of(block.as_bytes()).text("type").unwrap_or_default()
}

fn is_call(kind: &str) -> bool {
    kind == "tool_use" || kind.ends_with("_tool_use")
}

fn is_result(kind: &str) -> bool {
    kind == "tool_result" || kind.ends_with("_tool_result")
}

fn part(own: Own, block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let kind = members.text("type").unwrap_or_default();
    // A member that says what is said anyway is no member of its own.
    let beyond = |known: &[&str]| {
        let more: Vec<&str> = known.iter().copied().chain(["type"]).collect();
        rest(&members, &more)
    };
    let mapped = match &*kind {
        "text" => string(&members, "text").map(|text| own.text(text, beyond(&["text"]))),
        "thinking" => string(&members, "thinking").map(|text| own.reasoning(text, beyond(&["thinking"]))),
        "image" | "document" => file(own, &members, beyond(&["source"])),
        kind if is_call(kind) => string(&members, "name").map(|name| {
            let beyond = rest(
                &members,
                if kind == "tool_use" { &["type", "id", "name", "input"] } else { &["id", "name", "input"] },
            );
            own.call(name, string(&members, "id").unwrap_or("\"\""), members.get("input"), beyond)
        }),
        kind if is_result(kind) => {
            let mut known = vec!["tool_use_id", "name", "content", "is_error"];
            if kind == "tool_result" {
                known.push("type");
            }
            let error = members.get("is_error") == Some("true");
            let id = string(&members, "tool_use_id");
            let item = |block: &str| item(own, block);
            Some(own.result(id, string(&members, "name"), members.get("content"), error, item, rest(&members, &known)))
        }
        _ => None,
    };
    mapped.unwrap_or_else(|| own.data(block))
}

fn file(own: Own, members: &Members<'_>, rest: Option<String>) -> Option<String> {
    let source = Members::of(members.get("source")?.as_bytes());
    match &*source.text("type")? {
        "base64" => Some(own.inline_file(string(&source, "media_type")?, string(&source, "data")?, rest)),
        "url" => Some(own.file("\"image\"", string(&source, "url")?, rest)),
        _ => None,
    }
}

/// A block as an item of a tool's output.
fn item(own: Own, block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let source = Members::of(members.get("source").unwrap_or_default().as_bytes());
    let mut item = Writer::object();
    match members.text("type").as_deref() {
        Some("text") if string(&members, "text").is_some() => {
            item.put_text("type", "text").put("text", string(&members, "text").unwrap_or_default());
            own.put_rest(&mut item, "providerOptions", rest(&members, &["type", "text"]));
        }
        Some("image") if string(&source, "data").is_some() && string(&source, "media_type").is_some() => {
            item.put_text("type", "image-data").put("data", string(&source, "data").unwrap_or_default());
            item.put("mediaType", string(&source, "media_type").unwrap_or_default());
            own.put_rest(&mut item, "providerOptions", rest(&members, &["type", "source"]));
        }
        _ => return own.custom_item(block),
    }
    item.end()
}
