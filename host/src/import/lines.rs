//! Records of JSON Lines, damaged ones among them.
//!
//! Lines end at LF and nowhere else: U+2028, U+0085 and a lone CR are text. What one line holds is taken apart where
//! it can be: objects glued together, a torn record with the next one behind it, NUL bytes where a disk lost a block.

use std::io;

use serde_json::value::RawValue;

use super::{
    input::{Input, Span},
    json,
};

/// The largest record that is read: 256 MiB.
pub(crate) const MAX_RECORD: usize = 256 << 20;

/// How many bytes of one line are read once more, at most, in the search for a whole record behind a torn one.
const SALVAGE_BYTES: usize = 64 << 20;

/// One thing found on a line.
pub(crate) enum Found<'a> {
    /// A JSON object.
    Record {
        /// Its text.
        text: &'a str,
        /// Where it is in the input.
        span: Span,
    },
    /// Something that is not one.
    Damage {
        /// Its bytes.
        bytes: &'a [u8],
        /// What is wrong, in a sentence.
        why: String,
    },
    /// Records that were glued together could be told apart.
    Glued,
}

/// The lines of an input, one at a time.
pub(crate) struct Lines<'i> {
    input: &'i mut Input,
    line: Vec<u8>,
    start: u64,
    number: u64,
    too_long: bool,
}

impl<'i> Lines<'i> {
    pub(crate) fn new(input: &'i mut Input) -> io::Result<Self> {
        input.seek(0)?;
        Ok(Self { input, line: Vec::new(), start: 0, number: 0, too_long: false })
    }

