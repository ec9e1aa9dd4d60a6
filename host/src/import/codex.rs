//! `codex`: rollout files of Codex, JSON Lines, one file per session.
//!
//! Lines are `{timestamp, type, payload}`; those of early versions are the bare items. Items of `response_item` become
//! messages, each the child of the one before (how is in `message`). Events that repeat what an item says are left
//! out; all others, and the settings, are kept whole in the metadata of the message beside them.
//!
//! The summary of a line `compacted` stands in the place of what was said before it.
//! `thread_rolled_back` takes the conversation back by some turns of the user: what was said in them stays as a branch.
//! The conversation stands at the last message, or where it was taken back to.

mod message;

use std::io;

use super::{
    format::{Likeness, Rules},
    input::{Input, Span},
    json::Members,
    lines::{Found, Lines},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    plan::Sources,
    time,
};

/// Types of lines.
const TYPES: [&str; 5] = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

/// Events that repeat what an item says.
const REPEATED: [&str; 5] =
    ["user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "agent_message_delta"];

/// The rules of the format.
pub(crate) struct Codex;

impl Rules for Codex {
    fn likeness(&self, head: &[u8], name: &str) -> Likeness {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let sure = head.split(|&byte| byte == b'\n').any(|line| {
            let line = line.trim_ascii_start();
            let line = &line[line.iter().take_while(|&&byte| byte == 0).count()..];
            let members = Members::of(line);
            // The last line of the head may be cut inside its payload.
            let payload = members.get("payload").is_some() || line.windows(9).any(|window| window == b"\"payload\"");
            match members.text("type") {
                Some(kind) => TYPES.contains(&&*kind) && payload,
                None => is_old_header(&members),
            }
        });
        match (sure, name.starts_with("rollout-") && name.ends_with(".jsonl")) {
            (true, _) => Likeness::Sure,
            (false, true) => Likeness::Maybe,
            (false, false) => Likeness::No,
        }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        let name = id_of_name(input.name());
        let mut reader = Reader { outline, previous: None, last: None, turns: Vec::new(), id: None };
        let mut lines = Lines::new(input)?;
        let is_record = |text: &str| {
            let members = Members::of(text.as_bytes());
            let kind = members.text("type");
            kind.is_some_and(|kind| TYPES.contains(&&*kind) && members.get("payload").is_some())
        };
        while lines.advance()? {
            let place = Place::Line(lines.number());
            lines.find(&is_record, |found| match found {
                Found::Record { text, span } => reader.record(text, span, place),
                Found::Damage { why, .. } => reader.outline.fail(place, why),
                Found::Glued => {
                    reader.outline.note(place, "several records stand on this line: they were told apart");
                }
            });
        }
        let (leaf, id, any) = (reader.previous, reader.id.take(), lines.number() > 0);
        if !any {
            outline.failed.add("line 1", "the input is empty");
        }
        let session = outline.session();
        (session.leaf, session.hint) = (leaf, id.or(name));
        Ok(())
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        message::of_line(sources)
    }
}

/// The first line of a file of early versions.
fn is_old_header(members: &Members<'_>) -> bool {
    ["id", "timestamp", "instructions"].iter().all(|key| members.get(key).is_some())
}

/// Files are named `rollout-<time>-<uuid of the session>.jsonl`.
fn id_of_name(name: &str) -> Option<String> {
    let stem = name.strip_suffix(".jsonl")?.strip_prefix("rollout-")?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    Some(id.to_owned())
}

struct Reader<'o> {
    outline: &'o mut Outline,
    /// The message at which the conversation stands.
    previous: Option<u32>,
    /// The message or line before, beside which lines stand that are no messages.
    last: Option<u32>,
    /// For every turn of the user on the path the message before it.
    turns: Vec<Option<u32>>,
    id: Option<String>,
}

impl Reader<'_> {
    fn record(&mut self, text: &str, span: Span, place: Place) {
        let members = Members::of(text.as_bytes());
        let kind = members.text("type");
        let created_at = members.get("timestamp").and_then(time::of_json);
        let payload = Members::of(members.get("payload").unwrap_or_default().as_bytes());
        match kind.as_deref() {
            Some("response_item") => self.item(&payload, text, span, place, created_at),
            Some("session_meta") => {
                // Those that follow are of the sessions that this one goes on from.
                self.id = self.id.take().or_else(|| payload.text("id"));
                self.aside("session_meta", text, span, place);
            }
            Some("event_msg") => match payload.text("type").unwrap_or_default() {
                event if REPEATED.contains(&&*event) => {}
                event => {
                    if event == "thread_rolled_back" {
                        self.roll_back(&payload, place);
                    }
                    self.aside(&event, text, span, place);
                }
            },
            Some("turn_context") => self.aside("turn_context", text, span, place),
            Some("compacted") => {
                self.aside("compacted", text, span, place);
                if let Some(at) = self.previous {
                    self.outline.compacted(at, payload.text("message"), Vec::new());
                }
            }
            Some(_) if members.get("payload").is_none() => self.item(&members, text, span, place, created_at),
            Some(kind) => self.aside(kind, text, span, place),
            None if is_old_header(&members) => {
                self.id = self.id.take().or_else(|| members.text("id"));
                self.aside("session_meta", text, span, place);
            }
            None if members.get("record_type").is_some() => self.aside("record", text, span, place),
            None => self.outline.fail(place, "no line of a session: it has no `type`"),
        }
    }

    fn item(&mut self, item: &Members<'_>, text: &str, span: Span, place: Place, created_at: Option<i64>) {
        if !message::speaks(item) {
            self.aside(&item.text("type").unwrap_or_default(), text, span, place);
            return;
        }
        let id = item.text("id").filter(|id| may_be_id(id)).unwrap_or_else(|| {
            let above = self.previous.map(|previous| &*self.outline.nodes[previous as usize].id);
            derived_id(above.unwrap_or_default(), text.as_bytes())
        });
        if message::is_turn(item) {
            let report = &mut self.outline.session().report;
            report.title = report.title.take().or_else(|| message::title_of(item));
            self.turns.push(self.previous);
        }
        let count = self.outline.nodes.len();
        let parent = self.previous.map_or(Parent::Root, Parent::Node);
        let bytes = text.as_bytes();
        let number = self.outline.add(NewNode { kind: Kind::Message, id: &id, parent, span, place, created_at, bytes });
        if number as usize == count {
            self.previous = Some(number);
            self.last = Some(number);
        }
    }

    fn aside(&mut self, kind: &str, text: &str, span: Span, place: Place) {
        self.outline.count_aside(kind);
        let parent = self.last.or(self.previous).map_or(Parent::Root, Parent::Node);
        let bytes = text.as_bytes();
        self.outline.add(NewNode { kind: Kind::Aside, id: "", parent, span, place, created_at: None, bytes });
    }

    fn roll_back(&mut self, event: &Members<'_>, place: Place) {
        let turns = event.get("num_turns").and_then(|raw| raw.parse::<usize>().ok()).unwrap_or(0);
        if turns > self.turns.len() {
            let why = format!("it takes back {turns} turns, and there are {}", self.turns.len());
            self.outline.note(place, why);
        }
        for _ in 0..turns {
            let Some(before) = self.turns.pop() else { return };
            self.previous = before;
        }
    }
}
