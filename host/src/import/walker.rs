//! A walk over one big JSON text, such as an array of 200 MB, of which one element at a time is kept.

use std::io;

use super::{
    input::Input,
    json::{End, Extent},
    lines::MAX_RECORD,
};

/// Why a value could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Torn {
    /// The input ends inside it.
    AtEnd,
    /// A byte that cannot stand in JSON, or a mark that cannot stand there.
    Damage,
    /// More than is read of one record.
    TooLong,
}

impl Torn {
    /// In words.
    pub(crate) fn said(self) -> String {
        match self {
            Self::AtEnd => "the input ends in the middle of it".to_owned(),
            Self::Damage => "it is damaged: no JSON".to_owned(),
            Self::TooLong => format!("a record of more than {} MiB", MAX_RECORD >> 20),
        }
    }
}

pub(crate) struct Walker<'i> {
    input: &'i mut Input,
    kept: Option<Vec<u8>>,
}

impl<'i> Walker<'i> {
    pub(crate) fn new(input: &'i mut Input) -> io::Result<Self> {
        input.seek(0)?;
        if input.fill()?.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        Ok(Self { input, kept: None })
    }

    pub(crate) fn at(&self) -> u64 {
        self.input.at()
    }

    pub(crate) fn seek(&mut self, to: u64) -> io::Result<()> {
        self.input.seek(to)
    }

    /// Gives up the rest.
    pub(crate) fn seek_to_end(&mut self) -> io::Result<()> {
        self.input.seek(self.input.len())
    }

    /// From here on what is walked over is kept.
    pub(crate) fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// What was kept; nothing more is.
    pub(crate) fn kept(&mut self) -> Vec<u8> {
        self.kept.take().unwrap_or_default()
    }

    /// The next byte that is no white space, without going past it.
    pub(crate) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            let bytes = self.input.fill()?;
            let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
            let (next, none) = (bytes.get(blank).copied(), bytes.is_empty());
            self.pass(blank)?;
            if next.is_some() || none {
                return Ok(next);
            }
        }
    }

    /// Goes past so many bytes of those that `fill` would give.
    fn pass(&mut self, bytes: usize) -> io::Result<()> {
        if let Some(kept) = &mut self.kept {
            let piece = &self.input.fill()?[..bytes];
            // A record that is too long stops being kept; `value` and `pass_if` say so.
            if kept.len() + bytes <= MAX_RECORD {
                kept.extend_from_slice(piece);
            } else {
                self.kept = None;
            }
        }
        self.input.consume(bytes);
        Ok(())
    }

    /// Goes past this byte, if it is the next one behind white space.
    pub(crate) fn pass_if(&mut self, byte: u8) -> io::Result<bool> {
        let there = self.peek()? == Some(byte);
        if there {
            self.pass(1)?;
        }
        Ok(there)
    }

    /// Goes past one value.
    pub(crate) fn value(&mut self) -> io::Result<Result<(), Torn>> {
        self.peek()?;
        let keeping = self.kept.is_some();
        let start = self.at();
        let mut extent = Extent::default();
        loop {
            let bytes = self.input.fill()?;
            if bytes.is_empty() {
                return Ok(if extent.may_end_here() { Ok(()) } else { Err(Torn::AtEnd) });
            }
            let (used, end) = extent.take(bytes);
            self.pass(used)?;
            if keeping && self.kept.is_none() {
                return Ok(Err(Torn::TooLong));
            }
            match end {
                Some(End::Value) if self.at() > start => return Ok(Ok(())),
                Some(_) => return Ok(Err(Torn::Damage)),
                None => {}
            }
        }
    }

    /// Goes past one value and answers its bytes, if they are at most so many; what is longer is passed all the same.
    pub(crate) fn small_value(&mut self, most: usize) -> io::Result<Result<Option<Vec<u8>>, Torn>> {
        self.peek()?;
        let before = self.kept.as_ref().map(Vec::len);
        if before.is_none() {
            self.keep();
        }
        let walked = self.value()?;
        let from = before.unwrap_or(0);
        let value = self.kept.as_ref().map(|kept| kept[from..].to_vec()).filter(|value| value.len() <= most);
        if before.is_none() {
            self.kept = None;
        }
        Ok(walked.map(|()| value))
    }

    /// Goes to the next byte of this kind, wherever it stands. False: there is none.
    pub(crate) fn find(&mut self, byte: u8) -> io::Result<bool> {
        self.find_any(&[byte])
    }

    /// Goes to the next byte of one of these kinds, wherever it stands. False: there is none.
    pub(crate) fn find_any(&mut self, kinds: &[u8]) -> io::Result<bool> {
        loop {
            let bytes = self.input.fill()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let found = bytes.iter().position(|byte| kinds.contains(byte));
            let used = found.unwrap_or(bytes.len());
            self.input.consume(used);
            if found.is_some() {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn elements_are_kept_one_at_a_time() {
        let mut input = Input::bytes("", "\u{feff} [ {\"a\": [1, \"]\"]} , 12,\"x\"]".as_bytes()).unwrap();
        let mut walker = Walker::new(&mut input).unwrap();
        assert!(walker.pass_if(b'[').unwrap());
        let mut seen = Vec::new();
        loop {
            walker.peek().unwrap();
            walker.keep();
            walker.value().unwrap().unwrap();
            seen.push(String::from_utf8(walker.kept()).unwrap());
            if !walker.pass_if(b',').unwrap() {
                break;
            }
        }
        assert_eq!(seen, ["{\"a\": [1, \"]\"]}", "12", "\"x\""]);
        assert!(walker.pass_if(b']').unwrap());
        assert_eq!(walker.peek().unwrap(), None);
    }

    #[test]
    fn a_tear_and_damage_are_told_apart() {
        for (text, torn) in [
            (&b"{\"a\":\"x"[..], Torn::AtEnd),
            (b"[1,2", Torn::AtEnd),
            (b"", Torn::AtEnd),
            (b"{\"a\":\"x\0y\"}", Torn::Damage),
            (b"{\"a\":\"x\ny\"}", Torn::Damage),
            (b"}", Torn::Damage),
        ] {
            let mut input = Input::bytes("", text).unwrap();
            assert_eq!(Walker::new(&mut input).unwrap().value().unwrap(), Err(torn), "{text:?}");
        }
    }
}
