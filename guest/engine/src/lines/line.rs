//! One line: a JSON object whose members are looked up by name.

use std::borrow::Cow;

use crate::message::json::{Event, Reader};

/// The members of one line, each value as it is written.
pub(super) struct Line<'a> {
    members: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> Line<'a> {
    /// Reads a line. Each value is read for itself, so that a message may be nested as deep as one may be.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let mut rest = Rest { text, at: 0 };
        let mut members = Vec::new();
        rest.expect(b'{', "`{`: a line is one object")?;
        if rest.next() == Some(b'}') {
            rest.at += 1;
        } else {
            loop {
                let name = rest.name()?;
                rest.expect(b':', "`:`")?;
                members.push((name, rest.value()?));
                match rest.next() {
                    Some(b',') => rest.at += 1,
                    Some(b'}') => break rest.at += 1,
                    _ => return Err(rest.expected("`,` or `}`")),
                }
            }
        }
        match rest.next() {
            None => Ok(Self { members }),
            Some(_) => Err(format!("something follows the object, at byte {}", rest.at)),
        }
    }

    /// A member's value as it is written. `null` is none.
    pub(super) fn raw(&self, name: &str) -> Option<&'a str> {
        self.members.iter().find(|(known, _)| known == name).map(|&(_, value)| value).filter(|&value| value != "null")
    }

    /// A member that must be a string, if it is there.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, String> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        match Reader::new(raw).pull() {
            Ok(Some(Event::String(string))) => match string.unescape_exact() {
                Some(text) => Ok(Some(text)),
                None => Err(format!("`{name}` holds half of a surrogate pair, which is no character")),
            },
            _ => Err(format!("`{name}` is no string")),
        }
    }

    /// A member that must be a string.
    pub(super) fn needed_text(&self, name: &str) -> Result<Cow<'a, str>, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// A member that must be a whole number, if it is there.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        raw.parse().map(Some).map_err(|_| format!("`{name}` is {raw:.40}, which is no number that can stand there"))
    }

    /// A member that must be `true` or `false`; false where it is not there.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.raw(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(format!("`{name}` is neither true nor false")),
        }
    }

    /// A member that must be a list of strings, if it is there.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let wrong = || format!("`{name}` is no list of strings");
        let mut reader = Reader::new(raw);
        if !matches!(reader.pull(), Ok(Some(Event::ArrayStart))) {
            return Err(wrong());
        }
        let mut texts = Vec::new();
        while let Some(event) = reader.next_element().map_err(|_| wrong())? {
            let Event::String(string) = event else { return Err(wrong()) };
            texts.push(string.unescape_exact().ok_or_else(wrong)?.into_owned());
        }
        Ok(Some(texts))
    }

    /// A member that must be a list of objects, if it is there.
    pub(super) fn objects(&self, name: &str) -> Result<Vec<Self>, String> {
        let Some(raw) = self.raw(name) else { return Ok(Vec::new()) };
        let wrong = || format!("`{name}` is no list of objects");
        let mut reader = Reader::new(raw);
        if !matches!(reader.pull(), Ok(Some(Event::ArrayStart))) {
            return Err(wrong());
        }
        let mut objects = Vec::new();
        while reader.next_element().map_err(|_| wrong())?.is_some() {
            let span = reader.finish_value().map_err(|_| wrong())?;
            objects.push(Self::read(raw.get(span).unwrap_or_default()).map_err(|_| wrong())?);
        }
        Ok(objects)
    }
}

/// What has not been read of a line.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        if self.next() != Some(byte) {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    fn expected(&self, what: &str) -> String {
        format!("expected {what}, at byte {}", self.at)
    }

    fn name(&mut self) -> Result<Cow<'a, str>, String> {
        let what = "a string, the name of a member";
        if self.next() != Some(b'"') {
            return Err(self.expected(what));
        }
        let mut reader = self.reader();
        match reader.pull() {
            Ok(Some(Event::String(name))) => {
                self.at += reader.span().end;
                Ok(name.unescape())
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The text of the value that begins here.
    fn value(&mut self) -> Result<&'a str, String> {
        self.next();
        let mut reader = self.reader();
        let span = reader.skip_value().map_err(|mut fault| {
            fault.at += self.at;
            fault.to_string()
        })?;
        let value = self.text.get(self.at + span.start..self.at + span.end).unwrap_or_default();
        self.at += span.end;
        Ok(value)
    }

    fn reader(&self) -> Reader<'a> {
        Reader::new(self.text.get(self.at..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn members_are_found_by_name_and_come_as_written() {
        let line = Line::read(r#" { "a" : "x\u0000é" , "b":-5,"c":{"d":[1.0, 2]} ,"e":null,"f":["p","q"],"g":true} "#)
            .unwrap();
        assert_eq!(line.text("a").unwrap().unwrap(), "x\0é");
        assert_eq!(line.number::<i64>("b").unwrap(), Some(-5));
        assert_eq!(line.raw("c"), Some(r#"{"d":[1.0, 2]}"#));
        assert_eq!((line.raw("e"), line.raw("z")), (None, None));
        assert_eq!(line.texts("f").unwrap().unwrap(), ["p", "q"]);
        assert!(line.flag("g").unwrap() && !line.flag("z").unwrap());
        assert!(line.text("b").is_err() && line.number::<u32>("b").is_err() && line.flag("a").is_err());
        assert!(line.needed_text("z").is_err() && line.texts("a").is_err());
        assert!(Line::read("{}").unwrap().members.is_empty());
        let line = Line::read(r#"{"o":[{"a":1}, {"a":[2]},{}],"e":[],"w":[1]}"#).unwrap();
        let objects = line.objects("o").unwrap();
        assert_eq!(objects.iter().map(|object| object.raw("a")).collect::<Vec<_>>(), [Some("1"), Some("[2]"), None]);
        assert!(line.objects("e").unwrap().is_empty() && line.objects("w").is_err());
    }

    #[test]
    fn what_is_no_line_is_told_with_its_place() {
        for (text, why) in [
            ("", "expected `{`: a line is one object, at byte 0"),
            ("[]", "expected `{`: a line is one object, at byte 0"),
            (r#"{"a":1"#, "expected `,` or `}`, at byte 6"),
            (r#"{"a":1} {"b":2}"#, "something follows the object, at byte 8"),
            (r#"{"a":1,}"#, "expected a string, the name of a member, at byte 7"),
            (r#"{"a":tru}"#, "expected a value, at byte 5"),
            (r#"{"a":"x"#, "a string has no end, at byte 5"),
            ("\0\0", "expected `{`: a line is one object, at byte 0"),
        ] {
            assert_eq!(Line::read(text).err().as_deref(), Some(why), "{text:?}");
        }
    }

    #[test]
    fn a_value_may_be_as_deep_as_a_message() {
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let text = format!(r#"{{"message":{deep}}}"#);
        assert_eq!(Line::read(&text).unwrap().raw("message"), Some(deep.as_str()));
        assert!(Line::read(&format!(r#"{{"message":[{deep}]}}"#)).is_err());
    }
}
