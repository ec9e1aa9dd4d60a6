//! A big JSON text of conversations, each with its messages in one member: exports of ChatGPT and Claude.
//!
//! Only one message at a time is held. Conversations may stand in a list, one behind the other, or alone. Damage costs
//! the message that it is in: the next message is looked for behind it, or the next conversation.

use std::io;

use super::{
    input::{Input, Span},
    json::{self, Members},
    outline::{Kind, NewNode, Outline, Parent, Place},
    walker::{Torn, Walker},
};

/// The longest member of a conversation that is looked at, as JSON text.
const LONGEST_MEMBER: usize = 8 << 10;

/// How many bytes are read once more, at most, in the search for what comes behind damage.
const RESYNC_BYTES: u64 = 64 << 20;

/// What the conversations of a format look like.
pub(crate) trait Shape {
    /// The member that holds the messages.
    fn list(&self) -> &'static str;

    /// Whether that is an object, from keys to messages, and no array.
    fn is_keyed(&self) -> bool;

    /// Whether this is a message, of this key where there are keys, and nothing else.
    fn is_message(&self, key: Option<&str>, members: &Members<'_>) -> bool;

    /// Tells the outline of one member of the list.
    fn message(&mut self, outline: &mut Outline, key: Option<&str>, text: &str, span: Span, place: Place);

    /// Tells the outline of the place of a member that could not be read, as far as these bytes of it say one.
    fn lost(&mut self, outline: &mut Outline, key: Option<&str>, bytes: &[u8], place: Place);

    /// The conversation ends; these are its other members, as far as they are short.
    fn end(&mut self, outline: &mut Outline, named: &Named);
}

/// The short members of a conversation: keys and values as they stand in the text.
#[derive(Debug, Default)]
pub(crate) struct Named(Vec<(String, String)>);

impl Named {
    /// The text of a member; none if it is blank.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let found = self.0.iter().rev().find(|(raw, _)| json::same_key(raw, key))?;
        json::text(&found.1).filter(|text| !text.trim().is_empty())
    }
}

/// Reads all conversations of an input.
pub(crate) fn survey(shape: &mut dyn Shape, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
    let mut walker = Walker::new(input)?;
    let mut reader = Reader { shape, outline, chat: 0, count: 0, begun: false, named: Named::default() };
    let (mut any, mut lists) = (false, 0_u64);
    loop {
        match walker.peek()? {
            None => break,
            Some(byte @ (b'[' | b']' | b',')) => {
                lists = if byte == b'[' { lists + 1 } else { lists.saturating_sub(u64::from(byte == b']')) };
                walker.pass_if(byte)?;
            }
            Some(b'{') => reader.conversation(&mut walker)?,
            Some(_) => {
                reader.chat += 1;
                let place = Place::Chat(reader.chat);
                let at = walker.at();
                let walked = walker.value()?;
                let why = walked.map_or_else(Torn::said, |()| "no conversation: no JSON object".to_owned());
                reader.outline.fail(place, why);
                if walked.is_err() && !(walker.seek(at + 1).is_ok() && walker.find(b'{')?) {
                    break;
                }
            }
        }
        any = true;
    }
    if !any {
        outline.failed.add("line 1", "the input is empty");
    } else if lists > 0 {
        let place = Place::Chat(reader.chat);
        outline.fail(place, "the input ends before the list does");
    }
    Ok(())
}

/// What was reached.
enum Reached {
    List,
    EndOfList,
    End,
}

/// What was found behind damage.
enum Found {
    /// A message of the list, in front of which the walker stands.
    Message,
    /// A list; the walker stands inside it.
    List,
}

struct Reader<'o> {
    shape: &'o mut dyn Shape,
    outline: &'o mut Outline,
    /// The conversation, counted from 1.
    chat: u32,
    /// Its messages so far, damaged ones too.
    count: u32,
    /// Its list has been reached.
    begun: bool,
    named: Named,
}

