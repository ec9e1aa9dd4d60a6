//! A store in memory, as the contract describes one.
//!
//! A message is a record in a vector with the number of its parent; a path is found by walking it, a delete moves
//! children one by one, a sum is added up. Nothing here is clever, so that it is right.

mod read;
mod text;
mod units;
mod write;

use std::collections::{HashMap, HashSet};

use talktree_engine::message::{self, Incoming};
use talktree_engine::{
    AutoCompact, ConfigScope, Configuration, ConfigurationChange, Kind, MediaMode, Message, Setting,
};

pub use read::{Cursor, RowCursor, Walk};
pub use text::{Media, Metadata, Part, Payload, Text};
pub use write::Sent;

/// What a call of the model answers.
pub type Answer<T> = Result<T, Kind>;

/// The time of a message of which only the store knows when it was written.
pub const UNKNOWN_TIME: i64 = i64::MIN;

/// A message's number, never used again, whatever its id.
type Number = u64;

/// A store.
#[derive(Debug, Default, Clone)]
pub struct Model {
    sessions: HashMap<String, Session>,
    defaults: ConfigurationChange,
    numbers: Number,
}

#[derive(Debug, Default, Clone)]
struct Session {
    /// By seq.
    messages: Vec<Record>,
    last_seq: u32,
    chosen: Option<Number>,
    settings: ConfigurationChange,
}

#[derive(Debug, Clone)]
struct Record {
    number: Number,
    parent: Option<Number>,
    seq: u32,
    created_at: i64,
    text: Text,
    json: String,
    token_estimate: u32,
}

impl Session {
    fn find(&self, id: &str) -> Option<&Record> {
        self.messages.iter().find(|record| record.text.id == id)
    }

    fn record(&self, number: Number) -> Option<&Record> {
        self.messages.iter().find(|record| record.number == number)
    }

    fn id_of(&self, number: Option<Number>) -> Option<String> {
        Some(self.record(number?)?.text.id.clone())
    }

    fn present_leaf(&self) -> Option<&Record> {
        match self.chosen {
            Some(chosen) => self.record(chosen),
            None => self.messages.last(),
        }
    }

    fn children(&self, parent: Option<Number>) -> Vec<&Record> {
        self.messages.iter().filter(|record| record.parent == parent).collect()
    }

    fn as_read(&self, record: &Record, mode: MediaMode) -> Message {
        let (json, media) = match mode {
            MediaMode::Inline => (record.json.clone(), Vec::new()),
            MediaMode::Reference => record.text.by_reference(),
        };
        Message {
            id: record.text.id.clone(),
            role: record.text.role.clone(),
            parent_id: self.id_of(record.parent),
            seq: record.seq,
            created_at: record.created_at,
            bytes: json.len() as u64,
            token_estimate: record.token_estimate,
            json,
            media,
        }
    }
}

impl Record {
    fn new(number: Number, parent: Option<Number>, seq: u32, created_at: i64, text: Text) -> Self {
        let json = text.compact();
        let token_estimate = estimate(&json);
        Self { number, parent, seq, created_at, text, json, token_estimate }
    }

    fn rewrite(&mut self, text: Text) {
        self.json = text.compact();
        self.token_estimate = estimate(&self.json);
        self.text = text;
    }

    fn preview(&self) -> String {
        // What stands for a message without text is the preview's own matter.
        self.text.preview().unwrap_or_else(|| message::preview(&self.json, 120))
    }
}

/// The estimator has tests of its own; here it is only asked.
fn estimate(json: &str) -> u32 {
    Incoming::parse(json).map_or(0, |message| message.derived().tokens)
}

impl Model {
    fn session(&self, id: &str) -> Answer<Option<&Session>> {
        valid_session(id)?;
        Ok(self.sessions.get(id))
    }

    /// Ids of the messages of a session, by seq.
    pub fn ids(&self, session: &str) -> Vec<String> {
        let messages = self.sessions.get(session).map_or(&[][..], |session| &session.messages);
        messages.iter().map(|record| record.text.id.clone()).collect()
    }

    /// Ids of the messages that nothing answers, by seq.
    pub fn tips(&self, session: &str) -> Vec<String> {
        let Some(session) = self.sessions.get(session) else { return Vec::new() };
        let tip = |record: &&Record| session.children(Some(record.number)).is_empty();
        session.messages.iter().filter(tip).map(|record| record.text.id.clone()).collect()
    }

    /// The stored message of an id.
    pub fn text(&self, session: &str, id: &str) -> Option<Text> {
        Some(self.sessions.get(session)?.find(id)?.text.clone())
    }

    /// Messages and sessions, bytes of messages without payloads, bytes of distinct payloads, and the sizes of the
    /// largest messages above 64 KiB.
    pub fn stats(&self) -> (u64, u64, u64, u64, Vec<u64>) {
        let records = || self.sessions.values().flat_map(|session| &session.messages);
        let payloads: HashSet<Payload> = records().flat_map(|record| record.text.payloads()).collect();
        let mut largest: Vec<u64> = records().map(|record| record.json.len() as u64).collect();
        largest.retain(|&bytes| bytes > 65_536);
        largest.sort_unstable_by(|a, b| b.cmp(a));
        largest.truncate(10);
        (
            records().count() as u64,
            self.sessions.len() as u64,
            records().map(|record| record.json.len() as u64 - record.text.outside()).sum(),
            payloads.iter().map(|payload| payload.bytes().len() as u64).sum(),
            largest,
        )
    }