    /// Goes to the next line. False: there is none.
    pub(crate) fn advance(&mut self) -> io::Result<bool> {
        self.start = self.input.at();
        self.line.clear();
        self.too_long = false;
        let mut any = false;
        loop {
            let bytes = self.input.fill()?;
            if bytes.is_empty() {
                break;
            }
            any = true;
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > MAX_RECORD {
                self.too_long = true;
                self.line = Vec::new();
            }
            if !self.too_long {
                self.line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.number += u64::from(any);
        Ok(any)
    }

    /// Counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What is on this line, in order. `is_record` says of an object behind damage whether it is a record of the
    /// format; only that tells it from a piece of a torn one.
    pub(crate) fn find(&self, is_record: &dyn Fn(&str) -> bool, mut each: impl FnMut(Found<'_>)) {
        if self.too_long {
            let why = format!("a record of more than {} MiB", MAX_RECORD >> 20);
            each(Found::Damage { bytes: &[], why });
            return;
        }
        let mut at = 0;
        let mut end = self.line.len();
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            at = 3;
        }
        if self.line.ends_with(b"\r") && end > at {
            end -= 1;
        }
        let mut whole = 0;
        while at < end {
            let rest = &self.line[at..end];
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let lost = rest[blank..].iter().take_while(|&&byte| byte == 0).count();
            if lost > 0 {
                let bytes = &rest[blank..blank + lost];
                each(Found::Damage { bytes, why: format!("{lost} NUL bytes where a record was lost") });
            }
            at += blank + lost;
            if lost > 0 || at == end {
                continue;
            }
            let rest = &self.line[at..end];
            let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
            match stream.next() {
                Some(Ok(value)) => {
                    let text = value.get();
                    let used = stream.byte_offset();
                    if text.starts_with('{') {
                        whole += 1;
                        // The text stands at the end of what was used: there was no white space before it.
                        let start = self.start + (at + used - text.len()) as u64;
                        each(Found::Record { text, span: Span { start, len: text.len() as u64 } });
                    } else {
                        each(Found::Damage { bytes: text.as_bytes(), why: "no JSON object".to_owned() });
                    }
                    at += used;
                }
                Some(Err(error)) => {
                    let next = salvage(rest, is_record);
                    let torn = &rest[..next.unwrap_or(rest.len())];
                    let why = match json::valid(torn) {
                        Err(why) => why,
                        Ok(_) => json::said(&error, torn),
                    };
                    each(Found::Damage { bytes: torn, why });
                    at += torn.len();
                    whole += u64::from(next.is_some());
                }
                None => break,
            }
        }
        if whole > 1 {
            each(Found::Glued);
        }
    }
}

/// Where behind a torn record a whole one begins.
fn salvage(torn: &[u8], is_record: &dyn Fn(&str) -> bool) -> Option<usize> {
    let mut budget = SALVAGE_BYTES;
    let mut from = 1;
    while let Some(found) = torn.get(from..)?.windows(2).position(|pair| pair == b"{\"") {
        let at = from + found;
        let mut stream = serde_json::Deserializer::from_slice(&torn[at..]).into_iter::<&RawValue>();
        if let Some(Ok(value)) = stream.next()
            && is_record(value.get())
        {
            return Some(at);
        }
        budget = budget.checked_sub(stream.byte_offset().max(256))?;
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn found(bytes: &[u8]) -> Vec<String> {
        let mut input = Input::bytes("", bytes).unwrap();
        let mut seen = Vec::new();
        let mut spans = Vec::new();
        let mut lines = Lines::new(&mut input).unwrap();
        while lines.advance().unwrap() {
            let number = lines.number();
            lines.find(&|text| text.starts_with("{\"type\""), |found| match found {
                Found::Record { text, span } => {
                    spans.push((span, text.to_owned()));
                    seen.push(format!("{number} {text}"));
                }
                Found::Damage { why, .. } => seen.push(format!("{number} ! {why}")),
                Found::Glued => seen.push(format!("{number} glued")),
            });
        }
        for (span, text) in spans {
            assert_eq!(input.read(span).unwrap(), text.as_bytes(), "a span holds its record");
        }
        seen
    }

    #[test]
    fn lines_end_at_lf_only() {
        let text = "\u{feff}{\"a\":\"x\u{2028}y\u{2029}\u{85}\"}\r\n\n  {\"b\":\r1}\n{\"c\":1}";
        assert_eq!(found(text.as_bytes()), ["1 {\"a\":\"x\u{2028}y\u{2029}\u{85}\"}", "3 {\"b\":\r1}", "4 {\"c\":1}"]);
    }

    #[test]
    fn glued_records_are_told_apart() {
        assert_eq!(found(b"{\"a\":1}{\"b\":2} {\"c\":3}"), ["1 {\"a\":1}", "1 {\"b\":2}", "1 {\"c\":3}", "1 glued"]);
    }

    #[test]
    fn a_record_behind_a_torn_one_is_found() {
        let text = br#"{"type":"m","content":[{"type":"text","te{"type":"m","id":2}"#;
        assert_eq!(found(text)[1..], ["1 {\"type\":\"m\",\"id\":2}", "1 glued"]);
        assert!(found(text)[0].starts_with("1 ! "), "{:?}", found(text));
    }

    #[test]
    fn nul_blocks_cost_one_record_only() {
        let mut bytes = b"{\"a\":1}\n".to_vec();
        bytes.extend([0; 4096]);
        bytes.extend(b"{\"b\":2}\n{\"c\":3}\n");
        assert_eq!(
            found(&bytes),
            ["1 {\"a\":1}", "2 ! 4096 NUL bytes where a record was lost", "2 {\"b\":2}", "3 {\"c\":3}"]
        );
    }

    #[test]
    fn a_tail_torn_anywhere_loses_the_last_record_only() {
        let whole = "{\"type\":\"a\"}\n{\"type\":\"é😀\"}".as_bytes();
        for cut in 15..whole.len() {
            let seen = found(&whole[..cut]);
            assert_eq!(seen.len(), 2, "{seen:?}");
            assert!(seen[1].starts_with("2 ! it ends "), "{seen:?}");
        }
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(found(b""), Vec::<String>::new());
        assert_eq!(found(b"\n\r\n \n"), Vec::<String>::new());
        assert_eq!(found(b"12 \"x\""), ["1 ! no JSON object", "1 ! no JSON object"]);
    }
}
