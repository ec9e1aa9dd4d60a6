//! From the records of an input to messages in an order in which every parent comes before its children.

use std::collections::{HashMap, HashSet};

use super::{
    format::Rules,
    input::{Input, Phase, Span},
    json,
    outline::{Compaction, Kind, Outline, Parent, Place},
};

/// A message, ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which session of the input: an index.
    pub session: usize,
    /// The id of the message.
    pub id: String,
    /// The id of the message that it answers; none: a root.
    pub parent_id: Option<String>,
    /// When it was written, in ms, if the input says so.
    pub created_at: Option<i64>,
    /// Where it was found, in words.
    pub place: String,
    /// The message as JSON text.
    pub message: String,
    /// Its number in the outline.
    pub(crate) node: u32,
}

/// The texts that one message is made of.
pub(crate) struct Sources<'a> {
    /// The id under which it is stored.
    pub(crate) id: &'a str,
    /// The record itself.
    pub(crate) record: &'a str,
    /// Records beside it that become no messages: those between its parent and itself.
    pub(crate) before: Vec<String>,
    /// The same, behind it, where no message follows.
    pub(crate) after: Vec<String>,
    /// Its further pieces.
    pub(crate) more: Vec<String>,
}

#[derive(Debug, Default)]
struct Asides {
    before: Vec<u32>,
    after: Vec<u32>,
    more: Vec<u32>,
}

/// An input whose records are known and linked.
pub(crate) struct Plan {
    pub(crate) outline: Outline,
    rules: &'static dyn Rules,
    input: Input,
    /// For each record the nearest message above it.
    above: Vec<Option<u32>>,
    /// The messages, parents first, else in the order of the input.
    order: Vec<u32>,
    next: usize,
    put_back: Option<Record>,
    asides: HashMap<u32, Asides>,
    /// Messages that are not in the store: they could not be read, or the store refused them.
    missing: Vec<bool>,
    read: u64,
}

impl Plan {
    /// Reads the input a first time.
    pub(crate) fn new(rules: &'static dyn Rules, mut input: Input) -> std::io::Result<Self> {
        let mut outline = Outline::default();
        input.seek(0)?;
        rules.survey(&mut input, &mut outline)?;
        input.tell(Phase::Reading, input.len());
        let mut parents = resolve(&mut outline);
        break_cycles(&mut outline, &mut parents);
        let above = nearest_messages(&outline, &parents);
        let order = parents_first(&outline, &above);
        let asides = place_asides(&mut outline, &parents, &above, &order);
        let missing = vec![false; outline.nodes.len()];
        Ok(Self { outline, rules, input, above, order, next: 0, put_back: None, asides, missing, read: 0 })
    }

    /// The next message; none: that was all. One that cannot be made is in the report, and passed over.
    pub(crate) fn advance(&mut self) -> std::io::Result<Option<Record>> {
        if let Some(record) = self.put_back.take() {
            return Ok(Some(record));
        }
        while let Some(&number) = self.order.get(self.next) {
            self.next += 1;
            match self.make(number)? {
                Ok(message) => {
                    let node = &self.outline.nodes[number as usize];
                    return Ok(Some(Record {
                        session: node.session as usize,
                        id: node.id.to_string(),
                        parent_id: self.parent_id(number),
                        created_at: node.created_at,
                        place: node.place.to_string(),
                        message,
                        node: number,
                    }));
                }
                Err(why) => self.refused(number, &why),
            }
        }
        self.input.tell(Phase::Storing, self.input.len());
        Ok(None)
    }

    /// The session of the next message.
    pub(crate) fn next_session(&self) -> Option<usize> {
        let next = match &self.put_back {
            Some(record) => return Some(record.session),
            None => *self.order.get(self.next)?,
        };
        Some(self.outline.nodes[next as usize].session as usize)
    }

    /// Gives a message back: it is the next one again.
    pub(crate) fn put_back(&mut self, record: Record) {
        self.put_back = Some(record);
    }

    /// The nearest message above it that is not missing.
    pub(crate) fn parent_id(&self, number: u32) -> Option<String> {
        let mut above = self.above[number as usize];
        while let Some(parent) = above {
            if !self.missing[parent as usize] {
                return Some(self.outline.nodes[parent as usize].id.to_string());
            }
            above = self.above[parent as usize];
        }
        None
    }

    /// That this message is not in the store, and why. Its children go to the nearest message above it.
    pub(crate) fn refused(&mut self, number: u32, why: &str) {
        self.missing[number as usize] = true;
        let node = &self.outline.nodes[number as usize];
        self.outline.sessions[node.session as usize].report.failed.add(node.place, why);
    }

