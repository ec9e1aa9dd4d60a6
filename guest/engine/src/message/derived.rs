//! What the store keeps beside a message's text: a token estimate, and its tool calls and results.

use super::calls::Call;
use super::json::{Event, Fault, Raw, Reader};
use super::parts::{self, Field, Part};
use super::tokens::{Estimator, media_in, media_tokens};

/// What a provider adds around every message.
const MESSAGE_TOKENS: u32 = 3;

/// What a provider adds around a tool call or a result, its id among it.
const CALL_TOKENS: u32 = 8;

/// What is derived from a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derived {
    /// Estimated tokens of what a model would be given of it: its parts, with what a provider adds around them. Not of
    /// its id, its metadata, or parts that are only for show.
    pub tokens: u32,
    /// Its tool calls and results, in the order of its parts.
    pub calls: Vec<Call>,
}

/// Derives from the text of a message that was accepted. Of another text it takes what it can read.
pub fn derive(text: &str) -> Derived {
    let mut reading = Reading { estimator: Estimator::new(), calls: Vec::new() };
    reading.estimator.add(MESSAGE_TOKENS);
    // A fault ends the reading; an accepted message has none.
    let _ = reading.parts(text);
    Derived { tokens: reading.estimator.tokens(), calls: reading.calls }
}

struct Reading {
    estimator: Estimator,
    calls: Vec<Call>,
}

impl Reading {
    fn parts(&mut self, text: &str) -> Result<(), Fault> {
        let Some(mut reader) = parts::open(text)? else { return Ok(()) };
        while let Some(first) = reader.next_element()? {
            if first == Event::ObjectStart {
                self.part(text, &mut reader)?;
            } else {
                self.json(text, &mut reader, first)?;
            }
        }
        Ok(())
    }

    fn part(&mut self, text: &str, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let before = self.estimator.clone();
        let mut part = Part::default();
        let mut has_media = false;
        while let Some(key) = reader.next_key()? {
            let field = Field::of(&key);
            let Some(first) = reader.pull()? else { break };
            part.note(field, first);
            match (field, first) {
                // What the part says is text, whatever it looks like.
                (Field::Text, Event::String(raw)) => self.estimator.text(&raw),
                (Field::Output | Field::ErrorText | Field::Other | Field::Url, Event::String(raw)) => {
                    if let Some(tokens) = media_in(Some(&key), &raw) {
                        has_media = true;
                        self.estimator.add(tokens);
                    } else if field != Field::Url {
                        self.estimator.text(&raw);
                    }
                }
                (Field::Output | Field::Other | Field::Text, _) => has_media |= self.json(text, reader, first)?,
                (Field::Name, Event::String(raw)) => self.estimator.text(&raw),
                _ => {
                    reader.finish_value()?;
                }
            }
        }
        if part.is_for_show() {
            self.estimator = before;
            return Ok(());
        }
        if let Some(call) = part.call() {
            self.estimator.add(CALL_TOKENS);
            self.estimator.plain(part.kind());
            self.calls.push(call);
        } else if part.is_file() && !has_media {
            // By reference: nothing says how large it is.
            let media_type = if part.is_image() { "image" } else { part.media_type() };
            self.estimator.add(media_tokens(media_type, 0));
        } else if let Some(url) = part.url.filter(|_| !has_media) {
            self.estimator.text(&url);
        }
        Ok(())
    }

    /// Counts a value as the JSON that a model is given, and says whether there was inline media in it.
    fn json(&mut self, text: &str, reader: &mut Reader<'_>, first: Event<'_>) -> Result<bool, Fault> {
        let outside = match first {
            Event::ObjectStart | Event::ArrayStart => reader.depth() - 1,
            _ => reader.depth(),
        };
        let mut has_media = false;
        let mut numbered = false;
        let mut key: Option<Raw<'_>> = None;
        let mut from = reader.span().start;
        let mut event = first;
        loop {
            match event {
                Event::Key(raw) => {
                    numbered |= raw.has_numbered_escapes();
                    key = Some(raw);
                }
                Event::String(raw) => {
                    if let Some(tokens) = media_in(key.as_ref(), &raw) {
                        let span = reader.span();
                        self.estimator.written(text.get(from..span.start).unwrap_or_default(), numbered);
                        self.estimator.add(tokens);
                        has_media = true;
                        from = span.end;
                    } else {
                        numbered |= raw.has_numbered_escapes();
                    }
                }
                _ => {}
            }
            if reader.depth() == outside && !matches!(event, Event::Key(_)) {
                break;
            }
            match reader.pull()? {
                Some(next) => event = next,
                None => break,
            }
        }
        self.estimator.written(text.get(from..reader.span().end).unwrap_or_default(), numbered);
        Ok(has_media)
    }
}
