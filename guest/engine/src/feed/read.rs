//! Reading the feed, page by page.

use std::collections::BTreeMap;

use rusqlite::OptionalExtension;

use crate::chain::damaged;
use crate::cursor::Purpose;
use crate::error::{Kind, Result};
use crate::feed::scan::{About, Entry, Filter};
use crate::history::page_limit;
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{Change, ChangeOptions, ChangePage, EventKind, MediaMode};

/// Events per page where nothing is said.
const PAGE: u32 = 100;

/// Bytes per page; an event above it stands alone.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The cursor before the first event. It is good in every life of a store, since nothing has been seen by then: who
/// looks at a store that was not written yet goes on when it is.
const BEGINNING: &str = "f0";

impl<P: Place> Store<P> {
    /// What happened in the store, in order, behind a cursor.
    ///
    /// One call looks at some thousands of events at most: where few of them are wanted a page may be empty, and its
    /// cursor has moved on all the same. `reset`: the cursor is none of this store's, or events behind it are kept no
    /// longer; `cursor` is then the present end.
    pub fn changes(&mut self, options: &ChangeOptions) -> Result<ChangePage> {
        let limit = page_limit(options.limit, PAGE, "limit")? as usize;
        self.read(|tx| {
            let filter = Filter::new(tx, options)?;
            let (floor, end) = (tx.feed_floor()?, tx.last_event()?);
            let after = match &options.cursor {
                None => Some(floor),
                // Beyond the end are those of a store that was set back to an earlier state.
                Some(cursor) => tx.number_of_cursor(cursor)?.filter(|number| (floor..=end).contains(number)),
            };
            let Some(after) = after else {
                return Ok(ChangePage { events: Vec::new(), cursor: tx.cursor_behind(end)?, reset: true });
            };
            let written = tx.entries_after(&filter, after, limit)?;
            let messages = tx.messages_after(&filter, after, limit)?;
            // Behind this either may lack something.
            let to = written.to.min(messages.to);
            let mut entries = written.entries;
            entries.extend(messages.entries);
            entries.retain(|entry| entry.number <= to);
            entries.sort_unstable_by_key(|entry| entry.number);
            if to < after || entries.iter().any(|entry| !(after + 1..=end).contains(&entry.number)) {
                // Who goes on from there comes by here again.
                return Err(damaged(format!("events between {after} and {end} have other numbers")));
            }
            let mut page = Page { events: Vec::new(), names: BTreeMap::new(), bytes: 0 };
            let mut last = after;
            for entry in &entries {
                if page.events.len() == limit || !page.take(tx, entry)? {
                    return Ok(ChangePage { events: page.events, cursor: tx.cursor_behind(last)?, reset: false });
                }
                last = entry.number;
            }
            Ok(ChangePage { events: page.events, cursor: tx.cursor_behind(to.min(end))?, reset: false })
        })
    }
}

/// A page that is being filled.
struct Page {
    events: Vec<Change>,
    names: BTreeMap<About, String>,
    bytes: usize,
}

impl Page {
    /// Adds an event as it is now. False: the page is full.
    fn take(&mut self, tx: &mut Tx<'_>, entry: &Entry) -> Result<bool> {
        let session_id = match self.names.get(&entry.session) {
            Some(name) => name.clone(),
            None => {
                let name = tx.name_of(&entry.session)?;
                self.names.insert(entry.session.clone(), name.clone());
                name
            }
        };
        let mut change = Change {
            cursor: tx.cursor_behind(entry.number)?,
            kind: entry.kind,
            session_id,
            ids: entry.ids(tx)?,
            parent_id: None,
            message: None,
            compaction: None,
        };
        let mut bytes = change.session_id.len() + change.ids.iter().map(String::len).sum::<usize>();
        if matches!(entry.kind, EventKind::Compacted | EventKind::CompactionChanged)
            && let (Some(session), Some(id)) = (tx.session(&change.session_id)?, change.ids.first())
            && let Some(overlay) = tx.find_overlay(&session, id)?
        {
            let compaction = tx.compaction_now(&session, &overlay)?;
            bytes += compaction.summary.len();
            change.compaction = Some(compaction);
        }
        if let Some(key) = entry.message {
            let length: Option<i64> = tx
                .statement("SELECT bytes FROM message WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()?;
            if let Some(length) = length {
                bytes += usize::try_from(length).unwrap_or(usize::MAX);
                if self.is_full(bytes) {
                    return Ok(false);
                }
                change.message = Some(tx.load(key, MediaMode::Inline)?.1);
                change.parent_id = tx.parent_id(key)?;
            }
        }
        if self.is_full(bytes) {
            return Ok(false);
        }
        self.bytes += bytes;
        self.events.push(change);
        Ok(true)
    }

    fn is_full(&self, more: usize) -> bool {
        !self.events.is_empty() && self.bytes.saturating_add(more) > PAGE_BYTES
    }
}

impl Tx<'_> {
    fn cursor_behind(&mut self, number: i64) -> Result<String> {
        if number == 0 {
            return Ok(BEGINNING.to_owned());
        }
        self.encode_cursor(Purpose::Changes, &[number.unsigned_abs()])
    }

    /// The number that a cursor stands behind; none if it is not one of this store's.
    fn number_of_cursor(&mut self, cursor: &str) -> Result<Option<i64>> {
        if cursor == BEGINNING {
            return Ok(Some(0));
        }
        match self.decode_cursor(Purpose::Changes, cursor) {
            Ok([number]) => Ok(i64::try_from(number).ok()),
            Err(error) if error.kind == Kind::StaleCursor => Ok(None),
            Err(error) => Err(error),
        }
    }
}
