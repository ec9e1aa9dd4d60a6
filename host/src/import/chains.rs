//! Messages as chains, each the child of the one before: AI SDK messages, and those of chat completions.
//!
//! Accepted are an array of messages, an object with `messages` (a chat; its `id` names the session, its `title` is
//! its title), an array of such objects, and JSON Lines of either.

use std::io;

use super::{
    input::{Input, Span},
    json::{self, Members},
    lines::{Found, Lines},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    walker::{Torn, Walker},
};

/// The longest id or title that is looked at, as JSON text. Longer than any id may be.
const LONGEST_NAME: usize = 8 << 10;

/// How many bytes are read once more, at most, in the search for the next message behind damage.
const RESYNC_BYTES: u64 = 64 << 20;

/// What the messages of a format look like.
pub(crate) trait Link {
    /// The members, beside `role`, of which a message has one.
    fn content(&self) -> &'static [&'static str];

    /// What a message lacks to be one; nothing, if it is one.
    fn lacks(&self, members: &Members<'_>) -> Option<&'static str>;

    /// Whether this is a message even behind damage, where anything may stand.
    fn is_certain(&self, members: &Members<'_>) -> bool;

    /// When it was written, in ms.
    fn created_at(&self, members: &Members<'_>) -> Option<i64>;
}

/// Reads all chains of an input.
pub(crate) fn survey(link: &dyn Link, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
    let mut chain = Chain { link, outline, open: false, previous: None, chats: 0, count: 0 };
    if is_json_lines(input)? {
        chain.lines(input)?;
    } else {
        chain.text(input)?;
    }
    outline.session();
    Ok(())
}

/// Whether a second line begins an object of its own.
fn is_json_lines(input: &mut Input) -> io::Result<bool> {
    let mut walker = Walker::new(input)?;
    Ok(walker.peek()? == Some(b'{') && walker.find(b'\n')? && walker.peek()? == Some(b'{'))
}

/// The list of messages of a chat.
fn messages<'a>(link: &dyn Link, members: &Members<'a>) -> Option<&'a str> {
    let list = members.get("messages").filter(|list| list.starts_with('['))?;
    let none = |key: &&str| members.get(key).is_none();
    (none(&"role") && link.content().iter().all(none)).then_some(list)
}

/// Messages as they come, each the child of the one before.
struct Chain<'o> {
    link: &'o dyn Link,
    outline: &'o mut Outline,
    /// A session has been begun for the messages that come.
    open: bool,
    previous: Option<u32>,
    /// Chats so far.
    chats: u32,
    /// Messages of this chat so far, damaged ones too.
    count: u64,
}

