//! The index: FTS5 over words that are folded before it sees them.
//!
//! It is made by the first search, and a store that is never searched does not have it. The table holds no text, only
//! which words stand where; its rows have the key of their message. Summaries, and the rows of a message that gives
//! several, have negative keys, which `search_part` explains.
//!
//! Writing never feeds it: the numbers of events say which messages it does not have yet, and a search takes them in
//! first, in steps of bounded memory, each committed. What is in it and is changed or deleted is not found any more at
//! once, by the words of its old text; pages of the index may still hold those words until they are written anew. To leave
//! no trace, a vacuum drops an index that something was taken out of. FTS5's own `secure-delete` is not used: it damages
//! lists of places that are longer than a page.

use rusqlite::{OptionalExtension, Row, params};

use super::parts::{self, Part, Words};
use super::words::VERSION;
use crate::error::Result;
use crate::key::Key;
use crate::number::Number;
use crate::row::Head;
use crate::session::Session;
use crate::store::Tx;
use crate::types::MediaMode;

/// Bytes of text that one step takes in, if no single message has more.
const STEP_BYTES: i64 = 4 * 1024 * 1024;

/// Messages that one step takes in.
const STEP_MESSAGES: u32 = 5000;

/// Fewer messages than this are taken out of the index one by one, however few others there are.
const FEW: i64 = 1000;

const TABLES: &str = "
CREATE VIRTUAL TABLE search_words USING fts5(text, tools, reasoning, summary, content = '', tokenize = 'ascii');
CREATE TABLE search_part(
  key INTEGER PRIMARY KEY,
  message INTEGER,
  overlay INTEGER
) STRICT;
CREATE INDEX search_part_message ON search_part(message) WHERE message IS NOT NULL;
CREATE INDEX search_part_overlay ON search_part(overlay) WHERE overlay IS NOT NULL;
";

/// How far the index has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State {
    version: i64,
    /// It has every message up to and with this event.
    pub(crate) event: i64,
    /// It has every summary up to and with this key.
    overlay: i64,
    /// Words have been taken out of it: its inner nodes may still name some, until it is built anew.
    worn: bool,
}

/// What a row of the index belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Message(Key),
    Summary(i64),
}

/// Messages that were written one after the other on one chain.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: Key,
    /// The event of the next run.
    until: i64,
}

