//! Search without an index: a store that can only be read, and has none or an old one.

use rusqlite::params;

use super::find::{Looking, Parts};
use super::found::{Filter, Place};
use super::query::Query;
use crate::error::Result;
use crate::row::Head;
use crate::store::Tx;
use crate::types::{MediaMode, SearchFields};

/// What FTS5 takes for its two numbers of bm25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A text that answers the query: how often each phrase is in it, and how many words it has.
struct Match {
    place: Place,
    counts: Vec<u64>,
    words: f64,
}

impl Tx<'_> {
    /// What reading everything finds, with scores of the same kind as the index gives.
    pub(crate) fn scan(&self, query: &Query, fields: SearchFields, filter: &Filter) -> Result<Vec<(f64, Place)>> {
        let mut seen = Seen::default();
        let sql = format!("SELECT {}, session, event, body FROM message WHERE event <= ?1", Head::COLUMNS);
        let mut statement = self.statement(&sql)?;
        let mut rows = statement.query([filter.until])?;
        while let Some(row) = rows.next()? {
            let head = Head::from_row(row)?;
            let (session, event) = (row.get(Head::COUNT)?, row.get(Head::COUNT + 1)?);
            if filter.takes(session, &head.role, head.created_at, event) {
                let json = self.text(&head, row.get(Head::COUNT + 2)?, MediaMode::Reference)?;
                seen.add(Place::Message(head.key), &Looking::at(query, fields, &Parts::Message(&json)));
            }
        }
        if fields.summaries {
            let mut statement =
                self.statement("SELECT key, session, created_at, event, summary FROM overlay WHERE event <= ?1")?;
            let mut rows = statement.query(params![filter.until])?;
            while let Some(row) = rows.next()? {
                if filter.takes(row.get(1)?, "assistant", row.get(2)?, row.get(3)?) {
                    let summary: String = row.get(4)?;
                    let looking = Looking::at(query, fields, &Parts::Summary(&summary));
                    seen.add(Place::Summary(row.get(0)?), &looking);
                }
            }
        }
        Ok(seen.scored())
    }
}

/// What has been read.
#[derive(Default)]
struct Seen {
    matches: Vec<Match>,
    texts: f64,
    words: f64,
    /// In how many texts each phrase is.
    with: Vec<f64>,
}

impl Seen {
    fn add(&mut self, place: Place, looking: &Looking<'_>) {
        let words = looking.words() as f64;
        let counts = looking.counts();
        self.texts += 1.0;
        self.words += words;
        self.with.resize(counts.len(), 0.0);
        for (with, &count) in self.with.iter_mut().zip(&counts) {
            *with += f64::from(u8::from(count > 0));
        }
        if looking.complete() {
            self.matches.push(Match { place, counts, words });
        }
    }

    fn scored(self) -> Vec<(f64, Place)> {
        let average = (self.words / self.texts).max(1.0);
        let rarity: Vec<f64> =
            self.with.iter().map(|with| ((self.texts - with + 0.5) / (with + 0.5)).ln().max(1e-6)).collect();
        let score = |found: &Match| {
            let length = K1 * (1.0 - B + B * found.words / average);
            let parts = found.counts.iter().zip(&rarity);
            parts.map(|(&count, rarity)| rarity * count as f64 * (K1 + 1.0) / (count as f64 + length)).sum()
        };
        self.matches.iter().map(|found| (score(found), found.place)).collect()
    }
}
