//! Reading JSON text without building anything: events in order, with the place of each in the text.
//!
//! [`Reader`] is strict (RFC 8259): what it reads to the end without a [`Fault`] is JSON. It never recurses, so no text
//! can exhaust the stack, and it never allocates. Strings come as [`Raw`], the text between the quotes with its escapes
//! as they were written; they are decoded only where somebody needs the characters.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// How deep objects and arrays may be nested: a value inside none is at depth 0, the outermost object itself at 1.
pub const MAX_DEPTH: u32 = 128;

/// What comes next in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// `{`
    ObjectStart,
    /// `}`
    ObjectEnd,
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// The name of a member of an object; its value follows.
    Key(Raw<'a>),
    /// A string.
    String(Raw<'a>),
    /// A number, as it is written.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`
    Null,
}

impl Event<'_> {
    /// The kind of the value that begins here, for sentences: "a number".
    pub fn noun(&self) -> &'static str {
        match self {
            Self::ObjectStart | Self::ObjectEnd => "an object",
            Self::ArrayStart | Self::ArrayEnd => "an array",
            Self::Key(_) | Self::String(_) => "a string",
            Self::Number(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Null => "null",
        }
    }
}

/// Why a text is not JSON, or not JSON that we take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Something else than the named thing.
    Expected(&'static str),
    /// A control character inside a string that is not escaped.
    ControlCharacter,
    /// A backslash with something after it that is no escape.
    BadEscape,
    /// A string that does not end.
    OpenString,
    /// Something follows the value.
    Trailing,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// A problem and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Offset in bytes from the beginning of the text.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Expected(what) => write!(f, "expected {what}")?,
            Problem::ControlCharacter => f.write_str("a control character inside a string must be escaped")?,
            Problem::BadEscape => f.write_str("no escape of JSON")?,
            Problem::OpenString => f.write_str("a string has no end")?,
            Problem::Trailing => f.write_str("something follows the value")?,
            Problem::TooDeep => write!(f, "nested deeper than {MAX_DEPTH}")?,
        }
        write!(f, ", at byte {}", self.at)
    }
}

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value.
    Value,
    /// The first element of an array, or its end.
    ElementOrEnd,
    /// The first key of an object, or its end.
    KeyOrEnd,
    /// A comma and what it introduces, or the end of the container.
    CommaOrEnd,
    /// The end of the text.
    End,
}