impl Tx<'_> {
    /// The state of the index; none if there is none, or only one of another version.
    pub(crate) fn index_state(&self) -> Result<Option<State>> {
        Ok(self.any_index_state()?.filter(|state| state.version == VERSION))
    }

    fn any_index_state(&self) -> Result<Option<State>> {
        let mut statement =
            self.statement("SELECT name, value FROM meta WHERE name >= 'search-' AND name < 'search.'")?;
        let mut rows = statement.query([])?;
        let mut found = None;
        while let Some(row) = rows.next()? {
            let state: &mut State = found.get_or_insert_default();
            let value: i64 = row.get(1)?;
            match row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)? {
                "search-version" => state.version = value,
                "search-event" => state.event = value,
                "search-overlay" => state.overlay = value,
                "search-worn" => state.worn = value != 0,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Whether the index lacks something.
    pub(crate) fn index_is_behind(&mut self, state: State) -> Result<bool> {
        if self.next_summary(state.overlay)?.is_some() {
            return Ok(true);
        }
        if state.event == self.last_event()? {
            return Ok(false);
        }
        let (runs, all) = self.runs_after(state.event)?;
        for run in runs {
            if self.first_after(run, state.event)?.is_some() {
                return Ok(true);
            }
        }
        Ok(!all)
    }

    /// Takes in a step of what the index lacks, and makes it if there is none. True: there may be more.
    pub(crate) fn catch_up(&mut self) -> Result<bool> {
        let mut state = match self.any_index_state()? {
            Some(state) if state.version == VERSION => state,
            found => {
                if found.is_some() {
                    self.drop_index()?;
                }
                self.connection.execute_batch(TABLES)?;
                State { version: VERSION, ..State::default() }
            }
        };
        let (mut bytes, mut messages) = (0, 0);
        while let Some((key, summary)) = self.next_summary(state.overlay)? {
            if bytes >= STEP_BYTES {
                self.save_index_state(state)?;
                return Ok(true);
            }
            bytes += summary.len() as i64;
            parts::of_summary(&summary, |part| self.insert_part(Owner::Summary(key), &part))?;
            state.overlay = key;
        }
        let (runs, all) = self.runs_after(state.event)?;
        let end = runs.last().map(|run| run.until);
        for run in runs {
            let mut next = self.first_after(run, state.event)?;
            while let Some(at) = next
                && let Some((head, event, body)) = self.message_from(at, run)?
            {
                if bytes > 0 && (bytes >= STEP_BYTES || messages == STEP_MESSAGES) {
                    self.save_index_state(state)?;
                    return Ok(true);
                }
                bytes += head.bytes - head.outside;
                messages += 1;
                let json = self.text(&head, body, MediaMode::Reference)?;
                parts::of_message(&json, |part| self.insert_part(Owner::Message(head.key), &part))?;
                state.event = event;
                next = head.key.after();
            }
        }
        state.event = match end {
            Some(end) if !all => end - 1,
            _ => self.last_event()?,
        };
        self.save_index_state(state)?;
        Ok(!all)
    }

    fn save_index_state(&self, state: State) -> Result<()> {
        let mut statement = self.statement("INSERT OR REPLACE INTO meta(name, value) VALUES (?1, ?2)")?;
        for (name, value) in
            [("search-version", state.version), ("search-event", state.event), ("search-overlay", state.overlay)]
        {
            statement.execute(params![name, value])?;
        }
        Ok(())
    }

    /// The next runs that may hold messages of later events, first the one that was going on then, and whether these are
    /// all.
    fn runs_after(&self, event: i64) -> Result<(Vec<Run>, bool)> {
        let mut statement = self.statement(
            "SELECT event, chain, seq FROM run
             WHERE event >= coalesce((SELECT max(event) FROM run WHERE event <= ?1), 0) ORDER BY event LIMIT ?2 + 1",
        )?;
        let rows = statement
            .query_map(params![event, STEP_MESSAGES], |row| {
                Ok((row.get::<_, Number>(0)?.0, Key::new(row.get(1)?, row.get(2)?)))
            })?
            .collect::<Result<Vec<(i64, Key)>, _>>()?;
        let all = rows.len() <= STEP_MESSAGES as usize;
        let next = rows.iter().skip(1).map(|&(event, _)| event).chain(all.then_some(i64::MAX));
        Ok((rows.iter().zip(next).map(|(&(_, first), until)| Run { first, until }).collect(), all))
    }

    /// The first message of a run with a later event. Events rise along a chain.
    fn first_after(&self, run: Run, event: i64) -> Result<Option<Key>> {
        let mut statement =
            self.statement("SELECT key, event FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT 1")?;
        let mut at = |seq: u32| -> Result<Option<(Key, i64)>> {
            let from = Key::new(run.first.chain(), seq);
            let found = statement
                .query_row(params![from, Key::end(from.chain())], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found)
        };
        // From `low` on everything may be later, and nothing before `high` has been found to be. Both may be behind the
        // last number that there is.
        let mut low = match at(run.first.seq())? {
            Some((key, found)) if found > event => return Ok((found < run.until).then_some(key)),
            Some((key, _)) => u64::from(key.seq()) + 1,
            None => return Ok(None),
        };
        let (mut high, mut result) = (1 << 32, None);
        while low < high {
            let middle = low + (high - low) / 2;
            match at(middle as u32)? {
                Some((key, found)) if found <= event => low = u64::from(key.seq()) + 1,
                Some(later) => (result, high) = (Some(later), middle),
                None => high = middle,
            }
        }
        Ok(result.filter(|&(_, found)| found < run.until).map(|(key, _)| key))
    }

    /// The first message of a run from a place on: its head, event and body.
    fn message_from(&self, place: Key, run: Run) -> Result<Option<(Head, i64, Option<String>)>> {
        let sql = format!(
            "SELECT {}, event, body FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT 1",
            Head::COLUMNS
        );
        let found = self
            .statement(&sql)?
            .query_row(params![place, Key::end(place.chain())], |row| {
                Ok((Head::from_row(row)?, row.get::<_, i64>(Head::COUNT)?, row.get(Head::COUNT + 1)?))
            })
            .optional()?;
        Ok(found.filter(|(_, event, _)| *event < run.until))
    }

    fn next_summary(&self, after: i64) -> Result<Option<(i64, String)>> {
        Ok(self
            .statement("SELECT key, summary FROM overlay WHERE key > ?1 ORDER BY key LIMIT 1")?
            .query_row([after], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    fn insert_part(&self, owner: Owner, part: &Part) -> Result<()> {
        let row = match (owner, part) {
            (Owner::Message(key), Part::Whole(_)) => key.number() as i64,
            (Owner::Message(key), Part::Piece(_)) => {
                self.statement("INSERT INTO search_part(message) VALUES (?1)")?.execute([key])?;
                -self.connection.last_insert_rowid()
            }
            (Owner::Summary(key), _) => {
                self.statement("INSERT INTO search_part(overlay) VALUES (?1)")?.execute([key])?;
                -self.connection.last_insert_rowid()
            }
        };
        let [text, tools, reasoning, summary] = part.words();
        self.statement("INSERT INTO search_words(rowid, text, tools, reasoning, summary) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![row, text, tools, reasoning, summary])?;
        Ok(())
    }

    fn delete_row(&self, row: i64, words: &Words) -> Result<()> {
        let [text, tools, reasoning, summary] = words;
        self.statement(
            "INSERT INTO search_words(search_words, rowid, text, tools, reasoning, summary)
             VALUES ('delete', ?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![row, text, tools, reasoning, summary])?;
        Ok(())
    }

    /// Notes that words were taken out.
    fn wear_index(&self, state: State) -> Result<()> {
        if !state.worn {
            self.statement("INSERT OR REPLACE INTO meta(name, value) VALUES ('search-worn', 1)")?.execute([])?;
        }
        Ok(())
    }

    /// Whether words have been taken out of the index.
    pub(crate) fn index_is_worn(&self) -> Result<bool> {
        Ok(self.any_index_state()?.is_some_and(|state| state.worn))
    }

    /// Removes the index; the next search makes it again.
    pub(crate) fn drop_index(&self) -> Result<()> {
        self.connection.execute_batch(
            "DROP TABLE IF EXISTS search_words; DROP TABLE IF EXISTS search_part;
             DELETE FROM meta WHERE name >= 'search-' AND name < 'search.'",
        )?;
        Ok(())
    }

    /// The index, if it has to be kept in line with changes. One of another version is dropped by the first change.
    fn index_to_change(&self) -> Result<Option<State>> {
        let Some(state) = self.any_index_state()? else { return Ok(None) };
        if state.version != VERSION {
            self.drop_index()?;
            return Ok(None);
        }
        Ok(Some(state))
    }

    /// To be called before messages of one chain are deleted: takes their words out of the index.
    pub(crate) fn forget_words(&self, first: Key, last: Key) -> Result<()> {
        let Some(state) = self.index_to_change()? else { return Ok(()) };
        let count = self
            .statement("SELECT count(*) FROM message WHERE key >= ?1 AND key <= ?2")?
            .query_row(params![first, last], |row| row.get(0))?;
        if self.is_most(count)? {
            return self.drop_index();
        }
        self.wear_index(state)?;
        self.forget_range(state, first, last)
    }

    /// To be called before a session is cleared: takes its words out of the index, summaries included.
    pub(crate) fn forget_session(&self, session: &Session) -> Result<()> {
        let Some(state) = self.index_to_change()? else { return Ok(()) };
        if self.is_most(session.messages)? {
            return self.drop_index();
        }
        self.wear_index(state)?;
        let chains = self
            .statement("SELECT key FROM chain WHERE session = ?1")?
            .query_map([session.key], |row| row.get(0))?
            .collect::<Result<Vec<u32>, _>>()?;
        for chain in chains {
            self.forget_range(state, Key::start(chain), Key::end(chain))?;
        }
        for overlay in self.overlays(session)? {
            self.forget_summary(overlay.key)?;
        }
        Ok(())
    }

    /// To be called before an overlay is deleted.
    pub(crate) fn forget_summary(&self, overlay: i64) -> Result<()> {
        let Some(state) = self.index_to_change()? else { return Ok(()) };
        if overlay > state.overlay {
            return Ok(());
        }
        let summary: Option<String> = self
            .statement("SELECT summary FROM overlay WHERE key = ?1")?
            .query_row([overlay], |row| row.get(0))
            .optional()?;
        let Some(summary) = summary else { return Ok(()) };
        self.wear_index(state)?;
        let rows = self.rows_of(Owner::Summary(overlay))?;
        let mut next = rows.iter();
        parts::of_summary(&summary, |part| match next.next() {
            Some(row) => self.delete_row(-row, part.words()),
            None => Ok(()),
        })?;
        self.statement("DELETE FROM search_part WHERE overlay = ?1")?.execute([overlay])?;
        Ok(())
    }

    /// To be called before a message's text is replaced: brings the index in line with the new one, `json` without its
    /// payloads. Where the words are the same nothing is written.
    pub(crate) fn replace_words(&self, key: Key, json: &str) -> Result<()> {
        let Some(state) = self.index_to_change()? else { return Ok(()) };
        if !self.has_words_of(state, key)? {
            return Ok(());
        }
        let stored = self.load(key, MediaMode::Reference)?.1;
        if parts::fingerprint(&stored) == parts::fingerprint(json) {
            return Ok(());
        }
        self.wear_index(state)?;
        self.forget_message(key, &stored)?;
        drop(stored);
        parts::of_message(json, |part| self.insert_part(Owner::Message(key), &part))
    }

    /// Whether so many messages are most of what the store has: then it costs less to build the index anew than to take
    /// them out of it.
    fn is_most(&self, messages: i64) -> Result<bool> {
        if messages < FEW {
            return Ok(false);
        }
        let all: i64 = self.statement("SELECT sum(messages) FROM session")?.query_row([], |row| row.get(0))?;
        Ok(messages > all / 2)
    }

    fn forget_range(&self, state: State, first: Key, last: Key) -> Result<()> {
        let sql = format!(
            "SELECT {}, body FROM message WHERE key >= ?1 AND key <= ?2 AND event <= ?3 ORDER BY key",
            Head::COLUMNS
        );
        let mut statement = self.statement(&sql)?;
        let mut rows = statement.query(params![first, last, state.event])?;
        while let Some(row) = rows.next()? {
            let head = Head::from_row(row)?;
            let json = self.text(&head, row.get(Head::COUNT)?, MediaMode::Reference)?;
            self.forget_message(head.key, &json)?;
        }
        Ok(())
    }

    fn has_words_of(&self, state: State, key: Key) -> Result<bool> {
        Ok(self.statement("SELECT 1 FROM message WHERE key = ?1 AND event <= ?2")?.exists(params![key, state.event])?)
    }

    fn forget_message(&self, key: Key, json: &str) -> Result<()> {
        let mut pieces: Option<std::vec::IntoIter<i64>> = None;
        parts::of_message(json, |part| match part {
            Part::Whole(words) => self.delete_row(key.number() as i64, &words),
            Part::Piece(words) => {
                let rows = match &mut pieces {
                    Some(rows) => rows,
                    None => pieces.insert(self.rows_of(Owner::Message(key))?.into_iter()),
                };
                match rows.next() {
                    Some(row) => self.delete_row(-row, &words),
                    None => Ok(()),
                }
            }
        })?;
        if pieces.is_some() {
            self.statement("DELETE FROM search_part WHERE message = ?1")?.execute([key])?;
        }
        Ok(())
    }

    fn rows_of(&self, owner: Owner) -> Result<Vec<i64>> {
        let (sql, key) = match owner {
            Owner::Message(key) => ("SELECT key FROM search_part WHERE message = ?1 ORDER BY key", key.number() as i64),
            Owner::Summary(key) => ("SELECT key FROM search_part WHERE overlay = ?1 ORDER BY key", key),
        };
        let rows = |row: &Row<'_>| Ok(row.get::<_, Number>(0)?.0);
        Ok(self.statement(sql)?.query_map([key], rows)?.collect::<Result<_, _>>()?)
    }
}
