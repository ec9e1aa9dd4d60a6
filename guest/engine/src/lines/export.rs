//! Writing lines: where an export stands, and the lines of each kind.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use rusqlite::{OptionalExtension, params};

use super::places::EmptyPlace;
use super::{VERSION, memory};
use crate::chain::damaged;
use crate::cursor::{Purpose, stale};
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message::quote;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{AutoCompact, ConfigurationChange, LinePage, MediaMode, Setting};

/// Bytes of a page where nothing is said.
const PAGE_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes of a page at most; one line above it stands alone.
const MAX_PAGE_BYTES: u64 = 64 * 1024 * 1024;

/// Messages whose keys are looked up together.
const BATCH: usize = 256;

/// The configuration's session number that stands for the store.
const STORE: i64 = 0;

impl<P: Place> Store<P> {
    /// A page of an export of one session, or of the whole store.
    pub fn export_lines(
        &mut self,
        session: Option<&str>,
        cursor: Option<&str>,
        max_bytes: Option<u64>,
    ) -> Result<LinePage> {
        if max_bytes == Some(0) {
            return Err(Error::new(Kind::InvalidArgument, "a page holds at least one byte: max-bytes is 0")
                .subject("max-bytes")
                .numbers(0, MAX_PAGE_BYTES));
        }
        // What was never written keeps no cursor, and has two lines.
        let written = self.is_written()?;
        let budget = if written { max_bytes.unwrap_or(PAGE_BYTES).min(MAX_PAGE_BYTES) as usize } else { usize::MAX };
        self.read(|tx| {
            let only = session.map(|id| tx.known_session(id)).transpose()?.map(|session| session.key);
            let at = match cursor {
                None => At::default(),
                Some(cursor) => {
                    let [of, session, part, position, until, deletions] = tx.decode_cursor(Purpose::Lines, cursor)?;
                    if of != scope(only) {
                        return Err(stale("the cursor belongs to an export of something else"));
                    }
                    At { session: session as i64, part, position, until: until as u32, deletions: deletions as i64 }
                }
            };
            let mut writer = Writer { tx, only, at, open: None, order: None };
            let mut lines = String::new();
            let cursor = writer.fill(&mut lines, budget)?;
            let cursor = cursor
                .map(|at| {
                    let numbers = [
                        scope(only),
                        at.session.unsigned_abs(),
                        at.part,
                        at.position,
                        at.until.into(),
                        at.deletions.unsigned_abs(),
                    ];
                    tx.encode_cursor(Purpose::Lines, &numbers)
                })
                .transpose()?;
            Ok(LinePage { lines, cursor })
        })
    }
}

/// What a cursor says of the export that it belongs to: keys of sessions begin at 1.
fn scope(only: Option<i64>) -> u64 {
    only.unwrap_or(0).unsigned_abs()
}

/// The line that comes next.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    /// The session; 0: what belongs to the store as a whole.
    session: i64,
    /// Which kind of its lines: see the constants.
    part: u64,
    /// Behind which line of that kind.
    position: u64,
    /// The last seq of the session when its export began: what is written later is not in it.
    until: u32,
    /// The deletions of the session when its export began: after another one pages do not fit together.
    deletions: i64,
}

/// Parts of a session's lines, in order; the end follows. The store has two of them.
const HEAD: u64 = 0;
const CONFIGURATION: u64 = 1;
const MESSAGES: u64 = 2;
const SUMMARIES: u64 = 3;
const BLOCKS: u64 = 4;
const PROMPT: u64 = 5;
/// The last line of all, as a part of the store's.
const FINISH: u64 = 7;

/// A session that is being exported.
struct Open {
    session: Session,
    id: String,
    places: Vec<EmptyPlace>,
    /// Messages that come next.
    keys: VecDeque<Key>,
    /// The message that was written last, which the next one mostly answers.
    last: Option<(Key, String)>,
}

