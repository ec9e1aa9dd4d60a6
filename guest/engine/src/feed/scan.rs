//! Finding events by their numbers: in the table of those that were written down, and on the rows of messages.
//!
//! Both are read in order and in bounded steps. Messages of a stretch of numbers are found by the runs of writing: all
//! that were appended or imported between the events of two runs lie together on one chain, in order.

use std::collections::BTreeSet;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{OptionalExtension, params};

use crate::chain::damaged;
use crate::error::Result;
use crate::feed::ids;
use crate::feed::record::KINDS;
use crate::key::Key;
use crate::number::Number;
use crate::session::validate_id;
use crate::store::Tx;
use crate::types::{ChangeOptions, EventKind};

/// Rows that one call looks at in either place, however few of them it is asked for.
const MAX_ROWS: usize = 5_000;

/// An event as it was found, without what it is about.
pub(super) struct Entry {
    pub(super) number: i64,
    pub(super) kind: EventKind,
    pub(super) session: About,
    /// The row of the message that was appended, imported or updated.
    pub(super) message: Option<Key>,
    ids: Value,
}

/// Which session an event is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum About {
    /// One that has, or had, this key.
    Key(i64),
    /// One that was not there.
    Id(String),
}

/// Events in order, and up to which number they are all that are wanted.
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    pub(super) to: i64,
}

/// Which events are wanted.
pub(super) struct Filter {
    sessions: Option<Sessions>,
    kinds: Vec<EventKind>,
}

/// A session under its present key and those that it had before it was deleted.
struct Sessions {
    id: String,
    keys: BTreeSet<i64>,
}

impl Filter {
    pub(super) fn new(tx: &Tx<'_>, options: &ChangeOptions) -> Result<Self> {
        let sessions = match &options.session {
            None => None,
            Some(id) => {
                validate_id(id)?;
                let mut keys = tx.statement(
                    "SELECT key FROM session WHERE id = ?1 UNION ALL SELECT session FROM gone WHERE id = ?1",
                )?;
                let keys = keys.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
                Some(Sessions { id: id.clone(), keys })
            }
        };
        Ok(Self { sessions, kinds: options.kinds.clone() })
    }

