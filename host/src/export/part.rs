//! What the parts of a message are, whatever program they came from.

use crate::import::json::{self, Members};

/// One part; texts are JSON strings, the rest any JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Reasoning(&'a str),
    /// A file by its URL, or its bytes in a `data:` URL.
    File {
        media_type: &'a str,
        url: &'a str,
        name: Option<&'a str>,
    },
    Call(Call<'a>),
    Result(Answer<'a>),
    /// Here a model was called anew.
    Step,
    /// Anything else, by its type.
    Other(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    pub(crate) id: &'a str,
    /// In words.
    pub(crate) name: String,
    /// JSON, or, where the model wrote none, a JSON string that holds what it wrote.
    pub(crate) input: Input<'a>,
    /// In the same part.
    pub(crate) answer: Option<Answer<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input<'a> {
    Json(&'a str),
    Text(&'a str),
    Nothing,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) id: &'a str,
    pub(crate) output: Option<&'a str>,
    pub(crate) failed: bool,
}

/// A message taken apart.
pub(crate) struct Taken<'a> {
    pub(crate) role: &'a str,
    pub(crate) origin: Option<String>,
    pub(crate) parts: Vec<Part<'a>>,
}

pub(crate) fn take(message: &str) -> Taken<'_> {
    let members = Members::of(message.as_bytes());
    let metadata = Members::of(members.get("metadata").unwrap_or_default().as_bytes());
    Taken {
        role: members.get("role").unwrap_or("\"unknown\""),
        origin: metadata.text("origin"),
        parts: members.get("parts").map(json::elements).unwrap_or_default().into_iter().map(part).collect(),
    }
}

fn part(raw: &str) -> Part<'_> {
    let members = Members::of(raw.as_bytes());
    let string = |key: &str| members.get(key).filter(|raw| raw.starts_with('"'));
    let kind = members.text("type").unwrap_or_default();
    let id = || ["toolCallId", "tool_call_id", "tool_use_id", "id"].into_iter().find_map(string).unwrap_or("\"\"");
    let known = match &*kind {
        "text" => string("text").map(Part::Text),
        "reasoning" => string("text").map(Part::Reasoning),
        "step-start" => Some(Part::Step),
        "file" => string("url").map(|url| {
            let media_type = string("mediaType").unwrap_or("\"application/octet-stream\"");
            Part::File { media_type, url, name: string("filename") }
        }),
        kind if is_result(kind) => {
            let output = members.get("output").or_else(|| members.get("content"));
            let inner = output.and_then(|raw| Members::of(raw.as_bytes()).text("type")).unwrap_or_default();
            let flag = |key: &str| members.get(key) == Some("true");
            let failed = inner.starts_with("error-") || flag("isError") || flag("is_error");
            Some(Part::Result(Answer { id: id(), output, failed }))
        }
        kind if is_call(kind) => {
            let named = || ["toolName", "name"].into_iter().find_map(|key| members.text(key)).unwrap_or_default();
            let name = kind.strip_prefix("tool-").filter(|name| *name != "call").map_or_else(named, str::to_owned);
            let input = ["input", "args", "arguments"].into_iter().find_map(|key| members.get(key));
            let input = match (input, string("rawInput")) {
                (Some(input), _) => Input::Json(input),
                (None, Some(text)) => Input::Text(text),
                (None, None) => Input::Nothing,
            };
            let error = string("errorText");
            let output = error.or_else(|| members.get("output"));
            let answer = output.map(|output| Answer { id: id(), output: Some(output), failed: error.is_some() });
            Some(Part::Call(Call { id: id(), name, input, answer }))
        }
        _ => None,
    };
    known.unwrap_or(Part::Other(kind))
}

fn is_result(kind: &str) -> bool {
    matches!(kind, "tool-result" | "toolResult" | "tool_result") || kind.ends_with("_tool_result")
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "dynamic-tool" | "toolCall" | "tool_use") || kind.starts_with("tool-") || kind.ends_with("_tool_use")
}

/// What a tool answered as a text, in JSON: the text of an output that is one, else the output itself.
pub(crate) fn output_text(output: Option<&str>) -> String {
    let Some(raw) = output else { return "\"\"".to_owned() };
    if raw.starts_with('"') {
        return raw.to_owned();
    }
    let members = Members::of(raw.as_bytes());
    match (members.text("type").as_deref(), members.get("value")) {
        (Some("text" | "error-text"), Some(value)) if value.starts_with('"') => value.to_owned(),
        (Some("json" | "error-json"), Some(value)) => json::quoted(value),
        (Some("content"), Some(list)) if list.starts_with('[') => {
            let texts: Option<Vec<&str>> = json::elements(list).into_iter().map(text_of_item).collect();
            texts.map_or_else(|| json::quoted(list), |texts| format!("\"{}\"", texts.join("\\n")))
        }
        _ => json::quoted(raw),
    }
}

/// The inside of a text item's JSON string.
fn text_of_item(item: &str) -> Option<&str> {
    let members = Members::of(item.as_bytes());
    let text = members.get("text").filter(|text| text.starts_with('"'))?;
    (members.text("type").as_deref() == Some("text")).then(|| json::inside(text))
}