struct Writer<'a, 'tx> {
    tx: &'a Tx<'tx>,
    only: Option<i64>,
    at: At,
    open: Option<Open>,
    /// Each session's number in the order of activity, oldest first.
    order: Option<HashMap<i64, usize>>,
}

impl Writer<'_, '_> {
    /// Writes lines until the page is full. Answers where the next page begins; none: all is written.
    fn fill(&mut self, lines: &mut String, budget: usize) -> Result<Option<At>> {
        loop {
            let before = self.at;
            // A large message is not loaded to find out that it does not fit.
            if !lines.is_empty() && lines.len() + self.next_size()? > budget {
                return Ok(Some(before));
            }
            let begin = lines.len();
            let done = self.write(lines)?;
            if lines.len() > begin {
                lines.push('\n');
            }
            if begin > 0 && lines.len() > budget {
                lines.truncate(begin);
                return Ok(Some(before));
            }
            if done {
                return Ok(None);
            }
        }
    }

    /// Writes the next line, without its end, or none where a part has no more lines. True: that was the last.
    fn write(&mut self, out: &mut String) -> Result<bool> {
        if self.at.session == STORE {
            return self.write_store(out);
        }
        self.open()?;
        match self.at.part {
            HEAD => self.write_head(out)?,
            CONFIGURATION => {
                let Some(open) = &self.open else { return Ok(true) };
                let own = self.tx.own_configuration(open.session.key)?;
                write_configuration(out, Some(&open.id), &own);
                self.next_part();
            }
            MESSAGES => self.write_message(out)?,
            SUMMARIES => self.write_summary(out)?,
            BLOCKS => self.write_block(out)?,
            PROMPT => self.write_prompt(out)?,
            _ => self.write_end(out)?,
        }
        Ok(false)
    }

