//! Writing to the model.

use std::collections::HashSet;

use talktree_engine::{
    AppendOptions, AppendResult, ChainItem, ChainResult, DeleteMode, DeleteResult, ExpectedLeaf, Kind, Parent, Source,
    UpsertResult,
};

use super::{Answer, Model, Number, Record, Session, Text, UNKNOWN_TIME, valid_session};

/// A message as it is sent; none: a text that is no message.
pub type Sent<'a> = Option<&'a Text>;

impl Model {
    /// Appends a message.
    pub fn append_message(&mut self, session: &str, sent: Sent<'_>, options: &AppendOptions) -> Answer<AppendResult> {
        let text = sent.ok_or(Kind::InvalidMessage)?;
        let found = self.session(session)?;
        let reserved = self.reserved_for(options.source, found);
        if let Some(stored) = found.and_then(|session| session.find(&text.id)) {
            return Ok(AppendResult {
                inserted: false,
                conflict: !stored.text.says_the_same_as(text, &reserved),
                message: (stored.json != text.compact()).then(|| stored.json.clone()),
                compaction_due: false,
            });
        }
        expect_leaf(found, &options.expected_leaf)?;
        let parent = resolve(found, &options.parent)?;
        let stored = text.stripped(&reserved);
        let message = (stored != *text).then(|| stored.compact());
        self.insert(session, parent, stored, UNKNOWN_TIME);
        Ok(AppendResult { inserted: true, conflict: false, message, compaction_due: false })
    }

