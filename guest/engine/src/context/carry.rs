//! Blocks, loaded entries and frozen prompts as exports carry them: exactly, with all versions that are kept.

use std::collections::BTreeSet;

use rusqlite::params;

use super::block::{Entry, Row, length, validate_label};
use super::prompt::Frozen;
use super::write::{checked_description, checked_title};
use super::{KEPT_VERSIONS, MAX_BLOCK_BYTES, MAX_ENTRIES, STORE};
use crate::append::valid_time;
use crate::chain::damaged;
use crate::error::{Error, Kind, Result};
use crate::message::tokens::estimate;
use crate::store::Tx;
use crate::types::{BlockKind, WhenChanged};

/// A block with its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CarriedBlock {
    /// Gives the order of declaration among all blocks.
    pub(crate) declared: i64,
    pub(crate) label: String,
    pub(crate) description: Option<String>,
    pub(crate) kind: BlockKind,
    pub(crate) when_changed: WhenChanged,
    pub(crate) max_tokens: Option<u32>,
    /// 0 for a block that was never written.
    pub(crate) version: u32,
    /// The versions that are kept, oldest first, with their times; the last is `version`.
    pub(crate) versions: Vec<(u32, i64)>,
    /// What it holds and held, in the order of `born` and `place`.
    pub(crate) entries: Vec<CarriedEntry>,
}

/// A part of what a block holds or held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CarriedEntry {
    /// The first version that has it.
    pub(crate) born: u32,
    /// The first version that does not have it any more; none: it is there now.
    pub(crate) died: Option<u32>,
    /// Gives the order among the entries of a version.
    pub(crate) place: u32,
    /// Its key; empty in a block without entries.
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) content: String,
}

/// The largest version that can be taken from elsewhere: there is room for more writes above it.
const MAX_VERSION: u32 = 1 << 31;

impl CarriedBlock {
    /// Refuses what no sequence of writes leaves behind.
    fn validate(&self) -> Result<()> {
        let refuse = |what: &str| {
            Err(Error::new(Kind::InvalidArgument, format!("the block {:?} cannot be taken: {what}", self.label))
                .subject(&self.label))
        };
        validate_label("label", &self.label)?;
        checked_description(self.description.as_deref())?;
        if self.max_tokens == Some(0) || self.declared < 1 || self.declared >= 1 << 53 || self.version >= MAX_VERSION {
            return refuse("a number is out of range");
        }
        self.versions.iter().try_for_each(|&(_, created_at)| valid_time(created_at))?;
        let ascending = self.versions.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let last = self.versions.last().map_or(0, |&(version, _)| version);
        let first = self.versions.first().map_or(1, |&(version, _)| version);
        if !ascending || last != self.version || first == 0 || self.versions.len() > KEPT_VERSIONS as usize {
            return refuse("its versions are not in order");
        }
        for entry in &self.entries {
            if self.kind.has_entries() {
                validate_label("key", &entry.name)?;
                checked_title(entry.title.as_deref())?;
            } else if !entry.name.is_empty() || entry.title.is_some() {
                return refuse("it has an entry, which its kind does not allow");
            }
            let end = entry.died.unwrap_or(self.version + 1);
            if entry.born >= end || end > self.version + 1 || entry.content.is_empty() {
                return refuse("a part of it was never there");
            }
            // The next write puts its entry behind all others.
            if entry.place == 0 || entry.place > entry.born {
                return refuse("a part of it is out of its place");
            }
        }
        for &(version, _) in &self.versions {
            let mut names = BTreeSet::new();
            let mut places = BTreeSet::new();
            let mut bytes = 0;
            for entry in self.entries.iter().filter(|entry| entry.is_in(version)) {
                if !names.insert(&entry.name) || !places.insert(entry.place) {
                    return refuse("it has two entries of one key");
                }
                bytes += length(&entry.content);
            }
            if bytes > MAX_BLOCK_BYTES || names.len() as i64 > MAX_ENTRIES {
                return refuse("it holds more than a block can");
            }
        }
        if self.entries.iter().any(|entry| !self.versions.iter().any(|&(version, _)| entry.is_in(version))) {
            return refuse("a part of it is in no version");
        }
        Ok(())
    }
}

impl CarriedEntry {
    fn is_in(&self, version: u32) -> bool {
        self.born <= version && self.died.is_none_or(|died| died > version)
    }
}

