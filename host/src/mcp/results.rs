//! The result of a method, for a model: a few words to read, and the exact values.

use std::fmt::Write as _;

use serde_json::{Map, Value, json, value::RawValue};

use crate::said::{Said, said};

/// Characters of one message that are shown in words; the structured content has all of it.
const SHOWN: usize = 4_000;
/// Characters of one message that are shown in a list.
const LISTED: usize = 200;

/// What the result of a method looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    History,
    Nodes,
    Message,
    Branches,
    Found,
    Sessions,
    Session,
    Tenants,
    Blocks,
    Block,
    Removed,
    Compactions,
    Compaction,
    Appended,
    Updated,
    Leaf,
    Deleted,
    Prompt,
    Forked,
}

impl Shape {
    /// The result's structured content, and what of it is to be read. Error: it is not what the method should give.
    pub(super) fn of(self, result: &str, id: Option<&str>) -> serde_json::Result<(String, Value)> {
        let raw: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(result)?;
        let mut values = Map::new();
        for (name, value) in raw {
            let value = match (name.as_str(), self) {
                // The messages themselves, and not what tells of them.
                ("messages", Shape::History | Shape::Branches) => {
                    let messages: Vec<&RawValue> = serde_json::from_str(value.get())?;
                    messages.into_iter().map(|message| Value::from(message.get())).collect()
                }
                ("message", _) if value.get() != "null" => Value::from(value.get()),
                _ => serde_json::from_str(value.get())?,
            };
            values.insert(name, value);
        }
        if self == Shape::Appended {
            // What the store made of the message is told by nothing but a difference.
            values.insert("id".to_owned(), id.map_or(Value::Null, Value::from));
            values.entry("message").or_insert(Value::Null);
        }
        let text = self.words(&values);
        Ok((text, values.into()))
    }

    /// The JSON Schema of the structured content.
    pub(super) fn schema(self) -> Map<String, Value> {
        let text = json!({"type": "string"});
        let maybe_text = json!({"type": ["string", "null"]});
        let number = json!({"type": "integer"});
        let flag = json!({"type": "boolean"});
        let message = json!({"type": "string", "description": "A message as JSON in a string"});
        let maybe_message = json!({"type": ["string", "null"], "description": "A message as JSON in a string"});
        let list = |of: &Value| json!({"type": "array", "items": of});
        let things = json!({"type": "array", "items": {"type": "object"}});
        let thing = json!({"type": "object"});
        let maybe_thing = json!({"type": ["object", "null"]});
        let maybe_number = json!({"type": ["integer", "null"]});
        let properties = match self {
            Shape::History => json!({
                "messages": list(&message), "media": list(&things), "truncated": flag, "totalContentBytes": number,
            }),
            Shape::Nodes => json!({"messages": things, "cursor": maybe_text}),
            Shape::Message => {
                json!({"message": maybe_message, "media": things, "parentId": maybe_text, "seq": maybe_number, "createdAt": maybe_number})
            }
            Shape::Branches => json!({"messages": list(&message), "cursor": maybe_text}),
            Shape::Found => json!({"results": things, "cursor": maybe_text}),
            Shape::Sessions => json!({"sessions": things, "cursor": maybe_text}),
            Shape::Session => json!({"id": text, "title": maybe_text}),
            Shape::Tenants => json!({"tenants": list(&text), "cursor": maybe_text}),
            Shape::Blocks => json!({"blocks": things}),
            Shape::Block => json!({"block": thing}),
            Shape::Removed => json!({"removed": flag}),
            Shape::Compactions => json!({"compactions": things}),
            Shape::Compaction => json!({"compaction": maybe_thing}),
            Shape::Appended => json!({
                "id": maybe_text, "inserted": flag, "conflict": flag, "message": maybe_message, "compactionDue": flag,
            }),
            Shape::Updated => json!({"message": maybe_message}),
            Shape::Leaf => json!({"leafId": maybe_text}),
            Shape::Deleted => json!({"deleted": number, "summaries": list(&text)}),
            Shape::Prompt => json!({"prompt": text}),
            Shape::Forked => json!({"messages": number}),
        };
        let required: Vec<_> = properties.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("required".to_owned(), required.into());
        schema.insert("properties".to_owned(), properties);
        schema
    }

