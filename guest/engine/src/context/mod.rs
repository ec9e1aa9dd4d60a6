//! Memory that an agent keeps: blocks of text, the system prompt that shows them, and the tools that edit them.
//!
//! A block belongs to a session or to the store (owner 0). What it holds is rows of `block_entry`, each with the
//! versions between which it was there: a text is one entry without a name, a searchable or loadable block has one for
//! each key. So a write touches the one entry that it changes, whatever else the block holds, a version costs no copy,
//! and restoring one brings back its entries exactly.
//!
//! - `block` reads the rows, `write` changes them, `key` makes keys for entries that come without one.
//! - `prompt` renders the blocks, freezes what it rendered and tells what has changed since.
//! - `tools` describes the tools, `arguments` reads what a model gives them, `call` answers it, `past` for
//!   the search of messages.
//! - `carry` gives and takes all of it, for exports and imports.
//!
//! Limits, beside those that a block declares: a label and a key have 1 to 256 bytes without control characters, a
//! description at most 4,096 bytes and a title at most 1,024, both without control characters; a block holds at most
//! 1 MiB and 1,000 entries; a session, and the store, have at most 100 blocks that hold at most 16 MiB together.

mod arguments;
mod block;
mod call;
mod carry;
mod key;
mod past;
mod prompt;
#[cfg(test)]
mod tests;
mod tools;
mod write;

pub(crate) use carry::{CarriedBlock, CarriedEntry};
pub(crate) use prompt::Frozen;

/// The owner of the blocks that all sessions share.
pub(crate) const STORE: i64 = 0;

/// Bytes of a label, and of the key of an entry.
const MAX_LABEL_BYTES: usize = 256;

/// Bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 4096;

/// Bytes of the title of an entry.
const MAX_TITLE_BYTES: usize = 1024;

/// Bytes of what a block holds.
const MAX_BLOCK_BYTES: i64 = 1024 * 1024;

/// Entries of a block.
const MAX_ENTRIES: i64 = 1000;

/// Blocks of a session, and of the store.
const MAX_BLOCKS: i64 = 100;

/// Bytes of what all blocks of a session, or of the store, hold: the prompt and the list of blocks are one text each.
const MAX_OWNED_BYTES: i64 = 16 * 1024 * 1024;

/// Versions of a block that are kept.
const KEPT_VERSIONS: u32 = 20;

pub(crate) const TABLES: &str = "
-- `owner` is a session, or 0 for the store. `declared` gives the order. `bytes` and `tokens` are sums over the entries
-- that it holds now.
CREATE TABLE block(
  key INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL,
  declared INTEGER NOT NULL,
  kind TEXT NOT NULL,
  remind INTEGER NOT NULL,
  version INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  max_tokens INTEGER,
  label TEXT NOT NULL,
  description TEXT
) STRICT;
CREATE UNIQUE INDEX block_label ON block(label, owner);
CREATE INDEX block_owner ON block(owner, declared);
CREATE INDEX block_declared ON block(declared);

-- The versions of a block that are kept.
CREATE TABLE block_version(
  block INTEGER NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (block, version)
) STRICT, WITHOUT ROWID;

-- What a block holds from version `born` to the one before `died` (null: still). The text of a block without entries
-- is one entry whose name is empty. `place` is the version that brought the name, and gives the order.
CREATE TABLE block_entry(
  key INTEGER PRIMARY KEY,
  block INTEGER NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER,
  place INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  name TEXT NOT NULL,
  title TEXT,
  content TEXT NOT NULL
) STRICT;
CREATE INDEX block_entry_died ON block_entry(block, died, place);

-- Entries that the model of a session has loaded.
CREATE TABLE loaded(
  session INTEGER NOT NULL,
  block INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (session, block, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX loaded_block ON loaded(block, name);

-- System prompts as they were frozen. `sections` says what each part of the text is: a line with its bytes, whether its
-- block was one to be reminded of, and the block's label.
CREATE TABLE prompt(
  session INTEGER PRIMARY KEY,
  sections TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
";
