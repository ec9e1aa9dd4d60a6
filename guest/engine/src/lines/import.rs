//! Taking lines: what each kind of them becomes, and what is told of those that cannot be taken.
//!
//! What is there already stays: messages, summaries, blocks, settings and titles that the store has are never changed. Lines come
//! in any order that puts a message behind its parent, or in one call with it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use rusqlite::{OptionalExtension, params};

use super::line::Line;
use super::waiting::Lost;
use super::{VERSION, memory};
use crate::append::{now, valid_time};
use crate::context::Frozen;
use crate::directory::MAX_TITLE_BYTES;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message::{Incoming, MAX_ID_BYTES};
use crate::overlay::NewOverlay;
use crate::place::Place;
use crate::row::Stamp;
use crate::session::{Session, validate_id};
use crate::store::{Store, Tx};
use crate::types::{AutoCompact, ConfigurationChange, EventKind, LineFailure, LinesReport, Setting};

/// The configuration's session number that stands for the store.
const STORE: i64 = 0;

/// The seq in `landing` that says of a session that the import has made it.
const MADE: u32 = 0;

impl<P: Place> Store<P> {
    /// Takes lines of an export, page after page in order, each call all or none. Lines that cannot be taken are
    /// reported and left out. With a session, the lines of the one session that they hold go to that one.
    pub fn import_lines(&mut self, session: Option<&str>, lines: &str) -> Result<Vec<LinesReport>> {
        if let Some(id) = session {
            validate_id(id)?;
        }
        self.write(|tx| {
            let mut taker = Taker::new(tx, session);
            for (number, line) in (1..).zip(lines.split('\n')) {
                let line = line.trim_matches(['\u{feff}', ' ', '\t', '\r']);
                if !line.is_empty() {
                    taker.take(number, line)?;
                }
            }
            taker.finish()
        })
    }
}

/// Why a line is not taken: it is reported, or it ends the call.
pub(super) enum Refusal {
    Line(String),
    Call(Error),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Line(why)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.kind {
            Kind::InvalidMessage | Kind::InvalidArgument => Self::Line(error.message),
            _ => Self::Call(error),
        }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Error::from(error).into()
    }
}

pub(super) type Taken<T = ()> = std::result::Result<T, Refusal>;

/// The session that lines go to at present.
struct Current {
    id: String,
    session: Session,
    /// The last event of a message that was stored.
    event: Option<i64>,
}

pub(super) struct Taker<'a, 'tx, 'l> {
    pub(super) tx: &'a mut Tx<'tx>,
    now: i64,
    /// The session that all lines go to.
    to: Option<&'l str>,
    /// The one session that the lines are of, where they go to another.
    of: Option<Cow<'l, str>>,
    current: Option<Current>,
    reports: Vec<LinesReport>,
    /// Which of the reports is a session's.
    reported: HashMap<Option<String>, usize>,
    /// Messages whose parents have not come yet, by session and parent.
    pub(super) waiting: BTreeMap<(String, String), Vec<(u32, &'l str)>>,
}