impl Tx<'_> {
    /// The labels of a session's blocks, or of the store's ([`STORE`]), in the order of declaration.
    pub(crate) fn carried_labels(&self, owner: i64) -> Result<Vec<String>> {
        Ok(self.owned_blocks(owner)?.into_iter().map(|row| row.label).collect())
    }

    /// A block with its versions: at most 20 MiB of content.
    pub(crate) fn carry_block(&self, owner: i64, label: &str) -> Result<Option<CarriedBlock>> {
        let session = (owner != STORE).then_some(owner);
        let Some(row) = self.find_block(session, label)?.filter(|row| row.owner == owner) else { return Ok(None) };
        let versions = self.block_versions(&row)?;
        let entries = self
            .statement(
                "SELECT born, died, place, name, title, content FROM block_entry WHERE block = ?1
                 ORDER BY born, place, died",
            )?
            .query_map([row.key], |row| {
                Ok(CarriedEntry {
                    born: row.get(0)?,
                    died: row.get(1)?,
                    place: row.get(2)?,
                    name: row.get(3)?,
                    title: row.get(4)?,
                    content: row.get(5)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Some(CarriedBlock {
            declared: row.declared,
            label: row.label,
            description: row.description,
            kind: row.kind,
            when_changed: row.when_changed,
            max_tokens: row.max_tokens,
            version: row.version,
            versions,
            entries,
        }))
    }

    /// Looks whether a block is one that can be written, and counts what it holds. The error says what is wrong.
    pub(crate) fn look_at_block(&self, owner: i64, block: &CarriedBlock) -> Result<()> {
        block.validate()?;
        let session = (owner != STORE).then_some(owner);
        let Some(row) = self.find_block(session, &block.label)? else { return Ok(()) };
        let present = block.entries.iter().filter(|entry| entry.died.is_none());
        let bytes: i64 = present.map(|entry| length(&entry.content)).sum();
        if row.bytes != bytes {
            return Err(damaged(format!("the block {:?} says {} bytes and holds {bytes}", block.label, row.bytes)));
        }
        Ok(())
    }

    /// Stores a block as it was elsewhere. Answers false where the label is there already, and leaves it as it is. No
    /// event is recorded.
    pub(crate) fn take_block(&mut self, owner: i64, block: &CarriedBlock) -> Result<bool> {
        block.validate()?;
        let session = (owner != STORE).then_some(owner);
        if let Some(row) = self.find_block(session, &block.label)? {
            if row.owner == owner {
                return Ok(false);
            }
            return Err(Error::new(
                Kind::InvalidArgument,
                format!("the store has a block {:?} already, which one of a session would hide", block.label),
            )
            .subject(&block.label));
        }
        if owner == STORE {
            self.refuse_label_of_a_session(&block.label)?;
        }
        let present: Vec<&CarriedEntry> = block.entries.iter().filter(|entry| entry.died.is_none()).collect();
        let mut row = Row {
            key: 0,
            owner,
            declared: block.declared,
            kind: block.kind,
            when_changed: block.when_changed,
            version: block.version,
            bytes: present.iter().map(|entry| length(&entry.content)).sum(),
            tokens: present.iter().fold(0, |sum: u32, entry| sum.saturating_add(estimate(&entry.content))),
            max_tokens: block.max_tokens,
            label: block.label.clone(),
            description: block.description.clone(),
        };
        self.refuse_above_owned_bytes(&row, row.bytes)?;
        self.insert_block(&mut row)?;
        for &(version, created_at) in &block.versions {
            self.insert_version(&row, version, created_at)?;
        }
        for entry in &block.entries {
            let part = Entry {
                key: 0,
                place: entry.place,
                tokens: estimate(&entry.content),
                name: entry.name.clone(),
                title: entry.title.clone(),
                content: entry.content.clone(),
            };
            self.insert_entry_of(&row, entry.born, entry.died, &part)?;
        }
        Ok(true)
    }

    /// What the model of a session has loaded: label and key, in their order.
    pub(crate) fn carry_loaded(&self, session: i64) -> Result<Vec<(String, String)>> {
        self.statement(
            "SELECT b.label, l.name FROM loaded l JOIN block b ON b.key = l.block WHERE l.session = ?1 ORDER BY 1, 2",
        )?
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .map(|loaded| Ok(loaded?))
        .collect()
    }

    /// Marks an entry as loaded by the model of a session. Answers false where there is no such entry, or it was.
    pub(crate) fn take_loaded(&self, session: i64, label: &str, key: &str) -> Result<bool> {
        let Some(row) = self.find_block(Some(session), label)?.filter(|row| row.kind == BlockKind::Loadable) else {
            return Ok(false);
        };
        if self.block_entry(&row, key)?.is_none() {
            return Ok(false);
        }
        self.mark_loaded(session, &row, key)
    }

    /// Notes that the model of a session has loaded an entry. Answers whether that is new.
    pub(super) fn mark_loaded(&self, session: i64, row: &Row, key: &str) -> Result<bool> {
        let changed = self
            .statement("INSERT OR IGNORE INTO loaded(session, block, name) VALUES (?1, ?2, ?3)")?
            .execute(params![session, row.key, key])?;
        Ok(changed > 0)
    }

    /// Stores a frozen prompt as it was elsewhere. Answers false where the session has one already.
    pub(crate) fn take_frozen(&self, session: i64, frozen: &Frozen) -> Result<bool> {
        if !frozen.is_sound() {
            return Err(Error::new(
                Kind::InvalidArgument,
                "the frozen prompt cannot be taken: its sections do not tell what it is made of",
            )
            .subject("prompt"));
        }
        if self.frozen(session)?.is_some() {
            return Ok(false);
        }
        self.save_frozen(session, frozen)?;
        Ok(true)
    }
}