    /// What a model reads.
    fn words(self, values: &Map<String, Value>) -> String {
        let items = |name: &str| values.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let item = |name: &str| values.get(name).unwrap_or(&Value::Null);
        let is = |name: &str| item(name) == &Value::Bool(true);
        let mut words = match self {
            Shape::History => {
                let mut words =
                    lines(items("messages"), "The conversation is empty.", |message| transcript(message, SHOWN));
                if is("truncated") {
                    words.insert_str(0, "(Earlier messages were left out.)\n");
                }
                words
            }
            Shape::Nodes => lines(items("messages"), "There are no messages.", |node| {
                let parent =
                    node["parentId"].as_str().map_or_else(|| "a root".to_owned(), |id| format!("answers {id}"));
                format!(
                    "[{}] {} ({parent}): {}",
                    said_of(&node["id"]),
                    said_of(&node["role"]),
                    said_of(&node["preview"])
                )
            }),
            Shape::Message if item("message").is_null() => "There is no such message.".to_owned(),
            Shape::Message => transcript(item("message"), SHOWN),
            Shape::Branches => lines(items("messages"), "Nothing answers it.", |message| transcript(message, LISTED)),
            Shape::Found => lines(items("results"), "Nothing was found.", |found| {
                let session = found["sessionId"].as_str().filter(|id| !id.is_empty());
                let session = session.map(|id| format!(" in {id}")).unwrap_or_default();
                format!(
                    "[{}]{session} {}: {}",
                    said_of(&found["id"]),
                    said_of(&found["role"]),
                    said_of(&found["snippet"])
                )
            }),
            Shape::Sessions => lines(items("sessions"), "There are no conversations.", |session| {
                let title = session["title"].as_str().unwrap_or("without a title");
                format!("[{}] {title} ({} messages)", said_of(&session["id"]), session["messages"])
            }),
            Shape::Session => format!("It is called {:?}.", said_of(item("title"))),
            Shape::Tenants => lines(items("tenants"), "There are no tenants.", |tenant| said_of(tenant).to_owned()),
            Shape::Blocks => lines(items("blocks"), "There are no memory blocks.", block),
            Shape::Block => block(item("block")),
            Shape::Removed if is("removed") => "It is removed.".to_owned(),
            Shape::Removed => "There was none.".to_owned(),
            Shape::Compactions => lines(items("compactions"), "There are no summaries.", compaction),
            Shape::Compaction if item("compaction").is_null() => "There is nothing to compact.".to_owned(),
            Shape::Compaction => compaction(item("compaction")),
            Shape::Appended if is("conflict") => {
                format!(
                    "A message {} is there already, and says something else: nothing was written.",
                    said_of(item("id"))
                )
            }
            Shape::Appended if is("inserted") => format!("Appended as {}.", said_of(item("id"))),
            Shape::Appended => format!("The message {} was there already.", said_of(item("id"))),
            Shape::Updated if item("message").is_null() => "There is no such message: nothing was written.".to_owned(),
            Shape::Updated => "It is replaced.".to_owned(),
            Shape::Leaf => format!("The present leaf is {}.", item("leafId").as_str().unwrap_or("none")),
            Shape::Deleted => format!("Messages deleted: {}.", item("deleted")),
            Shape::Prompt => said_of(item("prompt")).to_owned(),
            Shape::Forked => format!("Messages copied: {}.", item("messages")),
        };
        if let Some(cursor) = item("cursor").as_str() {
            // Writing to a string does not fail.
            let _ = write!(words, "\n(There is more: cursor {cursor})");
        }
        words
    }
}