/// Reads a text event by event.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    end: usize,
    expect: Expect,
    depth: u32,
    /// One bit for each open container: 1 for an object.
    objects: u128,
    spaced: bool,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text, which holds one value.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, start: 0, end: 0, expect: Expect::Value, depth: 0, objects: 0, spaced: false }
    }

    /// How many objects and arrays are open.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Where the last event stands in the text, quotes included.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether there was white space outside strings up to here.
    pub fn spaced(&self) -> bool {
        self.spaced
    }

    /// The next event; none at the end of the text. After a fault the reader stays where it is.
    pub fn pull(&mut self) -> Result<Option<Event<'a>>, Fault> {
        let byte = self.skip_space();
        match self.expect {
            Expect::CommaOrEnd => match byte {
                Some(b',') => {
                    self.at += 1;
                    let byte = self.skip_space();
                    if self.in_object() { self.key(byte, "a string, the name of a member") } else { self.value(byte) }
                }
                Some(b'}') if self.in_object() => Ok(Some(self.close(Event::ObjectEnd))),
                Some(b']') if !self.in_object() => Ok(Some(self.close(Event::ArrayEnd))),
                _ => Err(self.fault(Problem::Expected(if self.in_object() { "`,` or `}`" } else { "`,` or `]`" }))),
            },
            Expect::Value => self.value(byte),
            Expect::KeyOrEnd => match byte {
                Some(b'}') => Ok(Some(self.close(Event::ObjectEnd))),
                _ => self.key(byte, "a string, the name of a member, or `}`"),
            },
            Expect::ElementOrEnd => match byte {
                Some(b']') => Ok(Some(self.close(Event::ArrayEnd))),
                _ => self.value(byte),
            },
            Expect::End => match byte {
                None => Ok(None),
                Some(_) => Err(self.fault(Problem::Trailing)),
            },
        }
    }

    /// Reads the value that begins here to its end and says where it stands. To be called where a value must follow:
    /// at the beginning and after a key.
    pub fn skip_value(&mut self) -> Result<Range<usize>, Fault> {
        self.pull()?;
        self.finish_value()
    }

    /// Reads the rest of the value whose first event was the last one, and says where the whole of it stands.
    pub fn finish_value(&mut self) -> Result<Range<usize>, Fault> {
        let start = self.start;
        // Right after the start of a container this is the depth inside it, otherwise nothing is left to read.
        let inside = self.depth;
        if matches!(self.expect, Expect::KeyOrEnd | Expect::ElementOrEnd) {
            while self.depth >= inside {
                self.pull()?;
            }
        }
        Ok(start..self.end)
    }

    /// The next key of the object that is open; none at its end. To be called after its start and after each value.
    pub fn next_key(&mut self) -> Result<Option<Raw<'a>>, Fault> {
        Ok(match self.pull()? {
            Some(Event::Key(key)) => Some(key),
            _ => None,
        })
    }

    /// The first event of the next element of the array that is open; none at its end. To be called after its start and
    /// after each element.
    pub fn next_element(&mut self) -> Result<Option<Event<'a>>, Fault> {
        Ok(self.pull()?.filter(|event| *event != Event::ArrayEnd))
    }

    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn fault(&self, problem: Problem) -> Fault {
        Fault { at: self.at, problem }
    }

    fn skip_space(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        let mut byte = bytes.get(self.at).copied();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = byte {
            self.spaced = true;
            self.at += 1;
            byte = bytes.get(self.at).copied();
        }
        byte
    }

    fn open(&mut self, event: Event<'a>, object: bool) -> Result<Option<Event<'a>>, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(self.fault(Problem::TooDeep));
        }
        self.start = self.at;
        self.at += 1;
        self.end = self.at;
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        self.expect = if object { Expect::KeyOrEnd } else { Expect::ElementOrEnd };
        Ok(Some(event))
    }

    fn close(&mut self, event: Event<'a>) -> Event<'a> {
        self.start = self.at;
        self.at += 1;
        self.end = self.at;
        self.depth -= 1;
        self.objects >>= 1;
        self.value_done();
        event
    }

    fn value_done(&mut self) {
        self.expect = if self.depth == 0 { Expect::End } else { Expect::CommaOrEnd };
    }

    fn key(&mut self, byte: Option<u8>, expected: &'static str) -> Result<Option<Event<'a>>, Fault> {
        if byte != Some(b'"') {
            return Err(self.fault(Problem::Expected(expected)));
        }
        let key = self.string()?;
        if self.skip_space() != Some(b':') {
            return Err(self.fault(Problem::Expected("`:`")));
        }
        self.at += 1;
        self.expect = Expect::Value;
        Ok(Some(Event::Key(key)))
    }

    fn value(&mut self, byte: Option<u8>) -> Result<Option<Event<'a>>, Fault> {
        let event = match byte {
            Some(b'"') => Event::String(self.string()?),
            Some(b'{') => return self.open(Event::ObjectStart, true),
            Some(b'[') => return self.open(Event::ArrayStart, false),
            Some(b'-' | b'0'..=b'9') => Event::Number(self.number()?),
            Some(b't') => self.literal("true", Event::Bool(true))?,
            Some(b'f') => self.literal("false", Event::Bool(false))?,
            Some(b'n') => self.literal("null", Event::Null)?,
            _ => return Err(self.fault(Problem::Expected("a value"))),
        };
        self.value_done();
        Ok(Some(event))
    }

    fn literal(&mut self, word: &'static str, event: Event<'a>) -> Result<Event<'a>, Fault> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.fault(Problem::Expected("a value")));
        }
        self.start = self.at;
        self.at += word.len();
        self.end = self.at;
        Ok(event)
    }

    fn number(&mut self) -> Result<&'a str, Fault> {
        let bytes = self.text.as_bytes();
        self.start = self.at;
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match bytes.get(self.at) {
            // No digit may follow a leading zero: what does is refused as the next token.
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.end = self.at;
        Ok(self.text.get(self.start..self.end).unwrap_or_default())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        let first = self.at;
        while bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == first { Err(self.fault(Problem::Expected("a digit"))) } else { Ok(()) }
    }

    /// A string; the quote that opens it stands here.
    fn string(&mut self) -> Result<Raw<'a>, Fault> {
        let bytes = self.text.as_bytes();
        self.start = self.at;
        let mut at = self.at + 1;
        let mut escapes = Escapes::None;
        loop {
            at = next_special(bytes, at);
            let problem = match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => match bytes.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                        escapes = escapes.max(Escapes::Short);
                        at += 2;
                        continue;
                    }
                    Some(b'u') if hex4(bytes, at + 2).is_some() => {
                        escapes = Escapes::Numbered;
                        at += 6;
                        continue;
                    }
                    _ => Problem::BadEscape,
                },
                Some(_) => Problem::ControlCharacter,
                None => Problem::OpenString,
            };
            let at = if problem == Problem::OpenString { self.start } else { at };
            return Err(Fault { at, problem });
        }
        self.at = at + 1;
        self.end = self.at;
        Ok(Raw { text: self.text.get(self.start + 1..at).unwrap_or_default(), escapes })
    }
}

