//! Changing blocks: declaring, writing, restoring and removing them.

use rusqlite::{OptionalExtension, params};

use super::block::{Entry, Row, length, validate_label};
use super::{
    KEPT_VERSIONS, MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_DESCRIPTION_BYTES, MAX_ENTRIES, MAX_OWNED_BYTES, MAX_TITLE_BYTES,
    STORE, key,
};
use crate::append::now;
use crate::error::{Error, Kind, Result};
use crate::message::tokens::estimate;
use crate::place::Place;
use crate::session::validate_id;
use crate::store::{Store, Tx};
use crate::types::{Block, BlockDefinition, BlockScope, BlockWrite, EventKind, WhenChanged, WriteAction};

/// Which part of a block is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    /// The text of a block without entries.
    Text,
    /// The entry of this key.
    Key(&'a str),
    /// The entry that has the title already, or else a new one.
    Title,
    /// A new entry, unless there is one that says the same.
    New,
}

/// What a write changes: the part that was there goes, and this takes its place.
#[derive(Debug, Clone, Copy)]
struct Change<'a> {
    old: Option<&'a Entry>,
    name: &'a str,
    title: Option<&'a str>,
    /// Empty: nothing takes its place.
    content: &'a str,
}

/// A block's sums as a change would leave them.
#[derive(Debug, Clone, Copy)]
struct Sums {
    bytes: i64,
    tokens: u32,
    entries: i64,
}

impl<P: Place> Store<P> {
    /// Declares a block, or changes the description, limit and `when_changed` of one that is there. Answers the block.
    ///
    /// A label is unique among the blocks that a session sees: one that the store has cannot be a session's, nor the
    /// other way round. A session comes into being with the first block of its own.
    pub fn define_block(&mut self, session: &str, label: &str, definition: &BlockDefinition) -> Result<Block> {
        validate_id(session)?;
        validate_label("label", label)?;
        let definition = checked(definition)?;
        self.write(|tx| tx.define_block(session, label, &definition))
    }

    /// Removes a block with its versions. Answers whether there was one. A frozen prompt still shows it.
    pub fn remove_block(&mut self, session: &str, label: &str) -> Result<bool> {
        self.free(|tx| {
            let key = tx.session(session)?.map(|session| session.key);
            let Some(row) = tx.find_block(key, label)? else { return Ok(false) };
            tx.delete_block(row.key)?;
            tx.block_changed(session, &row)?;
            Ok(true)
        })
    }

    /// Writes a block of any kind. A write that changes nothing makes no version.
    ///
    /// In a searchable or loadable block a write with a key replaces the entry of that key, adds to it, or removes it
    /// (empty content and [`WriteAction::Replace`]); its title stays where none is given, and an empty one takes it
    /// away. A write without a key makes a new entry, unless there is one with the same title that says the same.
    pub fn write_block(&mut self, session: &str, label: &str, write: &BlockWrite) -> Result<Block> {
        self.write(|tx| {
            let key = tx.session(session)?.map(|session| session.key);
            let mut row = tx.known_block(key, label)?;
            let target = match &write.key {
                Some(key) => Target::Key(key),
                None if row.kind.has_entries() => Target::New,
                None => Target::Text,
            };
            tx.write_block(session, &mut row, target, write)?;
            tx.block(&row, key)
        })
    }

    /// Makes what a block held at a version its newest version, with its entries as they were.
    pub fn restore_block(&mut self, session: &str, label: &str, version: u32) -> Result<Block> {
        self.write(|tx| {
            let key = tx.session(session)?.map(|session| session.key);
            let mut row = tx.known_block(key, label)?;
            let kept = tx.block_versions(&row)?;
            if !kept.iter().any(|&(number, _)| number == version) {
                let versions = kept.iter().map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ");
                return Err(Error::new(
                    Kind::InvalidArgument,
                    format!("version {version} of the block {label:?} is not kept; kept are: {versions}"),
                )
                .subject("version"));
            }
            if tx.restore_version(&mut row, version)? {
                tx.block_changed(session, &row)?;
            }
            tx.block(&row, key)
        })
    }
}

