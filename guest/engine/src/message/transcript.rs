//! A message as lines of a transcript, for a prompt: what was said, which tools were called with what, what they gave.

use super::json::{Event, Fault, Raw, Reader};
use super::parts::{self, Field, Part};

/// Writes a message's parts as lines. Each text, input and output is given at most `limit` characters; what is cut is
/// said to be cut, between characters. Bytes of files are left out.
///
/// A text that is no message gives what can be read of it.
pub fn transcript(text: &str, limit: usize) -> String {
    let mut out = Transcript { out: String::new(), limit };
    // A fault ends the reading; an accepted message has none.
    let _ = out.read(text);
    out.out
}

struct Transcript {
    out: String,
    limit: usize,
}

impl Transcript {
    fn read(&mut self, text: &str) -> Result<(), Fault> {
        let Some(mut reader) = parts::open(text)? else { return Ok(()) };
        while let Some(first) = reader.next_element()? {
            if first == Event::ObjectStart {
                self.part(text, &mut reader)?;
            } else {
                reader.finish_value()?;
            }
        }
        Ok(())
    }

    fn part(&mut self, text: &str, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let mut part = Part::default();
        let mut said: Option<Raw<'_>> = None;
        let mut contents: Vec<&str> = Vec::new();
        while let Some(key) = reader.next_key()? {
            let field = Field::of(&key);
            let Some(first) = reader.pull()? else { break };
            part.note(field, first);
            let span = reader.finish_value()?;
            match (field, first) {
                (Field::Text, Event::String(raw)) => said = Some(raw),
                (Field::Output | Field::ErrorText | Field::Other, _) => {
                    contents.push(text.get(span).unwrap_or_default());
                }
                _ => {}
            }
        }
        if let Some(raw) = said {
            let said: String = raw.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            self.line(&said);
            return Ok(());
        }
        let Some(label) = part.label() else { return Ok(()) };
        if part.role().is_some() {
            self.line(&format!("[{label}] {}", contents.join(" ")));
        } else {
            self.line(&format!("[{label}]"));
        }
        Ok(())
    }

    fn line(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match text.char_indices().nth(self.limit) {
            None => self.out.push_str(text),
            Some((end, _)) => {
                let left = text.chars().count() - self.limit;
                self.out.push_str(text.get(..end).unwrap_or_default());
                self.out.push_str(&format!(" [cut: {left} more characters]"));
            }
        }
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_has_texts_tools_and_what_they_were_given_and_gave() {
        let message = r#"{"id":"m","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"Looking \n now"},
            {"type":"tool-search","toolCallId":"c1","input":{"query":"部署"},"output":[1,2]},
            {"type":"tool_use","id":"c2","name":"ls","input":{"path":"/"}},
            {"type":"file","mediaType":"image/png","url":"data:image/png;base64,QUJD"}]}"#;
        assert_eq!(
            transcript(message, 1000),
            "Looking \n now\n[tool-call search] {\"query\":\"部署\"} [1,2]\n[tool-call ls] {\"path\":\"/\"}\n[image/png]\n"
        );
    }

    #[test]
    fn what_is_cut_is_said_to_be_cut_between_characters() {
        let message = r#"{"id":"m","role":"user","parts":[{"type":"text","text":"部署窗口👩‍👧"}]}"#;
        assert_eq!(transcript(message, 2), "部署 [cut: 5 more characters]\n");
    }
}
