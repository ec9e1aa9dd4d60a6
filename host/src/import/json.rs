//! JSON taken apart and put together as text.
//!
//! What a message says is copied from the input byte for byte, so values are never parsed into trees: key order,
//! spelling of numbers, escapes and lone surrogates stay as they are, and nesting costs no stack.

use serde_json::value::RawValue;

/// Whether this is one JSON value of valid UTF-8, and its text without white space around it.
pub(crate) fn valid(bytes: &[u8]) -> Result<&str, String> {
    serde_json::from_slice::<&RawValue>(bytes).map(RawValue::get).map_err(|error| said(&error, bytes))
}

/// What is wrong, without serde's own line and column, which count inside the record.
pub(crate) fn said(error: &serde_json::Error, bytes: &[u8]) -> String {
    if let Err(bad) = std::str::from_utf8(bytes) {
        return match bad.error_len() {
            Some(_) => format!("no UTF-8 at byte {} of the record", bad.valid_up_to()),
            None => "it ends inside a character".to_owned(),
        };
    }
    if error.is_eof() {
        return "it ends in the middle".to_owned();
    }
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    format!("no JSON: {reason} at byte {} of the record", error.column())
}

/// One member of an object, both halves as they stand in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    /// With its quotes.
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

/// The members of an object, in order. What is damaged gives those before the damage.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<Member<'a>>);

impl<'a> Members<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let mut members = Vec::new();
        let mut at = spaces(bytes, 0);
        if bytes.get(at) == Some(&b'{') {
            at += 1;
            while let Some((member, next)) = member(bytes, at) {
                members.push(member);
                at = next;
            }
        }
        Self(members)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Member<'a>> {
        self.0.iter().copied()
    }

    /// The value of a key. Of several the last counts, as in JavaScript.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let found = self.0.iter().rev().find(|member| same_key(member.key, key))?;
        Some(found.value)
    }

    /// The value of a key, if it is a string that Unicode can hold.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(text)
    }
}

/// A key as it stands in the text, compared with one that has no characters that need an escape.
pub(crate) fn same_key(raw: &str, key: &str) -> bool {
    let inside = inside(raw);
    inside == key || (inside.contains('\\') && text(raw).is_some_and(|decoded| decoded == key))
}

fn member(bytes: &[u8], at: usize) -> Option<(Member<'_>, usize)> {
    let mut at = spaces(bytes, at);
    if bytes.get(at) == Some(&b',') {
        at = spaces(bytes, at + 1);
    }
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let key_end = value_end(bytes, at)?;
    let key = std::str::from_utf8(&bytes[at..key_end]).ok()?;
    let colon = spaces(bytes, key_end);
    if bytes.get(colon) != Some(&b':') {
        return None;
    }
    let start = spaces(bytes, colon + 1);
    let end = value_end(bytes, start)?;
    let value = std::str::from_utf8(&bytes[start..end]).ok()?;
    Some((Member { key, value }, end))
}

/// The elements of an array, as they stand in the text.
pub(crate) fn elements(array: &str) -> Vec<&str> {
    let bytes = array.as_bytes();
    let mut found = Vec::new();
    let mut at = spaces(bytes, 0);
    if bytes.get(at) != Some(&b'[') {
        return found;
    }
    at += 1;
    loop {
        at = spaces(bytes, at);
        match bytes.get(at) {
            None | Some(b']') => return found,
            Some(b',') => at += 1,
            Some(_) => {
                let Some(end) = value_end(bytes, at) else { return found };
                let Some(element) = array.get(at..end) else { return found };
                found.push(element);
                at = end;
            }
        }
    }
}

fn spaces(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Where the value ends that begins here; none if it does not end.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut extent = Extent::default();
    let (used, end) = extent.take(bytes.get(at..)?);
    match end {
        Some(End::Value) => (used > 0).then_some(at + used),
        Some(End::Damage) => None,
        None => (used > 0 && extent.may_end_here()).then_some(at + used),
    }
}

/// How the bytes of a value ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The value is complete.
    Value,
    /// A byte that cannot stand in JSON: a control character in a string, NUL anywhere.
    Damage,
}

/// Finds where a value ends by its quotes and brackets alone, in as many pieces as it comes in.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    depth: u64,
    in_string: bool,
    escaped: bool,
    scalar: bool,
}

impl Extent {
    /// How many of these bytes belong to the value, and whether it ended with them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> (usize, Option<End>) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_string {
                if self.escaped && byte >= 0x20 {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                // Most of any transcript is inside strings: their plain characters are passed in a tight loop.
                let plain =
                    bytes[at..].iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20).count();
                at += plain;
                match bytes.get(at) {
                    None => break,
                    Some(b'\\') => self.escaped = true,
                    Some(b'"') => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (at + 1, Some(End::Value));
                        }
                    }
                    Some(_) => return (at, Some(End::Damage)),
                }
                at += 1;
                continue;
            }
            match byte {
                0 => return (at, Some(End::Damage)),
                b'"' | b'[' | b'{' if self.scalar && self.depth == 0 => return (at, Some(End::Value)),
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' if self.depth == 0 => return (at, Some(End::Value)),
                b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, Some(End::Value));
                    }
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if self.depth == 0 => return (at, Some(End::Value)),
                _ if self.depth == 0 => self.scalar = true,
                _ => {}
            }
            at += 1;
        }
        (bytes.len(), None)
    }

    /// Where the input ends the value may end too: it is a number or a word.
    pub(crate) fn may_end_here(&self) -> bool {
        self.scalar && self.depth == 0 && !self.in_string
    }
}