    /// Appends a chain of messages, all or none.
    pub fn append_messages(
        &mut self,
        session: &str,
        sent: &[Sent<'_>],
        options: &AppendOptions,
    ) -> Answer<ChainResult> {
        let texts: Vec<&Text> = sent.iter().map(|sent| sent.ok_or(Kind::InvalidMessage)).collect::<Answer<_>>()?;
        let found = self.session(session)?;
        let reserved = self.reserved_for(options.source, found);
        let stored = |text: &Text| found.and_then(|session| session.find(&text.id)).is_some();
        if !texts.iter().any(|text| stored(text)) {
            expect_leaf(found, &options.expected_leaf)?;
        }
        let mut items = Vec::new();
        let Some(first) = texts.first() else { return Ok(ChainResult { items, compaction_due: false }) };
        // Where the chain begins with a stored message nothing is hung under the parent that is named.
        let mut parent = if stored(first) { None } else { resolve(found, &options.parent)? };
        for (index, text) in texts.iter().enumerate() {
            let present = self.sessions.get(session).and_then(|found| found.find(&text.id)).cloned();
            let conflict = match &present {
                None => {
                    parent = Some(self.insert(session, parent, text.stripped(&reserved), UNKNOWN_TIME));
                    false
                }
                Some(record) => {
                    let found = self.sessions.get(session);
                    let same_parent = match (index, &options.parent) {
                        (0, Parent::Latest) => true,
                        (0, wanted) => resolve(found, wanted) == Ok(record.parent),
                        _ => record.parent == parent,
                    };
                    parent = Some(record.number);
                    !same_parent || !record.text.says_the_same_as(text, &reserved)
                }
            };
            items.push(ChainItem { id: text.id.clone(), inserted: present.is_none(), conflict });
        }
        Ok(ChainResult { items, compaction_due: false })
    }

    /// Replaces a message in place.
    pub fn update_message(&mut self, session: &str, sent: Sent<'_>, source: Source) -> Answer<Option<String>> {
        let text = sent.ok_or(Kind::InvalidMessage)?;
        valid_session(session)?;
        let reserved = self.reserved_for(source, self.sessions.get(session));
        let Some(found) = self.sessions.get_mut(session) else { return Ok(None) };
        let Some(record) = found.messages.iter_mut().find(|record| record.text.id == text.id) else { return Ok(None) };
        // What a client says again changes nothing, not even the place of what it does not see.
        if source == Source::Client && record.text.says_the_same_as(text, &reserved) {
            return Ok(Some(record.json.clone()));
        }
        let text = text.over(&record.text, &reserved).ok_or(Kind::InvalidMessage)?;
        if text.blanks(&record.text) {
            return Err(Kind::InvalidMessage);
        }
        record.rewrite(text);
        Ok(Some(record.json.clone()))
    }

    /// Updates a message that is there, else appends it.
    pub fn upsert_message(
        &mut self,
        session: &str,
        sent: Sent<'_>,
        parent: &Parent,
        source: Source,
    ) -> Answer<UpsertResult> {
        let text = sent.ok_or(Kind::InvalidMessage)?;
        if let Some(stored) = self.update_message(session, sent, source)? {
            return Ok(UpsertResult { inserted: false, message: (stored != text.compact()).then_some(stored) });
        }
        let options = AppendOptions { parent: parent.clone(), source, expected_leaf: ExpectedLeaf::Any };
        let appended = self.append_message(session, sent, &options)?;
        Ok(UpsertResult { inserted: true, message: appended.message })
    }

    /// Stores messages verbatim, with parent and time: all or none.
    pub fn import_messages(&mut self, session: &str, items: &[(Sent<'_>, Option<String>, i64)]) -> Answer<Vec<bool>> {
        if items.iter().any(|(sent, ..)| sent.is_none()) {
            return Err(Kind::InvalidMessage);
        }
        if items.iter().any(|(.., created_at)| created_at.unsigned_abs() >= 1 << 53) {
            return Err(Kind::InvalidArgument);
        }
        valid_session(session)?;
        let before = self.clone();
        let mut inserted = Vec::new();
        for (sent, parent, created_at) in items {
            let Some(text) = sent else { continue };
            let found = self.sessions.get(session);
            if found.and_then(|session| session.find(&text.id)).is_some() {
                inserted.push(false);
                continue;
            }
            let parent = parent.clone().map_or(Parent::Root, Parent::Id);
            match resolve(found, &parent) {
                Ok(parent) => {
                    self.insert(session, parent, (*text).clone(), *created_at);
                }
                Err(kind) => {
                    *self = before;
                    return Err(kind);
                }
            }
            inserted.push(true);
        }
        Ok(inserted)
    }

    /// Deletes messages.
    pub fn delete_messages(
        &mut self,
        session: &str,
        ids: &[String],
        mode: DeleteMode,
        dry_run: bool,
    ) -> Answer<DeleteResult> {
        valid_session(session)?;
        let Some(found) = self.sessions.get_mut(session) else {
            return Ok(DeleteResult { deleted: 0, summaries: Vec::new() });
        };
        let mut gone: HashSet<Number> =
            ids.iter().filter_map(|id| found.find(id)).map(|record| record.number).collect();
        if mode == DeleteMode::Subtree {
            // Parents stand before their children, so one pass finds all below.
            for record in &found.messages {
                if record.parent.is_some_and(|parent| gone.contains(&parent)) {
                    gone.insert(record.number);
                }
            }
        }
        let deleted = gone.len() as u32;
        if !dry_run {
            found.remove(&gone);
        }
        Ok(DeleteResult { deleted, summaries: Vec::new() })
    }

    /// Deletes all messages of a session.
    pub fn clear_messages(&mut self, session: &str) -> Answer<u32> {
        valid_session(session)?;
        let Some(found) = self.sessions.get_mut(session) else { return Ok(0) };
        found.chosen = None;
        Ok(std::mem::take(&mut found.messages).len() as u32)
    }

    /// Chooses the present leaf.
    pub fn set_leaf(&mut self, session: &str, id: Option<&str>) -> Answer<Option<String>> {
        valid_session(session)?;
        let Some(found) = self.sessions.get_mut(session) else {
            return if id.is_some() { Err(Kind::UnknownMessage) } else { Ok(None) };
        };
        found.chosen = match id {
            Some(id) => Some(found.find(id).ok_or(Kind::UnknownMessage)?.number),
            None => None,
        };
        Ok(found.present_leaf().map(|record| record.text.id.clone()))
    }

    fn insert(&mut self, session: &str, parent: Option<Number>, text: Text, created_at: i64) -> Number {
        self.numbers += 1;
        let session = self.sessions.entry(session.to_owned()).or_default();
        session.last_seq += 1;
        session.chosen = None;
        session.messages.push(Record::new(self.numbers, parent, session.last_seq, created_at, text));
        self.numbers
    }

    fn reserved_for(&self, source: Source, session: Option<&Session>) -> Vec<String> {
        match source {
            Source::Server => Vec::new(),
            Source::Client => self.reserved(session),
        }
    }
}

impl Session {
    /// Takes messages out; their children, and the choice of the leaf, move to the nearest ancestor that stays.
    fn remove(&mut self, gone: &HashSet<Number>) {
        let survivor = |mut at: Option<Number>| {
            while let Some(number) = at.filter(|number| gone.contains(number)) {
                at = self.record(number).and_then(|record| record.parent);
            }
            at
        };
        let parents: Vec<Option<Number>> = self.messages.iter().map(|record| survivor(record.parent)).collect();
        self.chosen = survivor(self.chosen);
        for (record, parent) in self.messages.iter_mut().zip(parents) {
            record.parent = parent;
        }
        self.messages.retain(|record| !gone.contains(&record.number));
    }
}

fn resolve(session: Option<&Session>, parent: &Parent) -> Answer<Option<Number>> {
    match parent {
        Parent::Latest => Ok(session.and_then(Session::present_leaf).map(|record| record.number)),
        Parent::Root => Ok(None),
        Parent::Id(id) => {
            let found = session.and_then(|session| session.find(id)).ok_or(Kind::UnknownParent)?;
            Ok(Some(found.number))
        }
    }
}

fn expect_leaf(session: Option<&Session>, expected: &ExpectedLeaf) -> Answer<()> {
    let present = session.and_then(Session::present_leaf).map(|record| record.text.id.as_str());
    let as_expected = match expected {
        ExpectedLeaf::Any => true,
        ExpectedLeaf::Empty => present.is_none(),
        ExpectedLeaf::Id(id) => present == Some(id),
    };
    if as_expected { Ok(()) } else { Err(Kind::LeafMoved) }
}
