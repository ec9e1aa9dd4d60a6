//! `claude-code`: session files of Claude Code, JSON Lines, one file per session and one per sub-agent.
//!
//! Lines of type `user` and `assistant` become messages (how is in `message`); lines that share `message.id` are one
//! message, which goes by the `uuid` of the first. All other lines (notes of the program, snapshots, titles, borders
//! of compactions and their summaries) are kept whole in the metadata of the message beside them. The summary of a
//! compaction, which is nothing that the user said, stands in the place of what it covers.
//!
//! Calls that ran side by side make the file fork, since each answer hangs below the line of its own call. Here all
//! answers to one message follow it, in the order of the file, and what comes after any of them comes after the last.
//! What follows a border of a compaction hangs below what came before it.
//!
//! The conversation stands at the last message of the file that is no sub-agent's and not made by the program.

mod message;

use std::{
    collections::{HashMap, HashSet},
    io,
};

use super::{
    blocks,
    format::{Likeness, Rules},
    input::{Input, Span},
    json::{self, Members},
    lines::{Found, Lines},
    outline::{Kind, NewNode, Outline, Parent, Place, may_be_id},
    plan::Sources,
    time,
};

/// How many records that are no messages are passed on the way up to one.
const LONGEST_WAY_UP: usize = 10_000;

/// Types of lines that stand in the tree.
const IN_TREE: [&str; 5] = ["user", "assistant", "system", "progress", "attachment"];

/// Types of lines that stand beside it.
const BESIDE: [&str; 9] = [
    "summary",
    "ai-title",
    "custom-title",
    "tag",
    "last-prompt",
    "file-history-snapshot",
    "queue-operation",
    "content-replacement",
    "agent_metadata",
];

/// The rules of the format.
pub(crate) struct ClaudeCode;

impl Rules for ClaudeCode {
    fn likeness(&self, head: &[u8], _name: &str) -> Likeness {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let mut best = Likeness::No;
        for line in head.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii_start();
            let line = &line[line.iter().take_while(|&&byte| byte == 0).count()..];
            let members = Members::of(line);
            let sure = match members.text("type") {
                Some(kind) => is_line(&kind, &members),
                // The line may be longer than what is looked at, and tell its type at its end.
                None => members.get("parentUuid").is_some() && members.get("sessionId").is_some(),
            };
            if sure {
                return Likeness::Sure;
            }
            if members.get("parentUuid").is_some() {
                best = Likeness::Maybe;
            }
        }
        best
    }

    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()> {
        let name = input.name().strip_suffix(".jsonl").unwrap_or(input.name()).to_owned();
        let mut reader = Reader::new(outline);
        let mut lines = Lines::new(input)?;
        let is_record = |text: &str| {
            let members = Members::of(text.as_bytes());
            members.text("type").is_some_and(|kind| is_line(&kind, &members))
        };
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
        let any = lines.number() > 0;
        reader.end(&name);
        if !any {
            outline.failed.add("line 1", "the input is empty");
        }
        outline.session();
        Ok(())
    }

    fn message(&self, sources: &Sources<'_>) -> Result<String, String> {
        message::of_line(sources)
    }
}

fn is_line(kind: &str, members: &Members<'_>) -> bool {
    let has = |key: &str| members.get(key).is_some();
    match kind {
        "summary" => has("leafUuid") && has("summary"),
        kind if IN_TREE.contains(&kind) => has("uuid") && (has("parentUuid") || has("sessionId")),
        kind => BESIDE.contains(&kind) && (has("sessionId") || has("messageId") || has("agentId")),
    }
}

/// How much a title counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Title {
    None,
    FirstPrompt,
    Summary,
    Made,
    Chosen,
}

/// What a line is about that is a message.
struct Line<'a> {
    members: &'a Members<'a>,
    assistant: bool,
    /// The id of the message that it is a piece of.
    message_id: Option<String>,
    content: &'a str,
}

struct Reader<'o> {
    outline: &'o mut Outline,
    session_id: Option<String>,
    agent_id: Option<String>,
    title: (Title, Option<String>),
    previous: Option<u32>,
    /// The message that lines of an id are pieces of.
    pieces: HashMap<String, u32>,
    /// The message that makes a call.
    calls: HashMap<String, u32>,
    answered: HashSet<String>,
    /// What the compaction that was told of last has kept.
    preserved: Vec<String>,
    /// The last answer to the calls of a message.
    last_answer: HashMap<u32, u32>,
    /// The message whose calls a message answers.
    answers: HashMap<u32, u32>,
    /// The newest message of the conversation itself, and the newest of all.
    leaf: Option<u32>,
    newest: Option<u32>,
}

