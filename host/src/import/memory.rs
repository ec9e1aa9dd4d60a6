//! A sink that keeps messages in memory: for trying an import out before it is stored, and for tests.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    plan::Record,
    run::{LinesTaken, Outcome, Sink, Stop},
};

/// What is looked at of a line of an export.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    session: Option<String>,
}

/// A message in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its id.
    pub id: String,
    /// The message that it answers.
    pub parent_id: Option<String>,
    /// When it was written, in ms.
    pub created_at: i64,
    /// Its JSON text.
    pub message: String,
}

#[derive(Debug, Default)]
struct Session {
    ids: HashSet<String>,
    messages: Vec<Stored>,
    leaf: Option<String>,
    title: Option<String>,
    summaries: Vec<[String; 3]>,
}

/// Sessions in memory, with the rules of the store: ids are unique in a session, parents must exist.
#[derive(Debug, Default)]
pub struct Memory {
    sessions: BTreeMap<String, Session>,
    ids_only: bool,
}

impl Memory {
    /// One that keeps no messages but their ids: enough to see what an import would do, however large it is.
    pub fn ids_only() -> Self {
        Self { ids_only: true, ..Self::default() }
    }

    /// The messages of a session, in the order in which they were stored.
    pub fn messages(&self, session: &str) -> &[Stored] {
        self.sessions.get(session).map_or(&[], |session| &session.messages)
    }

    /// The chosen leaf of a session.
    pub fn leaf(&self, session: &str) -> Option<&str> {
        self.sessions.get(session)?.leaf.as_deref()
    }

    /// The summaries of a session, each with the ids of the first and the last message that it covers.
    pub fn summaries(&self, session: &str) -> &[[String; 3]] {
        self.sessions.get(session).map_or(&[], |session| &session.summaries)
    }

    /// The title of a session.
    pub fn title(&self, session: &str) -> Option<&str> {
        self.sessions.get(session)?.title.as_deref()
    }
}

impl Session {
    fn import(&mut self, record: &Record, now: i64, ids_only: bool) -> Outcome {
        if self.ids.contains(&record.id) {
            return Outcome::Present;
        }
        let message: Value = match serde_json::from_str(&record.message) {
            Ok(message) => message,
            // A tree of values cannot hold lone surrogates and the like; the store, which keeps text, can.
            Err(_) => serde_json::json!({"role": "?", "parts": []}),
        };
        if !message["role"].is_string() || !message["parts"].is_array() {
            return Outcome::Refused("no message".to_owned());
        }
        if let Some(parent) = &record.parent_id
            && !self.ids.contains(parent)
        {
            return Outcome::Refused(format!("its parent {parent:?} is not there"));
        }
        self.ids.insert(record.id.clone());
        self.leaf = None;
        if ids_only {
            return Outcome::Imported;
        }
        self.messages.push(Stored {
            id: record.id.clone(),
            parent_id: record.parent_id.clone(),
            created_at: record.created_at.unwrap_or(now),
            message: record.message.clone(),
        });
        Outcome::Imported
    }
}

impl Sink for Memory {
    async fn is_empty(&mut self, session: &str) -> Result<bool, Stop> {
        Ok(self.sessions.get(session).is_none_or(|session| session.ids.is_empty()))
    }

    async fn store(&mut self, session: &str, batch: &[Record], now: i64) -> Result<Vec<Outcome>, Stop> {
        let ids_only = self.ids_only;
        let session = self.sessions.entry(session.to_owned()).or_default();
        let mut outcomes = Vec::with_capacity(batch.len());
        for record in batch {
            outcomes.push(session.import(record, now, ids_only));
            if matches!(outcomes.last(), Some(Outcome::Refused(_))) {
                break;
            }
        }
        Ok(outcomes)
    }

    async fn set_title(&mut self, session: &str, title: &str) -> Result<(), Stop> {
        self.sessions.entry(session.to_owned()).or_default().title = Some(title.to_owned());
        Ok(())
    }

    async fn summarise(
        &mut self,
        session: &str,
        summary: &str,
        first: &str,
        last: &str,
    ) -> Result<Option<String>, Stop> {
        let session = self.sessions.entry(session.to_owned()).or_default();
        session.summaries.push([summary, first, last].map(str::to_owned));
        Ok(None)
    }

    /// Counts the messages; whether the store would take each of them only the store can tell.
    async fn take_lines(&mut self, session: Option<&str>, lines: String) -> Result<Vec<LinesTaken>, Stop> {
        let mut taken: Vec<LinesTaken> = Vec::new();
        for (number, line) in lines.lines().enumerate() {
            let (id, outcome) = match serde_json::from_str::<Line>(line) {
                Ok(line) if line.kind == "message" => (session.map(str::to_owned).or(line.session), Ok(())),
                Ok(_) => continue,
                Err(error) => (None, Err((number as u64 + 1, error.to_string()))),
            };
            let place = match taken.iter().position(|known| known.session == id) {
                Some(place) => place,
                None => {
                    taken.push(LinesTaken { session: id, imported: 0, skipped: 0, failed: Vec::new() });
                    taken.len() - 1
                }
            };
            match outcome {
                Ok(()) => taken[place].imported += 1,
                Err(failure) => taken[place].failed.push(failure),
            }
        }
        Ok(taken)
    }

    async fn choose_leaf(&mut self, session: &str, id: &str) -> Result<(), Stop> {
        self.sessions.entry(session.to_owned()).or_default().leaf = Some(id.to_owned());
        Ok(())
    }
}