impl<'a, 'tx, 'l> Taker<'a, 'tx, 'l> {
    fn new(tx: &'a mut Tx<'tx>, to: Option<&'l str>) -> Self {
        Self {
            tx,
            now: now(),
            to,
            of: None,
            current: None,
            reports: Vec::new(),
            reported: HashMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Takes one line, or reports it.
    fn take(&mut self, number: u32, text: &'l str) -> Result<()> {
        let line = match Line::read(text) {
            Ok(line) => line,
            Err(why) => {
                // It belongs to where the line before it did, as far as anybody can tell.
                let session = self.current.as_ref().map(|current| current.id.clone());
                self.fail(session, number, why);
                return Ok(());
            }
        };
        let session = match self.target(&line)? {
            Ok(session) => session,
            Err(why) => {
                self.fail(None, number, why);
                return Ok(());
            }
        };
        match self.take_line(number, text, &line, session.as_deref()) {
            Ok(()) => Ok(()),
            Err(Refusal::Line(why)) => {
                self.fail(session, number, why);
                Ok(())
            }
            Err(Refusal::Call(error)) => Err(error),
        }
    }

    /// The session that a line goes to; none if it belongs to the store as a whole.
    fn target(&mut self, line: &Line<'l>) -> Result<std::result::Result<Option<String>, String>> {
        let named = match line.text("session") {
            Ok(named) => named,
            Err(why) => return Ok(Err(why)),
        };
        let Some(named) = named else { return Ok(Ok(None)) };
        if named.len() > MAX_ID_BYTES {
            return Ok(Err(format!("`session` is longer than {MAX_ID_BYTES} bytes")));
        }
        let Some(to) = self.to else { return Ok(Ok(Some(named.into_owned()))) };
        match &self.of {
            Some(of) if *of != named => Err(Error::new(
                Kind::InvalidArgument,
                format!("the lines hold more than one session ({of:?} and {named:?}), which cannot all go to one; import them without naming a session"),
            )
            .subject("session")),
            Some(_) => Ok(Ok(Some(to.to_owned()))),
            None => {
                self.of = Some(named);
                Ok(Ok(Some(to.to_owned())))
            }
        }
    }

    fn take_line(&mut self, number: u32, text: &'l str, line: &Line<'l>, session: Option<&str>) -> Taken {
        let kind = line.needed_text("type")?;
        if let ("compaction" | "end", Some(id)) = (&*kind, session) {
            // All messages have been told.
            self.settle(id)?;
        }
        match (&*kind, session) {
            ("talktree", _) => check_version(line).map_err(Refusal::Call),
            ("end", None) => self.take_end(),
            (_, None) if self.to.is_some() => {
                Err("this belongs to the store as a whole, and the lines were to go to one session".to_owned().into())
            }
            ("configuration", None) => {
                self.tx.complete_configuration(STORE, configuration(line)?)?;
                Ok(())
            }
            ("session", Some(id)) => self.take_session(id, line),
            ("configuration", Some(id)) => {
                let change = configuration(line)?;
                let key = self.open(id)?.session.key;
                self.tx.complete_configuration(key, change)?;
                Ok(())
            }
            ("block", _) => self.take_block(session, line),
            ("prompt", Some(id)) => self.take_prompt(id, line),
            ("message", Some(id)) => self.take_message(id, number, text, line),
            ("place", Some(id)) => self.take_place(id, line),
            ("compaction", Some(id)) => self.take_summary(id, line),
            ("end", Some(id)) => self.take_end_of_session(id, line),
            ("session" | "message" | "place" | "compaction" | "prompt", None) => {
                Err("`session` is missing".to_owned().into())
            }
            _ => Err(format!("lines of the type {kind:?} are not known; a newer version may have written it").into()),
        }
    }

    /// The session, made if it is not there, with its counters loaded.
    fn open(&mut self, id: &str) -> Result<&mut Current> {
        self.open_or_make(id, self.now)
    }

    fn open_or_make(&mut self, id: &str, created_at: i64) -> Result<&mut Current> {
        self.report(Some(id));
        if self.current.as_ref().is_none_or(|current| current.id != id) {
            self.save()?;
            let session = match self.tx.session(id)? {
                Some(session) => session,
                None => {
                    let session = self.tx.ensure_session(id, created_at)?;
                    self.tx.remember(session.key, MADE, 0)?;
                    session
                }
            };
            self.current = Some(Current { id: id.to_owned(), session, event: None });
        }
        self.current.as_mut().ok_or_else(|| Error::new(Kind::Other, "no session is open"))
    }

    /// Writes the counters of the present session.
    fn save(&mut self) -> Result<()> {
        if let Some(current) = self.current.take() {
            if let Some(event) = current.event {
                self.tx.save_active_session(&current.session, event, self.now)?;
            }
            // With what deletes and summaries count.
            self.tx.save_session(&current.session)?;
        }
        Ok(())
    }

    fn take_session(&mut self, id: &str, line: &Line<'l>) -> Taken {
        let created_at = line.number("createdAt")?.unwrap_or(self.now);
        valid_time(created_at)?;
        let title = line.text("title")?;
        if title.as_ref().is_some_and(|title| title.len() > MAX_TITLE_BYTES) {
            return Err(format!("`title` is longer than {MAX_TITLE_BYTES} bytes").into());
        }
        let automatic = line.flag("titleAutomatic")?;
        let order = line.number::<u32>("order")?.unwrap_or(0);
        let key = self.open_or_make(id, created_at)?.session.key;
        if self.tx.landed(key, MADE)?.is_some() {
            self.tx.remember(key, MADE, order.into())?;
        }
        if let Some(title) = title
            && self.tx.title(key)?.is_none()
        {
            self.tx
                .statement("INSERT INTO title(session, automatic, title) VALUES (?1, ?2, ?3)")?
                .execute(params![key, automatic, title])?;
            let event = self.tx.next_quiet_event()?;
            self.tx.write_event(event, &key, EventKind::SessionChanged, None, &[])?;
        }
        Ok(())
    }

    fn take_message(&mut self, id: &str, number: u32, text: &'l str, line: &Line<'l>) -> Taken {
        if let Some(stored) = self.store_message(id, number, text, line, Lost::Waits)? {
            self.take_waiting(id, stored)?;
        }
        Ok(())
    }

    /// Stores a message and answers its id. None: it is there already, or waits for its parent.
    pub(super) fn store_message(
        &mut self,
        id: &str,
        number: u32,
        text: &'l str,
        line: &Line<'l>,
        lost: Lost,
    ) -> Taken<Option<String>> {
        let raw = line.raw("message").ok_or_else(|| "`message` is missing".to_owned())?;
        let message = Incoming::parse(raw)?;
        let parent_id = line.text("parentId")?;
        let below: Option<u32> = line.number("below")?;
        let seq: Option<u32> = line.number("seq")?;
        if seq == Some(0) {
            return Err("`seq` is 0; the first is 1".to_owned().into());
        }
        let created_at = line.number("createdAt")?.unwrap_or(self.now);
        valid_time(created_at)?;
        let found = match &self.current {
            Some(current) if current.id == id => Some(current.session.clone()),
            _ => self.tx.session(id)?,
        };
        if let Some(session) = &found
            && self.tx.find_message(session, message.id())?.is_some()
        {
            self.report(Some(id)).skipped += 1;
            return Ok(None);
        }
        let mut parent = match (&parent_id, &found) {
            (None, _) => None,
            (Some(parent_id), Some(session)) => self.tx.find_message(session, parent_id)?,
            (Some(_), None) => None,
        };
        if let Some(parent_id) = parent_id
            && parent.is_none()
        {
            self.report(Some(id));
            if lost == Lost::Waits {
                self.waiting.entry((id.to_owned(), parent_id.into_owned())).or_default().push((number, text));
                return Ok(None);
            }
            parent = found.as_ref().map(|session| self.before(session, seq)).transpose()?.flatten();
            let instead = match parent {
                Some(parent) => format!("below {:?}, the message before it", self.tx.message_id(parent)?),
                None => "as a root".to_owned(),
            };
            let why = format!(
                "its parent {parent_id:?} is neither in the store nor among the lines that could be taken; it was stored {instead}"
            );
            self.fail(Some(id.to_owned()), number, why);
        }
        if found.as_ref().is_some_and(|session| session.last_seq == u32::MAX) {
            return Err("the session has no room for another message".to_owned().into());
        }
        self.open(id)?;
        let place = below.map(|below| self.empty_place(below)).transpose()?.flatten();
        let event = self.tx.next_event()?;
        let Some(current) = &mut self.current else { return Ok(None) };
        if let Some(seq) = seq {
            current.session.last_seq = current.session.last_seq.max(seq - 1);
        }
        let stamp = Stamp { created_at, event, imported: true };
        self.tx.insert_message(&mut current.session, place.or(parent), &message, stamp)?;
        current.event = Some(event);
        self.report(Some(id)).imported += 1;
        Ok(Some(message.id().to_owned()))
    }

    /// Remembers a place where no message is, until something belongs there.
    fn take_place(&mut self, id: &str, line: &Line<'l>) -> Taken {
        let seq: u32 = line.number("seq")?.filter(|&seq| seq > MADE).ok_or_else(|| "`seq` is missing".to_owned())?;
        let parent_id = line.needed_text("parentId")?;
        let below: Option<u32> = line.number("below")?;
        let session = self.open(id)?.session.clone();
        if self.tx.landed(session.key, seq)?.is_some() {
            return Ok(());
        }
        let parent = self
            .tx
            .find_message(&session, &parent_id)?
            .ok_or_else(|| format!("its parent {parent_id:?} is not there"))?;
        if let Some(place) = self.tx.known_empty_place(&session, seq, parent)? {
            self.tx.remember(session.key, seq, place.number() as i64)?;
            return Ok(());
        }
        let above = below.map(|below| self.empty_place(below)).transpose()?.flatten().unwrap_or(parent);
        self.tx.remember(session.key, seq, -(above.number() as i64))?;
        Ok(())
    }

    /// The place without a message that has this seq in the export, in the session that is open; none if no line told
    /// of it. It is on a chain of its own: what hangs there must not go on with the chain above, whose other branches do
    /// not lead through the place.
    fn empty_place(&mut self, seq: u32) -> Result<Option<Key>> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let key = current.session.key;
        if seq == MADE {
            return Ok(None);
        }
        let Some(number) = self.tx.landed(key, seq)? else { return Ok(None) };
        let Some(place) = Key::from_number(number.unsigned_abs()) else { return Ok(None) };
        // What was deleted since the page before is no place to hang anything on.
        if self.tx.find_chain(place.chain())?.is_none() {
            return Ok(None);
        }
        if number > 0 {
            return Ok(Some(place));
        }
        // Where it cannot have its seq here, since something else has it or it would come before what it hangs on, it has
        // the next one: an export tells places and messages in the order of their seqs.
        let session = &mut current.session;
        let own = seq > place.seq() && !self.tx.is_seq_taken(session, seq)?;
        let Some(own) = (if own { Some(seq) } else { session.last_seq.checked_add(1) }) else { return Ok(None) };
        session.last_seq = session.last_seq.max(own);
        // From now on a place need not have a message.
        session.deletions = session.deletions.max(1);
        let place = Key::new(self.tx.insert_chain(key, Some(place))?, own);
        self.tx.remember(key, seq, place.number() as i64)?;
        Ok(Some(place))
    }

    fn take_summary(&mut self, id: &str, line: &Line<'l>) -> Taken {
        let own = line.needed_text("id")?;
        if own.is_empty() || own.len() > MAX_ID_BYTES {
            return Err(format!("`id` is empty, or longer than {MAX_ID_BYTES} bytes").into());
        }
        let (first_id, last_id) = (line.needed_text("firstId")?, line.needed_text("lastId")?);
        let summary = line.needed_text("summary")?;
        if summary.trim().is_empty() {
            return Err("`summary` is blank".to_owned().into());
        }
        let below: Option<u32> = line.number("below")?;
        let created_at = line.number("createdAt")?.unwrap_or(self.now);
        valid_time(created_at)?;
        let (input_tokens, output_tokens) = (line.number("inputTokens")?, line.number("outputTokens")?);
        let session = self.open(id)?.session.clone();
        let find = |id: &str| -> Taken<Key> {
            Ok(self
                .tx
                .find_message(&session, id)?
                .ok_or_else(|| format!("the message {id:?} that it covers is not there"))?)
        };
        let (first, last) = (find(&first_id)?, find(&last_id)?);
        if !self.tx.is_on_path_to(first, last)? {
            return Err(format!("{first_id:?} and {last_id:?} are not on one path in that order").into());
        }
        let holder: Option<i64> = self
            .tx
            .statement("SELECT session FROM overlay WHERE id = ?1")?
            .query_row([&own], |row| row.get(0))
            .optional()?;
        if holder == Some(session.key) {
            return Ok(());
        }
        let place = match below {
            Some(below) => {
                self.empty_place(below)?.ok_or_else(|| format!("the place {below} that it belongs to is not there"))?
            }
            None => last,
        };
        if self.tx.message_at_or_above(place)? != Some(last) {
            return Err(format!("the place that it belongs to is not right below {last_id:?}").into());
        }
        // Ids of summaries are unique in the store: a second copy of a session gets new ones.
        let own = if holder.is_some() { None } else { Some(&*own) };
        let count = self.tx.count_between(first, last)?;
        let new = NewOverlay {
            first,
            last,
            count,
            summary: &summary,
            created_at,
            automatic: false,
            input_tokens,
            output_tokens,
        };
        let event = self.tx.next_quiet_event()?;
        let current = self.open(id)?;
        let mut session = current.session.clone();
        let overlay = self.tx.insert_overlay_at(&mut session, &new, place, own, event)?;
        self.tx.write_event(event, &session.key, EventKind::CompactionChanged, None, &[&overlay.id])?;
        self.open(id)?.session = session;
        Ok(())
    }

    /// Takes a block of a session, or of the store.
    fn take_block(&mut self, session: Option<&str>, line: &Line<'l>) -> Taken {
        let block = memory::read_block(line)?;
        for &(_, created_at) in &block.versions {
            valid_time(created_at)?;
        }
        let owner = match session {
            Some(id) => self.open(id)?.session.key,
            None => STORE,
        };
        match self.tx.take_block(owner, &block) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // More blocks than there may be: of memory that runs out no label is said.
            Err(error) if error.kind == Kind::OverLimit && error.subject.is_some() => return Err(error.message.into()),
            Err(error) => return Err(error.into()),
        }
        self.tx.record_event(session.unwrap_or_default(), EventKind::ContextChanged, &[&block.label])?;
        Ok(())
    }

