//! What a search has found, in order: the best first, of equal ones the newest.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use super::query::Query;
use crate::error::Result;
use crate::key::Key;
use crate::store::Tx;
use crate::types::{SearchFields, SearchOptions};

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Message(Key),
    /// The summary of an overlay, by its key.
    Summary(i64),
}

impl Place {
    /// The place as a number that no other place has.
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Message(key) => key.number(),
            // Keys of messages leave the uppermost bit alone.
            Self::Summary(key) => key.unsigned_abs() | 1 << 63,
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    pub(crate) place: Place,
    /// Higher is better.
    pub(crate) score: f64,
    /// When it was written, in the store's order of events.
    pub(crate) event: i64,
}

/// Which of all that is found is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    /// A session by its number; zero for one that is not there.
    session: Option<i64>,
    chains: HashSet<u32>,
    role: Option<String>,
    after: Option<i64>,
    before: Option<i64>,
    /// The last event that counts.
    pub(crate) until: i64,
}

impl Filter {
    /// Whether a message or a summary is asked for, by what its row says.
    pub(crate) fn takes(&self, session: i64, role: &str, created_at: i64, event: i64) -> bool {
        self.session.is_none_or(|asked| asked == session)
            && self.role.as_deref().is_none_or(|asked| asked == role)
            && self.after.is_none_or(|after| created_at >= after)
            && self.before.is_none_or(|before| created_at <= before)
            && event <= self.until
    }
}

/// What has been found, put in order as far as it is asked for.
pub(crate) struct Found {
    /// The best last.
    rest: Vec<(f64, Place)>,
    filter: Filter,
    pub(crate) ordered: Vec<Hit>,
}

impl Found {
    pub(crate) fn new(mut all: Vec<(f64, Place)>, filter: Filter) -> Self {
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { rest: all, filter, ordered: Vec::new() }
    }

    /// The hit at a position.
    pub(crate) fn at(&mut self, tx: &Tx<'_>, index: usize) -> Result<Option<Hit>> {
        while self.ordered.len() <= index {
            let Some(&(score, _)) = self.rest.last() else { return Ok(None) };
            let mut equal = Vec::new();
            while let Some(&(next, place)) = self.rest.last()
                && next.total_cmp(&score) == Ordering::Equal
            {
                self.rest.pop();
                if let Some(event) = tx.event_of(place, &self.filter)? {
                    equal.push(Hit { place, score, event });
                }
            }
            equal.sort_by_key(|hit| std::cmp::Reverse(hit.event));
            self.ordered.append(&mut equal);
        }
        Ok(self.ordered.get(index).copied())
    }
}

impl Tx<'_> {
    /// What is asked for beside words.
    pub(crate) fn search_filter(&mut self, options: &SearchOptions, until: Option<i64>) -> Result<Filter> {
        let mut filter = Filter {
            session: None,
            chains: HashSet::new(),
            role: options.role.clone(),
            after: options.after,
            before: options.before,
            until: until.unwrap_or(i64::MAX),
        };
        if let Some(id) = &options.session {
            let session = self.session(id)?.map_or(0, |session| session.key);
            filter.session = Some(session);
            let mut chains = self.statement("SELECT key FROM chain WHERE session = ?1")?;
            filter.chains = chains.query_map([session], |row| row.get(0))?.collect::<Result<_, _>>()?;
        }
        Ok(filter)
    }

    /// The event of what was found; none if it is not asked for, or not there.
    fn event_of(&self, place: Place, filter: &Filter) -> Result<Option<i64>> {
        let read = |row: &rusqlite::Row<'_>| {
            let (session, created_at, event) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(filter.takes(session, row.get_ref(3)?.as_str()?, created_at, event).then_some(event))
        };
        let found = match place {
            Place::Message(key) => self
                .statement("SELECT session, created_at, event, role FROM message WHERE key = ?1")?
                .query_row([key], read)
                .optional()?,
            Place::Summary(key) => self
                .statement("SELECT session, created_at, event, 'assistant' FROM overlay WHERE key = ?1")?
                .query_row([key], read)
                .optional()?,
        };
        Ok(found.flatten())
    }

    /// What the index has for a query, with scores.
    pub(crate) fn look_up(&self, query: &Query, fields: SearchFields, filter: &Filter) -> Result<Vec<(f64, Place)>> {
        let columns = columns(fields);
        let mut found = Vec::new();
        let mut statement = self.statement(
            "SELECT rowid, bm25(search_words) FROM search_words WHERE search_words MATCH ?1 AND rowid > 0",
        )?;
        let mut rows = statement.query([format!("{columns} : ({})", query.expression())])?;
        while let Some(row) = rows.next()? {
            let key: Key = row.get(0)?;
            if filter.session.is_none() || filter.chains.contains(&key.chain()) {
                found.push((-row.get::<_, f64>(1)?, Place::Message(key)));
            }
        }
        drop(rows);
        if self.statement("SELECT 1 FROM search_part LIMIT 1")?.exists([])? {
            self.look_up_parts(query, &columns, filter, &mut found)?;
        }
        Ok(found)
    }

    /// The same for what may be in several rows: there each phrase is looked for by itself.
    fn look_up_parts(
        &self,
        query: &Query,
        columns: &str,
        filter: &Filter,
        found: &mut Vec<(f64, Place)>,
    ) -> Result<()> {
        let mut statement = self.statement(
            "SELECT p.message, p.overlay, bm25(search_words) FROM search_words CROSS JOIN search_part p ON p.key = -search_words.rowid
             WHERE search_words MATCH ?1 AND search_words.rowid < 0",
        )?;
        let mut whole: Option<HashMap<Place, f64>> = None;
        for phrase in &query.phrases {
            let mut scores: HashMap<Place, f64> = HashMap::new();
            let mut rows = statement.query(params![format!("{columns} : ({})", phrase.expression())])?;
            while let Some(row) = rows.next()? {
                let place = match (row.get::<_, Option<Key>>(0)?, row.get::<_, Option<i64>>(1)?) {
                    (Some(key), _) if filter.session.is_none() || filter.chains.contains(&key.chain()) => {
                        Place::Message(key)
                    }
                    (None, Some(overlay)) => Place::Summary(overlay),
                    _ => continue,
                };
                let score = -row.get::<_, f64>(2)?;
                let before = match &whole {
                    None => 0.0,
                    Some(whole) => match whole.get(&place) {
                        Some(before) => *before,
                        None => continue,
                    },
                };
                let best = scores.entry(place).or_insert(before + score);
                *best = best.max(before + score);
            }
            whole = Some(scores);
        }
        found.extend(whole.unwrap_or_default().into_iter().map(|(place, score)| (score, place)));
        Ok(())
    }
}

/// The columns of the index that are looked at.
fn columns(fields: SearchFields) -> String {
    let asked = [fields.text, fields.tools, fields.reasoning, fields.summaries];
    let names: Vec<&str> =
        super::parts::COLUMNS.iter().zip(asked).filter(|(_, asked)| *asked).map(|(name, _)| *name).collect();
    format!("{{{}}}", names.join(" "))
}
