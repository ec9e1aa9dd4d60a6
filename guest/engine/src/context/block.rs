//! Reading blocks: their rows, what they hold now and what they held.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::{MAX_LABEL_BYTES, STORE};
use crate::chain::damaged;
use crate::error::{Error, Kind, Result};
use crate::place::Place;
use crate::store::{Store, Tx};
use crate::types::{Block, BlockEntry, BlockKind, BlockScope, BlockVersion, WhenChanged};

impl BlockKind {
    /// Its name, in the file and in the contract.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Writable => "writable",
            Self::Searchable => "searchable",
            Self::Loadable => "loadable",
        }
    }

    /// The kind of a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::ReadOnly, Self::Writable, Self::Searchable, Self::Loadable].into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it holds entries by key.
    pub(super) fn has_entries(self) -> bool {
        matches!(self, Self::Searchable | Self::Loadable)
    }
}

/// A block, without what it holds.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) key: i64,
    pub(super) owner: i64,
    pub(super) declared: i64,
    pub(super) kind: BlockKind,
    pub(super) when_changed: WhenChanged,
    pub(super) version: u32,
    pub(super) bytes: i64,
    pub(super) tokens: u32,
    pub(super) max_tokens: Option<u32>,
    pub(super) label: String,
    pub(super) description: Option<String>,
}

impl Row {
    const SELECT: &str =
        "SELECT key, owner, declared, kind, remind, version, bytes, tokens, max_tokens, label, description FROM block";

    fn from_row(row: &rusqlite::Row<'_>) -> Result<Self> {
        let kind: String = row.get(3)?;
        let label: String = row.get(9)?;
        let Some(kind) = BlockKind::from_name(&kind) else {
            return Err(damaged(format!("the block {label} is of a kind that there is not: {kind}")));
        };
        Ok(Self {
            key: row.get(0)?,
            owner: row.get(1)?,
            declared: row.get(2)?,
            kind,
            when_changed: if row.get(4)? { WhenChanged::Remind } else { WhenChanged::Wait },
            version: row.get(5)?,
            bytes: row.get(6)?,
            tokens: row.get(7)?,
            max_tokens: row.get(8)?,
            label,
            description: row.get(10)?,
        })
    }

    pub(super) fn scope(&self) -> BlockScope {
        if self.owner == STORE { BlockScope::Store } else { BlockScope::Session }
    }
}

/// A part of what a block holds: the only one of a text, or the one of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: i64,
    pub(super) place: u32,
    pub(super) tokens: u32,
    /// Its key in the block; empty in a text.
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) content: String,
}

impl Entry {
    const COLUMNS: &str = "key, place, tokens, name, title, content";

    fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            place: row.get(1)?,
            tokens: row.get(2)?,
            name: row.get(3)?,
            title: row.get(4)?,
            content: row.get(5)?,
        })
    }
}

/// Bytes of a text.
pub(super) fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// What entries say together.
fn joined(entries: &[Entry]) -> String {
    entries.iter().map(|entry| entry.content.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Refuses what cannot be a label, or the key of an entry.
pub(super) fn validate_label(what: &str, label: &str) -> Result<()> {
    if label.is_empty() || label.len() > MAX_LABEL_BYTES || label.contains(char::is_control) {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!(
                "a {what} has 1 to {MAX_LABEL_BYTES} bytes and no control characters; this one does not: {label:?}"
            ),
        )
        .subject(what));
    }
    Ok(())
}

/// There is no such block.
pub(super) fn unknown_block(label: &str) -> Error {
    Error::new(Kind::UnknownBlock, format!("there is no block {label:?} that this session sees; define it first"))
        .subject(label)
}

impl<P: Place> Store<P> {
    /// One block that a session sees.
    pub fn get_block(&mut self, session: &str, label: &str) -> Result<Block> {
        self.read(|tx| {
            let session = tx.session(session)?.map(|session| session.key);
            let row = tx.known_block(session, label)?;
            tx.block(&row, session)
        })
    }

    /// The blocks that a session sees, in the order of declaration: its own and the store's.
    pub fn list_blocks(&mut self, session: &str) -> Result<Vec<Block>> {
        self.read(|tx| {
            let session = tx.session(session)?.map(|session| session.key);
            tx.visible_blocks(session)?.iter().map(|row| tx.block(row, session)).collect()
        })
    }

    /// What a block held, newest version first: the last 20.
    pub fn block_history(&mut self, session: &str, label: &str) -> Result<Vec<BlockVersion>> {
        self.read(|tx| {
            let session = tx.session(session)?.map(|session| session.key);
            let row = tx.known_block(session, label)?;
            let mut versions = tx.block_versions(&row)?;
            versions.reverse();
            versions
                .into_iter()
                .map(|(version, created_at)| {
                    let content = joined(&tx.block_entries_at(&row, version)?);
                    Ok(BlockVersion { version, content, created_at })
                })
                .collect()
        })
    }
}

