//! The whole tree of a session, message by message, without loading what they say.

use rusqlite::params;

use crate::cursor::{Purpose, stale};
use crate::error::Result;
use crate::history::page_limit;
use crate::key::Key;
use crate::message;
use crate::place::Place;
use crate::session::Session;
use crate::store::{Store, Tx};
use crate::text::PREVIEW_CHARACTERS;
use crate::types::{Node, Page};

/// Messages per page where nothing is said.
const PAGE: u32 = 100;

impl<P: Place> Store<P> {
    /// Every message of the tree by seq.
    pub fn list_messages(&mut self, session: &str, cursor: Option<&str>, limit: Option<u32>) -> Result<Page<Node>> {
        let limit = page_limit(limit, PAGE, "limit")? as usize;
        self.read(|tx| {
            let mut page = Page { items: Vec::new(), cursor: None };
            let Some(session) = tx.session(session)? else {
                return match cursor {
                    None => Ok(page),
                    Some(_) => Err(stale("the session of that cursor has no messages")),
                };
            };
            let after = match cursor {
                None => 0,
                Some(cursor) => {
                    let [of, after] = tx.decode_cursor(Purpose::Nodes, cursor)?;
                    if of != session.key.unsigned_abs() {
                        return Err(stale("the cursor belongs to another session"));
                    }
                    u32::try_from(after).map_err(|_| stale("the cursor stands nowhere"))?
                }
            };
            for row in tx.rows_by_seq(&session, after, limit + 1)? {
                if page.items.len() == limit {
                    let last = page.items.last().map_or(0, |node: &Node| u64::from(node.seq));
                    page.cursor = Some(tx.encode_cursor(Purpose::Nodes, &[session.key.unsigned_abs(), last])?);
                    break;
                }
                let children = tx.children(&session, Some(row.key))?.len();
                page.items.push(Node {
                    id: row.id,
                    parent_id: tx.parent_id(row.key)?,
                    role: row.role,
                    seq: row.key.seq(),
                    children: u32::try_from(children).unwrap_or(u32::MAX),
                    preview: row.preview,
                });
            }
            Ok(page)
        })
    }
}

struct NodeRow {
    key: Key,
    id: String,
    role: String,
    preview: String,
}

impl Tx<'_> {
    /// The next messages of a session behind a seq. Each run of writing went to one chain, with seqs in order.
    fn rows_by_seq(&self, session: &Session, after: u32, limit: usize) -> Result<Vec<NodeRow>> {
        let mut found = Vec::new();
        let mut runs = self.statement(
            "SELECT seq, chain FROM run WHERE session = ?1 AND seq >=
               coalesce((SELECT max(seq) FROM run WHERE session = ?1 AND seq <= ?2), 0) ORDER BY seq",
        )?;
        let mut runs = runs.query_map(params![session.key, i64::from(after) + 1], |run| {
            Ok((run.get::<_, u32>(0)?, run.get::<_, u32>(1)?))
        })?;
        let mut run = runs.next().transpose()?;
        while let Some((seq, chain)) = run {
            // A run ends where the next one begins.
            run = runs.next().transpose()?;
            let next = run.map(|(next, _)| next);
            let from = Key::new(chain, seq.saturating_sub(1).max(after));
            let to = next.map_or(Key::end(chain), |next| Key::new(chain, next.saturating_sub(1)));
            let mut rows = self.statement(
                "SELECT key, id, role, coalesce(preview, body) , preview IS NULL FROM message
                 WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3",
            )?;
            let mut rows = rows.query(params![from, to, (limit - found.len()) as i64])?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?;
                let preview = if row.get(4)? { message::preview(text, PREVIEW_CHARACTERS) } else { text.to_owned() };
                found.push(NodeRow { key: row.get(0)?, id: row.get(1)?, role: row.get(2)?, preview });
            }
            if found.len() >= limit {
                break;
            }
        }
        Ok(found)
    }
}
