//! Finding inline media: bytes that a message carries as base64 in a string of its parts.
//!
//! Two shapes are taken, however deep they are nested, in outputs of tools too: a `data:` URL that says `;base64,`, in
//! any string but a `text`, and a `data` that is base64 alone. What says that it is text stays text. Only strings
//! without escapes are taken, so that what is found can be cut out and put back byte for byte; whether the base64 is
//! one that would be written the same again is for the caller to see.

use std::ops::Range;

use super::json::{Event, Raw, Reader};

/// Strings below this many bytes stay where they are: a row of their own would cost more than they save.
pub const MIN_INLINE_BYTES: usize = 1024;

/// Bytes that a message carries as base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// Where the string's content stands in the text, without the quotes.
    pub content: Range<usize>,
    /// How much of it comes before the base64: `data:image/png;base64,`.
    pub prefix: usize,
    /// The media type that the URL or its neighbours name, or empty.
    pub media_type: String,
    /// JSON pointer (RFC 6901) to the string.
    pub pointer: String,
}

/// An object or array that is open.
struct Open<'a> {
    key: Option<Raw<'a>>,
    index: usize,
    media_type: Option<Raw<'a>>,
    /// How much had been found before it.
    found: usize,
}

/// The inline media of a message that was validated, in the order of the text.
pub fn inline_media(text: &str) -> Vec<Inline> {
    let mut found = Vec::new();
    if text.len() < MIN_INLINE_BYTES {
        return found;
    }
    walk(text, |step| match step {
        Step::Opened(object) => object.found = found.len(),
        Step::String { reader, string, open } => {
            let key = open.last().and_then(|object| object.key);
            if let (Some(key), Some(object)) = (key, open.last_mut())
                && ["mediaType", "media_type", "mimeType", "mime_type"].iter().any(|name| key.is(name))
            {
                object.media_type = Some(string);
            }
            if in_parts(open) {
                found.extend(carried(reader, string, key, open));
            }
        }
        Step::Closed { object, depth } => settle(&mut found, object, depth),
    });
    found
}

/// Whether a message has an empty string where a JSON pointer points.
pub fn is_blank_at(text: &str, target: &str) -> bool {
    let mut blank = false;
    walk(text, |step| {
        if let Step::String { string, open, .. } = step {
            blank |= string.as_written().is_empty() && pointer(open) == target;
        }
    });
    blank
}

/// What a walk comes upon.
enum Step<'s, 'a> {
    Opened(&'s mut Open<'a>),
    String { reader: &'s Reader<'a>, string: Raw<'a>, open: &'s mut Vec<Open<'a>> },
    Closed { object: &'s Open<'a>, depth: usize },
}

/// Walks through a text that was validated; one that has a fault ends there.
fn walk<'a>(text: &'a str, mut visit: impl FnMut(Step<'_, 'a>)) {
    let mut reader = Reader::new(text);
    let mut open: Vec<Open<'a>> = Vec::new();
    while let Ok(Some(event)) = reader.pull() {
        match event {
            Event::Key(key) => {
                if let Some(object) = open.last_mut() {
                    object.key = Some(key);
                }
                continue;
            }
            Event::ObjectStart | Event::ArrayStart => {
                let mut container = Open { key: None, index: 0, media_type: None, found: 0 };
                visit(Step::Opened(&mut container));
                open.push(container);
                continue;
            }
            Event::ObjectEnd | Event::ArrayEnd => {
                if let Some(object) = open.pop() {
                    visit(Step::Closed { object: &object, depth: open.len() });
                }
            }
            Event::String(string) => visit(Step::String { reader: &reader, string, open: &mut open }),
            Event::Number(_) | Event::Bool(_) | Event::Null => {}
        }
        if let Some(container) = open.last_mut() {
            container.index += 1;
        }
    }
}

