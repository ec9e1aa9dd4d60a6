//! What message an item of Codex becomes.
//!
//! | item | message |
//! | --- | --- |
//! | message | the same role; `developer` is `system`; texts are `text`, images `file` |
//! | reasoning | role `assistant`, a `reasoning` part for every text of its summary or content |
//! | function_call, custom_tool_call, local_shell_call, web_search_call | role `assistant`, one `dynamic-tool` part |
//! | function_call_output, custom_tool_call_output | role `tool`, one `tool-result` part |
//! | image_generation_call | role `assistant`, one `file` part |
//!
//! What the program wrote in the user's place (the environment, instructions, notes) has role `system` and the origin
//! `harness`. `metadata.codex` holds `entry`, the line without what the parts say, and `before` and `after`, the lines
//! beside it that become no messages.

use super::super::{
    json::{self, Members, Writer, elements},
    parts::{Own, rest, string, title, without},
    plan::Sources,
};

const OWN: Own = Own("codex");

/// What the program writes in the user's place begins like this.
const HARNESS: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<skill>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
];

/// Whether an item becomes a message.
pub(super) fn speaks(item: &Members<'_>) -> bool {
    match item.text("type").as_deref() {
        Some("message") => string(item, "role").is_some_and(|role| role.len() > 2),
        Some("reasoning") => !thoughts(item).is_empty(),
        Some("function_call" | "custom_tool_call") => string(item, "name").is_some(),
        Some("image_generation_call") => string(item, "result").is_some(),
        Some(kind) => {
            matches!(kind, "local_shell_call" | "web_search_call" | "function_call_output" | "custom_tool_call_output")
        }
        None => false,
    }
}

/// Whether an item is what the user said.
pub(super) fn is_turn(item: &Members<'_>) -> bool {
    item.text("type").as_deref() == Some("message") && item.text("role").as_deref() == Some("user") && !is_harness(item)
}

/// The title that the first turn of the user gives.
pub(super) fn title_of(item: &Members<'_>) -> Option<String> {
    let blocks = item.get("content").map(elements).unwrap_or_default();
    blocks.iter().find_map(|block| title(&Members::of(block.as_bytes()).text("text")?))
}

fn is_harness(item: &Members<'_>) -> bool {
    let blocks = item.get("content").map(elements).unwrap_or_default();
    let first = blocks.iter().find_map(|block| Members::of(block.as_bytes()).text("text")).unwrap_or_default();
    HARNESS.iter().any(|start| first.trim_start().starts_with(start))
}

/// The message of a line.
pub(super) fn of_line(sources: &Sources<'_>) -> Result<String, String> {
    let line = Members::of(sources.record.as_bytes());
    let wrapped = line.get("payload");
    let item = Members::of(wrapped.unwrap_or(sources.record).as_bytes());
    let mut parts = Writer::array();
    let (mut role, mut origin) = ("\"assistant\"", None);
    let id = string(&item, "call_id").or_else(|| string(&item, "id"));
    let said: &[&str] = match item.text("type").as_deref() {
        Some("message") => {
            role = match string(&item, "role") {
                Some("\"developer\"") => "\"system\"",
                Some("\"user\"") if is_harness(&item) => "\"system\"",
                own => own.unwrap_or("\"unknown\""),
            };
            origin = (role == "\"system\"").then_some("harness");
            content(&item, &mut parts);
            &["content"]
        }
        Some("reasoning") => {
            for thought in thoughts(&item) {
                parts.push(&OWN.reasoning(thought, None));
            }
            &["summary", "content"]
        }
        Some("function_call") => {
            let name = string(&item, "name").unwrap_or("\"\"");
            parts.push(&OWN.call_of_text(name, id.unwrap_or("\"\""), item.get("arguments"), None));
            &["arguments", "name", "call_id"]
        }
        Some("custom_tool_call") => {
            let name = string(&item, "name").unwrap_or("\"\"");
            parts.push(&OWN.call(name, id.unwrap_or("\"\""), item.get("input"), None));
            &["input", "name", "call_id"]
        }
        Some("local_shell_call") => {
            parts.push(&OWN.call("\"local_shell\"", id.unwrap_or("\"\""), item.get("action"), None));
            &["action", "call_id"]
        }
        Some("web_search_call") => {
            // The provider ran it: no answer of its own follows.
            let mut part = Writer::object();
            part.put_text("type", "dynamic-tool").put_text("toolName", "web_search");
            part.put("toolCallId", id.unwrap_or("\"\"")).put_text("state", "output-available");
            part.put("input", item.get("action").unwrap_or("{}")).put("output", "null").put("providerExecuted", "true");
            parts.push(&part.end());
            &["action", "call_id"]
        }
        Some("image_generation_call") => {
            let image = string(&item, "result").unwrap_or("\"\"");
            parts.push(&OWN.inline_file("\"image/png\"", image, None));
            &["result"]
        }
        _ => {
            role = "\"tool\"";
            output(&item, id, &mut parts);
            &["output", "call_id"]
        }
    };
    let item = without(&item, said).end();
    let mut entry = without(&line, if wrapped.is_some() { &["payload"] } else { &[] });
    let mut kept = Writer::object();
    if wrapped.is_some() {
        entry.put("payload", &item);
        kept.put("entry", &entry.end());
    } else {
        kept.put("entry", &item);
    }
    Ok(OWN.message(sources, role, origin, parts, kept))
}

/// The texts of a reasoning, as JSON strings.
fn thoughts<'a>(item: &Members<'a>) -> Vec<&'a str> {
    let of = |key: &str| item.get(key).map(elements).unwrap_or_default();
    let text = |block: &'a str| string(&Members::of(block.as_bytes()), "text").filter(|text| *text != "\"\"");
    of("summary").into_iter().chain(of("content")).filter_map(text).collect()
}

fn content(item: &Members<'_>, parts: &mut Writer) {
    match item.get("content") {
        Some(list) if list.starts_with('[') => {
            for block in elements(list) {
                parts.push(&part(block));
            }
        }
        Some(text) if text.starts_with('"') => {
            parts.push(&OWN.text(text, None));
        }
        None | Some("null") => {}
        Some(other) => {
            parts.push(&OWN.data(other));
        }
    }
}

fn part(block: &str) -> String {
    let members = Members::of(block.as_bytes());
    let mapped = match members.text("type").as_deref() {
        Some("input_text" | "output_text" | "text") => {
            string(&members, "text").map(|text| OWN.text(text, rest(&members, &["type", "text"])))
        }
        Some("input_image") => string(&members, "image_url").map(|url| {
            let named = json::inside(url).strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
            let media_type = named.filter(|named| !named.is_empty()).unwrap_or("image");
            OWN.file(&format!("\"{media_type}\""), url, rest(&members, &["type", "image_url"]))
        }),
        _ => None,
    };
    mapped.unwrap_or_else(|| OWN.data(block))
}

/// The answer to a call: a text, a list of blocks, or an object with one of the two.
fn output(item: &Members<'_>, id: Option<&str>, parts: &mut Writer) {
    let raw = item.get("output");
    let object = Members::of(raw.unwrap_or_default().as_bytes());
    let failed = object.get("success") == Some("false");
    let (content, beyond) = match object.get("content") {
        Some(content) => (Some(content), rest(&object, &["content", "success"])),
        None => (raw, None),
    };
    parts.push(&OWN.result(id, None, content, failed, output_item, beyond));
}

fn output_item(block: &str) -> String {
    OWN.item(block, &["input_text", "output_text", "text"])
}
