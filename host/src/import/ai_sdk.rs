//! `ai-sdk`: AI SDK `UIMessage`s, each of which is stored as it stands.
//!
//! Accepted are an array of messages, an object with `messages` (a chat; its `id` names the session, its `title` is
//! reported), an array of such objects, and JSON Lines of either. Messages are a chain in their order. The time is
//! `createdAt` or `metadata.createdAt`, in ms, seconds or ISO 8601.
//!
//! A message without an id of use (none, no string, blank, above 1,024 bytes, one that belongs to summaries) is given
//! one that is made from its text and place; `originalId` then holds what was there.

use std::io;

use super::{
    format::{Likeness, Rules},
    input::{Input, Span},
    json::{self, Members, Writer},
    lines::{Found, Lines},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    plan::Sources,
    time,
    walker::{Torn, Walker},
};

/// The longest id or title that is looked at, as JSON text. Longer than any id may be.
const LONGEST_NAME: usize = 8 << 10;

/// How many bytes are read once more, at most, in the search for the next message behind damage.
const RESYNC_BYTES: u64 = 64 << 20;

/// The rules of the format.
pub(crate) struct AiSdk;

impl Rules for AiSdk {
    fn likeness(&self, head: &[u8], _name: &str) -> Likeness {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let [first, rest @ ..] = head else { return Likeness::No };
        let has = |key: &[u8]| rest.windows(key.len()).any(|window| window == key);
        match first {
            b'[' | b'{' if has(b"\"parts\"") && has(b"\"role\"") => Likeness::Sure,
            b'[' if rest.trim_ascii_start().starts_with(b"]") => Likeness::Maybe,
            b'{' if has(b"\"messages\"") => Likeness::Maybe,
            // The first message may be longer than what is looked at.
            b'[' | b'{' if has(b"\"role\"") && !has(b"\"content\"") => Likeness::Maybe,
            _ => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        let mut chain = Chain { outline, open: false, previous: None, chats: 0, count: 0 };
        if is_json_lines(input)? {
            chain.lines(input)?;
        } else {
            chain.text(input)?;
        }
        outline.session();
        Ok(())
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        let members = Members::of(sources.record.as_bytes());
        if members.text("id").as_deref() == Some(sources.id) {
            return Ok(sources.record.to_owned());
        }
        let mut message = Writer::object();
        message.put_text("id", sources.id);
        for member in members.iter().filter(|member| !json::same_key(member.key, "id")) {
            message.copy(member);
        }
        if let Some(original) = members.get("id") {
            message.put("originalId", original);
        }
        Ok(message.end())
    }
}

/// Whether a second line begins an object of its own.
fn is_json_lines(input: &mut Input) -> io::Result<bool> {
    let mut walker = Walker::new(input)?;
    Ok(walker.peek()? == Some(b'{') && walker.find(b'\n')? && walker.peek()? == Some(b'{'))
}

/// What a message lacks to be one; nothing, if it is one.
fn lacks(members: &Members<'_>) -> Option<&'static str> {
    if !members.get("role").is_some_and(|role| role.starts_with('"') && role.len() > 2) {
        return Some("no UIMessage: it has no `role`");
    }
    if !members.get("parts").is_some_and(|parts| parts.starts_with('[')) {
        return Some("no UIMessage: it has no `parts`");
    }
    None
}

/// The list of messages of a chat.
fn messages<'a>(members: &Members<'a>) -> Option<&'a str> {
    let list = members.get("messages").filter(|list| list.starts_with('['))?;
    (members.get("role").is_none() && members.get("parts").is_none()).then_some(list)
}

