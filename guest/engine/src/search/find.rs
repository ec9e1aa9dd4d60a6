//! `search`: from a query to a page of results.

use rusqlite::OptionalExtension;

use super::found::{Found, Hit, Place as At};
use super::matches::{Matcher, snippet};
use super::query::Query;
use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message::{self, Said};
use crate::overlay::PREFIX;
use crate::place::Place;
use crate::session::validate_id;
use crate::store::{Store, Tx};
use crate::types::{MediaMode, Page, SearchFields, SearchOptions, SearchResult};

/// Results of a page where nothing else is asked for.
const DEFAULT_LIMIT: u32 = 20;

/// Results that a page may have.
const MAX_LIMIT: u32 = 1000;

/// Bytes of a result's text.
const MAX_CONTENT_BYTES: usize = 64 * 1024;

/// Bytes of text after which a page ends, so that no answer is too large to be held.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

impl<P: Place> Store<P> {
    /// Finds messages by their words, best first, in one session or in all.
    ///
    /// The first search builds the index, and each later one takes in what was written since, in steps that are committed
    /// one by one. Where nothing can be written the store is read instead.
    pub fn search(&mut self, query: &str, options: &SearchOptions) -> Result<Page<SearchResult>> {
        let limit = limit(options)?;
        options.session.as_deref().map_or(Ok(()), validate_id)?;
        let query = Query::parse(query);
        if query.is_empty() && options.cursor.is_none() || !self.is_written()? {
            return Ok(Page { items: Vec::new(), cursor: None });
        }
        if !self.place().read_only() {
            // Nearly always the index lacks nothing, and one transaction is all.
            let found = self.read(|tx| match tx.search_lacks()? {
                true => Ok(None),
                false => tx.find(&query, options, limit).map(Some),
            })?;
            if let Some(page) = found {
                return Ok(page);
            }
            while self.update_index()? {}
        }
        self.read(|tx| tx.find(&query, options, limit))
    }
}

impl<P: Place> Store<P> {
    /// Removes an index that may still name words of what was deleted, before the file is written anew.
    pub(crate) fn drop_worn_index(&mut self) -> Result<()> {
        if self.is_written()? && !self.place().read_only() && self.read(|tx| tx.index_is_worn())? {
            self.free(|tx| tx.drop_index())?;
        }
        Ok(())
    }

    /// Takes one step of what was written since the last search into the index, which the first step makes. Answers whether
    /// more is left to do.
    ///
    /// A search does so by itself: this is for who wants to let other calls in between the steps.
    pub fn update_index(&mut self) -> Result<bool> {
        if !self.is_written()? || self.place().read_only() || !self.read(|tx| tx.search_lacks())? {
            return Ok(false);
        }
        match self.write(|tx| tx.catch_up()) {
            // A search then reads what could not be written down.
            Err(error) if matches!(error.kind, Kind::StorageFull | Kind::ReadOnly) => Ok(false),
            step => step,
        }
    }
}

fn limit(options: &SearchOptions) -> Result<usize> {
    let limit = options.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!("a page of results has 1 to {MAX_LIMIT}; {limit} were asked for"),
        )
        .subject("limit")
        .numbers(u64::from(limit), u64::from(MAX_LIMIT)));
    }
    Ok(limit as usize)
}

/// What is looked at: text, if nothing is named.
fn fields(options: &SearchOptions) -> SearchFields {
    match options.fields {
        nothing if nothing == SearchFields::default() => SearchFields { text: true, ..nothing },
        fields => fields,
    }
}