impl<'o> Reader<'o> {
    fn new(outline: &'o mut Outline) -> Self {
        Self {
            outline,
            session_id: None,
            agent_id: None,
            title: (Title::None, None),
            previous: None,
            pieces: HashMap::new(),
            calls: HashMap::new(),
            answered: HashSet::new(),
            preserved: Vec::new(),
            last_answer: HashMap::new(),
            answers: HashMap::new(),
            leaf: None,
            newest: None,
        }
    }

    fn record(&mut self, text: &str, span: Span, place: Place) {
        let members = Members::of(text.as_bytes());
        let Some(kind) = members.text("type") else {
            self.outline.fail(place, "no line of a session: it has no `type`");
            return;
        };
        self.session_id = self.session_id.take().or_else(|| members.text("sessionId"));
        self.agent_id = self.agent_id.take().or_else(|| members.text("agentId"));
        let id = members.text("uuid").filter(|id| may_be_id(id));
        let said = Members::of(members.get("message").unwrap_or_default().as_bytes());
        let speaks = matches!(&*kind, "user" | "assistant") && members.get("isCompactSummary") != Some("true");
        let number = if speaks && said.get("role").is_some() && id.is_some() {
            let line = Line {
                members: &members,
                assistant: kind == "assistant",
                message_id: said.text("id").filter(|_| kind == "assistant"),
                content: said.get("content").unwrap_or_default(),
            };
            self.message(&line, text, span, place)
        } else {
            if speaks {
                self.outline.fail(place, "no message: it lacks `uuid` or `message.role`; it was kept in metadata");
            }
            self.outline.count_aside(match members.get("isCompactSummary") {
                Some("true") => "compaction summary",
                _ => &kind,
            });
            self.find_title(&kind, &members);
            let parent = self.parent(&members);
            let id = id.as_deref().unwrap_or_default();
            let number = self.add(Kind::Aside, id, parent, text, span, place, &members);
            self.find_compaction(number, &members);
            number
        };
        self.previous = Some(number);
    }

    fn message(&mut self, line: &Line<'_>, text: &str, span: Span, place: Place) -> u32 {
        let id = line.members.text("uuid").unwrap_or_default();
        let parent = self.parent(line.members);
        let above = self.message_above(&parent);
        let first = line.message_id.as_ref().and_then(|id| self.pieces.get(id)).copied();
        let first =
            first.filter(|first| above.is_some_and(|above| above == *first || self.answers.get(&above) == Some(first)));
        if let Some(first) = first {
            self.add_calls(first, line.content);
            return self.add(Kind::Piece, &id, Parent::Node(first), text, span, place, line.members);
        }
        let (parent, of) = self.place_of(line, parent, above);
        let count = self.outline.nodes.len();
        let number = self.add(Kind::Message, &id, parent, text, span, place, line.members);
        if number as usize != count {
            // The same line was there before.
            return number;
        }
        if line.assistant {
            self.pieces.extend(line.message_id.clone().map(|id| (id, number)));
            self.add_calls(number, line.content);
        } else {
            self.find_title("prompt", line.members);
        }
        if let Some(of) = of {
            self.answers.insert(number, of);
            self.last_answer.insert(of, number);
            self.answered.extend(blocks::call_ids(line.content, true));
        }
        self.newest = Some(number);
        let flagged = |key: &str| line.members.get(key) == Some("true");
        if !flagged("isSidechain") && !flagged("isMeta") && line.members.text("teamName").is_none() {
            self.leaf = Some(number);
        }
        number
    }

    /// A border of a compaction says what was kept, the line behind it is the summary.
    fn find_compaction(&mut self, number: u32, line: &Members<'_>) {
        if line.text("subtype").as_deref() == Some("compact_boundary") {
            let metadata = Members::of(line.get("compactMetadata").unwrap_or_default().as_bytes());
            let preserved = Members::of(metadata.get("preservedMessages").unwrap_or_default().as_bytes());
            let ids = json::elements(preserved.get("uuids").unwrap_or_default());
            self.preserved = ids.into_iter().filter_map(json::text).collect();
        } else if line.get("isCompactSummary") == Some("true") {
            let kept = std::mem::take(&mut self.preserved);
            self.outline.compacted(number, message::summary(line), kept);
        }
    }