/// The text of a string as it is written: without its quotes, with its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    text: &'a str,
    escapes: Escapes,
}

/// Which escapes there are in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Escapes {
    None,
    /// A backslash and a letter or a mark.
    Short,
    /// `\u0000` too.
    Numbered,
}

impl<'a> Raw<'a> {
    /// The text as it is written.
    pub fn as_written(&self) -> &'a str {
        self.text
    }

    /// Whether there is an escape in it.
    pub fn has_escapes(&self) -> bool {
        self.escapes > Escapes::None
    }

    /// Whether there is an escape of the form `\u0000` in it.
    pub(super) fn has_numbered_escapes(&self) -> bool {
        self.escapes == Escapes::Numbered
    }

    /// What it says, with U+FFFD for each lone surrogate.
    pub fn unescape(&self) -> Cow<'a, str> {
        if !self.has_escapes() {
            return Cow::Borrowed(self.text);
        }
        Cow::Owned(self.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }

    /// What it says; none if there is a lone surrogate in it, which no text can hold.
    pub fn unescape_exact(&self) -> Option<Cow<'a, str>> {
        if !self.has_escapes() {
            return Some(Cow::Borrowed(self.text));
        }
        self.chars().collect::<Result<String, LoneSurrogate>>().ok().map(Cow::Owned)
    }

    /// Whether it says exactly this.
    pub fn is(&self, name: &str) -> bool {
        if !self.has_escapes() {
            return self.text == name;
        }
        let mut name = name.chars();
        self.chars().all(|char| char.is_ok_and(|char| name.next() == Some(char))) && name.next().is_none()
    }

    /// What the escape at the beginning of a written text says, and the text behind it.
    pub(super) fn first_escape(written: &str) -> (Result<char, LoneSurrogate>, &str) {
        let mut chars = Chars { rest: written };
        let char = chars.next().unwrap_or(Ok(char::REPLACEMENT_CHARACTER));
        (char, if chars.rest.len() < written.len() { chars.rest } else { "" })
    }

    /// Its characters, decoded one by one.
    pub fn chars(&self) -> Chars<'a> {
        Chars { rest: self.text }
    }
}

/// Half of a character beyond U+FFFF, escaped without its other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoneSurrogate(pub u16);

/// The characters of a [`Raw`] string.
#[derive(Debug, Clone)]
pub struct Chars<'a> {
    rest: &'a str,
}

impl Chars<'_> {
    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

impl Iterator for Chars<'_> {
    type Item = Result<char, LoneSurrogate>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.rest.chars().next()?;
        if first != '\\' {
            self.advance(first.len_utf8());
            return Some(Ok(first));
        }
        let bytes = self.rest.as_bytes();
        let plain = match bytes.get(1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = hex4(bytes, 2)?;
                self.advance(6);
                if let Some(char) = char::from_u32(u32::from(unit)) {
                    return Some(Ok(char));
                }
                let bytes = self.rest.as_bytes();
                if unit < 0xDC00
                    && bytes.starts_with(b"\\u")
                    && let Some(low @ 0xDC00..=0xDFFF) = hex4(bytes, 2)
                {
                    self.advance(6);
                    let code = 0x1_0000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                    return char::from_u32(code).map(Ok);
                }
                return Some(Err(LoneSurrogate(unit)));
            }
            // A quote, a backslash or a slash stands for itself.
            Some(&byte) if byte.is_ascii() => char::from(byte),
            _ => return None,
        };
        self.advance(2);
        Some(Ok(plain))
    }
}

/// The number that four hexadecimal digits give.
fn hex4(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..)?.first_chunk::<4>()?;
    let mut unit = 0;
    for digit in digits {
        unit = unit << 4 | char::from(*digit).to_digit(16)? as u16;
    }
    Some(unit)
}

/// The first place from `at` on with a quote, a backslash or a control character; the length of the text if there is
/// none. Eight bytes are looked at together.
pub(super) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // Subtracting borrows into the top bit of a byte that is too small. A borrow may also reach the bytes above
        // it, but the lowest hit is always a true one, and it is the one that counts.
        let hits = (quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash
            | word.wrapping_sub(ONES * 0x20) & !word)
            & TOPS;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at.min(bytes.len())
}

/// A text that is known to be JSON without the white space outside its strings.
pub fn compact(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut from, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = next_special(bytes, at + 1);
                while bytes.get(at).is_some_and(|&byte| byte != b'"') {
                    // Over a backslash and what it escapes.
                    at = next_special(bytes, at + 2);
                }
                at += 1;
            }
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(text.get(from..at).unwrap_or_default());
                at += 1;
                from = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}