    /// Takes a frozen prompt, and which entries the model has loaded.
    fn take_prompt(&mut self, id: &str, line: &Line<'l>) -> Taken {
        let text = line.text("text")?;
        let sections = line.text("sections")?;
        let loaded = line
            .objects("loaded")?
            .iter()
            .map(|entry| Ok((entry.needed_text("label")?, entry.needed_text("key")?)))
            .collect::<std::result::Result<Vec<_>, String>>()?;
        let session = self.open(id)?.session.key;
        if let Some(text) = text {
            let frozen = Frozen { text: text.into(), sections: sections.unwrap_or_default().into() };
            self.tx.take_frozen(session, &frozen)?;
        }
        for (label, key) in loaded {
            // What is not there, as where a block of the store did not come along, needs no mark.
            self.tx.take_loaded(session, &label, &key)?;
        }
        Ok(())
    }

    /// The end of a session's lines: what an import that made it has still to set.
    fn take_end_of_session(&mut self, id: &str, line: &Line<'l>) -> Taken {
        let next_seq: Option<u64> = line.number("nextSeq")?;
        let active_at: Option<i64> = line.number("lastActivityAt")?;
        let leaf_id = line.text("leafId")?;
        if let Some(active_at) = active_at {
            valid_time(active_at)?;
        }
        let current = self.open(id)?;
        let session = current.session.clone();
        if self.tx.landed(session.key, MADE)?.is_none() {
            return Ok(());
        }
        let leaf = match &leaf_id {
            Some(id) => self.tx.find_message(&session, id)?,
            None => None,
        };
        let current = self.open(id)?;
        if let Some(last) = next_seq.and_then(|next| u32::try_from(next.saturating_sub(1)).ok()) {
            current.session.last_seq = current.session.last_seq.max(last);
        }
        if leaf.is_some() {
            current.session.chosen = leaf;
        }
        self.save()?;
        if let Some(active_at) = active_at {
            self.tx
                .statement("UPDATE session SET active_at = ?2 WHERE key = ?1")?
                .execute(params![session.key, active_at])?;
        }
        match leaf_id {
            Some(leaf_id) if leaf.is_none() => Err(format!("the chosen leaf {leaf_id:?} is not there").into()),
            _ => Ok(()),
        }
    }

