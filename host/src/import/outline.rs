//! What the first reading finds: every record's id, parent and place, but not its content.
//!
//! A format adds records in the order of the input. Links are looked at when all are known, in `plan`.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::{BuildHasher, RandomState},
};

use sha2::{Digest, Sha256};

use super::{input::Span, report::SessionReport};

/// The longest id of a message, in bytes.
const LONGEST_ID: usize = 1_024;

/// Where in the input a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// An element of the list of messages, counted from 1.
    Message(u64),
    /// One of several conversations, counted from 1.
    Chat(u32),
    /// An element of the list of messages of one of several conversations, both counted from 1.
    InChat(u32, u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Message(message) => write!(f, "message {message}"),
            Self::Chat(chat) => write!(f, "conversation {chat}"),
            Self::InChat(chat, message) => write!(f, "conversation {chat}, message {message}"),
        }
    }
}

/// What a record is to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It becomes a message.
    Message,
    /// It becomes no message, and is kept in the metadata of one beside it.
    Aside,
    /// It is a further piece of the message above it.
    Piece,
    /// Only its place in the tree counts: it says nothing, or it could not be read.
    Lost,
}

/// What a record says about its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parent {
    /// It has none.
    Root,
    /// The record of this id, which may come later.
    Id(Box<str>),
    /// This record.
    Node(u32),
}

/// One record.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) session: u32,
    pub(crate) kind: Kind,
    pub(crate) id: Box<str>,
    pub(crate) parent: Parent,
    pub(crate) span: Span,
    pub(crate) place: Place,
    /// In ms, if the record says so.
    pub(crate) created_at: Option<i64>,
    /// Of its bytes, to tell whether two records of one id are the same.
    digest: u64,
    /// The record before this one whose id has the same hash.
    same_hash: Option<u32>,
}

/// A record as a format found it.
pub(crate) struct NewNode<'a> {
    pub(crate) kind: Kind,
    /// Empty: it has none, and nothing refers to it.
    pub(crate) id: &'a str,
    pub(crate) parent: Parent,
    pub(crate) span: Span,
    pub(crate) place: Place,
    pub(crate) created_at: Option<i64>,
    pub(crate) bytes: &'a [u8],
}

/// One session of the input.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The id that the input gives it.
    pub(crate) hint: Option<String>,
    /// The record at which the conversation stands.
    pub(crate) leaf: Option<u32>,
    /// Its report so far.
    pub(crate) report: SessionReport,
}

/// A summary that stood in the place of all that was said before it.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(crate) session: u32,
    /// The record above which it covers everything.
    pub(crate) at: u32,
    pub(crate) summary: String,
    /// The ids of records above it that it does not cover, with what comes after them.
    pub(crate) kept: Vec<String>,
}

/// All records of an input.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) nodes: Vec<Node>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) compactions: Vec<Compaction>,
    /// What no session could be told of.
    pub(crate) failed: super::report::Problems,
    /// The newest record for the hash of session and id.
    by_id: HashMap<u64, u32, RandomState>,
    /// The ids by which the records that were given a new one are referred to.
    old_ids: HashMap<u32, Box<str>>,
    /// The new ones, with their session.
    given: HashSet<(u32, Box<str>)>,
}

impl Outline {
    /// Begins a session; what is added from now on belongs to it.
    pub(crate) fn begin_session(&mut self, hint: Option<String>) -> &mut Session {
        self.sessions.push(Session { hint, ..Session::default() });
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }

    /// The session that was begun last; begun now, if none was.
    pub(crate) fn session(&mut self) -> &mut Session {
        if self.sessions.is_empty() {
            self.begin_session(None);
        }
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }

    /// The messages of the session that was begun last, each with its number.
    pub(crate) fn messages_of_last(&self) -> impl Iterator<Item = (u32, &Node)> {
        let last = self.sessions.len().saturating_sub(1) as u32;
        let nodes = self.nodes.iter().enumerate().rev();
        // Records of one session follow each other.
        let own = nodes.take_while(move |(_, node)| node.session == last);
        own.filter(|(_, node)| node.kind == Kind::Message).map(|(number, node)| (number as u32, node))
    }

    /// A record that could not be read. It counts to the session that was begun last.
    pub(crate) fn fail(&mut self, place: Place, why: impl Into<String>) {
        match self.sessions.last_mut() {
            Some(session) => session.report.failed.add(place, why),
            None => self.failed.add(place, why),
        }
    }

    /// Something that was put right.
    pub(crate) fn note(&mut self, place: impl fmt::Display, why: impl Into<String>) {
        self.session().report.notes.add(place, why);
    }

    /// At this record a summary stood in the place of all before it. A blank one says nothing.
    pub(crate) fn compacted(&mut self, at: u32, summary: Option<String>, kept: Vec<String>) {
        let session = self.sessions.len().saturating_sub(1) as u32;
        if let Some(summary) = summary.filter(|summary| !summary.trim().is_empty()) {
            self.compactions.push(Compaction { session, at, summary, kept });
        }
    }