impl Reader<'_> {
    fn start(&mut self) {
        self.chat += 1;
        (self.count, self.begun, self.named) = (0, false, Named::default());
    }

    fn begin(&mut self) {
        if !self.begun {
            self.outline.begin_session(None);
            self.begun = true;
        }
    }

    fn finish(&mut self) {
        if self.begun {
            self.shape.end(self.outline, &self.named);
        }
    }

    fn place(&self) -> Place {
        if self.count == 0 { Place::Chat(self.chat) } else { Place::InChat(self.chat, self.count) }
    }

    fn conversation(&mut self, walker: &mut Walker<'_>) -> io::Result<()> {
        walker.pass_if(b'{')?;
        self.start();
        let mut inside = false;
        loop {
            let walked = if inside { self.messages(walker)? } else { self.members(walker)? };
            match walked {
                Ok(Reached::List) => inside = true,
                Ok(Reached::EndOfList) => inside = false,
                Ok(Reached::End) => {
                    if !self.begun {
                        let why = format!("no conversation: it has no `{}`", self.shape.list());
                        self.outline.fail(self.place(), why);
                    }
                    self.finish();
                    return Ok(());
                }
                Err(torn) => {
                    self.outline.fail(self.place(), torn.said());
                    match if torn == Torn::AtEnd { None } else { self.recover(walker)? } {
                        Some(Found::Message) => self.begin(),
                        Some(Found::List) => {
                            if self.begun {
                                self.finish();
                                self.start();
                            }
                            self.begin();
                        }
                        None => {
                            self.finish();
                            return walker.seek_to_end();
                        }
                    }
                    inside = true;
                }
            }
        }
    }

    /// Goes on to the list, or to the end of the conversation.
    fn members(&mut self, walker: &mut Walker<'_>) -> io::Result<Result<Reached, Torn>> {
        loop {
            match walker.peek()? {
                Some(b'}') => {
                    walker.pass_if(b'}')?;
                    return Ok(Ok(Reached::End));
                }
                Some(b',') => {
                    walker.pass_if(b',')?;
                    continue;
                }
                Some(b'"') => {}
                None => return Ok(Err(Torn::AtEnd)),
                Some(_) => return Ok(Err(Torn::Damage)),
            }
            let key = match key(walker)? {
                Ok(key) => key,
                Err(torn) => return Ok(Err(torn)),
            };
            if json::same_key(&key, self.shape.list()) && enter(self.shape, walker)? {
                self.begin();
                return Ok(Ok(Reached::List));
            }
            match walker.small_value(LONGEST_MEMBER)? {
                Ok(Some(value)) => self.named.0.extend(String::from_utf8(value).ok().map(|value| (key, value))),
                Ok(None) => {}
                Err(torn) => return Ok(Err(torn)),
            }
        }
    }

    /// Goes over the messages to the end of the list.
    fn messages(&mut self, walker: &mut Walker<'_>) -> io::Result<Result<Reached, Torn>> {
        let keyed = self.shape.is_keyed();
        loop {
            match walker.peek()? {
                Some(byte) if byte == if keyed { b'}' } else { b']' } => {
                    walker.pass_if(byte)?;
                    return Ok(Ok(Reached::EndOfList));
                }
                Some(b',') => {
                    walker.pass_if(b',')?;
                    continue;
                }
                None => return Ok(Err(Torn::AtEnd)),
                Some(byte) if keyed && byte != b'"' => return Ok(Err(Torn::Damage)),
                Some(_) => self.count += 1,
            }
            let mut of = None;
            if keyed {
                match key(walker)? {
                    Ok(raw) => of = Some(json::text(&raw).unwrap_or(raw)),
                    Err(torn) => return Ok(Err(torn)),
                }
                walker.peek()?;
            }
            let start = walker.at();
            walker.keep();
            let walked = walker.value()?;
            let kept = walker.kept();
            let place = self.place();
            if let Err(torn) = walked {
                if torn == Torn::Damage {
                    self.shape.lost(self.outline, of.as_deref(), &kept, place);
                }
                return Ok(Err(torn));
            }
            match json::valid(&kept) {
                Ok(text) if text.starts_with('{') => {
                    let span = Span { start, len: kept.len() as u64 };
                    self.shape.message(self.outline, of.as_deref(), text, span, place);
                }
                Ok(_) => self.outline.fail(place, "no message: no JSON object"),
                Err(why) => {
                    self.outline.fail(place, why);
                    self.shape.lost(self.outline, of.as_deref(), &kept, place);
                }
            }
        }
    }

    /// Looks behind damage for the next message of the list, or the next list.
    fn recover(&mut self, walker: &mut Walker<'_>) -> io::Result<Option<Found>> {
        let mut budget = RESYNC_BYTES;
        let mut from = walker.at();
        loop {
            walker.kept();
            walker.seek(from)?;
            if !walker.find_any(b"\"{")? {
                return Ok(None);
            }
            let at = walker.at();
            if let Some(found) = self.candidate(walker)? {
                if matches!(found, Found::Message) {
                    walker.seek(at)?;
                }
                return Ok(Some(found));
            }
            match budget.checked_sub((walker.at() - at).max(64)) {
                Some(left) => budget = left,
                None => return Ok(None),
            }
            from = at + 1;
        }
    }

    fn candidate(&mut self, walker: &mut Walker<'_>) -> io::Result<Option<Found>> {
        let keyed = self.shape.is_keyed();
        let mut of = None;
        if walker.peek()? == Some(b'"') {
            let Ok(raw) = key(walker)? else { return Ok(None) };
            if json::same_key(&raw, self.shape.list()) && enter(self.shape, walker)? {
                return Ok(Some(Found::List));
            }
            if !keyed {
                return Ok(None);
            }
            of = json::text(&raw);
        } else if keyed {
            return Ok(None);
        }
        if walker.peek()? != Some(b'{') {
            return Ok(None);
        }
        walker.keep();
        let walked = walker.value()?;
        let kept = walker.kept();
        let is_message =
            walked.is_ok() && json::valid(&kept).is_ok() && self.shape.is_message(of.as_deref(), &Members::of(&kept));
        Ok(is_message.then_some(Found::Message))
    }
}