    /// The end of the export: the sessions that it made come into the order that they had.
    fn take_end(&mut self) -> Taken {
        self.save()?;
        self.tx.order_made_sessions()?;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<LinesReport>> {
        self.settle_all()?;
        self.save()?;
        self.report_circles();
        for report in &mut self.reports {
            report.failed.sort_by_key(|failure| failure.line);
        }
        Ok(self.reports)
    }

    pub(super) fn fail(&mut self, session: Option<String>, line: u32, why: String) {
        self.report(session.as_deref()).failed.push(LineFailure { line, why });
    }

    /// What is reported of a session, or of the store as a whole.
    fn report(&mut self, session: Option<&str>) -> &mut LinesReport {
        let session = session.map(str::to_owned);
        let at = *self.reported.entry(session).or_insert_with_key(|session| {
            self.reports.push(LinesReport { session_id: session.clone(), ..LinesReport::default() });
            self.reports.len() - 1
        });
        &mut self.reports[at]
    }
}

fn check_version(line: &Line<'_>) -> Result<()> {
    let refuse = |message: String| Err(Error::new(Kind::InvalidArgument, message).subject("version"));
    match line.number::<i64>("version") {
        Ok(Some(VERSION)) => Ok(()),
        Ok(Some(version)) => refuse(format!(
            "the lines are of version {version} of the format; this version of the program takes version {VERSION}"
        )),
        _ => refuse("the first line of the export says no version".to_owned()),
    }
}

/// What a line of configuration sets.
fn configuration(line: &Line<'_>) -> std::result::Result<ConfigurationChange, String> {
    fn set<T>(value: Option<T>) -> Setting<T> {
        value.map_or(Setting::Keep, Setting::Value)
    }
    let auto_compact = match line.text("autoCompact")?.as_deref() {
        None => Setting::Keep,
        Some("host") => Setting::Value(AutoCompact::Host),
        Some("inline") => Setting::Value(AutoCompact::Inline),
        Some("off") => Setting::Value(AutoCompact::Off),
        Some(other) => return Err(format!("`autoCompact` is {other:?}, which is none of host, inline and off")),
    };
    Ok(ConfigurationChange {
        compact_after: set(line.number("compactAfter")?),
        keep_recent_tokens: set(line.number("keepRecentTokens")?),
        protect_head: set(line.number("protectHead")?),
        min_tail: set(line.number("minTail")?),
        max_prompt_tokens: set(line.number("maxPromptTokens")?),
        token_factor: set(line.number("tokenFactor")?),
        auto_compact,
        reserved_metadata_keys: set(line.texts("reservedMetadataKeys")?),
    })
}

impl Tx<'_> {
    fn remember(&self, session: i64, seq: u32, number: i64) -> Result<()> {
        self.statement("INSERT OR REPLACE INTO landing(session, seq, place) VALUES (?1, ?2, ?3)")?
            .execute(params![session, seq, number])?;
        Ok(())
    }

