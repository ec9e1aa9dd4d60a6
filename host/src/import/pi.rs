//! `pi`: session files of the Pi coding agent, JSON Lines of versions 1, 2 and 3.
//!
//! The first line is a header; every other is an entry with `type`, and from version 2 on with `id` and `parentId`. In
//! version 1 an entry hangs below the line before it. Entries of type `message`, `branch_summary` and `custom_message`
//! become messages (how is in `message`). All others (compactions, settings, usage, labels, edits, titles, data of
//! extensions) are kept whole in the metadata of the first message below them, or of the nearest above where none
//! follows, so that nothing is lost and nothing is said that nobody said.
//!
//! The conversation stands at the last entry of the file.

mod message;

use std::io;

use super::{
    format::{Likeness, Rules},
    input::{Input, Span},
    json::{self, Members},
    lines::{Found, Lines},
    outline::{Kind, NewNode, Outline, Parent, Place, derived_id, may_be_id},
    plan::Sources,
    time,
};

/// The newest version that is known.
const NEWEST: u64 = 3;

/// Types of entries that are no messages.
const ASIDES: [&str; 8] =
    ["model_change", "thinking_level_change", "usage", "compaction", "context_edit", "custom", "label", "session_info"];

/// Types of entries that become messages.
const MESSAGES: [&str; 3] = ["message", "branch_summary", "custom_message"];

/// The rules of the format.
pub(crate) struct Pi;

impl Rules for Pi {
    fn likeness(&self, head: &[u8], _name: &str) -> Likeness {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let sure = head.split(|&byte| byte == b'\n').any(|line| {
            // The last line of the head may be cut: what comes first on it counts.
            let line = line.trim_ascii_start();
            let line = &line[line.iter().take_while(|&&byte| byte == 0).count()..];
            is_entry(&Members::of(line))
        });
        if sure { Likeness::Sure } else { Likeness::No }
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        let name = id_of_name(input.name());
        let mut reader = Reader { outline, previous: None, header: false };
        let mut lines = Lines::new(input)?;
        let is_record = |text: &str| is_entry(&Members::of(text.as_bytes()));
        while lines.advance()? {
            let place = Place::Line(lines.number());
            lines.find(&is_record, |found| match found {
                Found::Record { text, span } => reader.record(text, span, place),
                Found::Damage { bytes, why } => reader.damage(bytes, why, place),
                Found::Glued => {
                    reader.outline.note(place, "several records stand on this line: they were told apart");
                }
            });
        }
        let (header, any) = (reader.header, lines.number() > 0);
        if !any {
            outline.failed.add("line 1", "the input is empty");
        }
        let session = outline.session();
        if any && !header {
            let instead = if name.is_some() { ": the session's id is taken from the file's name" } else { "" };
            session.report.notes.add("line 1", format!("there is no header{instead}"));
        }
        session.hint = session.hint.take().or(name);
        Ok(())
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        message::of_entry(sources)
    }
}

/// Whether this is a header or an entry, and no block of a message.
fn is_entry(members: &Members<'_>) -> bool {
    let Some(kind) = members.text("type") else { return false };
    let timed = members.get("timestamp").is_some_and(|time| time.starts_with('"'));
    match &*kind {
        "session" => timed || (members.get("id").is_some() && members.get("cwd").is_some()),
        kind => timed && (MESSAGES.contains(&kind) || ASIDES.contains(&kind)),
    }
}

/// Files are named `<time>_<id of the session>.jsonl`.
fn id_of_name(name: &str) -> Option<String> {
    let (_, id) = name.strip_suffix(".jsonl").unwrap_or(name).rsplit_once('_')?;
    (!id.is_empty()).then(|| id.to_owned())
}

struct Reader<'o> {
    outline: &'o mut Outline,
    /// The entry before.
    previous: Option<u32>,
    header: bool,
}

