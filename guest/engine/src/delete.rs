//! Deleting: messages with their children moved up or with all below, whole sessions' messages, and choosing the leaf.
//!
//! Splicing a message out of a chain moves no row: the next message of the chain answers the one before by standing
//! behind it, and chains that hang on the place keep the place, whose nearest surviving message above they answer.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};

use crate::correction::{Corrections, Sum};
use crate::error::Result;
use crate::key::Key;
use crate::overlay::Overlay;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{DeleteMode, DeleteResult, EventKind};

impl<P: Place> Store<P> {
    /// Deletes messages; unknown ids are ignored. A dry run answers the same and changes nothing.
    pub fn delete_messages(
        &mut self,
        session: &str,
        ids: &[String],
        mode: DeleteMode,
        dry_run: bool,
    ) -> Result<DeleteResult> {
        let work = |tx: &mut Tx<'_>| {
            let Some(mut session) = tx.session(session)? else { return Ok(nothing()) };
            let mut keys = BTreeSet::new();
            for id in ids {
                keys.extend(tx.find_message(&session, id)?);
            }
            let parts = match mode {
                DeleteMode::Splice => keys.into_iter().map(|key| Part { first: key, last: key }).collect(),
                DeleteMode::Subtree => tx.subtrees(&session, &keys)?,
            };
            let deleted = tx.count(&parts)?;
            let ranges: Vec<(Key, Key)> = parts.iter().map(|part| (part.first, part.last)).collect();
            let covering = tx.covering(&session, &ranges)?;
            let summaries = covering.iter().map(|overlay| overlay.id.clone()).collect();
            if !dry_run && deleted > 0 {
                tx.delete(&mut session, &parts, &ranges, covering)?;
            }
            Ok(DeleteResult { deleted: u32::try_from(deleted).unwrap_or(u32::MAX), summaries })
        };
        if dry_run { self.read(work) } else { self.free(work) }
    }

    /// Deletes all messages of a session; its configuration stays. Answers how many.
    pub fn clear_messages(&mut self, session: &str) -> Result<u32> {
        self.free(|tx| {
            let Some(mut session) = tx.session(session)? else { return Ok(0) };
            let deleted = u32::try_from(session.messages).unwrap_or(u32::MAX);
            if deleted > 0 {
                tx.clear(&mut session)?;
                let event = tx.next_quiet_event()?;
                tx.write_event(event, &session.key, EventKind::Cleared, None, &[])?;
            }
            Ok(deleted)
        })
    }

    /// Chooses the present leaf, or ends the choice. Answers the present leaf.
    pub fn set_leaf(&mut self, session: &str, id: Option<&str>) -> Result<Option<String>> {
        self.write(|tx| {
            let found = tx.session(session)?;
            let chosen = id.map(|id| tx.known_message(found.as_ref(), id)).transpose()?;
            let Some(mut session) = found else { return Ok(None) };
            if session.chosen != chosen {
                session.chosen = chosen;
                tx.save_session(&session)?;
            }
            session.present_leaf().map(|leaf| tx.message_id(leaf)).transpose()
        })
    }
}

fn nothing() -> DeleteResult {
    DeleteResult { deleted: 0, summaries: Vec::new() }
}

/// Messages of one chain that go together: from the first to the last, and all between.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: Key,
    last: Key,
}

