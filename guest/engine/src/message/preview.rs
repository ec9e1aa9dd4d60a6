//! The line that stands for a message in a list.

use super::json::{Event, Fault, Raw, Reader};
use super::parts::{self, Field, Part};

/// The first `limit` characters of the message's text parts, joined by a space and brought onto one line: white space,
/// line breaks and control characters become single spaces, lone surrogates U+FFFD.
///
/// A message without text shows what it holds instead: `[tool-call search]`, `[tool-result search]`, `[image/png]`, or
/// the type of a part. A text that is cut off or no message gives what can be read of it, at worst nothing.
pub fn preview(text: &str, limit: usize) -> String {
    let mut lines = Lines { text: Line::new(limit), labels: Line::new(limit) };
    // A fault ends the reading, and what there was is shown.
    let _ = lines.read(text);
    if lines.text.out.is_empty() { lines.labels.out } else { lines.text.out }
}

struct Lines {
    text: Line,
    labels: Line,
}

impl Lines {
    fn read(&mut self, text: &str) -> Result<(), Fault> {
        let Some(mut reader) = parts::open(text)? else { return Ok(()) };
        while let Some(first) = reader.next_element()? {
            if first == Event::ObjectStart {
                self.part(&mut reader)?;
                if self.text.is_full() {
                    break;
                }
            } else {
                reader.finish_value()?;
            }
        }
        Ok(())
    }

    fn part(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let mut part = Part::default();
        let mut said: Option<Raw<'_>> = None;
        while let Some(key) = reader.next_key()? {
            let field = Field::of(&key);
            let Some(first) = reader.pull()? else { break };
            part.note(field, first);
            match first {
                Event::String(raw) if field == Field::Text => said = Some(raw),
                _ => {
                    reader.finish_value()?;
                }
            }
        }
        match said {
            Some(raw) if part.kind() == "text" => {
                self.text.gap();
                for char in raw.chars() {
                    self.text.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
                    if self.text.is_full() {
                        break;
                    }
                }
            }
            _ => {
                if let Some(label) = part.label() {
                    self.labels.gap();
                    format!("[{label}]").chars().for_each(|char| self.labels.push(char));
                }
            }
        }
        Ok(())
    }
}

/// One line of at most so many characters.
struct Line {
    out: String,
    left: usize,
    gap: bool,
}

impl Line {
    fn new(limit: usize) -> Self {
        Self { out: String::new(), left: limit, gap: false }
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }

    /// A space before what comes next, if something stands before it.
    fn gap(&mut self) {
        self.gap = true;
    }

    fn push(&mut self, char: char) {
        if char.is_whitespace() || char.is_control() {
            self.gap = true;
            return;
        }
        if self.gap && !self.out.is_empty() {
            self.put(' ');
        }
        self.gap = false;
        self.put(char);
    }

    fn put(&mut self, char: char) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            self.out.push(char);
        }
    }
}