impl Chain<'_> {
    fn begin(&mut self, hint: Option<String>, title: Option<String>) {
        self.outline.begin_session(hint).report.title = title;
        self.open = true;
        self.previous = None;
    }

    /// Begins a chat, which counts its messages from 1.
    fn begin_chat(&mut self, members: &Members<'_>) {
        self.chats += 1;
        self.count = 0;
        self.begin(members.text("id"), members.text("title"));
    }

    /// The place of the next message of a list.
    fn next_place(&mut self) -> Place {
        self.count += 1;
        match self.chats {
            0 | 1 => Place::Message(self.count),
            // A chat of more than 2^32 messages does not fit a session anyway.
            chat => Place::InChat(chat, u32::try_from(self.count).unwrap_or(u32::MAX)),
        }
    }

    fn message(&mut self, text: &str, span: Span, place: Place) {
        if !self.open {
            self.begin(None, None);
        }
        let members = Members::of(text.as_bytes());
        if let Some(lack) = self.link.lacks(&members) {
            self.outline.fail(place, lack);
            return;
        }
        let id = members.text("id").filter(|id| may_be_id(id)).unwrap_or_else(|| {
            let parent = self.previous.map(|previous| &*self.outline.nodes[previous as usize].id);
            derived_id(parent.unwrap_or_default(), text.as_bytes())
        });
        let created_at = self.link.created_at(&members);
        self.previous = Some(self.outline.add(NewNode {
            kind: Kind::Message,
            id: &id,
            parent: self.previous.map_or(Parent::Root, Parent::Node),
            span,
            place,
            created_at,
            bytes: text.as_bytes(),
        }));
        self.outline.session().leaf = self.previous;
    }

    fn lines(&mut self, input: &mut Input) -> io::Result<()> {
        let link = self.link;
        let is_record = |text: &str| {
            let members = Members::of(text.as_bytes());
            link.lacks(&members).is_none() || messages(link, &members).is_some()
        };
        let mut lines = Lines::new(input)?;
        while lines.advance()? {
            let place = Place::Line(lines.number());
            lines.find(&is_record, |found| match found {
                Found::Record { text, span } => {
                    let members = Members::of(text.as_bytes());
                    let Some(list) = messages(link, &members) else {
                        self.message(text, span, place);
                        return;
                    };
                    self.begin_chat(&members);
                    for element in json::elements(list) {
                        // Both are pieces of the same line.
                        let offset = element.as_ptr() as usize - text.as_ptr() as usize;
                        let span = Span { start: span.start + offset as u64, len: element.len() as u64 };
                        let place = self.next_place();
                        self.message(element, span, place);
                    }
                    self.open = false;
                }
                Found::Damage { why, .. } => self.outline.fail(place, why),
                Found::Glued => self.outline.note(place, "several records stand on this line: they were told apart"),
            });
        }
        Ok(())
    }

    /// One JSON text: a list, or an object.
    fn text(&mut self, input: &mut Input) -> io::Result<()> {
        let mut walker = Walker::new(input)?;
        let mut any = false;
        loop {
            match walker.peek()? {
                None if any => return Ok(()),
                None => {
                    self.outline.failed.add("line 1", "the input is empty");
                    return Ok(());
                }
                Some(b'[') => self.list(&mut walker, true)?,
                Some(b'{') => {
                    let place = self.next_place();
                    if let Err(torn) = self.element(&mut walker, place, true)? {
                        self.outline.fail(place, torn.said());
                        return Ok(());
                    }
                }
                Some(_) => {
                    let place = self.next_place();
                    self.outline.fail(place, "neither a list of messages nor an object with `messages`");
                    return Ok(());
                }
            }
            any = true;
        }
    }

    fn list(&mut self, walker: &mut Walker<'_>, chats: bool) -> io::Result<()> {
        walker.pass_if(b'[')?;
        loop {
            match walker.peek()? {
                Some(b']') => {
                    walker.pass_if(b']')?;
                    return Ok(());
                }
                Some(b',') => {
                    walker.pass_if(b',')?;
                }
                None => {
                    let place = self.next_place();
                    self.outline.fail(place, "the input ends before the list does");
                    return Ok(());
                }
                Some(first) => {
                    let place = self.next_place();
                    let walked = if first == b'{' {
                        self.element(walker, place, chats)?
                    } else {
                        let walked = walker.value()?;
                        if walked.is_ok() {
                            self.outline.fail(place, "no JSON object");
                        }
                        walked
                    };
                    let Err(torn) = walked else { continue };
                    self.outline.fail(place, torn.said());
                    if torn != Torn::Damage || !resync(self.link, walker)? {
                        return walker.seek_to_end();
                    }
                }
            }
        }
    }

    /// One object: a message, or a chat where chats are expected.
    fn element(&mut self, walker: &mut Walker<'_>, place: Place, chats: bool) -> io::Result<Result<(), Torn>> {
        walker.peek()?;
        let start = walker.at();
        walker.keep();
        walker.pass_if(b'{')?;
        let mut chat = chats;
        let mut is_chat = false;
        loop {
            match walker.peek()? {
                Some(b'}') => break,
                Some(b',') => {
                    walker.pass_if(b',')?;
                    continue;
                }
                Some(b'"') => {}
                None => return Ok(Err(Torn::AtEnd)),
                Some(_) => return Ok(Err(Torn::Damage)),
            }
            let key = match walker.small_value(LONGEST_NAME)? {
                Ok(key) => key.and_then(|key| String::from_utf8(key).ok()).unwrap_or_default(),
                Err(torn) => return Ok(Err(torn)),
            };
            if !walker.pass_if(b':')? {
                return Ok(Err(if walker.peek()?.is_none() { Torn::AtEnd } else { Torn::Damage }));
            }
            if key == "\"role\"" || self.link.content().contains(&json::inside(&key)) {
                chat = false;
            }
            if chat && key == "\"messages\"" && walker.peek()? == Some(b'[') {
                let before = walker.kept();
                let members = Members::of(&before);
                self.begin_chat(&members);
                self.list(walker, false)?;
                (chat, is_chat) = (false, true);
                continue;
            }
            if is_chat {
                match walker.small_value(LONGEST_NAME)? {
                    Ok(value) => self.name(&key, value.as_deref().unwrap_or_default()),
                    Err(torn) => return Ok(Err(torn)),
                }
            } else if let Err(torn) = walker.value()? {
                return Ok(Err(torn));
            }
        }
        walker.pass_if(b'}')?;
        let kept = walker.kept();
        if is_chat {
            self.open = false;
        } else if kept.is_empty() {
            return Ok(Err(Torn::TooLong));
        } else {
            match json::valid(&kept) {
                Ok(text) => self.message(text, Span { start, len: kept.len() as u64 }, place),
                Err(why) => self.outline.fail(place, why),
            }
        }
        Ok(Ok(()))
    }

    /// A member of a chat that stands behind its messages.
    fn name(&mut self, key: &str, value: &[u8]) {
        let value = std::str::from_utf8(value).ok().and_then(json::text);
        let session = self.outline.session();
        match key {
            "\"id\"" => session.hint = session.hint.take().or(value),
            "\"title\"" => session.report.title = session.report.title.take().or(value),
            _ => {}
        }
    }
}

/// Goes behind damage to the next object that is certainly a message.
fn resync(link: &dyn Link, walker: &mut Walker<'_>) -> io::Result<bool> {
    let mut budget = RESYNC_BYTES;
    let mut from = walker.at();
    loop {
        walker.kept();
        walker.seek(from)?;
        if !walker.find(b'{')? {
            return Ok(false);
        }
        let at = walker.at();
        walker.keep();
        let walked = walker.value()?;
        let cost = (walker.at() - at).max(64);
        let bytes = walker.kept();
        if walked.is_ok() && json::valid(&bytes).is_ok() {
            let members = Members::of(&bytes);
            if link.is_certain(&members) {
                walker.seek(at)?;
                return Ok(true);
            }
        }
        match budget.checked_sub(cost) {
            Some(left) => budget = left,
            None => return Ok(false),
        }
        from = at + 1;
    }
}
