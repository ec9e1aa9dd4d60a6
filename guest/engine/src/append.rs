//! Writing messages: append, append a chain, update, upsert, import.

use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::message::{self, Incoming};
use crate::place::Place;
use crate::row::Stamp;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{
    AppendOptions, AppendResult, ChainItem, ChainResult, EventKind, ExpectedLeaf, ImportItem, MediaMode, Parent,
    Source, UpsertResult,
};

/// Messages that one call may bring.
const MAX_CHAIN: usize = 10_000;

/// Above this a number is not the same in every language.
const MAX_NUMBER: u64 = (1 << 53) - 1;

impl<P: Place> Store<P> {
    /// Appends one message. A stored id answers `inserted: false`, whatever else is asked.
    pub fn append_message(&mut self, session: &str, message: &str, options: &AppendOptions) -> Result<AppendResult> {
        let message = Incoming::parse(message)?;
        self.write(|tx| tx.append(session, &message, options, now()))
    }

    /// Appends a chain of messages, each answering the one before: all or none.
    pub fn append_messages(
        &mut self,
        session: &str,
        messages: &[String],
        options: &AppendOptions,
    ) -> Result<ChainResult> {
        within_a_call(messages.len())?;
        let messages = messages.iter().map(|message| Incoming::parse(message)).collect::<Result<Vec<_>>>()?;
        self.write(|tx| tx.append_chain(session, &messages, options, now()))
    }

    /// Replaces role and content of a message in place. None: there is no such id, and nothing was written.
    pub fn update_message(&mut self, session: &str, message: &str, source: Source) -> Result<Option<String>> {
        let message = Incoming::parse(message)?;
        self.write(|tx| {
            let Some(mut found) = tx.session(session)? else { return Ok(None) };
            let Some(key) = tx.find_message(&found, message.id())? else { return Ok(None) };
            tx.update(&mut found, key, message.clone(), source, now()).map(Some)
        })
    }

    /// Updates a message that is there, else appends it.
    pub fn upsert_message(
        &mut self,
        session: &str,
        message: &str,
        parent: &Parent,
        source: Source,
    ) -> Result<UpsertResult> {
        let message = Incoming::parse(message)?;
        self.write(|tx| {
            if let Some(mut found) = tx.session(session)?
                && let Some(key) = tx.find_message(&found, message.id())?
            {
                let stored = tx.update(&mut found, key, message.clone(), source, now())?;
                let message = (stored != message.text()).then_some(stored);
                return Ok(UpsertResult { inserted: false, message });
            }
            let options = AppendOptions { parent: parent.clone(), source, expected_leaf: ExpectedLeaf::Any };
            let appended = tx.append(session, &message, &options, now())?;
            Ok(UpsertResult { inserted: true, message: appended.message })
        })
    }

    /// Stores a message from elsewhere verbatim. False: its id was there, and nothing was written.
    pub fn import_message(&mut self, session: &str, item: &ImportItem) -> Result<bool> {
        Ok(self.import_messages(session, std::slice::from_ref(item))?.contains(&true))
    }

    /// Stores messages from elsewhere verbatim, in order: all, or none.
    pub fn import_messages(&mut self, session: &str, items: &[ImportItem]) -> Result<Vec<bool>> {
        within_a_call(items.len())?;
        let messages = items.iter().map(|item| Incoming::parse(&item.message)).collect::<Result<Vec<_>>>()?;
        items.iter().try_for_each(|item| valid_time(item.created_at))?;
        self.write(|tx| tx.import(session, &messages, items, now()))
    }
}