/// Messages as they come, each the child of the one before.
struct Chain<'o> {
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
        if let Some(lack) = lacks(&members) {
            self.outline.fail(place, lack);
            return;
        }
        let id = members.text("id").filter(|id| may_be_id(id)).unwrap_or_else(|| {
            let parent = self.previous.map(|previous| &*self.outline.nodes[previous as usize].id);
            derived_id(parent.unwrap_or_default(), text.as_bytes())
        });
        let metadata = || {
            Members::of(members.get("metadata").unwrap_or_default().as_bytes()).get("createdAt").and_then(time::of_json)
        };
        let created_at = members.get("createdAt").and_then(time::of_json).or_else(metadata);
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
        let is_record = |text: &str| {
            let members = Members::of(text.as_bytes());
            lacks(&members).is_none() || messages(&members).is_some()
        };
        let mut lines = Lines::new(input)?;
        while lines.advance()? {
            let place = Place::Line(lines.number());
            lines.find(&is_record, |found| match found {
                Found::Record { text, span } => {
                    let members = Members::of(text.as_bytes());
                    let Some(list) = messages(&members) else {
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
                    if torn != Torn::Damage || !resync(walker)? {
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
            if matches!(&*key, "\"role\"" | "\"parts\"") {
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
fn resync(walker: &mut Walker<'_>) -> io::Result<bool> {
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
            if members.text("id").is_some() && lacks(&members).is_none() {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::import::{Format, plan::Plan};

    fn records(text: &[u8]) -> (Plan, Vec<(String, Option<String>, String)>) {
        let mut plan = Plan::new(Format::AiSdk, Input::bytes("", text).unwrap()).unwrap();
        let mut all = Vec::new();
        while let Some(record) = plan.advance().unwrap() {
            all.push((record.id, record.parent_id, record.message));
        }
        (plan, all)
    }

    fn ids(text: &str) -> Vec<String> {
        records(text.as_bytes()).1.into_iter().map(|(id, ..)| id).collect()
    }

    fn message(id: &str) -> String {
        format!("{{\"id\":\"{id}\",\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":\"says {id}\"}}]}}")
    }

    #[test]
    fn every_accepted_shape_gives_the_same_chain() {
        let (a, b) = (message("a"), message("b"));
        for text in [
            format!("[{a},{b}]"),
            format!("\u{feff}[\n  {a},\r\n  {b}\n]\n"),
            format!("{{\"messages\":[{a},{b}]}}"),
            format!("{{\"id\":\"c\", \"messages\": [{a},{b}], \"title\":\"T\"}}"),
            format!("{{\n\"title\":\"T\",\n\"messages\":[{a},{b}],\"id\":\"c\"}}"),
            format!("[{{\"id\":\"c\",\"messages\":[{a},{b}]}}]"),
            format!("{a}\n{b}"),
            format!("{a}\r\n{b}\r\n"),
            format!("{{\"id\":\"c\",\"messages\":[{a},{b}]}}\n{{\"id\":\"d\",\"messages\":[]}}"),
        ] {
            let (plan, all) = records(text.as_bytes());
            let expected = [("a".to_owned(), None, a.clone()), ("b".to_owned(), Some("a".to_owned()), b.clone())];
            assert_eq!(all, expected, "{text}");
            assert!(plan.outline.sessions[0].report.failed.is_empty());
            if text.contains("\"c\"") {
                assert_eq!(plan.outline.sessions[0].hint.as_deref(), Some("c"), "{text}");
            }
            if text.contains("\"T\"") {
                assert_eq!(plan.outline.sessions[0].report.title.as_deref(), Some("T"), "{text}");
            }
            assert_eq!(plan.leaf(0).as_deref(), Some("b"));
        }
    }

    #[test]
    fn a_message_is_taken_byte_for_byte() {
        let odd = "{ \"parts\" : [], \"n\":[1.0,1e3,18446744073709551616,-0,1e400],\"role\":\"x\\ud83d\\/\",\"id\":\"\\u0061\",\"k\":1,\"k\":\"\u{2028}\\u0000\" }";
        let (_, all) = records(format!("[{odd}]").as_bytes());
        assert_eq!(all[0], ("a".to_owned(), None, odd.to_owned()));
    }

    #[test]
    fn a_message_without_an_id_of_use_gets_a_stable_one() {
        let text = r#"[{"role":"user","parts":[]},{"role":"user","parts":[]},{"id":7,"role":"user","parts":[]},
            {"id":"compaction_1","role":"user","parts":[]},{"id":"","role":"user","parts":[]}]"#;
        let (_, first) = records(text.as_bytes());
        let (_, second) = records(text.as_bytes());
        assert_eq!(first, second);
        let mut distinct: Vec<_> = first.iter().map(|(id, ..)| id).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 5);
        assert!(first[0].2.starts_with("{\"id\":\"imported-"));
        assert!(first[2].2.ends_with(",\"originalId\":7}"), "{}", first[2].2);
        assert!(first[3].2.ends_with(",\"originalId\":\"compaction_1\"}"));
    }

    #[test]
    fn a_torn_list_gives_what_came_before_the_tear() {
        let whole = format!("[{},{},{}]", message("a"), message("b"), message("é"));
        let one = message("a").len() + 1;
        for cut in 1..whole.len() {
            let (plan, all) = records(&whole.as_bytes()[..cut]);
            let whole_ones = if cut < one {
                0
            } else if cut < 2 * one {
                1
            } else if cut < whole.len() - 1 {
                2
            } else {
                3
            };
            assert_eq!(all.len(), whole_ones, "cut at {cut}");
            let failed = &plan.outline.sessions[0].report.failed;
            assert_eq!(failed.total() + plan.outline.failed.total(), 1, "cut at {cut}");
        }
    }

    #[test]
    fn damage_inside_a_list_costs_one_message() {
        let (a, b, c) = (message("a"), message("b"), message("c"));
        for bad in [
            message("b").replace("says", "sa\0ys"),
            message("b").replace("says b\"}", "says\0\0\0\0\0\0\0\0"),
            "\0\0\0\0".to_owned(),
            "12".to_owned(),
            "{\"id\":\"b\"}".to_owned(),
            "{\"id\":\"b\",\"role\":\"user\",\"content\":\"old\"}".to_owned(),
            "{\"id\":\"b\",\"role\":\"user\",\"parts\":[tru]}".to_owned(),
            "[[]]".to_owned(),
        ] {
            let text = format!("[{a},{bad},{c}]");
            assert_eq!(ids(&text), ["a", "c"], "{text:?}");
            let (plan, all) = records(text.as_bytes());
            assert_eq!(all[1].1.as_deref(), Some("a"));
            assert_eq!(plan.outline.sessions[0].report.failed.total(), 1, "{text:?}");
        }
        let mut bytes = format!("[{a},{b},{c}]").into_bytes();
        let at = a.len() + 30;
        bytes[at] = 0xff;
        let (plan, all) = records(&bytes);
        assert_eq!(all.len(), 2);
        assert!(plan.outline.sessions[0].report.failed.listed()[0].why.starts_with("no UTF-8"));
    }

    #[test]
    fn several_chats_are_several_sessions() {
        let text = format!(
            "[{{\"id\":\"x\",\"messages\":[{}]}},{{\"id\":\"y\",\"messages\":[{},{{\"bad\":1}}]}}]",
            message("a"),
            message("a")
        );
        let (plan, all) = records(text.as_bytes());
        assert_eq!(all.len(), 2);
        let hints: Vec<_> = plan.outline.sessions.iter().map(|session| session.hint.as_deref()).collect();
        assert_eq!(hints, [Some("x"), Some("y")]);
        assert_eq!(plan.outline.sessions[1].report.failed.listed()[0].place, "conversation 2, message 2");
    }

    #[test]
    fn repeated_ids_lose_nothing() {
        let other = message("a").replace("says", "shouts");
        let text = format!("[{},{},{other},{}]", message("a"), message("a"), message("b"));
        assert_eq!(ids(&text), ["a", "a~2", "b"]);
        let (_, all) = records(text.as_bytes());
        assert!(all[1].2.ends_with("\"originalId\":\"a\"}"));
        assert_eq!(all[2].1.as_deref(), Some("a~2"));
    }

    #[test]
    fn empty_input_is_reported_and_no_error() {
        for text in ["", " \n", "\u{feff}"] {
            let (plan, all) = records(text.as_bytes());
            assert!(all.is_empty());
            assert_eq!(plan.outline.failed.listed()[0].why, "the input is empty");
        }
        assert!(records(b"[]").0.outline.failed.is_empty());
    }
}