fn said_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn lines(items: &[Value], nothing: &str, line: impl Fn(&Value) -> String) -> String {
    if items.is_empty() { nothing.to_owned() } else { items.iter().map(line).collect::<Vec<_>>().join("\n") }
}

fn block(block: &Value) -> String {
    let limit = block["maxTokens"].as_u64().map(|limit| format!("/{limit}")).unwrap_or_default();
    let (label, kind, content) = (said_of(&block["label"]), said_of(&block["kind"]), said_of(&block["content"]));
    format!("[{label}] {kind}, version {}, {}{limit} tokens:\n{content}", block["version"], block["tokens"])
}

fn compaction(made: &Value) -> String {
    let (id, first, last) = (said_of(&made["id"]), said_of(&made["firstId"]), said_of(&made["lastId"]));
    format!(
        "[compaction_{id}] stands for {} messages, {first} to {last}:\n{}",
        made["count"],
        said_of(&made["summary"])
    )
}

/// A message in words, given as a string with its JSON.
pub(super) fn transcript(message: &Value, most: usize) -> String {
    #[derive(serde::Deserialize, Default)]
    struct Head {
        #[serde(default)]
        id: String,
        #[serde(default)]
        role: String,
    }
    let json = said_of(message);
    let head: Head = serde_json::from_str(json).unwrap_or_default();
    let pieces = said(json).into_iter().map(|piece| match piece {
        Said::Text(text) => text,
        Said::Note(note) => format!("({note})"),
    });
    let text = pieces.collect::<Vec<_>>().join("\n");
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(most).collect();
    let rest = chars.count();
    if rest > 0 {
        let _ = write!(shown, "… ({rest} characters more)");
    }
    format!("[{}] {}: {shown}", head.id, head.role)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn messages_stay_byte_for_byte_in_strings() {
        let message = r#"{"role":"user","id":"m","parts":[{"type":"text","text":"\ud83d 1.0"}],"n":[1.0,1e3,18446744073709551616]}"#;
        let result = format!(r#"{{"messages":[{message}],"truncated":true,"totalContentBytes":7}}"#);
        let (words, values) = Shape::History.of(&result, None).unwrap();
        assert_eq!(values["messages"][0], message);
        assert!(words.contains("left out") && words.contains("[m] user: ") && words.contains(" 1.0"), "{words}");
    }

    #[test]
    fn long_messages_are_cut_in_words_only() {
        let message =
            json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "é".repeat(9_000)}]}).to_string();
        let result = format!(r#"{{"message":{message},"parentId":null,"seq":1,"createdAt":1}}"#);
        let (words, values) = Shape::Message.of(&result, None).unwrap();
        assert!(words.chars().count() < 4_100 && words.ends_with("(5000 characters more)"), "{words}");
        assert_eq!(values["message"], message.as_str());
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        let (words, values) =
            Shape::Message.of(r#"{"message":null,"parentId":null,"seq":null,"createdAt":null}"#, None).unwrap();
        assert!(words.contains("no such message") && values["message"].is_null());
        let (words, _) = Shape::Sessions.of(r#"{"sessions":[],"cursor":null}"#, None).unwrap();
        assert_eq!(words, "There are no conversations.");
        let (words, _) = Shape::Sessions.of(r#"{"sessions":[],"cursor":"c1"}"#, None).unwrap();
        assert!(words.contains("cursor c1"));
    }

    #[test]
    fn an_append_tells_what_became_of_it() {
        let appended = |result: &str| Shape::Appended.of(result, Some("m")).unwrap();
        let (words, values) = appended(r#"{"inserted":true,"conflict":false,"compactionDue":false}"#);
        assert_eq!(
            (words.as_str(), values["id"].as_str(), values["message"].is_null()),
            ("Appended as m.", Some("m"), true)
        );
        assert!(appended(r#"{"inserted":false,"conflict":true,"compactionDue":false}"#).0.contains("something else"));
        assert!(appended(r#"{"inserted":false,"conflict":false,"compactionDue":false}"#).0.contains("already"));
    }
}