    /// The message at which a session stands in the input, or the nearest above it that is not missing.
    pub(crate) fn leaf(&self, session: usize) -> Option<String> {
        let leaf = self.outline.sessions[session].leaf?;
        let node = &self.outline.nodes[leaf as usize];
        if node.kind == Kind::Message && !self.missing[leaf as usize] {
            return Some(node.id.to_string());
        }
        self.parent_id(leaf)
    }

    /// The summaries of a session, each with the first and the last message that it covers.
    pub(crate) fn compactions(&self, session: usize) -> Vec<(String, String, String)> {
        let own = self.outline.compactions.iter().filter(|compaction| compaction.session as usize == session);
        own.filter_map(|compaction| {
            let (first, last) = self.covered(compaction)?;
            let id = |number: u32| self.outline.nodes[number as usize].id.to_string();
            Some((compaction.summary.clone(), id(first), id(last)))
        })
        .collect()
    }

    fn covered(&self, compaction: &Compaction) -> Option<(u32, u32)> {
        let is_message = |number: u32| self.outline.nodes[number as usize].kind == Kind::Message;
        let kept = compaction.kept.iter().filter_map(|id| {
            let found = self.outline.of_id(compaction.session, id).next()?;
            if is_message(found) { Some(found) } else { self.above[found as usize] }
        });
        let kept: HashSet<u32> = kept.collect();
        let mut covered = None;
        let mut at = if is_message(compaction.at) { Some(compaction.at) } else { self.above[compaction.at as usize] };
        while let Some(number) = at {
            if kept.contains(&number) {
                covered = None;
            } else if !self.missing[number as usize] {
                covered = Some((number, covered.map_or(number, |(_, last)| last)));
            }
            at = self.above[number as usize];
        }
        covered
    }

    fn make(&mut self, number: u32) -> std::io::Result<Result<String, String>> {
        let (span, id) = {
            let node = &self.outline.nodes[number as usize];
            (node.span, node.id.to_string())
        };
        let asides = self.asides.remove(&number).unwrap_or_default();
        let before = self.texts(&asides.before)?;
        let after = self.texts(&asides.after)?;
        let more = self.texts(&asides.more)?;
        let bytes = self.input.read(span)?;
        self.read += span.len;
        self.input.tell(Phase::Storing, self.read);
        Ok(match json::valid(&bytes) {
            Ok(record) => self.rules.message(&Sources { id: &id, record, before, after, more }),
            Err(_) => Err("the input changed while it was read".to_owned()),
        })
    }

    fn texts(&mut self, numbers: &[u32]) -> std::io::Result<Vec<String>> {
        let spans: Vec<Span> = numbers.iter().map(|&number| self.outline.nodes[number as usize].span).collect();
        let mut texts = Vec::with_capacity(spans.len());
        for span in spans {
            self.read += span.len;
            // What has become unreadable since the first reading is left out; the message itself will tell.
            if let Ok(text) = String::from_utf8(self.input.read(span)?) {
                texts.push(text);
            }
        }
        Ok(texts)
    }
}

/// Finds the record that each one names as its parent. Of several with that id the nearest before it counts, else the
/// first behind it.
fn resolve(outline: &mut Outline) -> Vec<Option<u32>> {
    let mut parents = Vec::with_capacity(outline.nodes.len());
    for number in 0..outline.nodes.len() as u32 {
        let node = &outline.nodes[number as usize];
        let parent = match &node.parent {
            Parent::Root => None,
            Parent::Node(parent) => Some(*parent),
            Parent::Id(id) => {
                let mut behind = None;
                let before = outline.of_id(node.session, id).find(|&other| {
                    if other >= number {
                        behind = Some(other);
                    }
                    other < number
                });
                before.or(behind)
            }
        };
        let missing = match (&node.parent, parent) {
            (Parent::Id(id), None) => Some(id.clone()),
            _ => None,
        };
        if let Some(id) = missing {
            let (session, place, root) = (node.session, node.place, node.kind == Kind::Message);
            let now = if root { ": it became a root" } else { "" };
            let why = format!("its parent {id:?} is not in the input{now}");
            outline.sessions[session as usize].report.notes.add(place, why);
        }
        parents.push(parent);
    }
    parents
}