    /// Takes note of when the store says that it wrote a message; from then on it has to say the same.
    pub fn learn_time(&mut self, session: &str, seq: u32, created_at: i64) {
        let messages = self.sessions.get_mut(session).map(|session| &mut session.messages);
        let record = messages.and_then(|messages| messages.iter_mut().find(|record| record.seq == seq));
        if let Some(record) = record.filter(|record| record.created_at == UNKNOWN_TIME) {
            record.created_at = created_at;
        }
    }

    /// Changes a configuration and answers what is in force.
    pub fn configure(&mut self, scope: &ConfigScope, change: &ConfigurationChange) -> Answer<Configuration> {
        if let ConfigScope::Session(id) = scope {
            valid_session(id)?;
        }
        valid_change(change)?;
        if *change == ConfigurationChange::default() {
            return Ok(self.configuration(scope));
        }
        let settings = match scope {
            ConfigScope::Store => &mut self.defaults,
            ConfigScope::Session(id) => &mut self.sessions.entry(id.clone()).or_default().settings,
        };
        merge(&mut settings.compact_after, &change.compact_after);
        merge(&mut settings.keep_recent_tokens, &change.keep_recent_tokens);
        merge(&mut settings.protect_head, &change.protect_head);
        merge(&mut settings.min_tail, &change.min_tail);
        merge(&mut settings.max_prompt_tokens, &change.max_prompt_tokens);
        merge(&mut settings.token_factor, &change.token_factor);
        merge(&mut settings.auto_compact, &change.auto_compact);
        merge(&mut settings.reserved_metadata_keys, &change.reserved_metadata_keys);
        Ok(self.configuration(scope))
    }

    fn configuration(&self, scope: &ConfigScope) -> Configuration {
        let none = ConfigurationChange::default();
        let (own, reserved) = match scope {
            ConfigScope::Store => (&none, self.reserved(None)),
            ConfigScope::Session(id) => {
                let session = self.sessions.get(id);
                (session.map_or(&none, |session| &session.settings), self.reserved(session))
            }
        };
        let all = &self.defaults;
        Configuration {
            compact_after: in_force(&own.compact_after, &all.compact_after),
            keep_recent_tokens: in_force(&own.keep_recent_tokens, &all.keep_recent_tokens).unwrap_or(20_000),
            protect_head: in_force(&own.protect_head, &all.protect_head).unwrap_or(3),
            min_tail: in_force(&own.min_tail, &all.min_tail).unwrap_or(2),
            max_prompt_tokens: in_force(&own.max_prompt_tokens, &all.max_prompt_tokens).unwrap_or(100_000),
            token_factor: in_force(&own.token_factor, &all.token_factor).unwrap_or(1.0),
            auto_compact: in_force(&own.auto_compact, &all.auto_compact).unwrap_or(AutoCompact::Host),
            reserved_metadata_keys: reserved,
        }
    }

    /// The reserved keys of the store and of a session together.
    fn reserved(&self, session: Option<&Session>) -> Vec<String> {
        let settings = [Some(&self.defaults), session.map(|session| &session.settings)];
        let mut keys = Vec::new();
        for settings in settings.into_iter().flatten() {
            if let Setting::Value(own) = &settings.reserved_metadata_keys {
                keys.extend(own.iter().cloned());
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

fn valid_session(id: &str) -> Answer<()> {
    if id.len() > 1024 { Err(Kind::InvalidArgument) } else { Ok(()) }
}

fn valid_change(change: &ConfigurationChange) -> Answer<()> {
    let no_factor =
        matches!(change.token_factor, Setting::Value(factor) if factor.is_nan() || factor <= 0.0 || factor > 100.0);
    let no_number = change.compact_after == Setting::Value(0) || change.max_prompt_tokens == Setting::Value(0);
    let no_keys = match &change.reserved_metadata_keys {
        Setting::Value(keys) => keys.len() > 100 || keys.iter().any(|key| key.is_empty() || key.len() > 256),
        _ => false,
    };
    if no_factor || no_number || no_keys { Err(Kind::InvalidArgument) } else { Ok(()) }
}

fn merge<T: Clone>(present: &mut Setting<T>, change: &Setting<T>) {
    match change {
        Setting::Keep => {}
        Setting::Reset => *present = Setting::Keep,
        Setting::Value(value) => *present = Setting::Value(value.clone()),
    }
}

fn in_force<T: Clone>(own: &Setting<T>, all: &Setting<T>) -> Option<T> {
    match (own, all) {
        (Setting::Value(value), _) | (_, Setting::Value(value)) => Some(value.clone()),
        _ => None,
    }
}