impl Tx<'_> {
    /// All that is at or below some messages, without one part inside another.
    fn subtrees(&self, session: &Session, keys: &BTreeSet<Key>) -> Result<Vec<Part>> {
        // From which place on each chain goes.
        let mut from: BTreeMap<u32, Key> = BTreeMap::new();
        let mut open: Vec<Key> = keys.iter().copied().collect();
        while let Some(first) = open.pop() {
            // What stands behind an earlier first message of the chain has been looked at with it.
            let until = match from.get(&first.chain()) {
                Some(&known) if known <= first => continue,
                Some(&known) => known,
                None => Key::end(first.chain()),
            };
            from.insert(first.chain(), first);
            let mut attached =
                self.statement("SELECT key FROM chain WHERE session = ?1 AND attach >= ?2 AND attach <= ?3")?;
            let mut rows = attached.query(params![session.key, first, until])?;
            while let Some(row) = rows.next()? {
                open.push(Key::start(row.get(0)?));
            }
        }
        Ok(from.into_values().map(|first| Part { first, last: Key::end(first.chain()) }).collect())
    }

    fn count(&self, parts: &[Part]) -> Result<i64> {
        let mut statement = self.statement("SELECT count(*) FROM message WHERE key >= ?1 AND key <= ?2")?;
        let mut count = 0;
        for part in parts {
            count += statement.query_row(params![part.first, part.last], |row| row.get::<_, i64>(0))?;
        }
        Ok(count)
    }

    fn delete(
        &mut self,
        session: &mut Session,
        parts: &[Part],
        ranges: &[(Key, Key)],
        covering: Vec<Overlay>,
    ) -> Result<()> {
        let ids = self.ids_by_seq(ranges)?;
        self.write_down(ranges)?;
        let mut corrections = Corrections::default();
        let mut total = Sum::default();
        for part in parts {
            let gone = self
                .statement(
                    "SELECT coalesce(sum(bytes), 0), coalesce(sum(tokens), 0), coalesce(sum(outside), 0), count(*)
                 FROM message WHERE key >= ?1 AND key <= ?2",
                )?
                .query_row(params![part.first, part.last], Sum::from_row)?;
            self.forget_words(part.first, part.last)?;
            self.delete_texts(part.first, part.last)?;
            self.statement("DELETE FROM message WHERE key >= ?1 AND key <= ?2")?
                .execute(params![part.first, part.last])?;
            // A part of several messages is all that its chain has from there on, so that one entry says it.
            let change = Sum { bytes: -gone.bytes, tokens: -gone.tokens, outside: -gone.outside, gone: gone.gone };
            corrections.add(part.first, change);
            total += gone;
        }
        if !corrections.is_empty() {
            self.save_corrections(&corrections)?;
            session.corrected = true;
        }
        session.messages -= total.gone;
        session.bytes -= total.bytes;
        session.tokens -= total.tokens;
        session.outside -= total.outside;
        session.deletions += 1;
        session.chosen = match session.chosen {
            Some(chosen) => self.message_at_or_above(chosen)?,
            None => None,
        };
        session.leaf = self.newest_message(session)?;
        self.shrink_overlays(session, covering)?;
        let chains = parts.iter().map(|part| part.first.chain()).collect();
        self.drop_empty_chains(session, chains)?;
        self.raise_places(session)?;
        let event = self.next_quiet_event()?;
        let ids: Vec<&str> = ids.iter().map(|(_, id)| id.as_str()).collect();
        self.write_event(event, &session.key, EventKind::Deleted, None, &ids)?;
        self.save_session(session)
    }

    /// The ids of messages, in order of seq.
    fn ids_by_seq(&self, ranges: &[(Key, Key)]) -> Result<Vec<(u32, String)>> {
        let mut ids = Vec::new();
        let mut statement = self.statement("SELECT key, id FROM message WHERE key >= ?1 AND key <= ?2")?;
        for &(first, last) in ranges {
            let mut rows = statement.query(params![first, last])?;
            while let Some(row) = rows.next()? {
                ids.push((row.get::<_, Key>(0)?.seq(), row.get(1)?));
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Removes all messages of a session with what belongs to them.
    pub(crate) fn clear(&mut self, session: &mut Session) -> Result<()> {
        self.forget_session(session)?;
        let mut after = 0;
        while let Some(chain) = self.next_chain(session, after)? {
            let (start, end) = (Key::start(chain), Key::end(chain));
            self.write_down(&[(start, end)])?;
            self.delete_texts(start, end)?;
            self.statement("DELETE FROM message WHERE key > ?1 AND key <= ?2")?.execute(params![start, end])?;
            self.statement("DELETE FROM correction WHERE chain = ?1")?.execute([chain])?;
            after = chain;
        }
        self.statement("DELETE FROM chain WHERE session = ?1")?.execute([session.key])?;
        self.statement("DELETE FROM run WHERE session = ?1")?.execute([session.key])?;
        self.statement("DELETE FROM overlay WHERE session = ?1")?.execute([session.key])?;
        (session.overlays, session.tangled) = (0, false);
        self.statement("DELETE FROM refusal WHERE session = ?1")?.execute([session.key])?;
        (session.messages, session.bytes, session.tokens, session.outside) = (0, 0, 0, 0);
        (session.leaf, session.chosen, session.corrected) = (None, None, false);
        session.deletions += 1;
        self.save_session(session)
    }

    fn next_chain(&self, session: &Session, after: u32) -> Result<Option<u32>> {
        Ok(self
            .statement("SELECT min(key) FROM chain WHERE session = ?1 AND key > ?2")?
            .query_row(params![session.key, after], |row| row.get(0))?)
    }

    /// The message with the greatest seq.
    fn newest_message(&self, session: &Session) -> Result<Option<Key>> {
        if let Some(leaf) = session.leaf
            && self.last_in_chain(leaf)? == Some(leaf)
        {
            return Ok(Some(leaf));
        }
        // Each run holds greater seqs than the ones before it.
        let mut runs = self.statement("SELECT seq, chain FROM run WHERE session = ?1 ORDER BY seq DESC")?;
        let mut rows = runs.query([session.key])?;
        let mut to = u32::MAX;
        while let Some(row) = rows.next()? {
            let (seq, chain): (u32, u32) = (row.get(0)?, row.get(1)?);
            let found: Option<Key> = self
                .statement("SELECT key FROM message WHERE key >= ?1 AND key <= ?2 ORDER BY key DESC LIMIT 1")?
                .query_row(params![Key::new(chain, seq), Key::new(chain, to)], |row| row.get(0))
                .optional()?;
            if found.is_some() {
                return Ok(found);
            }
            to = seq.saturating_sub(1);
        }
        Ok(None)
    }

    /// Removes chains that hold nothing and that nothing hangs on, and then those above of which that has become true.
    fn drop_empty_chains(&self, session: &mut Session, chains: BTreeSet<u32>) -> Result<()> {
        let mut open: Vec<u32> = chains.into_iter().collect();
        let mut left = Vec::new();
        // Younger chains first: they hang on older ones.
        while let Some(key) = open.pop() {
            let Some(chain) = self.find_chain(key)? else { continue };
            if self.next_in_chain(Key::start(key))?.is_some()
                || self.anything_attached(session.key, Key::start(key), Key::end(key))?
            {
                continue;
            }
            self.statement("DELETE FROM chain WHERE key = ?1")?.execute([key])?;
            self.statement("DELETE FROM correction WHERE chain = ?1")?.execute([key])?;
            left.push((key, chain.attach));
            open.extend(chain.attach.map(Key::chain));
        }
        // Only now is it known what still hangs where: branches may have gone together.
        for (key, attach) in left {
            self.leave_chain(session, key, attach)?;
        }
        Ok(())
    }
}