/// Cuts every cycle at its first record in the input, which is the one that names a parent behind it.
fn break_cycles(outline: &mut Outline, parents: &mut [Option<u32>]) {
    /// Not yet seen, on the present walk (its number), or known to lead to a root.
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Now,
        Sound,
    }
    let mut seen = vec![Seen::No; parents.len()];
    for start in 0..parents.len() {
        let mut walk = Vec::new();
        let mut at = Some(start as u32);
        while let Some(number) = at {
            match seen[number as usize] {
                Seen::Sound => break,
                Seen::No => {
                    seen[number as usize] = Seen::Now;
                    walk.push(number);
                    at = parents[number as usize];
                }
                Seen::Now => {
                    let cycle = walk.iter().skip_while(|&&other| other != number);
                    let first = cycle.min().copied().unwrap_or(number);
                    parents[first as usize] = None;
                    let node = &outline.nodes[first as usize];
                    let (session, place) = (node.session, node.place);
                    let why = "its parent is below it: the cycle was cut here, and it became a root";
                    outline.sessions[session as usize].report.notes.add(place, why);
                    break;
                }
            }
        }
        for number in walk {
            seen[number as usize] = Seen::Sound;
        }
    }
}

/// For each record the nearest message above it.
fn nearest_messages(outline: &Outline, parents: &[Option<u32>]) -> Vec<Option<u32>> {
    let mut above: Vec<Option<Option<u32>>> = vec![None; parents.len()];
    let mut walk = Vec::new();
    for start in 0..parents.len() as u32 {
        let mut at = start;
        let mut found = loop {
            if let Some(known) = above[at as usize] {
                break known;
            }
            walk.push(at);
            match parents[at as usize] {
                None => break None,
                Some(parent)
                    if outline.nodes[parent as usize].kind == Kind::Message && above[parent as usize].is_some() =>
                {
                    break Some(parent);
                }
                Some(parent) => at = parent,
            }
        };
        while let Some(number) = walk.pop() {
            // What was found is the answer for the topmost of the walk; a message answers for all below it.
            above[number as usize] = Some(found);
            if outline.nodes[number as usize].kind == Kind::Message {
                found = Some(number);
            }
        }
    }
    above.into_iter().map(Option::flatten).collect()
}

fn parents_first(outline: &Outline, above: &[Option<u32>]) -> Vec<u32> {
    let mut order = Vec::with_capacity(above.len());
    let mut done = vec![false; above.len()];
    let mut waiting: HashMap<u32, Vec<u32>> = HashMap::new();
    for number in 0..above.len() as u32 {
        if outline.nodes[number as usize].kind != Kind::Message {
            continue;
        }
        match above[number as usize] {
            Some(parent) if !done[parent as usize] => waiting.entry(parent).or_default().push(number),
            _ => {
                let mut ready = vec![number];
                while let Some(next) = ready.pop() {
                    done[next as usize] = true;
                    order.push(next);
                    if let Some(children) = waiting.remove(&next) {
                        ready.extend(children.into_iter().rev());
                    }
                }
            }
        }
    }
    order
}

/// Gives every record that becomes no message of its own to one: a piece to the message above it, any other to
/// the first message below it, else the nearest above it, else the first of its session.
fn place_asides(
    outline: &mut Outline,
    parents: &[Option<u32>],
    above: &[Option<u32>],
    order: &[u32],
) -> HashMap<u32, Asides> {
    let mut asides: HashMap<u32, Asides> = HashMap::new();
    let mut placed = vec![false; outline.nodes.len()];
    let mut first_of_session: HashMap<u32, u32> = HashMap::new();
    for &message in order {
        first_of_session.entry(outline.nodes[message as usize].session).or_insert(message);
        let mut found = Vec::new();
        let mut at = parents[message as usize];
        while let Some(number) = at {
            let kind = outline.nodes[number as usize].kind;
            if kind == Kind::Message || placed[number as usize] {
                break;
            }
            placed[number as usize] = true;
            if kind == Kind::Aside {
                found.push(number);
            }
            at = parents[number as usize];
        }
        if !found.is_empty() {
            found.reverse();
            asides.entry(message).or_default().before = found;
        }
    }
    let mut heads: HashMap<u32, Vec<u32>> = HashMap::new();
    for number in 0..outline.nodes.len() as u32 {
        let node = &outline.nodes[number as usize];
        if let (Kind::Piece, Some(message)) = (node.kind, above[number as usize]) {
            asides.entry(message).or_default().more.push(number);
        }
        if node.kind != Kind::Aside || placed[number as usize] {
            continue;
        }
        if let Some(message) = above[number as usize] {
            asides.entry(message).or_default().after.push(number);
        } else if let Some(&message) = first_of_session.get(&node.session) {
            heads.entry(message).or_default().push(number);
        } else {
            let (session, place): (u32, Place) = (node.session, node.place);
            // The same holds for all others of a session without messages: one note is enough.
            let report = &mut outline.sessions[session as usize].report;
            if !report.kept_in_metadata.is_empty() {
                report.kept_in_metadata.clear();
                report.notes.add(place, "there is no message in whose metadata this, and what follows, could be kept");
            }
        }
    }
    for (message, mut head) in heads {
        let before = &mut asides.entry(message).or_default().before;
        head.append(before);
        *before = head;
    }
    asides
}
