//! Answers put together as text.
//!
//! A message is JSON text that must come out byte for byte, so answers are never built as values: what is JSON already
//! is copied in as it is.

use std::fmt::{Display, Write as _};

use serde_json::Value;

/// A JSON object that grows member by member.
#[derive(Clone)]
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Self {
        Self(String::from("{"))
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_text(&mut self.0, key);
        self.0.push(':');
    }

    /// A member that is JSON already.
    pub(crate) fn json(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key);
        push_json(&mut self.0, json);
        self
    }

    /// A member that is JSON already, or null.
    pub(crate) fn maybe_json(&mut self, key: &str, json: Option<&str>) -> &mut Self {
        self.json(key, json.unwrap_or("null"))
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.key(key);
        push_text(&mut self.0, text);
        self
    }

    /// A text, or null.
    pub(crate) fn maybe_text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(key, text),
            None => self.json(key, "null"),
        }
    }

    /// A whole number, which is written as it shows itself.
    pub(crate) fn number(&mut self, key: &str, number: impl Display) -> &mut Self {
        self.key(key);
        // Writing to a string does not fail.
        let _ = write!(self.0, "{number}");
        self
    }

    /// A whole number, or null.
    pub(crate) fn maybe_number(&mut self, key: &str, number: Option<impl Display>) -> &mut Self {
        match number {
            Some(number) => self.number(key, number),
            None => self.json(key, "null"),
        }
    }

    /// A finite number.
    pub(crate) fn real(&mut self, key: &str, number: f64) -> &mut Self {
        self.json(key, &Value::from(number).to_string())
    }

    pub(crate) fn flag(&mut self, key: &str, flag: bool) -> &mut Self {
        self.json(key, if flag { "true" } else { "false" })
    }

    pub(crate) fn texts(&mut self, key: &str, texts: &[String]) -> &mut Self {
        self.list(key, texts, |text, out| push_text(out, text))
    }

    /// A list whose elements are written one by one.
    pub(crate) fn list<T>(&mut self, key: &str, items: &[T], write: impl FnMut(&T, &mut String)) -> &mut Self {
        self.key(key);
        push_list(&mut self.0, items, write);
        self
    }

    pub(crate) fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.0);
        text.push('}');
        text
    }
}

/// Copies JSON text in. A line break can only be white space between its tokens there, and would end the line of the
/// answer: it becomes a space.
pub(crate) fn push_json(out: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = rest.find(['\n', '\r']) {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Writes a list whose elements are written one by one.
pub(crate) fn push_list<T>(out: &mut String, items: &[T], mut write: impl FnMut(&T, &mut String)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Writes a text as a JSON string.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let _ = write!(out, "{}", Value::from(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_already_is_copied_byte_for_byte() {
        let message = r#"{"z":1.0,"a":1e3,"b":18446744073709551616,"t":"\ud83d \u0000 \/"}"#;
        let mut object = Object::new();
        object.json("message", message).flag("inserted", true).maybe_text("cursor", None).number("seq", 7);
        assert_eq!(object.finish(), format!(r#"{{"message":{message},"inserted":true,"cursor":null,"seq":7}}"#));
    }

    #[test]
    fn line_breaks_between_tokens_do_not_end_the_line() {
        let mut out = String::new();
        push_json(&mut out, "{\r\n\t\"id\": \"a\\n\"\n}");
        assert_eq!(out, "{  \t\"id\": \"a\\n\" }");
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        push_text(&mut out, "a\"b\\\n\u{0}\u{2028}é");
        assert_eq!(out, "\"a\\\"b\\\\\\n\\u0000\u{2028}é\"");
    }

    #[test]
    fn lists_and_empty_objects_are_well_formed() {
        let mut object = Object::new();
        object.texts("a", &[]).texts("b", &["x".to_owned(), "y".to_owned()]);
        assert_eq!(object.finish(), r#"{"a":[],"b":["x","y"]}"#);
        assert_eq!(Object::new().finish(), "{}");
    }
}