impl Reader<'_> {
    fn record(&mut self, text: &str, span: Span, place: Place) {
        let members = Members::of(text.as_bytes());
        let Some(kind) = members.text("type") else {
            self.outline.fail(place, "no entry: it has no `type`");
            return;
        };
        if kind == "session" {
            self.begin(&members, place);
            self.outline.count_aside(&kind);
            self.add(Kind::Aside, "", Parent::Root, text, span, place, &members);
            return;
        }
        let mut node = Kind::Aside;
        if MESSAGES.contains(&&*kind) {
            match message::refusal(&kind, &members) {
                None => node = Kind::Message,
                Some(why) => self.outline.fail(place, why),
            }
        }
        if node == Kind::Aside {
            self.outline.count_aside(&kind);
        }
        if kind == "session_info" {
            let name = members.text("name").filter(|name| !name.trim().is_empty());
            self.outline.session().report.title = name;
        }
        let parent = self.parent(&members);
        let id = match members.text("id").filter(|id| may_be_id(id)) {
            Some(id) => id,
            None if node == Kind::Message => derived_id(&self.name_of(&parent), text.as_bytes()),
            None => String::new(),
        };
        let number = self.add(node, &id, parent, text, span, place, &members);
        self.previous = Some(number);
        self.outline.session().leaf = Some(number);
    }

    /// What can still be told of a damaged entry: its place in the tree, so that what hangs below it keeps its own.
    fn damage(&mut self, bytes: &[u8], why: String, place: Place) {
        let members = Members::of(bytes);
        let kind = members.text("type");
        if kind.as_deref() == Some("session") {
            self.begin(&members, place);
        }
        self.outline.fail(place, why);
        let (Some(_), Some(id)) =
            (kind.filter(|kind| kind != "session"), members.text("id").filter(|id| may_be_id(id)))
        else {
            return;
        };
        if members.get("parentId").is_none() {
            return;
        }
        let parent = self.parent(&members);
        let span = Span { start: 0, len: 0 };
        let number = self.add(Kind::Lost, &id, parent, "", span, place, &members);
        self.previous = Some(number);
        self.outline.session().leaf = Some(number);
    }

    fn begin(&mut self, members: &Members<'_>, place: Place) {
        self.outline.begin_session(members.text("id"));
        self.previous = None;
        self.header = true;
        let version = members.get("version").and_then(|version| version.parse::<u64>().ok());
        if let Some(newer) = version.filter(|&version| version > NEWEST) {
            self.outline.note(place, format!("version {newer} of the format is newer than {NEWEST}, the newest known"));
        }
    }

    fn parent(&self, members: &Members<'_>) -> Parent {
        match members.get("parentId") {
            Some("null") => Parent::Root,
            Some(raw) => Parent::Id(json::text(raw).unwrap_or_else(|| raw.to_owned()).into()),
            None => self.previous.map_or(Parent::Root, Parent::Node),
        }
    }

    /// What an id made for a message goes by as its parent.
    fn name_of(&self, parent: &Parent) -> String {
        match parent {
            Parent::Root => String::new(),
            Parent::Id(id) => id.to_string(),
            Parent::Node(number) => {
                let mut at = *number;
                loop {
                    let node = &self.outline.nodes[at as usize];
                    match (&node.kind, &node.parent) {
                        (Kind::Message, _) => return node.id.to_string(),
                        (_, Parent::Node(above)) => at = *above,
                        (_, Parent::Id(id)) => return id.to_string(),
                        (_, Parent::Root) => return String::new(),
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one record, each known under this name by its caller")]
    fn add(
        &mut self,
        kind: Kind,
        id: &str,
        parent: Parent,
        text: &str,
        span: Span,
        place: Place,
        members: &Members<'_>,
    ) -> u32 {
        let own = members.get("timestamp").and_then(time::of_json);
        let inner = || {
            let message = Members::of(members.get("message")?.as_bytes());
            message.get("timestamp").and_then(time::of_json)
        };
        let created_at = own.or_else(inner);
        self.outline.add(NewNode { kind, id, parent, span, place, created_at, bytes: text.as_bytes() })
    }
}