    fn landed(&self, session: i64, seq: u32) -> Result<Option<i64>> {
        Ok(self
            .statement("SELECT place FROM landing WHERE session = ?1 AND seq = ?2")?
            .query_row(params![session, seq], |row| row.get(0))
            .optional()?)
    }

    /// Puts the sessions that the import has made into the order of activity that they had, behind each other in the
    /// places that they have among all sessions.
    fn order_made_sessions(&mut self) -> Result<()> {
        let made: Vec<(i64, i64)> = self
            .statement(
                "SELECT s.key, s.rank FROM landing l JOIN session s ON s.key = l.session WHERE l.seq = 0
                 ORDER BY l.place, s.rank",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        if self.statement("DELETE FROM landing")?.execute([])? == 0 {
            return Ok(());
        }
        let mut ranks: Vec<i64> = made.iter().map(|&(_, rank)| rank).collect();
        ranks.sort_unstable();
        // The number of the last event is looked for with the most recent session, which may become another one.
        self.next_quiet_event()?;
        self.memo.newest = None;
        let mut statement = self.statement("UPDATE session SET rank = ?2 WHERE key = ?1 AND rank <> ?2")?;
        for ((key, _), rank) in made.into_iter().zip(ranks) {
            statement.execute(params![key, rank])?;
        }
        Ok(())
    }
}