/// A definition as it is stored; refused if it cannot be.
fn checked(definition: &BlockDefinition) -> Result<BlockDefinition> {
    let mut definition = definition.clone();
    // Nothing to say is nothing said.
    definition.description = definition.description.filter(|description| !description.is_empty());
    checked_description(definition.description.as_deref())?;
    if definition.max_tokens == Some(0) {
        return Err(Error::new(Kind::InvalidArgument, "max-tokens must be at least 1").subject("max-tokens"));
    }
    Ok(definition)
}

/// Refuses what cannot be a description.
pub(super) fn checked_description(description: Option<&str>) -> Result<()> {
    match description {
        Some(text) if text.len() > MAX_DESCRIPTION_BYTES || text.contains(char::is_control) => Err(Error::new(
            Kind::InvalidArgument,
            format!("a description is one line of at most {MAX_DESCRIPTION_BYTES} bytes; this one is not"),
        )
        .subject("description")),
        _ => Ok(()),
    }
}

/// A title as it is stored.
pub(super) fn checked_title(title: Option<&str>) -> Result<Option<&str>> {
    let title = title.filter(|title| !title.is_empty());
    if let Some(title) = title
        && (title.len() > MAX_TITLE_BYTES || title.contains(char::is_control))
    {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!("a title is one line of at most {MAX_TITLE_BYTES} bytes; this one is not"),
        )
        .subject("title"));
    }
    Ok(title)
}

/// What stands there with more behind it, on a line of its own.
fn appended(present: &str, more: &str) -> String {
    let line = if present.is_empty() || present.ends_with('\n') || more.starts_with('\n') { "" } else { "\n" };
    format!("{present}{line}{more}")
}