impl Tx<'_> {
    /// The blocks that a session sees, in the order of declaration. None: a session that was never written.
    pub(super) fn visible_blocks(&self, session: Option<i64>) -> Result<Vec<Row>> {
        let mut rows = self.owned_blocks(STORE)?;
        if let Some(session) = session {
            rows.extend(self.owned_blocks(session)?);
        }
        rows.sort_by_key(|row| (row.declared, row.key));
        Ok(rows)
    }

    /// The blocks of a session, or of the store, in the order of declaration.
    pub(super) fn owned_blocks(&self, owner: i64) -> Result<Vec<Row>> {
        let mut statement = self.statement(&format!("{} WHERE owner = ?1 ORDER BY declared, key", Row::SELECT))?;
        let mut rows = statement.query([owner])?;
        let mut blocks = Vec::new();
        while let Some(row) = rows.next()? {
            blocks.push(Row::from_row(row)?);
        }
        Ok(blocks)
    }

    /// The block of a label among those that a session sees.
    pub(super) fn find_block(&self, session: Option<i64>, label: &str) -> Result<Option<Row>> {
        for owner in [Some(STORE), session].into_iter().flatten() {
            let mut statement = self.statement(&format!("{} WHERE label = ?1 AND owner = ?2", Row::SELECT))?;
            let mut rows = statement.query(params![label, owner])?;
            if let Some(row) = rows.next()? {
                return Ok(Some(Row::from_row(row)?));
            }
        }
        Ok(None)
    }

    /// The same where there must be one.
    pub(super) fn known_block(&self, session: Option<i64>, label: &str) -> Result<Row> {
        self.find_block(session, label)?.ok_or_else(|| unknown_block(label))
    }

    /// What a block holds.
    pub(super) fn block_entries(&self, row: &Row) -> Result<Vec<Entry>> {
        self.statement(&format!(
            "SELECT {} FROM block_entry WHERE block = ?1 AND died IS NULL ORDER BY place",
            Entry::COLUMNS
        ))?
        .query_map([row.key], Entry::from_row)?
        .map(|entry| Ok(entry?))
        .collect()
    }

    /// What a block held at a version that is kept.
    pub(super) fn block_entries_at(&self, row: &Row, version: u32) -> Result<Vec<Entry>> {
        self.statement(&format!(
            "SELECT {} FROM block_entry WHERE block = ?1 AND born <= ?2 AND (died IS NULL OR died > ?2) ORDER BY place",
            Entry::COLUMNS
        ))?
        .query_map(params![row.key, version], Entry::from_row)?
        .map(|entry| Ok(entry?))
        .collect()
    }

    /// The versions of a block that are kept, oldest first, with their times.
    pub(super) fn block_versions(&self, row: &Row) -> Result<Vec<(u32, i64)>> {
        self.statement("SELECT version, created_at FROM block_version WHERE block = ?1 ORDER BY version")?
            .query_map([row.key], |row| Ok((row.get(0)?, row.get(1)?)))?
            .map(|version| Ok(version?))
            .collect()
    }

    /// The part of a block that has this key: of a text, the empty one.
    pub(super) fn block_entry(&self, row: &Row, name: &str) -> Result<Option<Entry>> {
        Ok(self
            .statement(&format!(
                "SELECT {} FROM block_entry WHERE block = ?1 AND died IS NULL AND name = ?2",
                Entry::COLUMNS
            ))?
            .query_row(params![row.key, name], Entry::from_row)
            .optional()?)
    }

    /// The keys of a block with their titles, without what the entries say.
    pub(super) fn block_keys(&self, row: &Row) -> Result<Vec<(String, Option<String>)>> {
        self.statement("SELECT name, title FROM block_entry WHERE block = ?1 AND died IS NULL ORDER BY place")?
            .query_map([row.key], |row| Ok((row.get(0)?, row.get(1)?)))?
            .map(|entry| Ok(entry?))
            .collect()
    }

    /// The keys of a block that the model of a session has loaded.
    pub(super) fn loaded_keys(&self, session: i64, row: &Row) -> Result<BTreeSet<String>> {
        self.statement("SELECT name FROM loaded WHERE session = ?1 AND block = ?2")?
            .query_map(params![session, row.key], |row| row.get(0))?
            .map(|name| Ok(name?))
            .collect()
    }

    /// A block as a session sees it.
    pub(super) fn block(&self, row: &Row, session: Option<i64>) -> Result<Block> {
        let entries = self.block_entries(row)?;
        let content = joined(&entries);
        let entries = if row.kind.has_entries() {
            let loaded = session.map(|session| self.loaded_keys(session, row)).transpose()?.unwrap_or_default();
            entries
                .into_iter()
                .map(|entry| BlockEntry {
                    loaded: loaded.contains(&entry.name),
                    key: entry.name,
                    title: entry.title,
                    tokens: entry.tokens,
                })
                .collect()
        } else {
            Vec::new()
        };
        Ok(Block {
            label: row.label.clone(),
            description: row.description.clone(),
            kind: row.kind,
            scope: row.scope(),
            when_changed: row.when_changed,
            content,
            entries,
            tokens: row.tokens,
            max_tokens: row.max_tokens,
            version: row.version,
        })
    }
}