    /// Counts a record that becomes no message.
    pub(crate) fn count_aside(&mut self, kind: &str) {
        // A file of nothing but odd types must not fill the memory.
        let counts = &mut self.session().report.kept_in_metadata;
        let kind = if counts.len() < 100 || counts.contains_key(kind) { kind } else { "(others)" };
        *counts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Adds a record. One of an id that is there already is left out if it is the same, else it gets an id of its own.
    /// Answers its number, or that of the same one.
    pub(crate) fn add(&mut self, new: NewNode<'_>) -> u32 {
        self.session();
        let session = (self.sessions.len() - 1) as u32;
        let digest = self.by_id.hasher().hash_one(new.bytes);
        let mut id: Box<str> = new.id.into();
        let number = self.nodes.len() as u32;
        if !new.id.is_empty() {
            let known: Vec<u32> = self.of_id(session, new.id).collect();
            if new.kind == Kind::Lost && !known.is_empty() {
                // What can be read of that id counts more than what cannot.
                return known[0];
            }
            let same = known.iter().copied().find(|&other| {
                let other = &self.nodes[other as usize];
                other.kind == new.kind && other.digest == digest && other.span.len == new.span.len
            });
            if let Some(same) = same {
                let of = self.nodes[same as usize].place;
                self.note(new.place, format!("the same record as {of}"));
                return same;
            }
            let taken = known.iter().any(|&other| self.nodes[other as usize].kind != Kind::Lost)
                || self.given.contains(&(session, id.clone()));
            if taken {
                let fresh = self.fresh(session, new.id);
                if new.kind == Kind::Message {
                    self.note(new.place, format!("another message has the id {:?}: this one became {fresh:?}", new.id));
                }
                self.old_ids.insert(number, id);
                id = fresh.into();
                self.given.insert((session, id.clone()));
            }
        }
        let same_hash = if new.id.is_empty() { None } else { self.by_id.insert(self.hash(session, new.id), number) };
        self.nodes.push(Node {
            session,
            kind: new.kind,
            id,
            parent: new.parent,
            span: new.span,
            place: new.place,
            created_at: new.created_at,
            digest,
            same_hash,
        });
        number
    }

    /// The records that are referred to by this id in this session, the newest first.
    pub(crate) fn of_id<'a>(&'a self, session: u32, id: &'a str) -> impl Iterator<Item = u32> + 'a {
        let mut next = self.by_id.get(&self.hash(session, id)).copied();
        std::iter::from_fn(move || {
            loop {
                let number = next?;
                let node = &self.nodes[number as usize];
                next = node.same_hash;
                let key = self.old_ids.get(&number).unwrap_or(&node.id);
                if node.session == session && **key == *id {
                    return Some(number);
                }
            }
        })
    }

    fn hash(&self, session: u32, id: &str) -> u64 {
        self.by_id.hasher().hash_one((session, id))
    }

    /// An id for the next record of an id that is taken: the same at every import of the same records.
    fn fresh(&self, session: u32, id: &str) -> String {
        let mut count = 2;
        loop {
            let fresh = format!("{id}~{count}");
            if self.of_id(session, &fresh).next().is_none() && !self.given.contains(&(session, fresh.as_str().into())) {
                return fresh;
            }
            count += 1;
        }
    }
}

/// Whether the store takes this as the id of a message.
pub(crate) fn may_be_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST_ID && !id.starts_with("compaction_")
}

/// The id of a message that has none: made from its parent's and its own text, so that it is the same at every import
/// and two equal messages of one conversation still differ.
pub(crate) fn derived_id(parent: &str, text: &[u8]) -> String {
    use std::fmt::Write as _;

    let mut hasher = Sha256::new();
    hasher.update(parent.as_bytes());
    // No id of UTF-8 holds this byte: parent and text cannot run into each other.
    hasher.update([0xff]);
    hasher.update(text);
    let mut id = "imported-".to_owned();
    for byte in &hasher.finalize()[..12] {
        // Writing to a string does not fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(outline: &mut Outline, kind: Kind, id: &str, text: &str) -> u32 {
        let number = outline.nodes.len() as u64 + 1;
        outline.add(NewNode {
            kind,
            id,
            parent: Parent::Root,
            span: Span { start: 0, len: text.len() as u64 },
            place: Place::Line(number),
            created_at: None,
            bytes: text.as_bytes(),
        })
    }

    #[test]
    fn a_repeated_record_is_left_out_and_another_of_its_id_gets_a_new_one() {
        let mut outline = Outline::default();
        assert_eq!(add(&mut outline, Kind::Message, "a", "one"), 0);
        assert_eq!(add(&mut outline, Kind::Message, "a", "one"), 0);
        assert_eq!(add(&mut outline, Kind::Message, "a", "two"), 1);
        assert_eq!(add(&mut outline, Kind::Message, "a", "two"), 1);
        assert_eq!(add(&mut outline, Kind::Message, "a", "three"), 2);
        let ids: Vec<_> = outline.nodes.iter().map(|node| &*node.id).collect();
        assert_eq!(ids, ["a", "a~2", "a~3"]);
        assert_eq!(outline.of_id(0, "a").collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(outline.session().report.notes.total(), 4);
    }

    #[test]
    fn an_id_that_looks_like_a_new_one_is_respected() {
        let mut outline = Outline::default();
        add(&mut outline, Kind::Message, "a~2", "zero");
        add(&mut outline, Kind::Message, "a", "one");
        add(&mut outline, Kind::Message, "a", "two");
        let ids: Vec<_> = outline.nodes.iter().map(|node| &*node.id).collect();
        assert_eq!(ids, ["a~2", "a", "a~3"]);
        add(&mut outline, Kind::Message, "a~3", "three");
        assert_eq!(&*outline.nodes[3].id, "a~3~2");
    }

    #[test]
    fn equal_ids_of_two_sessions_are_two_messages() {
        let mut outline = Outline::default();
        add(&mut outline, Kind::Message, "a", "one");
        outline.begin_session(Some("other".to_owned()));
        assert_eq!(add(&mut outline, Kind::Message, "a", "one"), 1);
        assert_eq!(outline.of_id(1, "a").collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_derived_id_is_stable() {
        assert_eq!(derived_id("", b"{}"), "imported-88c33a076d6c13228dc93728");
        assert_ne!(derived_id("a", b"b"), derived_id("", b"ab"));
    }
}
