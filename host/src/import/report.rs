//! What an import did, session by session.

use std::{collections::BTreeMap, fmt};

use serde::{Serialize, Serializer, ser::SerializeSeq};

use super::run::Stop;
use crate::ErrorKind;

/// How many problems of one kind are listed; beyond that they are counted.
const LISTED: usize = 1_000;

/// Something that went wrong, or was put right, at one place of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The place, such as `line 12` or `message 3`.
    #[serde(rename = "where")]
    pub place: String,
    /// What is wrong there, in a sentence.
    pub why: String,
}

/// Problems in the order of the input: the first thousand in words, the rest as a number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    listed: Vec<Problem>,
    total: u64,
}

impl Problems {
    pub(crate) fn add(&mut self, place: impl fmt::Display, why: impl Into<String>) {
        self.total += 1;
        if self.listed.len() < LISTED {
            self.listed.push(Problem { place: place.to_string(), why: why.into() });
        }
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The first thousand.
    pub fn listed(&self) -> &[Problem] {
        &self.listed
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// As a list; what was only counted is its last entry.
impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let more = self.total - self.listed.len() as u64;
        let mut list = serializer.serialize_seq(Some(self.listed.len() + usize::from(more > 0)))?;
        for problem in &self.listed {
            list.serialize_element(problem)?;
        }
        if more > 0 {
            let why = format!("{more} more that are not listed");
            list.serialize_element(&Problem { place: "further on".to_owned(), why })?;
        }
        list.end()
    }
}

/// What became of one session of the input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// Its id in the store.
    pub id: String,
    /// Its title in the input. A session that had no messages before is given it, as one that a program made up.
    pub title: Option<String>,
    /// How many messages were stored.
    pub imported: u64,
    /// How many were there already.
    pub skipped: u64,
    /// What could not be imported.
    pub failed: Problems,
    /// What was put right on the way: missing parents, repeated ids, damage that could be read around.
    pub notes: Problems,
    /// Records that are no messages, by type. They are kept in the metadata of the messages beside them.
    pub kept_in_metadata: BTreeMap<String, u64>,
    /// How many messages had no time of their own and were given the time of the import.
    pub without_time: u64,
    /// The message at which the conversation stood in the input.
    pub leaf: Option<String>,
    /// That message was chosen as the session's leaf. Never so for a session that had messages before.
    pub leaf_chosen: bool,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The name of the format.
    pub format: &'static str,
    /// One for each session of the input, in its order.
    pub sessions: Vec<SessionReport>,
    /// What no session could be told of.
    pub failed: Problems,
    /// Why the import ended before its end, if it did. Run again, it goes on.
    pub stopped: Option<String>,
    /// The kind of error of the store that ended it.
    #[serde(skip)]
    pub stopped_by: Option<ErrorKind>,
}

impl Report {
    pub(crate) fn stop(&mut self, stop: Stop) {
        self.stopped = Some(stop.why);
        self.stopped_by = stop.kind;
    }

    /// How many messages were stored.
    pub fn imported(&self) -> u64 {
        self.sessions.iter().map(|session| session.imported).sum()
    }

    /// How many were there already.
    pub fn skipped(&self) -> u64 {
        self.sessions.iter().map(|session| session.skipped).sum()
    }

    /// How many records could not be imported.
    pub fn failures(&self) -> u64 {
        self.failed.total + self.sessions.iter().map(|session| session.failed.total).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_million_damaged_lines_do_not_fill_the_memory() {
        let mut problems = Problems::default();
        for line in 1..=1_000_000 {
            problems.add(format_args!("line {line}"), "no JSON");
        }
        assert_eq!(problems.total(), 1_000_000);
        let json = serde_json::to_value(&problems).unwrap();
        assert_eq!(json.as_array().unwrap().len(), LISTED + 1);
        assert_eq!(json[0]["where"], "line 1");
        assert_eq!(json[LISTED]["why"], "999000 more that are not listed");
    }
}