impl Tx<'_> {
    fn define_block(&mut self, session: &str, label: &str, definition: &BlockDefinition) -> Result<Block> {
        let found = self.session(session)?.map(|session| session.key);
        if let Some(mut row) = self.find_block(found, label)? {
            if (row.kind, row.scope()) != (definition.kind, definition.scope) {
                let scope = if row.owner == STORE { "the store" } else { "this session" };
                return Err(Error::new(
                    Kind::InvalidArgument,
                    format!(
                        "{scope} has a {} block {label:?} already; its kind and scope cannot change: remove it first",
                        row.kind.name()
                    ),
                )
                .subject(label));
            }
            let present = (&row.description, row.max_tokens, row.when_changed);
            if present != (&definition.description, definition.max_tokens, definition.when_changed) {
                row.description.clone_from(&definition.description);
                (row.max_tokens, row.when_changed) = (definition.max_tokens, definition.when_changed);
                self.save_block(&row)?;
                self.block_changed(session, &row)?;
            }
            return self.block(&row, found);
        }
        let owner = match definition.scope {
            BlockScope::Store => {
                self.refuse_label_of_a_session(label)?;
                STORE
            }
            BlockScope::Session => self.ensure_session(session, now())?.key,
        };
        let declared = self
            .statement("SELECT coalesce(max(declared), 0) + 1 FROM block")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        let mut row = Row {
            key: 0,
            owner,
            declared,
            kind: definition.kind,
            when_changed: definition.when_changed,
            version: 0,
            bytes: 0,
            tokens: 0,
            max_tokens: definition.max_tokens,
            label: label.to_owned(),
            description: definition.description.clone(),
        };
        self.insert_block(&mut row)?;
        if let Some(content) = definition.content.as_deref().filter(|content| !content.is_empty()) {
            let name = if row.kind.has_entries() { key::derive(None, content, |_| false) } else { String::new() };
            self.change_entry(&mut row, &Change { old: None, name: &name, title: None, content })?;
        }
        self.block_changed(session, &row)?;
        let session = self.session(session)?.map(|session| session.key);
        self.block(&row, session)
    }

    /// A label of the store is one that no session has.
    pub(super) fn refuse_label_of_a_session(&self, label: &str) -> Result<()> {
        let holder: Option<String> = self
            .statement("SELECT s.id FROM block b JOIN session s ON s.key = b.owner WHERE b.label = ?1 LIMIT 1")?
            .query_row([label], |row| row.get(0))
            .optional()?;
        match holder {
            None => Ok(()),
            Some(holder) => Err(Error::new(
                Kind::InvalidArgument,
                format!("the session {holder:?} has a block {label:?} of its own, which one of the store would hide"),
            )
            .subject(label)),
        }
    }

    /// Stores a new block and gives it its key.
    pub(super) fn insert_block(&mut self, row: &mut Row) -> Result<()> {
        let count: i64 = self
            .statement("SELECT count(*) FROM block WHERE owner = ?1")?
            .query_row([row.owner], |found| found.get(0))?;
        if count >= MAX_BLOCKS {
            return Err(Error::new(
                Kind::OverLimit,
                format!("a session, and the store, have at most {MAX_BLOCKS} blocks; remove one first"),
            )
            .subject(&row.label)
            .numbers(count.unsigned_abs() + 1, MAX_BLOCKS.unsigned_abs()));
        }
        self.statement(
            "INSERT INTO block(owner, declared, kind, remind, version, bytes, tokens, max_tokens, label, description)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            row.owner,
            row.declared,
            row.kind.name(),
            row.when_changed == WhenChanged::Remind,
            row.version,
            row.bytes,
            row.tokens,
            row.max_tokens,
            row.label,
            row.description,
        ])?;
        row.key = self.connection.last_insert_rowid();
        Ok(())
    }

    fn save_block(&self, row: &Row) -> Result<()> {
        self.statement(
            "UPDATE block SET remind = ?2, version = ?3, bytes = ?4, tokens = ?5, max_tokens = ?6, description = ?7
             WHERE key = ?1",
        )?
        .execute(params![
            row.key,
            row.when_changed == WhenChanged::Remind,
            row.version,
            row.bytes,
            row.tokens,
            row.max_tokens,
            row.description,
        ])?;
        Ok(())
    }

    /// Writes a part of a block. Answers its key; empty for a text.
    pub(super) fn write_block(
        &mut self,
        session: &str,
        row: &mut Row,
        target: Target<'_>,
        write: &BlockWrite,
    ) -> Result<String> {
        if let Some(seen) = write.version.filter(|&seen| seen != row.version) {
            let mut error = Error::new(
                Kind::VersionMismatch,
                format!(
                    "the block {:?} is at version {}, not {seen}: read it again and decide",
                    row.label, row.version
                ),
            )
            .subject(&row.label);
            error.current = Some(row.version.into());
            return Err(error);
        }
        if !row.kind.has_entries() && (write.key.is_some() || write.title.is_some()) {
            let name = if write.key.is_some() { "key" } else { "title" };
            return Err(Error::new(
                Kind::InvalidArgument,
                format!("the block {:?} is {} and has no entries: leave the {name} out", row.label, row.kind.name()),
            )
            .subject(name));
        }
        let given = checked_title(write.title.as_deref())?;
        let (old, name) = match target {
            Target::Text => (self.block_entry(row, "")?, String::new()),
            Target::Key(key) => {
                validate_label("key", key)?;
                (self.block_entry(row, key)?, key.to_owned())
            }
            Target::Title | Target::New => {
                if write.content.is_empty() {
                    return Err(Error::new(
                        Kind::InvalidArgument,
                        "an entry needs content; to remove one, give its key and empty content",
                    )
                    .subject("content"));
                }
                let mut entries = self.block_entries(row)?;
                let by_title = matches!(target, Target::Title) && given.is_some();
                let same = entries
                    .iter()
                    .position(|entry| entry.title.as_deref() == given && (by_title || entry.content == write.content));
                match same {
                    // It says so already.
                    Some(same) if !by_title => return Ok(entries.swap_remove(same).name),
                    Some(same) => {
                        let entry = entries.swap_remove(same);
                        let name = entry.name.clone();
                        (Some(entry), name)
                    }
                    None => {
                        let taken = |key: &str| entries.iter().any(|entry| entry.name == key);
                        (None, key::derive(given, &write.content, taken))
                    }
                }
            }
        };
        let content = match (&old, write.action) {
            (Some(old), WriteAction::Append) if write.content.is_empty() => old.content.clone(),
            (Some(old), WriteAction::Append) => appended(&old.content, &write.content),
            _ => write.content.clone(),
        };
        // A title that is not given stays.
        let title = match &write.title {
            None => old.as_ref().and_then(|old| old.title.as_deref()),
            Some(_) => given,
        };
        let changed = match &old {
            None => !content.is_empty(),
            Some(old) => old.content != content || old.title.as_deref() != title,
        };
        if changed {
            self.change_entry(row, &Change { old: old.as_ref(), name: &name, title, content: &content })?;
            self.block_changed(session, row)?;
        }
        Ok(name)
    }

    /// Makes a new version of a block in which one part is another.
    fn change_entry(&mut self, row: &mut Row, change: &Change<'_>) -> Result<()> {
        let (old_bytes, old_tokens) = change.old.map_or((0, 0), |old| (length(&old.content), old.tokens));
        let tokens = estimate(change.content);
        let entries = if row.kind.has_entries() { self.count_block_entries(row)? } else { 0 };
        let sums = Sums {
            bytes: row.bytes - old_bytes + length(change.content),
            tokens: row.tokens.saturating_sub(old_tokens).saturating_add(tokens),
            entries: entries + i64::from(change.old.is_none()),
        };
        // Removing something is always right, also where a limit was lowered.
        if !change.content.is_empty() {
            self.refuse_above_limits(row, sums)?;
        }
        let version = row.version + 1;
        if let Some(old) = change.old {
            self.end_entry(old, version)?;
        }
        if change.content.is_empty() {
            self.unload_everywhere(row, change.name)?;
        } else {
            let place = change.old.map_or(version, |old| old.place);
            self.insert_entry(
                row,
                version,
                &Entry {
                    key: 0,
                    place,
                    tokens,
                    name: change.name.to_owned(),
                    title: change.title.map(str::to_owned),
                    content: change.content.to_owned(),
                },
            )?;
        }
        self.finish_version(row, sums)
    }

    fn restore_version(&mut self, row: &mut Row, version: u32) -> Result<bool> {
        let present = self.block_entries(row)?;
        let wanted = self.block_entries_at(row, version)?;
        let said = |entry: &Entry| (entry.place, entry.name.clone(), entry.title.clone(), entry.content.clone());
        // An entry that has not changed since is the same row.
        let same = |one: &Entry, other: &Entry| one.key == other.key || said(one) == said(other);
        let ended: Vec<&Entry> =
            present.iter().filter(|entry| !wanted.iter().any(|other| same(entry, other))).collect();
        let begun: Vec<&Entry> =
            wanted.iter().filter(|entry| !present.iter().any(|other| same(entry, other))).collect();
        if ended.is_empty() && begun.is_empty() {
            return Ok(false);
        }
        let sums = Sums {
            bytes: wanted.iter().map(|entry| length(&entry.content)).sum(),
            tokens: wanted.iter().fold(0, |sum: u32, entry| sum.saturating_add(entry.tokens)),
            entries: i64::try_from(wanted.len()).unwrap_or(i64::MAX),
        };
        self.refuse_above_limits(row, sums)?;
        let version = row.version + 1;
        for entry in ended {
            self.end_entry(entry, version)?;
            if !wanted.iter().any(|other| other.name == entry.name) {
                self.unload_everywhere(row, &entry.name)?;
            }
        }
        for entry in begun {
            self.insert_entry(row, version, entry)?;
        }
        self.finish_version(row, sums)?;
        Ok(true)
    }

    fn count_block_entries(&self, row: &Row) -> Result<i64> {
        Ok(self
            .statement("SELECT count(*) FROM block_entry WHERE block = ?1 AND died IS NULL")?
            .query_row([row.key], |found| found.get(0))?)
    }

    /// Refuses what a block, or all blocks of its owner, may not hold.
    fn refuse_above_limits(&self, row: &Row, sums: Sums) -> Result<()> {
        let refuse = |what: &str, now: i64, proposed: i64, most: i64| {
            Err(Error::new(
                Kind::OverLimit,
                format!(
                    "the block {:?} holds {now} {what}; this would make {proposed}, and it may hold at most {most}; \
                     nothing was written",
                    row.label
                ),
            )
            .subject(&row.label)
            .numbers(proposed.unsigned_abs(), most.unsigned_abs()))
        };
        if let Some(most) = row.max_tokens.filter(|&most| sums.tokens > most) {
            return refuse("tokens", row.tokens.into(), sums.tokens.into(), most.into());
        }
        if sums.bytes > MAX_BLOCK_BYTES {
            return refuse("bytes", row.bytes, sums.bytes, MAX_BLOCK_BYTES);
        }
        if sums.entries > MAX_ENTRIES {
            return refuse("entries", self.count_block_entries(row)?, sums.entries, MAX_ENTRIES);
        }
        self.refuse_above_owned_bytes(row, sums.bytes)
    }

    /// Refuses what all blocks of an owner may not hold, with so many bytes in this one.
    pub(super) fn refuse_above_owned_bytes(&self, row: &Row, bytes: i64) -> Result<()> {
        let others: i64 = self
            .statement("SELECT coalesce(sum(bytes), 0) FROM block WHERE owner = ?1 AND key <> ?2")?
            .query_row([row.owner, row.key], |found| found.get(0))?;
        if others + bytes > MAX_OWNED_BYTES {
            let proposed = others + bytes;
            return Err(Error::new(
                Kind::OverLimit,
                format!(
                    "with this the blocks of {} would hold {proposed} bytes together; they may hold at most \
                     {MAX_OWNED_BYTES}",
                    if row.owner == STORE { "the store" } else { "the session" }
                ),
            )
            .subject(&row.label)
            .numbers(proposed.unsigned_abs(), MAX_OWNED_BYTES.unsigned_abs()));
        }
        Ok(())
    }

    fn end_entry(&self, entry: &Entry, version: u32) -> Result<()> {
        self.statement("UPDATE block_entry SET died = ?2 WHERE key = ?1")?.execute(params![entry.key, version])?;
        Ok(())
    }

    fn insert_entry(&self, row: &Row, born: u32, entry: &Entry) -> Result<()> {
        self.insert_entry_of(row, born, None, entry)
    }

    /// Stores a part of a block with the versions that hold it.
    pub(super) fn insert_entry_of(&self, row: &Row, born: u32, died: Option<u32>, entry: &Entry) -> Result<()> {
        self.statement(
            "INSERT INTO block_entry(block, born, died, place, tokens, name, title, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row.key,
            born,
            died,
            entry.place,
            entry.tokens,
            entry.name,
            entry.title,
            entry.content,
        ])?;
        Ok(())
    }

    /// Writes down that a block has a new version, and lets go of one that is too old.
    fn finish_version(&self, row: &mut Row, sums: Sums) -> Result<()> {
        row.version += 1;
        (row.bytes, row.tokens) = (sums.bytes, sums.tokens);
        self.save_block(row)?;
        self.insert_version(row, row.version, now())?;
        let oldest = row.version.saturating_sub(KEPT_VERSIONS - 1);
        self.statement("DELETE FROM block_version WHERE block = ?1 AND version < ?2")?
            .execute(params![row.key, oldest])?;
        self.statement("DELETE FROM block_entry WHERE block = ?1 AND died <= ?2")?.execute(params![row.key, oldest])?;
        Ok(())
    }

    pub(super) fn insert_version(&self, row: &Row, version: u32, created_at: i64) -> Result<()> {
        self.statement("INSERT INTO block_version(block, version, created_at) VALUES (?1, ?2, ?3)")?
            .execute(params![row.key, version, created_at])?;
        Ok(())
    }

    /// An entry that is gone is loaded nowhere.
    fn unload_everywhere(&self, row: &Row, name: &str) -> Result<()> {
        self.statement("DELETE FROM loaded WHERE block = ?1 AND name = ?2")?.execute(params![row.key, name])?;
        Ok(())
    }

    fn delete_block(&self, key: i64) -> Result<()> {
        for table in ["loaded", "block_entry", "block_version"] {
            self.statement(&format!("DELETE FROM {table} WHERE block = ?1"))?.execute([key])?;
        }
        self.statement("DELETE FROM block WHERE key = ?1")?.execute([key])?;
        Ok(())
    }

    /// Deletes the blocks of a session, its frozen prompt and what its model has loaded.
    pub(crate) fn delete_context(&self, session: i64) -> Result<()> {
        for row in self.owned_blocks(session)? {
            self.delete_block(row.key)?;
        }
        self.statement("DELETE FROM loaded WHERE session = ?1")?.execute([session])?;
        self.statement("DELETE FROM prompt WHERE session = ?1")?.execute([session])?;
        Ok(())
    }

    /// Tells those who follow the store that a block is another one now. Blocks of the store are of no session.
    fn block_changed(&mut self, session: &str, row: &Row) -> Result<()> {
        let session = if row.owner == STORE { "" } else { session };
        self.record_event(session, EventKind::ContextChanged, &[&row.label])
    }
}
