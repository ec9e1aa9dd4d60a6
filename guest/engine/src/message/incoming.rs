//! A message on its way in: what is accepted, and the one form in which it is kept.

use std::borrow::Cow;
use std::ops::Range;

use super::derived::{self, Derived};
use super::json::{self, Event, Fault, MAX_DEPTH, Problem, Raw, Reader};
use super::metadata;
use crate::error::{Error, Kind, Result};

/// The longest id of a message, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 1024;

/// What the ids of overlays begin with; no message may take such an id.
pub const COMPACTION_PREFIX: &str = "compaction_";

/// A message that can be stored: its compact JSON text, its id and its role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<'a> {
    text: Cow<'a, str>,
    id: Cow<'a, str>,
    role: Cow<'a, str>,
    metadata: Option<Member>,
}

/// Where a member of the message stands in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Where its key begins, at the quote.
    pub(super) key: usize,
    /// Its value.
    pub(super) value: Range<usize>,
}

impl<'a> Incoming<'a> {
    /// Checks the message and drops the white space outside its strings; everything else stays as it is written. Where
    /// there is none to drop the text is borrowed.
    ///
    /// # Errors
    /// `InvalidMessage` that says which member is wrong and where, by offset in bytes from the beginning of `text`; its
    /// subject is the id where that is known. `text` must be one JSON object, nested at most [`MAX_DEPTH`] deep, with
    /// `id` and `role` as strings that are not empty and hold no lone surrogate, `parts` as an array, and none of these
    /// and `metadata` twice. The id is at most [`MAX_ID_BYTES`] long and does not begin with [`COMPACTION_PREFIX`].
    pub fn parse(text: &'a str) -> Result<Self> {
        let shape = Shape::read(text)?;
        let Checked { id, role } = shape.check()?;
        if !shape.spaced {
            return Ok(Self { text: Cow::Borrowed(text), id, role, metadata: shape.metadata.member() });
        }
        let text = json::compact(text);
        // Everything behind the first white space has moved.
        let metadata = match shape.metadata {
            Found::Nothing => None,
            _ => metadata_of(&text),
        };
        Ok(Self { text: Cow::Owned(text), id, role, metadata })
    }

    /// The message as JSON text without white space outside strings.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same, for keeping.
    pub fn into_text(self) -> Cow<'a, str> {
        self.text
    }

    /// The id, unescaped.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The role, unescaped.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// What the store keeps beside the text.
    pub fn derived(&self) -> Derived {
        derived::derive(&self.text)
    }

    /// The message as a client may append it: the reserved keys leave its top-level `metadata`.
    ///
    /// Keys are compared unescaped, and every occurrence goes. The whole member goes when nothing is left in it. All
    /// else stays as it is written; so does a `metadata` that is no object, and one that has none of the keys.
    #[must_use]
    pub fn without_reserved(self, keys: &[String]) -> Self {
        let Some(member) = self.metadata.clone().filter(|_| !keys.is_empty()) else { return self };
        match metadata::strip(&self.text, &member, keys) {
            Some(text) => self.with_text(text),
            None => self,
        }
    }

    /// The message as a client may put it in the place of a stored one: its own reserved members go, those of the stored
    /// one stay, key and value as they are written there, after the members that the client brings.
    ///
    /// Where the client brings no `metadata`, or `null`, which says no more, and there is something to keep, the member
    /// stands at the end of the message, or in the place of the `null`. Whether anything was changed at all is answered
    /// by [`same_without_reserved`](super::same_without_reserved): the order of the members may differ.
    ///
    /// # Errors
    /// `InvalidMessage` if the client brings a `metadata` of another type and the stored message has reserved members:
    /// nothing can hold both, and neither side's is given up in silence. `Corrupt` if the stored text is no message.
    pub fn keeping_reserved(self, stored: &str, keys: &[String]) -> Result<Self> {
        if keys.is_empty() {
            return Ok(self);
        }
        let kept = metadata::reserved_members(stored, keys).map_err(|fault| {
            Error::new(Kind::Corrupt, format!("the stored message is damaged: {fault}")).subject(self.id.clone())
        })?;
        if kept.is_empty() {
            return Ok(self.without_reserved(keys));
        }
        match metadata::merge(&self.text, self.metadata.as_ref(), &kept, keys) {
            Ok(text) => Ok(self.with_text(text)),
            Err(noun) => {
                let sentence = format!(
                    "`metadata` is {noun}, and the stored message has reserved metadata that cannot be kept beside it; \
                     send an object, or leave `metadata` out"
                );
                Err(Error::new(Kind::InvalidMessage, sentence).subject(self.id))
            }
        }
    }

    /// The same message with another text, in which only `metadata` differs.
    fn with_text(self, text: String) -> Self {
        Self { metadata: metadata_of(&text), text: Cow::Owned(text), ..self }
    }
}

/// The `metadata` member of a message, if it has one and the text can be read up to it.
pub(super) fn metadata_of(text: &str) -> Option<Member> {
    let mut reader = Reader::new(text);
    reader.pull().ok()?;
    while let Event::Key(key) = reader.pull().ok()?? {
        let start = reader.span().start;
        let value = reader.skip_value().ok()?;
        if key.is("metadata") {
            return Some(Member { key: start, value });
        }
    }
    None
}

/// What was found of a member that counts.
#[derive(Debug)]
enum Found<'a> {
    Nothing,
    Once { member: Member, first: Event<'a> },
    Twice { at: usize },
}

impl<'a> Found<'a> {
    fn add(&mut self, member: Member, first: Event<'a>) {
        match self {
            Self::Nothing => *self = Self::Once { member, first },
            Self::Once { .. } => *self = Self::Twice { at: member.key },
            Self::Twice { .. } => {}
        }
    }