/// What a JSON string says. None for what is no string, and for lone surrogates.
pub(crate) fn text(raw: &str) -> Option<String> {
    raw.starts_with('"').then(|| serde_json::from_str(raw).ok()).flatten()
}

/// What a JSON string says, with a replacement character for each lone surrogate. Nothing for what is no string.
pub(crate) fn lossy_text(raw: &str) -> String {
    if let Some(text) = text(raw) {
        return text;
    }
    let mut whole = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let surrogate = |text: &str, kinds: &[u8]| {
            let bytes = text.as_bytes();
            bytes.starts_with(b"\\u")
                && bytes.get(2).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'd'))
                && bytes.get(3).is_some_and(|byte| kinds.contains(&byte.to_ascii_lowercase()))
        };
        let low = |text: &str| surrogate(text, b"cdef");
        let used = match surrogate(escape, b"89ab") {
            true if escape.get(6..).is_some_and(low) => 12,
            lone if lone || low(escape) => 0,
            _ => escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end),
        };
        if used == 0 {
            whole.push('\u{fffd}');
        }
        let (taken, behind) = escape.split_at_checked(if used == 0 { 6 } else { used }).unwrap_or((escape, ""));
        if used > 0 {
            whole.push_str(taken);
        }
        rest = behind;
    }
    whole.push_str(rest);
    text(&whole).unwrap_or_default()
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A JSON string without its quotes; of anything else nothing.
pub(crate) fn inside(raw: &str) -> &str {
    raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
}

/// An object or array that is written piece by piece.
#[derive(Debug)]
pub(crate) struct Writer {
    out: String,
    first: bool,
    close: char,
}

impl Writer {
    pub(crate) fn object() -> Self {
        Self { out: "{".to_owned(), first: true, close: '}' }
    }

    pub(crate) fn array() -> Self {
        Self { out: "[".to_owned(), first: true, close: ']' }
    }

    /// A member, or an element, that is JSON already.
    fn next(&mut self) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
    }

    /// A member whose key needs no escape and whose value is JSON.
    pub(crate) fn put(&mut self, key: &str, json: &str) -> &mut Self {
        self.next();
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        self.out.push_str(json);
        self
    }

    /// A member whose value is a text.
    pub(crate) fn put_text(&mut self, key: &str, text: &str) -> &mut Self {
        self.put(key, &quoted(text))
    }

    /// A member as it stood somewhere else.
    pub(crate) fn copy(&mut self, member: Member<'_>) -> &mut Self {
        self.next();
        self.out.push_str(member.key);
        self.out.push(':');
        self.out.push_str(member.value);
        self
    }

    /// An element that is JSON.
    pub(crate) fn push(&mut self, json: &str) -> &mut Self {
        self.next();
        self.out.push_str(json);
        self
    }

    /// Nothing has been written into it.
    pub(crate) fn is_empty(&self) -> bool {
        self.first
    }

    pub(crate) fn end(mut self) -> String {
        self.out.push(self.close);
        self.out
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn members_come_out_as_they_stand() {
        let text = r#" { "a" : 1e3 , "b":"x\"}{","a":[1,{"c":[]}],"\u0064":"\ud83d", "e":-0 } "#;
        let members = Members::of(text.as_bytes());
        let values: Vec<_> = members.iter().map(|member| member.value).collect();
        assert_eq!(values, ["1e3", r#""x\"}{""#, r#"[1,{"c":[]}]"#, r#""\ud83d""#, "-0"]);
        assert_eq!(members.get("a"), Some(r#"[1,{"c":[]}]"#));
        assert_eq!(members.get("d"), Some(r#""\ud83d""#));
        assert_eq!(members.text("d"), None);
        assert_eq!(members.text("b").as_deref(), Some("x\"}{"));
    }

    #[test]
    fn a_torn_object_gives_what_came_before_the_tear() {
        let whole = "{\"type\":\"message\",\"id\":\"a1\",\"parentId\":null,\"message\":{\"content\":\"é\"}}";
        for cut in 0..whole.len() {
            let members = Members::of(&whole.as_bytes()[..cut]);
            assert_eq!(members.get("id").is_some(), cut >= 27, "cut at {cut}");
            assert_eq!(members.get("message").is_some(), cut == whole.len() - 1, "cut at {cut}");
        }
    }

    #[test]
    fn elements_may_nest_deeper_than_any_stack() {
        let deep = format!("[{}1{},2]", "[".repeat(100_000), "]".repeat(100_000));
        assert!(valid(deep.as_bytes()).is_ok());
        assert_eq!(elements(&deep).len(), 2);
        assert_eq!(elements("[]"), Vec::<&str>::new());
        assert_eq!(elements("{}"), Vec::<&str>::new());
    }

    #[test]
    fn what_is_wrong_is_said_without_a_foreign_line_number() {
        assert_eq!(valid(b"{\"a\":").unwrap_err(), "it ends in the middle");
        assert_eq!(valid(b"{\"a\":\"\xff\"}").unwrap_err(), "no UTF-8 at byte 6 of the record");
        assert_eq!(valid("{\"a\":\"é".as_bytes().split_last().unwrap().1).unwrap_err(), "it ends inside a character");
        let said = valid(b"{\"a\":x}").unwrap_err();
        assert!(said.starts_with("no JSON: expected value at byte "), "{said}");
    }
}
