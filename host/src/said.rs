//! What a message says, for people: its texts as they are, everything else in a few words.
//!
//! Messages come in any shape; what is not understood is named and never an error. Nothing is parsed deeper than it is
//! shown, so that depth costs nothing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Characters of a tool's input or output that are shown.
const EXCERPT: usize = 240;

/// One piece of what a message says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// In its own words.
    Text(String),
    /// Something else, told in a few words.
    Note(String),
}

/// The pieces of a message, given as JSON text.
pub fn said(message: &str) -> Vec<Said> {
    let parts = member(message, "parts").and_then(|parts| serde_json::from_str::<Vec<&RawValue>>(parts).ok());
    parts.unwrap_or_default().into_iter().map(|part| part_said(part.get())).collect()
}

fn part_said(part: &str) -> Said {
    let Members(members) = serde_json::from_str(part).unwrap_or_default();
    let get = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| value.get());
    let words = |name: &str| get(name).and_then(text);
    let kind = words("type").unwrap_or_default();
    match kind.as_str() {
        "text" => match words("text") {
            Some(text) => Said::Text(text),
            None => Said::Note("a text without text".to_owned()),
        },
        "reasoning" | "thinking" => {
            let thought = words("text").or_else(|| words("thinking")).unwrap_or_default();
            Said::Note(format!("thinks: {}", excerpt(&thought)))
        }
        "file" | "image" => {
            let kind = words("mediaType").or_else(|| words("mimeType")).unwrap_or_else(|| kind.clone());
            Said::Note(match words("filename") {
                Some(name) => format!("file {name} ({kind})"),
                None => format!("file ({kind})"),
            })
        }
        _ if is_tool(&kind) => {
            let name = words("toolName").or_else(|| words("name"));
            let name = name.unwrap_or_else(|| kind.strip_prefix("tool-").unwrap_or(&kind).to_owned());
            let mut note = format!("tool {name}");
            for (sign, names) in
                [("", ["input", "arguments"]), ("-> ", ["output", "content"]), ("failed: ", ["errorText", "error"])]
            {
                if let Some(value) = names.iter().find_map(|name| get(name)) {
                    let value = text(value).unwrap_or_else(|| value.to_owned());
                    note.push_str(&format!(" {sign}{}", excerpt(&value)));
                }
            }
            Said::Note(note)
        }
        "" => Said::Note("a part without a type".to_owned()),
        kind => Said::Note(kind.to_owned()),
    }
}

fn is_tool(kind: &str) -> bool {
    kind.starts_with("tool-")
        || matches!(kind, "dynamic-tool" | "toolCall" | "toolResult")
        || kind.ends_with("tool_use")
        || kind.ends_with("tool_result")
}

fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(EXCERPT).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

/// The JSON text of a member of an object.
fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let Members(members) = serde_json::from_str(object).ok()?;
    members.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
}

/// The text of a JSON string, with a sign in place of lone surrogates.
fn text(json: &str) -> Option<String> {
    struct Loose;

    impl Visitor<'_> for Loose {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }

    serde_json::Deserializer::from_str(json).deserialize_bytes(Loose).ok()
}

/// The members of an object, their values as they stand. Keys that are no text (lone surrogates) are left out.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>().map_err(A::Error::custom)? {
                    if let Some(key) = text(key.get()) {
                        members.push((key, value));
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(part: &str) -> String {
        match part_said(part) {
            Said::Note(note) => note,
            Said::Text(text) => panic!("a text: {text}"),
        }
    }

    #[test]
    fn texts_are_told_in_their_own_words() {
        let message =
            r#"{"id":"m","role":"user","parts":[{"type":"text","text":"a\nb \ud83d c"},{"type":"step-start"}]}"#;
        let expected = [Said::Text("a\nb \u{fffd}\u{fffd}\u{fffd} c".into()), Said::Note("step-start".into())];
        assert_eq!(said(message), expected);
    }

    #[test]
    fn tools_and_files_are_told_in_a_few_words() {
        assert_eq!(
            note(r#"{"type":"tool-weather","toolCallId":"1","input":{"city":"Oslo"},"output":"rain"}"#),
            r#"tool weather {"city":"Oslo"} -> rain"#
        );
        assert_eq!(note(r#"{"type":"tool_use","name":"ls","input":{}}"#), "tool ls {}");
        assert_eq!(note(r#"{"type":"dynamic-tool","toolName":"x","errorText":"no"}"#), "tool x failed: no");
        assert_eq!(
            note(r#"{"type":"file","mediaType":"image/png","filename":"a.png","url":"data:..."}"#),
            "file a.png (image/png)"
        );
        assert!(note(&format!(r#"{{"type":"reasoning","text":"{}"}}"#, "x".repeat(9_999))).len() < 300);
    }

    #[test]
    fn odd_messages_are_no_error() {
        for message in ["", "5", "{}", r#"{"parts":5}"#, r#"{"parts":[]}"#] {
            assert_eq!(said(message), [], "{message}");
        }
        for part in ["5", "{}", r#"{"type":5}"#, "[]", "null"] {
            assert_eq!(note(part), "a part without a type", "{part}");
        }
        let deep = format!(r#"{{"type":"tool-x","output":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(note(&deep).starts_with("tool x -> [[["));
    }
}