    fn member(&self) -> Option<Member> {
        match self {
            Self::Once { member, .. } => Some(member.clone()),
            _ => None,
        }
    }

    fn first(&self) -> Option<Event<'a>> {
        match self {
            Self::Once { first, .. } => Some(*first),
            _ => None,
        }
    }
}

/// The members of a message that count, before anything is asked of them.
#[derive(Debug)]
struct Shape<'a> {
    id: Found<'a>,
    role: Found<'a>,
    parts: Found<'a>,
    metadata: Found<'a>,
    spaced: bool,
}

struct Checked<'a> {
    id: Cow<'a, str>,
    role: Cow<'a, str>,
}

impl<'a> Shape<'a> {
    fn read(text: &'a str) -> Result<Self> {
        let mut shape = Self {
            id: Found::Nothing,
            role: Found::Nothing,
            parts: Found::Nothing,
            metadata: Found::Nothing,
            spaced: false,
        };
        let mut reader = Reader::new(text);
        match reader.pull().map_err(|fault| shape.refuse(fault))? {
            Some(Event::ObjectStart) => {}
            other => {
                let noun = other.map_or("nothing", |event| event.noun());
                return Err(invalid(format!("a message is a JSON object, and this is {noun}")));
            }
        }
        shape.members(&mut reader).map_err(|fault| shape.refuse(fault))?;
        Ok(shape)
    }

    fn members(&mut self, reader: &mut Reader<'a>) -> Result<(), Fault> {
        while let Some(event) = reader.pull()? {
            let Event::Key(key) = event else { continue };
            let start = reader.span().start;
            let Some(first) = reader.pull()? else { continue };
            let value = reader.finish_value()?;
            if let Some(found) = self.slot(&key) {
                found.add(Member { key: start, value }, first);
            }
        }
        self.spaced = reader.spaced();
        Ok(())
    }

    fn slot(&mut self, key: &Raw<'_>) -> Option<&mut Found<'a>> {
        match key.unescape_exact()?.as_ref() {
            "id" => Some(&mut self.id),
            "role" => Some(&mut self.role),
            "parts" => Some(&mut self.parts),
            "metadata" => Some(&mut self.metadata),
            _ => None,
        }
    }

    /// The error for a text that cannot be read to its end.
    fn refuse(&self, fault: Fault) -> Error {
        let error = if fault.problem == Problem::TooDeep {
            let sentence =
                format!("the message is nested deeper than {MAX_DEPTH} objects and arrays, at byte {}", fault.at);
            invalid(sentence).numbers(u64::from(MAX_DEPTH) + 1, u64::from(MAX_DEPTH))
        } else {
            invalid(format!("the message is not JSON: {fault}"))
        };
        self.about(error)
    }

    /// Names the message in an error where its id is known and of a size to be repeated.
    fn about(&self, error: Error) -> Error {
        match self.id.first() {
            Some(Event::String(raw)) if raw.as_written().len() <= 6 * MAX_ID_BYTES => match raw.unescape_exact() {
                Some(id) if !id.is_empty() && id.len() <= MAX_ID_BYTES => error.subject(id),
                _ => error,
            },
            _ => error,
        }
    }

    fn check(&self) -> Result<Checked<'a>> {
        let id = self.text_of("id", &self.id)?;
        let at = self.id.member().map_or(0, |member| member.value.start);
        if id.len() > MAX_ID_BYTES {
            let sentence = format!("`id` is {} bytes long, at most {MAX_ID_BYTES} are allowed, at byte {at}", id.len());
            return Err(invalid(sentence).numbers(id.len() as u64, MAX_ID_BYTES as u64));
        }
        if id.starts_with(COMPACTION_PREFIX) {
            let sentence = format!(
                "`id` begins with `{COMPACTION_PREFIX}`, which is kept for summaries, at byte {at}; choose another id"
            );
            return Err(self.about(invalid(sentence)));
        }
        let role = self.text_of("role", &self.role)?;
        match &self.parts {
            Found::Once { first: Event::ArrayStart, .. } => {}
            found => return Err(self.wrong("parts", found, "an array")),
        }
        if let found @ Found::Twice { .. } = &self.metadata {
            return Err(self.wrong("metadata", found, "a value"));
        }
        Ok(Checked { id, role })
    }

    /// The text of a member that must be a string, not an empty one.
    fn text_of(&self, name: &str, found: &Found<'a>) -> Result<Cow<'a, str>> {
        let Found::Once { member, first: Event::String(raw) } = found else {
            return Err(self.wrong(name, found, "a string"));
        };
        let at = member.value.start;
        match raw.unescape_exact() {
            None => {
                let sentence = format!("`{name}` holds half of a surrogate pair, which is no character, at byte {at}");
                Err(self.about(invalid(sentence)))
            }
            Some(text) if text.is_empty() => Err(self.about(invalid(format!("`{name}` is empty, at byte {at}")))),
            Some(text) => Ok(text),
        }
    }

    /// The error for a member that is not there, twice there, or of another type.
    fn wrong(&self, name: &str, found: &Found<'_>, expected: &str) -> Error {
        self.about(invalid(match found {
            Found::Nothing => format!("`{name}` is missing; it must be {expected}"),
            Found::Once { member, first } => {
                format!("`{name}` is {}, not {expected}, at byte {}", first.noun(), member.value.start)
            }
            Found::Twice { at } => format!("`{name}` is there twice, the second time at byte {at}"),
        }))
    }
}

fn invalid(sentence: String) -> Error {
    Error::new(Kind::InvalidMessage, sentence)
}