impl Tx<'_> {
    fn append(
        &mut self,
        session_id: &str,
        message: &Incoming<'_>,
        options: &AppendOptions,
        now: i64,
    ) -> Result<AppendResult> {
        let found = self.session(session_id)?;
        let keys = self.keys_for(options.source, found.as_ref())?;
        if let Some(session) = &found
            && let Some(key) = self.find_message(session, message.id())?
        {
            let (_, stored) = self.load(key, MediaMode::Inline)?;
            let conflict = !same_text(&stored, message.text(), &keys);
            let message = (stored != message.text()).then_some(stored);
            return Ok(AppendResult { inserted: false, conflict, message, compaction_due: false });
        }
        self.expect_leaf(found.as_ref(), &options.expected_leaf)?;
        let parent = self.resolve_parent(found.as_ref(), &options.parent)?;
        let stored = message.clone().without_reserved(&keys);
        let mut session = self.ensure_session(session_id, now)?;
        let event = self.next_event()?;
        self.insert_message(&mut session, parent, &stored, Stamp { created_at: now, event, imported: false })?;
        self.save_active_session(&session, event, now)?;
        let changed = (stored.text() != message.text()).then(|| stored.into_text().into_owned());
        let compaction_due = self.compaction_due(&session)?;
        Ok(AppendResult { inserted: true, conflict: false, message: changed, compaction_due })
    }

    fn append_chain(
        &mut self,
        session_id: &str,
        messages: &[Incoming<'_>],
        options: &AppendOptions,
        now: i64,
    ) -> Result<ChainResult> {
        let found = self.session(session_id)?;
        let keys = self.keys_for(options.source, found.as_ref())?;
        let mut any_stored = false;
        if let Some(session) = &found {
            for message in messages {
                any_stored |= self.find_message(session, message.id())?.is_some();
            }
        }
        if !any_stored {
            self.expect_leaf(found.as_ref(), &options.expected_leaf)?;
        }
        let mut items = Vec::with_capacity(messages.len());
        let Some(first) = messages.first() else { return Ok(ChainResult { items, compaction_due: false }) };
        // The parent is of no interest when the first message is stored already, as after an answer that got lost.
        let first_stored = match &found {
            Some(session) => self.find_message(session, first.id())?,
            None => None,
        };
        let mut parent = match first_stored {
            Some(_) => None,
            None => self.resolve_parent(found.as_ref(), &options.parent)?,
        };
        let mut session = match found {
            Some(session) => session,
            None => self.ensure_session(session_id, now)?,
        };
        let mut event = None;
        for (index, message) in messages.iter().enumerate() {
            if let Some(key) = self.find_message(&session, message.id())? {
                let (_, stored) = self.load(key, MediaMode::Inline)?;
                let under_another = match (index, &options.parent) {
                    (0, Parent::Latest) => false,
                    (0, Parent::Root) => self.parent_of(key)?.is_some(),
                    (0, Parent::Id(id)) => match self.place_of(&session, id)? {
                        Some(place) => self.parent_of(key)? != self.message_at_or_above(place)?,
                        // A root has no parent; that is not the same as one that is not there.
                        None => true,
                    },
                    _ => self.parent_of(key)? != parent,
                };
                let conflict = under_another || !same_text(&stored, message.text(), &keys);
                items.push(ChainItem { id: message.id().to_owned(), inserted: false, conflict });
                parent = Some(key);
                continue;
            }
            let next = self.next_event()?;
            let stored = message.clone().without_reserved(&keys);
            let stamp = Stamp { created_at: now, event: next, imported: false };
            parent = Some(self.insert_message(&mut session, parent, &stored, stamp)?);
            event = Some(next);
            items.push(ChainItem { id: message.id().to_owned(), inserted: true, conflict: false });
        }
        if let Some(event) = event {
            self.save_active_session(&session, event, now)?;
        }
        let compaction_due = event.is_some() && self.compaction_due(&session)?;
        Ok(ChainResult { items, compaction_due })
    }

    /// Updates a stored message and answers it as it is then.
    fn update(
        &mut self,
        session: &mut Session,
        key: Key,
        message: Incoming<'_>,
        source: Source,
        now: i64,
    ) -> Result<String> {
        let (_, stored) = self.load(key, MediaMode::Inline)?;
        // A large message is not held three times: where the text changes, the memory of the stored one is used again.
        let mut memory = None;
        let message = match source {
            Source::Server => {
                if message.text() == stored {
                    return Ok(stored);
                }
                memory = Some(stored);
                message
            }
            Source::Client => {
                let keys = self.keys_for(source, Some(session))?;
                // Keeping the reserved members may move them, which changes nothing that a client has said.
                if same_text(&stored, message.text(), &keys) {
                    return Ok(stored);
                }
                let metadata = message::only_metadata(&stored);
                drop(stored);
                message.keeping_reserved(&metadata, &keys)?
            }
        };
        if let Some(pointer) = self.blanks_media(key, message.text())? {
            return Err(Error::new(
                Kind::InvalidMessage,
                format!("{pointer} is blank, and the stored message has a payload there: this copy was read by reference; write the payload or leave the member out"),
            )
            .subject(message.id()));
        }
        self.replace_message(session, key, &message)?;
        let event = self.next_event()?;
        self.save_active_session(session, event, now)?;
        self.write_event(event, &session.key, EventKind::Updated, Some(key), &[message.id()])?;
        Ok(match memory {
            None => message.into_text().into_owned(),
            Some(mut answer) => {
                answer.clear();
                answer.push_str(message.text());
                answer
            }
        })
    }

    fn import(
        &mut self,
        session_id: &str,
        messages: &[Incoming<'_>],
        items: &[ImportItem],
        now: i64,
    ) -> Result<Vec<bool>> {
        let mut session = self.session(session_id)?;
        let mut inserted = Vec::with_capacity(items.len());
        let mut event = None;
        for (message, item) in messages.iter().zip(items) {
            if let Some(session) = &session
                && self.find_message(session, message.id())?.is_some()
            {
                inserted.push(false);
                continue;
            }
            let parent = match &item.parent_id {
                None => Parent::Root,
                Some(id) => Parent::Id(id.clone()),
            };
            let parent = self.resolve_parent(session.as_ref(), &parent)?;
            if session.is_none() {
                session = Some(self.ensure_session(session_id, now)?);
            }
            let Some(session) = &mut session else { continue };
            let next = self.next_event()?;
            let stamp = Stamp { created_at: item.created_at, event: next, imported: true };
            self.insert_message(session, parent, message, stamp)?;
            event = Some(next);
            inserted.push(true);
        }
        if let (Some(session), Some(event)) = (&session, event) {
            self.save_active_session(session, event, now)?;
        }
        Ok(inserted)
    }

    fn resolve_parent(&self, session: Option<&Session>, parent: &Parent) -> Result<Option<Key>> {
        match parent {
            Parent::Latest => Ok(session.and_then(Session::present_leaf)),
            Parent::Root => Ok(None),
            Parent::Id(id) => match session {
                Some(session) => self.place_of(session, id)?,
                None => None,
            }
            .map(Some)
            .ok_or_else(|| {
                Error::new(
                    Kind::UnknownParent,
                    "no message of that id in this session; read the present leaf and answer that",
                )
                .subject(id.clone())
            }),
        }
    }

    fn expect_leaf(&self, session: Option<&Session>, expected: &ExpectedLeaf) -> Result<()> {
        let present = session.and_then(Session::present_leaf);
        let as_expected = match expected {
            ExpectedLeaf::Any => true,
            ExpectedLeaf::Empty => present.is_none(),
            ExpectedLeaf::Id(id) => match (session, present) {
                (Some(session), Some(leaf)) => self.find_message(session, id)? == Some(leaf),
                _ => false,
            },
        };
        if as_expected {
            return Ok(());
        }
        let sentence = match present {
            Some(_) => "the conversation has moved on: its leaf is another message; read it and decide",
            None => "the session has no messages any more, or none yet",
        };
        let error = Error::new(Kind::LeafMoved, sentence);
        match present {
            Some(leaf) => Err(error.subject(self.message_id(leaf)?)),
            None => Err(error),
        }
    }

    /// The reserved keys that a writer has to respect: none for the server's side.
    fn keys_for(&self, source: Source, session: Option<&Session>) -> Result<Vec<String>> {
        match source {
            Source::Server => Ok(Vec::new()),
            Source::Client => self.reserved_keys(session.map(|session| session.key)),
        }
    }
}

/// Whether a stored text and one that is sent again say the same.
fn same_text(stored: &str, sent: &str, reserved: &[String]) -> bool {
    stored == sent || (!reserved.is_empty() && message::same_without_reserved(stored, sent, reserved))
}

/// Refuses a time that no other language could read.
pub(crate) fn valid_time(created_at: i64) -> Result<()> {
    if created_at.unsigned_abs() > MAX_NUMBER {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!("created-at is in ms since 1970, and at most 2^53 - 1; {created_at} is not"),
        )
        .subject("created-at")
        .numbers(created_at.unsigned_abs(), MAX_NUMBER));
    }
    Ok(())
}

fn within_a_call(messages: usize) -> Result<()> {
    if messages > MAX_CHAIN {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!("one call takes at most {MAX_CHAIN} messages; this one brings {messages}"),
        )
        .subject("messages")
        .numbers(messages as u64, MAX_CHAIN as u64));
    }
    Ok(())
}

/// The store's clock, in ms since 1970. Nothing is ever ordered by it.
pub(crate) fn now() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
