//! The answers to a message, and the roots.

use rusqlite::params;

use crate::cursor::{Purpose, stale};
use crate::error::Result;
use crate::history::page_limit;
use crate::key::Key;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::types::{BranchPoint, MediaMode, Message, Page};

/// Messages per page where nothing is said.
const PAGE: u32 = 100;

/// Bytes per page; a message above it stands alone.
const PAGE_BYTES: u64 = 4 * 1024 * 1024;

impl<P: Place> Store<P> {
    /// The answers to a message, or the roots, by seq.
    pub fn get_branches(
        &mut self,
        session: &str,
        point: &BranchPoint,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page<Message>> {
        let limit = page_limit(limit, PAGE, "limit")? as usize;
        self.read(|tx| {
            let found = tx.session(session)?;
            let (point, parent_id) = match point {
                BranchPoint::Root => (None, None),
                BranchPoint::Id(id) => (Some(tx.known_message(found.as_ref(), id)?), Some(id.clone())),
            };
            let mut page = Page { items: Vec::new(), cursor: None };
            let Some(session) = found else {
                return match cursor {
                    None => Ok(page),
                    Some(_) => Err(stale("the session of that cursor has no messages")),
                };
            };
            let place = point.map_or(0, Key::number);
            let after = match cursor {
                None => 0,
                Some(cursor) => {
                    let [of, at, after] = tx.decode_cursor(Purpose::Branches, cursor)?;
                    if (of, at) != (session.key.unsigned_abs(), place) {
                        return Err(stale("the cursor belongs to other branches"));
                    }
                    after
                }
            };
            let mut children = tx.children(&session, point)?;
            children.retain(|child| u64::from(child.seq()) > after);
            let mut bytes = 0;
            for (index, &child) in children.iter().enumerate() {
                let (head, text) = tx.load(child, MediaMode::Inline)?;
                bytes += text.len() as u64;
                if index == limit || index > 0 && bytes > PAGE_BYTES {
                    let last = children.get(index - 1).map_or(0, |last| u64::from(last.seq()));
                    page.cursor =
                        Some(tx.encode_cursor(Purpose::Branches, &[session.key.unsigned_abs(), place, last])?);
                    break;
                }
                page.items.push(tx.as_read(head, text, parent_id.clone(), MediaMode::Inline)?);
            }
            Ok(page)
        })
    }
}

impl Tx<'_> {
    /// The messages that answer a message, or the roots of a session, by seq.
    pub(crate) fn children(&self, session: &Session, point: Option<Key>) -> Result<Vec<Key>> {
        let mut children = Vec::new();
        // Ranges of places whose chains begin below the point: between it and the next message of its chain, and on
        // chains whose messages there have all been deleted.
        let mut open = Vec::new();
        match point {
            None => {
                let mut roots = self.statement("SELECT key FROM chain WHERE session = ?1 AND attach IS NULL")?;
                let mut rows = roots.query([session.key])?;
                while let Some(row) = rows.next()? {
                    self.enter(row.get(0)?, &mut children, &mut open)?;
                }
            }
            Some(point) => {
                let next = self.next_in_chain(point)?;
                children.extend(next);
                open.push((point, next.unwrap_or(Key::end(point.chain()))));
            }
        }
        while let Some((from, to)) = open.pop() {
            let mut attached =
                self.statement("SELECT key FROM chain WHERE session = ?1 AND attach >= ?2 AND attach < ?3")?;
            let mut rows = attached.query(params![session.key, from, to])?;
            while let Some(row) = rows.next()? {
                self.enter(row.get(0)?, &mut children, &mut open)?;
            }
        }
        children.sort_unstable_by_key(|child| child.seq());
        Ok(children)
    }

    /// A chain whose beginning answers the point.
    fn enter(&self, chain: u32, children: &mut Vec<Key>, open: &mut Vec<(Key, Key)>) -> Result<()> {
        let start = Key::start(chain);
        let first = self.next_in_chain(start)?;
        children.extend(first);
        match first {
            // Nothing hangs above the first message of a chain that was never cut there.
            Some(first) => open.push((start, first)),
            None => open.push((start, Key::end(chain))),
        }
        Ok(())
    }
}
