//! What a message says, by kind: its text, what its tools were given and gave, its reasoning.

use super::json::{Event, Fault, Raw, Reader};
use super::parts::{self, Field, Part};

/// Where something was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// In a text part.
    Text,
    /// In the name, an input or an output of a tool.
    Tools,
    /// In a reasoning part.
    Reasoning,
}

/// Strings above this are told in pieces where they have to be unescaped.
const PIECE_BYTES: usize = 64 * 1024;

/// A piece without any gap between words is cut here.
const LONGEST_PIECE_BYTES: usize = 1024 * 1024;

/// Tells what a message says, in order, in pieces that no word crosses. The pieces of one kind put together are its text:
/// parts are separated by line breaks, the names and values of a tool's input and output by spaces.
///
/// A text that is no message gives what can be read of it.
pub fn said<'a>(text: &'a str, each: &mut dyn FnMut(Said, &str)) {
    let mut reading = Reading { text, begun: [false; 3], each };
    // A fault ends the reading; an accepted message has none.
    let _ = reading.read();
}

struct Reading<'a, 'f> {
    text: &'a str,
    /// Which kinds have been told of already.
    begun: [bool; 3],
    each: &'f mut dyn FnMut(Said, &str),
}

impl<'a> Reading<'a, '_> {
    fn read(&mut self) -> Result<(), Fault> {
        let Some(mut reader) = parts::open(self.text)? else { return Ok(()) };
        while let Some(first) = reader.next_element()? {
            if first == Event::ObjectStart {
                self.part(&mut reader)?;
            } else {
                reader.finish_value()?;
            }
        }
        Ok(())
    }

    fn part(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        let mut part = Part::default();
        let mut said: Option<Raw<'a>> = None;
        let mut name: Option<Raw<'a>> = None;
        let mut contents: Vec<(Raw<'a>, &'a str)> = Vec::new();
        while let Some(key) = reader.next_key()? {
            let field = Field::of(&key);
            let Some(first) = reader.pull()? else { break };
            part.note(field, first);
            let span = reader.finish_value()?;
            match (field, first) {
                (Field::Text, Event::String(raw)) => said = Some(raw),
                (Field::Name, Event::String(raw)) => name = Some(raw),
                (Field::Output | Field::ErrorText | Field::Other | Field::Text, _) => {
                    contents.push((key, self.text.get(span).unwrap_or_default()));
                }
                _ => {}
            }
        }
        let kind = part.kind();
        if part.role().is_some() {
            self.begin(Said::Tools, "\n");
            match (kind.strip_prefix("tool-"), name) {
                (_, Some(name)) => self.tell(Said::Tools, &name),
                (Some(tool), None) => (self.each)(Said::Tools, tool),
                (None, None) => {}
            }
            if let Some(said) = said {
                self.begin(Said::Tools, " ");
                self.tell(Said::Tools, &said);
            }
            for (key, value) in contents {
                self.begin(Said::Tools, " ");
                self.tell(Said::Tools, &key);
                (self.each)(Said::Tools, ":");
                self.value(Said::Tools, value)?;
            }
        } else if kind == "text" {
            if let Some(said) = said {
                self.begin(Said::Text, "\n");
                self.tell(Said::Text, &said);
            }
        } else if matches!(kind, "reasoning" | "thinking") {
            self.begin(Said::Reasoning, "\n");
            if let Some(said) = said {
                self.tell(Said::Reasoning, &said);
            }
            for (_, value) in contents {
                self.value(Said::Reasoning, value)?;
            }
        }
        Ok(())
    }

    /// Puts something between this and what was told of its kind before.
    fn begin(&mut self, said: Said, gap: &str) {
        if let Some(begun) = self.begun.get_mut(said as usize)
            && std::mem::replace(begun, true)
        {
            (self.each)(said, gap);
        }
    }

    /// Tells the names, strings and numbers of a value.
    fn value(&mut self, said: Said, value: &'a str) -> Result<(), Fault> {
        let mut reader = Reader::new(value);
        while let Some(event) = reader.pull()? {
            match event {
                Event::Key(raw) => {
                    (self.each)(said, " ");
                    self.tell(said, &raw);
                    (self.each)(said, ":");
                }
                Event::String(raw) => {
                    (self.each)(said, " ");
                    self.tell(said, &raw);
                }
                Event::Number(number) => {
                    (self.each)(said, " ");
                    (self.each)(said, number);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells a string. A large one is unescaped piece by piece, so that it is never held twice.
    fn tell(&mut self, said: Said, raw: &Raw<'_>) {
        if !raw.has_escapes() || raw.as_written().len() <= PIECE_BYTES {
            return (self.each)(said, &raw.unescape());
        }
        let mut piece = String::with_capacity(PIECE_BYTES + 4);
        for char in raw.chars() {
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            let gap = piece.len() >= PIECE_BYTES && char.is_whitespace() || piece.len() >= LONGEST_PIECE_BYTES;
            if gap {
                (self.each)(said, &piece);
                piece.clear();
            }
            piece.push(char);
        }
        (self.each)(said, &piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(message: &str) -> [String; 3] {
        let mut all = [const { String::new() }; 3];
        said(message, &mut |said, piece| all[said as usize].push_str(piece));
        all
    }

    #[test]
    fn a_message_says_text_tools_and_reasoning() {
        let message = r#"{"id":"m","role":"assistant","parts":[{"text":"One \ud83d","type":"text"},{"type":"step-start"},
            {"type":"tool-search","toolCallId":"c1","input":{"query":"部署","n":5},"output":["found\nit",true]},
            {"type":"reasoning","text":"so"},{"type":"thinking","thinking":"hm","signature":"xyz"},
            {"type":"tool_use","id":"c2","name":"ls","input":{"path":"/"}},
            {"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"a.txt"}]},
            {"type":"data-weather","data":{"x":"no"}},{"type":"text","text":"Two"}]}"#;
        assert_eq!(
            all(message),
            [
                "One \u{fffd}\nTwo",
                "search input: query: 部署 n: 5 output: found\nit\nls input: path: /\n content: type: text text: a.txt",
                "so\n hm",
            ]
        );
    }

    #[test]
    fn a_large_string_is_told_in_pieces_that_no_word_crosses() {
        let text = "word \\n".repeat(100_000);
        let message = format!(r#"{{"id":"m","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#);
        let (mut pieces, mut whole) = (0, String::new());
        said(&message, &mut |_, piece| {
            assert!(piece.len() < 2 * PIECE_BYTES && !piece.ends_with("wor"));
            pieces += 1;
            whole.push_str(piece);
        });
        assert!(pieces > 5);
        assert_eq!(whole, "word \n".repeat(100_000));
    }
}