    fn write_store(&mut self, out: &mut String) -> Result<bool> {
        match (self.at.part, self.only) {
            (HEAD, only) => {
                let _ = write!(out, r#"{{"type":"talktree","version":{VERSION}}}"#);
                match only {
                    None => self.next_part(),
                    Some(key) => self.begin(key)?,
                }
            }
            (CONFIGURATION, None) => {
                write_configuration(out, None, &self.tx.own_configuration(STORE)?);
                self.at.part = BLOCKS;
            }
            (BLOCKS, None) => self.write_block(out)?,
            (PROMPT, None) => self.next_session("SELECT key FROM session ORDER BY id LIMIT 1", None)?,
            _ => {
                out.push_str(r#"{"type":"end"}"#);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_part(&mut self) {
        self.at.part += 1;
        self.at.position = 0;
    }

    /// Goes to the session that a query finds, or to the end.
    fn next_session(&mut self, sql: &str, after: Option<&str>) -> Result<()> {
        let mut statement = self.tx.statement(sql)?;
        let next = match after {
            None => statement.query_row([], |row| row.get(0)).optional()?,
            Some(id) => statement.query_row([id], |row| row.get(0)).optional()?,
        };
        match next {
            Some(key) => self.begin(key)?,
            None => self.at = At { part: FINISH, ..At::default() },
        }
        Ok(())
    }

    fn begin(&mut self, key: i64) -> Result<()> {
        if key <= STORE {
            return Err(damaged(format!("a session has the key {key}")));
        }
        self.open = None;
        self.at = At { session: key, ..At::default() };
        self.open()?;
        if let Some(open) = &self.open {
            self.at.until = open.session.last_seq;
            self.at.deletions = open.session.deletions;
        }
        Ok(())
    }

    /// Loads the session that the export stands in.
    fn open(&mut self) -> Result<()> {
        if self.open.is_some() {
            return Ok(());
        }
        let gone = || stale("a session was deleted while it was being exported");
        let id: String = self
            .tx
            .statement("SELECT id FROM session WHERE key = ?1")?
            .query_row([self.at.session], |row| row.get(0))
            .optional()?
            .ok_or_else(gone)?;
        let session = self.tx.session(&id)?.ok_or_else(gone)?;
        if self.at.part > HEAD && session.deletions != self.at.deletions {
            return Err(stale("messages of a session were deleted while it was being exported"));
        }
        let places = if session.overlays > 0 { self.tx.empty_places(&session)? } else { Vec::new() };
        self.open = Some(Open { session, id, places, keys: VecDeque::new(), last: None });
        Ok(())
    }

    fn write_head(&mut self, out: &mut String) -> Result<()> {
        let order = self.order()?;
        let Some(open) = &self.open else { return Ok(()) };
        let created_at: i64 = self
            .tx
            .statement("SELECT created_at FROM session WHERE key = ?1")?
            .query_row([open.session.key], |row| row.get(0))?;
        let _ = write!(out, r#"{{"type":"session","session":{},"createdAt":{created_at}"#, quote(&open.id));
        if let Some(order) = order {
            let _ = write!(out, r#","order":{order}"#);
        }
        if let Some((title, automatic)) = self.tx.title(open.session.key)? {
            let _ = write!(out, r#","title":{},"titleAutomatic":{automatic}"#, quote(&title));
        }
        out.push('}');
        self.next_part();
        Ok(())
    }

    /// The present session's number in the order of activity; none where only one is exported.
    fn order(&mut self) -> Result<Option<usize>> {
        if self.only.is_some() {
            return Ok(None);
        }
        let order = match &self.order {
            Some(order) => order,
            None => {
                let mut statement = self.tx.statement("SELECT key FROM session ORDER BY rank, key")?;
                let keys = statement.query_map([], |row| row.get(0))?;
                let order = keys.zip(1..).map(|(key, number)| Ok((key?, number))).collect::<Result<_>>()?;
                self.order.insert(order)
            }
        };
        Ok(order.get(&self.at.session).copied())
    }

    /// Bytes of the message that comes next, if it is one.
    fn next_size(&mut self) -> Result<usize> {
        if self.at.session == STORE || self.at.part != MESSAGES {
            return Ok(0);
        }
        self.open()?;
        self.look_ahead()?;
        let Some(&key) = self.open.as_ref().and_then(|open| open.keys.front()) else { return Ok(0) };
        let bytes: i64 = self
            .tx
            .statement("SELECT bytes FROM message WHERE key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?
            .unwrap_or(0);
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    fn look_ahead(&mut self) -> Result<()> {
        if let Some(open) = &mut self.open
            && open.keys.is_empty()
        {
            open.keys = self.tx.keys_by_seq(&open.session, self.at.position as u32, self.at.until)?.into();
        }
        Ok(())
    }

    /// Writes the next message, or a place without one that comes before it.
    fn write_message(&mut self, out: &mut String) -> Result<()> {
        self.look_ahead()?;
        let after = self.at.position as u32;
        let Some(open) = &mut self.open else { return Ok(()) };
        let empty = open.places.iter().find(|place| place.place.seq() > after);
        let message = open.keys.front().copied();
        let (key, is_message) = match (message, empty) {
            (Some(key), Some(empty)) if empty.place.seq() < key.seq() => (empty.place, false),
            (Some(key), _) => (key, true),
            (None, Some(empty)) if empty.place.seq() <= self.at.until => (empty.place, false),
            (None, _) => {
                self.next_part();
                return Ok(());
            }
        };
        let parent = if is_message { self.tx.parent_of(key)? } else { self.tx.message_at_or_above(key)? };
        let kind = if is_message { "message" } else { "place" };
        let _ = write!(out, r#"{{"type":"{kind}","session":{},"seq":{}"#, quote(&open.id), key.seq());
        if let Some(parent) = parent {
            let id = match &open.last {
                Some((last, id)) if *last == parent => id.clone(),
                _ => self.tx.message_id(parent)?,
            };
            let _ = write!(out, r#","parentId":{}"#, quote(&id));
            if let Some(place) = self.tx.empty_place_above(key, parent, &open.places)? {
                let _ = write!(out, r#","below":{}"#, place.seq());
            }
        }
        if is_message {
            let (head, text) = self.tx.load(key, MediaMode::Inline)?;
            let _ = write!(out, r#","createdAt":{},"message":"#, head.created_at);
            out.reserve(text.len() + 2);
            out.push_str(&text);
            open.last = Some((key, head.id));
            open.keys.pop_front();
        }
        out.push('}');
        self.at.position = key.seq().into();
        Ok(())
    }

    fn write_summary(&mut self, out: &mut String) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        // A summary that was made while pages were read may cover what this export does not hold.
        let next = self
            .tx
            .overlays(&open.session)?
            .into_iter()
            .find(|overlay| overlay.key.unsigned_abs() > self.at.position && overlay.last.seq() <= self.at.until);
        let Some(overlay) = next else {
            self.next_part();
            return Ok(());
        };
        let compaction = self.tx.compaction(&overlay, None)?;
        let _ = write!(
            out,
            r#"{{"type":"compaction","session":{},"id":{},"firstId":{},"lastId":{}"#,
            quote(&open.id),
            quote(&compaction.id),
            quote(&compaction.first_id),
            quote(&compaction.last_id),
        );
        if open.places.iter().any(|place| place.place == overlay.place) {
            let _ = write!(out, r#","below":{}"#, overlay.place.seq());
        }
        let _ = write!(out, r#","createdAt":{}"#, compaction.created_at);
        for (name, tokens) in [("inputTokens", compaction.input_tokens), ("outputTokens", compaction.output_tokens)] {
            if let Some(tokens) = tokens {
                let _ = write!(out, r#","{name}":{tokens}"#);
            }
        }
        let _ = write!(out, r#","summary":{}}}"#, quote(&compaction.summary));
        self.at.position = overlay.key.unsigned_abs();
        Ok(())
    }

    /// Writes the next block of the session, or of the store.
    fn write_block(&mut self, out: &mut String) -> Result<()> {
        let owner = self.at.session;
        if self.at.position > 0 {
            let known = self.tx.statement("SELECT 1 FROM block WHERE key = ?1")?.exists([self.at.position as i64])?;
            if !known {
                return Err(stale("a block was removed while it was being exported"));
            }
        }
        let next: Option<(i64, String)> = self
            .tx
            .statement(
                "SELECT key, label FROM block WHERE owner = ?1 AND (?2 = 0 OR (declared, label) >
                   (SELECT declared, label FROM block WHERE key = ?2)) ORDER BY declared, label LIMIT 1",
            )?
            .query_row(params![owner, self.at.position as i64], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let block = match &next {
            Some((_, label)) => self.tx.carry_block(owner, label)?,
            None => None,
        };
        let (Some((key, _)), Some(block)) = (next, block) else {
            self.next_part();
            return Ok(());
        };
        if key < 1 {
            return Err(damaged(format!("a block has the key {key}")));
        }
        memory::write_block(out, self.open.as_ref().map(|open| open.id.as_str()), &block);
        self.at.position = key.unsigned_abs();
        Ok(())
    }

    /// Writes the frozen prompt, and which entries the model has loaded.
    fn write_prompt(&mut self, out: &mut String) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        let frozen = self.tx.frozen(open.session.key)?;
        let mut loaded = self.tx.carry_loaded(open.session.key)?;
        if self.only.is_some() {
            // The store's blocks do not come along.
            let own = self.tx.carried_labels(open.session.key)?;
            loaded.retain(|(label, _)| own.contains(label));
        }
        if frozen.is_some() || !loaded.is_empty() {
            let _ = write!(out, r#"{{"type":"prompt","session":{}"#, quote(&open.id));
            if let Some(frozen) = frozen {
                let (text, sections) = (quote(&frozen.text), quote(&frozen.sections));
                let _ = write!(out, r#","text":{text},"sections":{sections}"#);
            }
            let loaded: Vec<String> = loaded
                .iter()
                .map(|(label, key)| format!(r#"{{"label":{},"key":{}}}"#, quote(label), quote(key)))
                .collect();
            let _ = write!(out, r#","loaded":[{}]}}"#, loaded.join(","));
        }
        self.next_part();
        Ok(())
    }

    fn write_end(&mut self, out: &mut String) -> Result<()> {
        let Some(open) = &self.open else { return Ok(()) };
        let active_at: i64 = self
            .tx
            .statement("SELECT active_at FROM session WHERE key = ?1")?
            .query_row([open.session.key], |row| row.get(0))?;
        let _ = write!(
            out,
            r#"{{"type":"end","session":{},"lastActivityAt":{active_at},"nextSeq":{}"#,
            quote(&open.id),
            u64::from(self.at.until) + 1,
        );
        if let Some(chosen) = open.session.chosen.filter(|chosen| chosen.seq() <= self.at.until) {
            let _ = write!(out, r#","leafId":{}"#, quote(&self.tx.message_id(chosen)?));
        }
        out.push('}');
        let id = open.id.clone();
        match self.only {
            Some(_) => self.at = At { part: FINISH, ..At::default() },
            None => self.next_session("SELECT key FROM session WHERE id > ?1 ORDER BY id LIMIT 1", Some(&id))?,
        }
        Ok(())
    }
}

/// Writes what is set of a configuration; nothing where nothing is.
fn write_configuration(out: &mut String, session: Option<&str>, own: &ConfigurationChange) {
    if *own == ConfigurationChange::default() {
        return;
    }
    out.push_str(r#"{"type":"configuration""#);
    if let Some(session) = session {
        let _ = write!(out, r#","session":{}"#, quote(session));
    }
    for (name, setting) in [
        ("compactAfter", &own.compact_after),
        ("keepRecentTokens", &own.keep_recent_tokens),
        ("protectHead", &own.protect_head),
        ("minTail", &own.min_tail),
        ("maxPromptTokens", &own.max_prompt_tokens),
    ] {
        if let Setting::Value(number) = setting {
            let _ = write!(out, r#","{name}":{number}"#);
        }
    }
    if let Setting::Value(factor) = own.token_factor {
        let _ = write!(out, r#","tokenFactor":{factor}"#);
    }
    if let Setting::Value(mode) = own.auto_compact {
        let mode = match mode {
            AutoCompact::Host => "host",
            AutoCompact::Inline => "inline",
            AutoCompact::Off => "off",
        };
        let _ = write!(out, r#","autoCompact":"{mode}""#);
    }
    if let Setting::Value(keys) = &own.reserved_metadata_keys {
        let keys: Vec<String> = keys.iter().map(|key| quote(key)).collect();
        let _ = write!(out, r#","reservedMetadataKeys":[{}]"#, keys.join(","));
    }
    out.push('}');
}

impl Tx<'_> {
    /// The keys of the next messages of a session behind a seq, by seq. Each run of writing went to one chain.
    pub(super) fn keys_by_seq(&self, session: &Session, after: u32, until: u32) -> Result<Vec<Key>> {
        let mut found = Vec::new();
        let mut runs = self.statement(
            "SELECT seq, chain FROM run WHERE session = ?1 AND seq <= ?3 AND seq >=
               coalesce((SELECT max(seq) FROM run WHERE session = ?1 AND seq <= ?2), 0) ORDER BY seq",
        )?;
        let mut runs = runs.query_map(params![session.key, i64::from(after) + 1, until], |run| {
            Ok((run.get::<_, u32>(0)?, run.get::<_, u32>(1)?))
        })?;
        let mut run = runs.next().transpose()?;
        while let Some((seq, chain)) = run
            && found.len() < BATCH
        {
            // A run ends where the next one begins.
            run = runs.next().transpose()?;
            let last = run.map_or(until, |(next, _)| next.saturating_sub(1)).min(until);
            let mut keys =
                self.statement("SELECT key FROM message WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3")?;
            let range = params![
                Key::new(chain, seq.saturating_sub(1).max(after)),
                Key::new(chain, last),
                (BATCH - found.len()) as i64
            ];
            for key in keys.query_map(range, |row| row.get(0))? {
                found.push(key?);
            }
        }
        Ok(found)
    }
}
