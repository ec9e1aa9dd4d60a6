//! Forking: a path copied into a session of its own.
//!
//! What is large is not looked at: payloads are counted once more, texts go from row to row. In the copy the path is one
//! chain, whatever it was before, and its messages are no events of the feed.

use std::collections::BTreeMap;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, params};

use crate::append::now;
use crate::chain::damaged;
use crate::correction::Sum;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::overlay::NewOverlay;
use crate::path::Path;
use crate::place::Place;
use crate::session::{Session, validate_id};
use crate::store::{Store, Tx};
use crate::types::EventKind;

/// What the column `imported` says of a message that a fork copied.
const COPIED: i64 = 2;

impl<P: Place> Store<P> {
    /// Copies the path to a leaf (none: the present one) into a new session, in order, with times and summaries; its
    /// title and configuration too. Answers how many messages that were.
    pub fn fork_session(&mut self, session: &str, leaf_id: Option<&str>, new_session: &str) -> Result<u32> {
        validate_id(new_session)?;
        self.write(|tx| {
            let source = tx.known_session(session)?;
            if tx.session(new_session)?.is_some() {
                return Err(Error::new(Kind::InvalidArgument, "the new session exists already; name another one")
                    .subject(new_session));
            }
            let path = tx.find_path(Some(&source), leaf_id)?;
            let mut fork = tx.ensure_session(new_session, now())?;
            if let Some(path) = path {
                tx.copy_path(&source, &path, &mut fork)?;
            }
            for sql in [
                "INSERT INTO config(session, name, value) SELECT ?2, name, value FROM config WHERE session = ?1",
                "INSERT INTO title(session, automatic, title) SELECT ?2, automatic, title FROM title WHERE session = ?1",
            ] {
                tx.statement(sql)?.execute([source.key, fork.key])?;
            }
            let event = tx.next_quiet_event()?;
            tx.write_event(event, &fork.key, EventKind::SessionChanged, None, &[])?;
            tx.save_session(&fork)?;
            Ok(u32::try_from(fork.messages).unwrap_or(u32::MAX))
        })
    }
}

/// Where copies go.
struct Copy {
    chain: Option<u32>,
    sum: Sum,
    /// What became of the places that overlays name.
    places: BTreeMap<Key, Option<Key>>,
}

impl Tx<'_> {
    /// Copies all messages of a path, and the overlays that apply on it; the caller saves the new session.
    fn copy_path(&mut self, source: &Session, path: &Path, fork: &mut Session) -> Result<()> {
        let mut overlays = if source.overlays == 0 { Vec::new() } else { self.overlays_along(path, i64::MAX)? };
        // The younger of two that cover as much is shown: they are made again in the order of their making.
        overlays.sort_unstable_by_key(|overlay| overlay.key);
        let places = overlays.iter().flat_map(|overlay| [(overlay.first, None), (overlay.last, None)]).collect();
        let mut copy = Copy { chain: None, sum: Sum::default(), places };
        let mut rows = self.statement(
            "SELECT key, created_at, bytes, tokens, outside, id, role, calls, preview, body FROM message
             WHERE key > ?1 AND key <= ?2 ORDER BY key",
        )?;
        let mut next = self.first_stretch(path)?;
        while let Some(stretch) = next {
            let mut rows = rows.query(params![Key::start(stretch.to.chain()), stretch.to])?;
            while let Some(row) = rows.next()? {
                self.copy_message(row, fork, &mut copy)?;
            }
            next = self.next_stretch(path, stretch)?;
        }
        let event = self.last_event()?;
        for overlay in overlays {
            let place = |old: Key| {
                let new = copy.places.get(&old).copied().flatten();
                new.ok_or_else(|| damaged(format!("compaction {} covers a message that is not there", overlay.id)))
            };
            let (automatic, input_tokens, output_tokens) = self
                .statement("SELECT automatic, input_tokens, output_tokens FROM overlay WHERE key = ?1")?
                .query_row([overlay.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let new = NewOverlay {
                first: place(overlay.first)?,
                last: place(overlay.last)?,
                count: overlay.count,
                summary: &self.summary(&overlay)?,
                created_at: overlay.created_at,
                automatic,
                input_tokens,
                output_tokens,
            };
            self.insert_overlay(fork, &new, event)?;
        }
        Ok(())
    }

    /// Copies one message behind those that were copied before.
    fn copy_message(&mut self, row: &Row<'_>, fork: &mut Session, copy: &mut Copy) -> Result<()> {
        let old: Key = row.get(0)?;
        let size = Sum { bytes: row.get(2)?, tokens: row.get(3)?, outside: row.get(4)?, gone: 0 };
        let seq = fork.last_seq.saturating_add(1);
        let event = self.next_event()?;
        let chain = match copy.chain {
            Some(chain) => chain,
            None => {
                let chain = self.insert_chain(fork.key, None)?;
                self.begin_run(event, fork.key, Key::new(chain, seq))?;
                copy.chain = Some(chain);
                chain
            }
        };
        let new = Key::new(chain, seq);
        copy.sum += size;
        let same = |column| row.get_ref(column).map(ToSqlOutput::Borrowed);
        self.statement(
            "INSERT INTO message(key, session, created_at, event, imported, bytes, tokens, outside, chain_bytes,
               chain_tokens, chain_outside, id, role, calls, preview, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            new,
            fork.key,
            same(1)?,
            event,
            COPIED,
            size.bytes,
            size.tokens,
            size.outside,
            copy.sum.bytes,
            copy.sum.tokens,
            copy.sum.outside,
            same(5)?,
            same(6)?,
            same(7)?,
            same(8)?,
            same(9)?,
        ])?;
        if row.get_ref(9)? == rusqlite::types::ValueRef::Null {
            self.copy_pieces(old, new)?;
        }
        if size.outside > 0 {
            self.copy_media(old, new)?;
        }
        if let Some(place) = copy.places.get_mut(&old) {
            *place = Some(new);
        }
        (fork.last_seq, fork.leaf) = (seq, Some(new));
        fork.messages += 1;
        fork.bytes += size.bytes;
        fork.tokens += size.tokens;
        fork.outside += size.outside;
        Ok(())
    }

    fn copy_pieces(&self, old: Key, new: Key) -> Result<()> {
        let mut pieces = self.statement("SELECT data FROM piece WHERE message = ?1 ORDER BY key")?;
        let mut pieces = pieces.query([old])?;
        let mut insert = self.statement("INSERT INTO piece(message, data) VALUES (?1, ?2)")?;
        while let Some(piece) = pieces.next()? {
            insert.execute(params![new, ToSqlOutput::Borrowed(piece.get_ref(0)?)])?;
        }
        Ok(())
    }

    fn copy_media(&self, old: Key, new: Key) -> Result<()> {
        self.statement(
            "INSERT INTO media(message, at, payload, prefix, type, pointer)
             SELECT ?2, at, payload, prefix, type, pointer FROM media WHERE message = ?1",
        )?
        .execute(params![old, new])?;
        self.statement(
            "UPDATE payload SET refs = refs + (SELECT count(*) FROM media m WHERE m.message = ?1 AND m.payload = payload.key)
             WHERE key IN (SELECT m.payload FROM media m WHERE m.message = ?1)",
        )?
        .execute([new])?;
        Ok(())
    }
}