    fn add_calls(&mut self, number: u32, content: &str) {
        self.calls.extend(blocks::call_ids(content, false).into_iter().map(|id| (id, number)));
    }

    /// Where a message hangs, and the message that it answers the calls of.
    fn place_of(&self, line: &Line<'_>, parent: Parent, above: Option<u32>) -> (Parent, Option<u32>) {
        if !line.assistant && blocks::only_results(line.content) {
            let ids = blocks::call_ids(line.content, true);
            let of = ids.first().and_then(|id| self.calls.get(id)).copied();
            let fresh = ids.iter().all(|id| self.calls.get(id).copied() == of && !self.answered.contains(id));
            // An answer that stands elsewhere than below its call is left where it is.
            let below =
                of.is_some() && (above == of || above.and_then(|above| self.answers.get(&above)).copied() == of);
            if let Some(of) = of.filter(|_| fresh && below) {
                let last = self.last_answer.get(&of).copied().unwrap_or(of);
                return (Parent::Node(last), Some(of));
            }
        }
        let last = above.and_then(|above| self.answers.get(&above)).and_then(|of| self.last_answer.get(of));
        match last {
            Some(&last) if Some(last) != above => (Parent::Node(last), None),
            _ => (parent, None),
        }
    }

    fn parent(&self, members: &Members<'_>) -> Parent {
        let named = |key: &str| match members.get(key) {
            None | Some("null") => None,
            Some(raw) => Some(Parent::Id(json::text(raw).unwrap_or_else(|| raw.to_owned()).into())),
        };
        let own = named("parentUuid").or_else(|| named("logicalParentUuid"));
        match (own, members.get("uuid")) {
            (Some(parent), _) => parent,
            (None, Some(_)) => Parent::Root,
            // What stands beside the tree stands beside the line before it.
            (None, None) => self.previous.map_or(Parent::Root, Parent::Node),
        }
    }

    /// The nearest message above, as far as the file has told of it.
    fn message_above(&self, parent: &Parent) -> Option<u32> {
        let session = self.outline.sessions.len().saturating_sub(1) as u32;
        let mut at = parent;
        for _ in 0..LONGEST_WAY_UP {
            let number = match at {
                Parent::Root => return None,
                Parent::Node(number) => *number,
                Parent::Id(id) => self.outline.of_id(session, id).next()?,
            };
            let node = &self.outline.nodes[number as usize];
            if node.kind == Kind::Message {
                return Some(number);
            }
            at = &node.parent;
        }
        None
    }

    /// What can still be told of a damaged line: its place in the tree, so that what hangs below it keeps its own.
    fn damage(&mut self, bytes: &[u8], why: String, place: Place) {
        self.outline.fail(place, why);
        let members = Members::of(bytes);
        let Some(id) = members.text("uuid").filter(|id| may_be_id(id)) else { return };
        if members.get("parentUuid").is_some() {
            let parent = self.parent(&members);
            let number = self.add(Kind::Lost, &id, parent, "", Span { start: 0, len: 0 }, place, &members);
            self.previous = Some(number);
        }
    }

    fn find_title(&mut self, kind: &str, members: &Members<'_>) {
        let (weight, title) = match kind {
            "custom-title" => (Title::Chosen, members.text("customTitle")),
            "ai-title" => (Title::Made, members.text("aiTitle")),
            "summary" => (Title::Summary, members.text("summary")),
            "prompt" if self.title.0 == Title::None => (Title::FirstPrompt, message::prompt(members)),
            _ => return,
        };
        if let Some(title) = title.filter(|title| !title.trim().is_empty() && weight >= self.title.0) {
            self.title = (weight, Some(title));
        }
    }

    fn end(self, name: &str) {
        let agent = name.strip_prefix("agent-").map(str::to_owned).or(self.agent_id);
        let session = self.outline.session();
        session.leaf = self.leaf.or(self.newest);
        session.report.title = self.title.1;
        let is_agent = self.leaf.is_none() && agent.is_some();
        session.hint = match (self.session_id, is_uuid(name)) {
            (Some(of), _) if is_agent => Some(format!("{of}/agent-{}", agent.unwrap_or_default())),
            // A session that goes on from another one begins with lines of that one.
            (_, true) => Some(name.to_owned()),
            (of, false) => of,
        };
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
        let created_at = members.get("timestamp").and_then(time::of_json);
        self.outline.add(NewNode { kind, id, parent, span, place, created_at, bytes: text.as_bytes() })
    }
}

fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name
            .char_indices()
            .all(|(at, c)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() })
}