    fn wants_kind(&self, kind: EventKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    fn wants_key(&self, key: i64) -> bool {
        self.sessions.as_ref().is_none_or(|sessions| sessions.keys.contains(&key))
    }

    fn wants(&self, about: &About) -> bool {
        match about {
            About::Key(key) => self.wants_key(*key),
            About::Id(id) => self.sessions.as_ref().is_none_or(|sessions| sessions.id == *id),
        }
    }
}

impl Entry {
    /// The ids that it is about.
    pub(super) fn ids(&self, tx: &Tx<'_>) -> Result<Vec<String>> {
        let list = match &self.ids {
            Value::Text(id) => return Ok(vec![id.clone()]),
            Value::Blob(list) if list.is_empty() => &tx.pieces_of_ids(self.number)?,
            Value::Blob(list) => list,
            _ => return Ok(Vec::new()),
        };
        ids::decode(list).ok_or_else(|| damaged(format!("the ids of event {} cannot be read", self.number)))
    }
}

impl Tx<'_> {
    /// Events behind a number that were written down.
    pub(super) fn entries_after(&self, filter: &Filter, after: i64, limit: usize) -> Result<Found> {
        let mut statement = self.statement(
            "SELECT number, kind, session, message, ids FROM event WHERE number > ?1 ORDER BY number LIMIT ?2",
        )?;
        let mut rows = statement.query(params![after, MAX_ROWS as i64])?;
        let mut found = Found { entries: Vec::new(), to: i64::MAX };
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let Number(number) = row.get(0)?;
            let kind = usize::try_from(row.get::<_, i64>(1)?).ok().and_then(|code| KINDS.get(code).copied());
            let kind = kind.ok_or_else(|| damaged(format!("event {number} is of no kind")))?;
            let session = match row.get_ref(2)? {
                ValueRef::Integer(key) => About::Key(key),
                other => About::Id(other.as_str().map_err(rusqlite::Error::from)?.to_owned()),
            };
            if filter.wants_kind(kind) && filter.wants(&session) {
                found.entries.push(Entry { number, kind, session, message: row.get(3)?, ids: row.get(4)? });
            }
            seen += 1;
            if found.entries.len() == limit || seen == MAX_ROWS {
                found.to = number;
                break;
            }
        }
        Ok(found)
    }

    /// Appends and imports behind a number whose messages are there.
    pub(super) fn messages_after(&self, filter: &Filter, after: i64, limit: usize) -> Result<Found> {
        let mut found = Found { entries: Vec::new(), to: i64::MAX };
        if !filter.wants_kind(EventKind::Appended) && !filter.wants_kind(EventKind::Imported) {
            return Ok(found);
        }
        let mut runs = self.statement(
            "SELECT event, session, seq, chain FROM run
             WHERE event >= coalesce((SELECT event FROM run WHERE event <= ?1 ORDER BY event DESC LIMIT 1), 0)
             ORDER BY event",
        )?;
        let mut runs = runs.query_map([after], |row| {
            Ok(Run {
                event: row.get::<_, Number>(0)?.0,
                session: row.get(1)?,
                first: Key::new(row.get(3)?, row.get(2)?),
            })
        })?;
        let mut seen = 0;
        let mut next = runs.next().transpose()?;
        while let Some(run) = next {
            next = runs.next().transpose()?;
            if !filter.wants_key(run.session) {
                seen += 1;
                if seen >= MAX_ROWS
                    && let Some(next) = &next
                {
                    found.to = next.event - 1;
                    return Ok(found);
                }
                continue;
            }
            let end = next.as_ref().map_or(i64::MAX, |next| next.event);
            if self.messages_of_run(filter, &run, after..end, limit, &mut seen, &mut found)? {
                return Ok(found);
            }
        }
        Ok(found)
    }

    /// The messages of one run whose events are behind a number. True: that is as far as this call goes.
    fn messages_of_run(
        &self,
        filter: &Filter,
        run: &Run,
        events: std::ops::Range<i64>,
        limit: usize,
        seen: &mut usize,
        found: &mut Found,
    ) -> Result<bool> {
        *seen += 1;
        let first = if run.event > events.start { Some(run.first) } else { self.first_behind(run, events.start)? };
        let Some(first) = first else { return Ok(false) };
        let mut statement =
            self.statement("SELECT event, imported, key, id FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key")?;
        let mut rows = statement.query(params![first, Key::end(first.chain())])?;
        while let Some(row) = rows.next()? {
            let Number(number) = row.get(0)?;
            if number >= events.end {
                break;
            }
            let kind = match row.get(1)? {
                0 => Some(EventKind::Appended),
                1 => Some(EventKind::Imported),
                // A copy that a fork made.
                _ => None,
            };
            if let Some(kind) = kind.filter(|&kind| filter.wants_kind(kind)) {
                let ids = Value::Text(row.get(3)?);
                let session = About::Key(run.session);
                found.entries.push(Entry { number, kind, session, message: Some(row.get(2)?), ids });
            }
            *seen += 1;
            if found.entries.len() == limit || *seen >= MAX_ROWS {
                found.to = number;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first message of a run's chain whose event is behind a number, found by halves: events rise with the seq.
    fn first_behind(&self, run: &Run, event: i64) -> Result<Option<Key>> {
        let chain = run.first.chain();
        let mut statement =
            self.statement("SELECT key, event FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT 1")?;
        let mut first_from = |seq: u32| -> Result<Option<(Key, i64)>> {
            Ok(statement
                .query_row(params![Key::new(chain, seq), Key::end(chain)], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?)
        };
        let Some(last) = self.last_in_chain(Key::end(chain))? else { return Ok(None) };
        // What is before `from` is not behind the event; `best` is.
        let (mut from, mut to, mut best) = (run.first.seq(), last.seq(), None);
        while from <= to {
            let middle = from + (to - from) / 2;
            match first_from(middle)? {
                Some((key, number)) if number <= event => match key.seq().checked_add(1) {
                    Some(behind) => from = behind,
                    // Nothing is behind the last number that there is.
                    None => break,
                },
                Some((key, _)) => {
                    best = Some(key);
                    match middle.checked_sub(1) {
                        Some(before) => to = before,
                        None => break,
                    }
                }
                None => break,
            }
        }
        Ok(best)
    }

    /// Looks at some of the events behind a number. Answers the last of them; none: there are no more.
    pub(crate) fn look_at_events(&self, after: i64, end: i64) -> Result<Option<i64>> {
        let everything = Filter { sessions: None, kinds: Vec::new() };
        let found = self.entries_after(&everything, after, MAX_ROWS)?;
        for entry in &found.entries {
            entry.ids(self)?;
            self.name_of(&entry.session)?;
        }
        Ok(found.entries.last().map(|entry| entry.number).filter(|&last| last < end))
    }

    fn pieces_of_ids(&self, event: i64) -> Result<Vec<u8>> {
        let mut list = Vec::new();
        let mut statement = self.statement("SELECT data FROM event_ids WHERE event = ?1 ORDER BY key")?;
        let mut rows = statement.query([event])?;
        while let Some(row) = rows.next()? {
            list.extend_from_slice(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        }
        Ok(list)
    }

    /// What a session is called, or was before it was deleted.
    pub(super) fn name_of(&self, about: &About) -> Result<String> {
        match about {
            About::Id(id) => Ok(id.clone()),
            About::Key(key) => self
                .statement("SELECT id FROM session WHERE key = ?1 UNION ALL SELECT id FROM gone WHERE session = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()?
                .ok_or_else(|| damaged(format!("an event is about session {key}, which never was"))),
        }
    }
}

/// A run of writing: where its first message was put.
struct Run {
    event: i64,
    session: i64,
    first: Key,
}