fn in_parts(open: &[Open<'_>]) -> bool {
    open.first().and_then(|message| message.key).is_some_and(|key| key.is("parts"))
}

fn carried(reader: &Reader<'_>, string: Raw<'_>, key: Option<Raw<'_>>, open: &[Open<'_>]) -> Option<Inline> {
    let written = string.as_written();
    if written.len() < MIN_INLINE_BYTES || string.has_escapes() {
        return None;
    }
    let (prefix, media_type) = match written.strip_prefix("data:") {
        Some(url) => {
            if key.is_some_and(|key| key.is("text")) {
                return None;
            }
            let head = url.get(..url.find(',')?)?;
            let media_type = head.strip_suffix(";base64")?.split(';').next()?;
            ("data:".len() + head.len() + 1, media_type)
        }
        // A media type beside it is looked at when all its neighbours are known.
        None if key.is_some_and(|key| key.is("data")) => (0, ""),
        None => return None,
    };
    if is_text(media_type) {
        return None;
    }
    let span = reader.span();
    Some(Inline {
        content: span.start + 1..span.end - 1,
        prefix,
        media_type: media_type.to_owned(),
        pointer: pointer(open),
    })
}

/// What stands in an object that is complete now: bare base64 has the media type that its neighbours name.
fn settle(found: &mut Vec<Inline>, closed: &Open<'_>, depth: usize) {
    let Some(media_type) = closed.media_type.map(|raw| raw.unescape().into_owned()) else { return };
    let mut index = closed.found;
    while let Some(inline) = found.get_mut(index) {
        // Of what was found since the object began, only its own members are meant.
        if inline.prefix == 0 && inline.pointer.matches('/').count() == depth + 1 {
            if is_text(&media_type) {
                found.remove(index);
                continue;
            }
            inline.media_type.clone_from(&media_type);
        }
        index += 1;
    }
}

fn is_text(media_type: &str) -> bool {
    media_type.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("text/"))
}

fn pointer(open: &[Open<'_>]) -> String {
    let mut pointer = String::new();
    for container in open {
        pointer.push('/');
        match container.key {
            Some(key) => pointer.push_str(&key.unescape().replace('~', "~0").replace('/', "~1")),
            None => pointer.push_str(&container.index.to_string()),
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn message(part: &str) -> String {
        format!(r#"{{"id":"m","role":"user","parts":[{{"type":"text","text":"see"}},{part}]}}"#)
    }

    fn base64() -> String {
        "QUJD".repeat(300)
    }

    #[test]
    fn a_data_url_is_found_wherever_it_is_nested() {
        let payload = base64();
        for (part, pointer) in [
            (format!(r#"{{"type":"file","url":"data:image/png;base64,{payload}"}}"#), "/parts/1/url"),
            (
                format!(r#"{{"output":{{"a/b":["x",{{"image":"data:image/png;x=y;base64,{payload}"}}]}}}}"#),
                "/parts/1/output/a~1b/1/image",
            ),
        ] {
            let text = message(&part);
            let found = inline_media(&text);
            assert_eq!(found.len(), 1, "{part}");
            let inline = found.first().unwrap();
            assert_eq!((inline.pointer.as_str(), inline.media_type.as_str()), (pointer, "image/png"));
            assert_eq!(&text[inline.content.start + inline.prefix..inline.content.end], payload);
        }
    }

    #[test]
    fn bare_base64_takes_the_type_of_its_neighbours_whatever_their_order() {
        let payload = base64();
        for part in [
            format!(r#"{{"mediaType":"image/png","data":"{payload}"}}"#),
            format!(r#"{{"data":"{payload}","deep":{{"mediaType":"text/plain"}},"mimeType":"image/png"}}"#),
        ] {
            let found = inline_media(&message(&part));
            assert_eq!(found.len(), 1, "{part}");
            assert_eq!(found.first().unwrap().media_type, "image/png");
        }
    }

    #[test]
    fn text_stays_text() {
        let payload = base64();
        for part in [
            format!(r#"{{"type":"text","text":"data:image/png;base64,{payload}"}}"#),
            format!(r#"{{"type":"file","url":"data:text/plain;base64,{payload}"}}"#),
            format!(r#"{{"mediaType":"text/csv","data":"{payload}"}}"#),
            format!(r#"{{"type":"file","url":"data:image/png,{payload}"}}"#),
            format!(r#"{{"type":"file","url":"https://example.org/{payload}"}}"#),
            r#"{"type":"file","url":"data:image/png;base64,QUJD"}"#.to_owned(),
        ] {
            assert_eq!(inline_media(&message(&part)), [], "{part}");
        }
        let outside = format!(r#"{{"id":"m","role":"user","parts":[],"data":"{payload}"}}"#);
        assert_eq!(inline_media(&outside), []);
    }
}
