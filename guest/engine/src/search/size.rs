//! How large the index is, and whether it is sound.

use rusqlite::OptionalExtension;
use rusqlite::params;

use crate::error::Result;
use crate::store::Tx;

/// How the keys of FTS5's blocks are made: the number of the segment above this many bits of the block's.
const SEGMENT_BITS: u32 = 37;

/// The first block that is no list of words but an index of lists.
const FIRST_INNER: i64 = 1 << 31;

impl Tx<'_> {
    /// Blocks of the index's lists, which have a page each. A few looks for each segment, of which there are few.
    pub(crate) fn index_blocks(&self) -> Result<u64> {
        if !self.statement("SELECT 1 FROM sqlite_schema WHERE name = 'search_words_data'")?.exists([])? {
            return Ok(0);
        }
        let mut next =
            self.statement("SELECT id FROM search_words_data WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1")?;
        let mut last =
            self.statement("SELECT id FROM search_words_data WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1")?;
        let mut blocks = 0;
        let mut from = 1_i64 << SEGMENT_BITS;
        while let Some(first) = next.query_row(params![from, i64::MAX], |row| row.get::<_, i64>(0)).optional()? {
            let segment = (first >> SEGMENT_BITS) << SEGMENT_BITS;
            let end = last
                .query_row(params![segment, segment + FIRST_INNER], |row| row.get::<_, i64>(0))
                .optional()?
                .unwrap_or(first);
            blocks += (end - first + 1).unsigned_abs();
            from = segment + (1 << SEGMENT_BITS);
        }
        Ok(blocks)
    }

    /// Rows of the index that belong to nothing. What is wrong inside it the check of the file finds.
    pub(crate) fn wrong_index(&self, problems: &mut Vec<String>) -> Result<()> {
        if self.index_state()?.is_none() {
            return Ok(());
        }
        for (what, sql) in [
            (
                "entries of the search index without a message",
                "SELECT count(*) FROM search_words_docsize WHERE id > 0 AND id NOT IN (SELECT key FROM message)",
            ),
            (
                "entries of the search index that nothing explains",
                "SELECT count(*) FROM search_words_docsize WHERE id < 0 AND -id NOT IN (SELECT key FROM search_part)",
            ),
            (
                "parts of the search index without an entry, or of no message or summary",
                "SELECT count(*) FROM search_part WHERE -key NOT IN (SELECT id FROM search_words_docsize)
                   OR coalesce(message NOT IN (SELECT key FROM message), overlay NOT IN (SELECT key FROM overlay), 1)",
            ),
        ] {
            let count: i64 = self.statement(sql)?.query_row([], |row| row.get(0))?;
            if count > 0 {
                problems.push(format!("{count} {what}"));
            }
        }
        Ok(())
    }
}