/// Goes past a key and its colon.
fn key(walker: &mut Walker<'_>) -> io::Result<Result<String, Torn>> {
    let key = match walker.small_value(LONGEST_MEMBER)? {
        Ok(key) => key.and_then(|key| String::from_utf8(key).ok()).unwrap_or_default(),
        Err(torn) => return Ok(Err(torn)),
    };
    if !walker.pass_if(b':')? {
        return Ok(Err(if walker.peek()?.is_none() { Torn::AtEnd } else { Torn::Damage }));
    }
    Ok(Ok(key))
}

/// Goes into the list that begins here, if one does.
fn enter(shape: &dyn Shape, walker: &mut Walker<'_>) -> io::Result<bool> {
    walker.pass_if(if shape.is_keyed() { b'{' } else { b'[' })
}

/// Names the session of the conversation that ends: by its own id, or, where that was lost, by its first record's.
pub(crate) fn name(outline: &mut Outline, id: Option<String>, title: Option<String>) {
    let number = outline.sessions.len().saturating_sub(1) as u32;
    let id = id.or_else(|| {
        let first = outline.nodes.iter().rev().take_while(|node| node.session == number).last()?.id.to_string();
        outline.note("the conversation", format!("it has no id: it is named after its first record, {first:?}"));
        Some(first)
    });
    let session = outline.session();
    (session.hint, session.report.title) = (id, title);
}

/// Says where the conversation that ends stands: at the record of this id, or else at its newest message.
pub(crate) fn stand_at(outline: &mut Outline, id: Option<String>) {
    let number = outline.sessions.len().saturating_sub(1) as u32;
    let found = id.as_deref().and_then(|id| outline.of_id(number, id).next());
    let leaf = found.or_else(|| {
        let newest = outline.messages_of_last().max_by_key(|&(at, node)| (node.created_at, at)).map(|(at, _)| at);
        if let Some(id) = id.filter(|_| newest.is_some()) {
            let why = format!("it stands at {id:?}, which is not there: its newest message was taken instead");
            outline.note("the conversation", why);
        }
        newest
    });
    outline.session().leaf = leaf;
}

/// Adds a record that could not be read. Where its parent stands behind the damage, the record before it is taken for
/// it: most conversations are chains.
pub(crate) fn add_lost(outline: &mut Outline, id: &str, parent: Option<Parent>, place: Place) -> u32 {
    let session = outline.sessions.len().saturating_sub(1) as u32;
    let before = outline.nodes.last().filter(|node| node.session == session);
    let before = before.map(|_| Parent::Node(outline.nodes.len() as u32 - 1));
    let parent = parent.or(before).unwrap_or(Parent::Root);
    let span = Span { start: 0, len: 0 };
    outline.add(NewNode { kind: Kind::Lost, id, parent, span, place, created_at: None, bytes: &[] })
}