impl Tx<'_> {
    /// Whether the index has to take something in before it can be asked.
    fn search_lacks(&mut self) -> Result<bool> {
        match self.index_state()? {
            Some(state) => self.index_is_behind(state),
            None => Ok(true),
        }
    }

    fn find(&mut self, query: &Query, options: &SearchOptions, limit: usize) -> Result<Page<SearchResult>> {
        let asked = fingerprint(query, options);
        let (until, from, last) = match &options.cursor {
            None => (None, 0, None),
            Some(cursor) => {
                let [of, until, from, last] = self.decode_cursor::<4>(Purpose::Search, cursor)?;
                if of != asked {
                    return Err(stale("the cursor is of another search"));
                }
                let number = |number: u64| i64::try_from(number).map_err(|_| stale("the cursor is none of ours"));
                (Some(number(until)?), usize::try_from(from).unwrap_or(usize::MAX), Some(last))
            }
        };
        let until = match until {
            Some(until) => until,
            None => self.last_event()?,
        };
        let fields = fields(options);
        let filter = self.search_filter(options, Some(until))?;
        let indexed = match self.index_state()? {
            Some(state) => !self.index_is_behind(state)?,
            None => false,
        };
        let all = if indexed { self.look_up(query, fields, &filter)? } else { self.scan(query, fields, &filter)? };
        let mut found = Found::new(all, filter);
        let mut next = self.go_on(&mut found, from, last)?;
        let mut page = Page { items: Vec::new(), cursor: None };
        let mut bytes = 0;
        let mut before = None;
        while let Some(hit) = found.at(self, next)? {
            if page.items.len() == limit || bytes > MAX_PAGE_BYTES {
                // Where the index may be wrong only a look tells whether there is another one.
                if !query.is_vague() || self.result(query, fields, hit)?.is_some() {
                    let last = before.map_or(0, At::number);
                    let numbers = [asked, until.unsigned_abs(), next as u64, last];
                    page.cursor = Some(self.encode_cursor(Purpose::Search, &numbers)?);
                    break;
                }
            } else if let Some(result) = self.result(query, fields, hit)? {
                bytes += result.content.len();
                page.items.push(result);
            }
            before = Some(hit.place);
            next += 1;
        }
        Ok(page)
    }

    /// Where the next page begins: behind the last hit that was looked at, wherever it stands now.
    fn go_on(&self, found: &mut Found, from: usize, last: Option<u64>) -> Result<usize> {
        let Some(last) = last else { return Ok(from) };
        let is_last = |hit: Option<Hit>| hit.is_some_and(|hit| hit.place.number() == last);
        if from > 0 && is_last(found.at(self, from - 1)?) {
            return Ok(from);
        }
        let mut index = 0;
        while let Some(hit) = found.at(self, index)? {
            index += 1;
            if is_last(Some(hit)) {
                return Ok(index);
            }
        }
        Ok(from)
    }

    /// A hit as a result; none if a look at the text does not confirm it.
    fn result(&self, query: &Query, fields: SearchFields, hit: Hit) -> Result<Option<SearchResult>> {
        match hit.place {
            At::Message(key) => self.message_result(query, fields, key, hit.score),
            At::Summary(key) => self.summary_result(query, fields, key, hit.score),
        }
    }

    fn message_result(
        &self,
        query: &Query,
        fields: SearchFields,
        key: Key,
        score: f64,
    ) -> Result<Option<SearchResult>> {
        let (head, json) = self.load(key, MediaMode::Reference)?;
        let parts = Parts::Message(&json);
        if query.is_vague() && !Looking::at(query, fields, &parts).complete() {
            return Ok(None);
        }
        let session_id = self
            .statement("SELECT s.id FROM message m JOIN session s ON s.key = m.session WHERE m.key = ?1")?
            .query_row([key], |row| row.get(0))?;
        let (content, content_truncated) = parts.content();
        Ok(Some(SearchResult {
            session_id,
            id: head.id,
            role: head.role,
            seq: key.seq(),
            content,
            content_truncated,
            snippet: parts.snippet(query, fields),
            score,
        }))
    }

    fn summary_result(
        &self,
        query: &Query,
        fields: SearchFields,
        key: i64,
        score: f64,
    ) -> Result<Option<SearchResult>> {
        let found: Option<(String, String, Key, String)> = self
            .statement(
                "SELECT s.id, o.id, o.last, o.summary FROM overlay o JOIN session s ON s.key = o.session WHERE o.key = ?1",
            )?
            .query_row([key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .optional()?;
        let Some((session_id, id, last, summary)) = found else { return Ok(None) };
        let parts = Parts::Summary(&summary);
        if query.is_vague() && !Looking::at(query, fields, &parts).complete() {
            return Ok(None);
        }
        let (content, content_truncated) = parts.content();
        Ok(Some(SearchResult {
            session_id,
            id: format!("{PREFIX}{id}"),
            role: "assistant".to_owned(),
            seq: last.seq(),
            content,
            content_truncated,
            snippet: parts.snippet(query, fields),
            score,
        }))
    }
}

/// What tells one search from another: everything that decides what is found, in which order.
fn fingerprint(query: &Query, options: &SearchOptions) -> u64 {
    let fields = fields(options);
    let all = format!(
        "{query:?} {:?} {:?} {:?} {:?} {fields:?}",
        options.session, options.role, options.after, options.before
    );
    let hash = blake3::hash(all.as_bytes());
    hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Something that can be found, as text.
pub(crate) enum Parts<'a> {
    /// A message as JSON, without its payloads.
    Message(&'a str),
    Summary(&'a str),
}

impl Parts<'_> {
    /// Tells its text, by column, in pieces that no word crosses.
    fn each(&self, each: &mut dyn FnMut(usize, &str)) {
        match self {
            Self::Message(json) => message::said(json, &mut |said, piece| each(column(said), piece)),
            Self::Summary(summary) => each(3, summary),
        }
    }

    /// The text parts, joined by newlines, or the summary: as much as a result may have, and whether that is less than all.
    fn content(&self) -> (String, bool) {
        let (mut content, mut truncated) = (String::new(), false);
        self.each(&mut |column, piece| {
            if (column == 0 || column == 3) && !truncated {
                let left = MAX_CONTENT_BYTES - content.len();
                let taken = piece.get(..piece.floor_char_boundary(left)).unwrap_or_default();
                content.push_str(taken);
                truncated = taken.len() < piece.len();
            }
        });
        (content, truncated)
    }

    /// The part of the first of the fields where something was found.
    fn snippet(&self, query: &Query, fields: SearchFields) -> String {
        for (wanted, asked) in asked(fields).into_iter().enumerate() {
            if !asked {
                continue;
            }
            let mut text = String::new();
            self.each(&mut |column, piece| {
                if column == wanted {
                    text.push_str(piece);
                }
            });
            if let Some(snippet) = snippet(query, &text) {
                return snippet;
            }
        }
        String::new()
    }
}

fn column(said: Said) -> usize {
    match said {
        Said::Text => 0,
        Said::Tools => 1,
        Said::Reasoning => 2,
    }
}

fn asked(fields: SearchFields) -> [bool; 4] {
    [fields.text, fields.tools, fields.reasoning, fields.summaries]
}

/// A look at something for a query, without the index.
pub(crate) struct Looking<'a> {
    /// One for each column, since no phrase goes from one to another.
    matchers: [Matcher<'a>; 4],
    asked: [bool; 4],
}

impl<'a> Looking<'a> {
    pub(crate) fn at(query: &'a Query, fields: SearchFields, parts: &Parts<'_>) -> Self {
        let mut looking = Self { matchers: [(); 4].map(|()| Matcher::new(query)), asked: asked(fields) };
        parts.each(&mut |column, piece| {
            if let Some(matcher) = looking.matchers.get_mut(column) {
                matcher.read(piece, |_| {});
            }
        });
        looking
    }

    /// How often each phrase is in the columns that were asked for.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let mut counts = Vec::new();
        for (matcher, _) in self.matchers.iter().zip(self.asked).filter(|(_, asked)| *asked) {
            let more = matcher.counts();
            counts.resize(more.len(), 0);
            for (count, more) in counts.iter_mut().zip(more) {
                *count += more;
            }
        }
        counts
    }

    pub(crate) fn complete(&self) -> bool {
        self.counts().iter().all(|&count| count > 0)
    }

    /// Words of all columns.
    pub(crate) fn words(&self) -> u64 {
        self.matchers.iter().map(|matcher| matcher.words).sum()
    }
}
