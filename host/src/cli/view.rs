//! What `talktree show` and `talktree tree` have in common: a session's messages, seen from one of them.

use anyhow::bail;
use talktree::{Node, Session};

use super::{
    Conversation,
    terminal::{self, harmless},
};

/// Columns where stdout is no terminal.
const COLUMNS: usize = 120;

/// All messages of a session, without their contents, and the one from which they are seen.
pub(crate) struct View {
    pub(crate) session: Session,
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaf: Option<String>,
}

impl View {
    /// Reads what there is. Seen from the present leaf where no other is named.
    pub(crate) async fn read(
        session: Session,
        conversation: &Conversation,
        leaf: Option<String>,
    ) -> anyhow::Result<Self> {
        let nodes = read_nodes(&session).await?;
        let leaf = match leaf {
            Some(leaf) => Some(leaf),
            None => session.get_latest_leaf().await?.map(|message| message.id),
        };
        if let (Some(leaf), false) = (&leaf, nodes.is_empty())
            && !nodes.iter().any(|node| node.id == *leaf)
        {
            bail!(
                "there is no message {:?} in {}; `talktree show` without --leaf lists all",
                harmless(leaf),
                conversation.name()
            );
        }
        Ok(Self { session, nodes, leaf })
    }
}

/// Says that there is nothing to be seen.
pub(crate) fn say_empty(conversation: &Conversation) {
    anstream::eprintln!("There are no messages in {}. `talktree tenants` lists the tenants.", conversation.name());
}

/// The columns to use: those that were asked for, or the terminal's.
pub(crate) fn columns(asked: Option<u16>) -> usize {
    asked.map(usize::from).or_else(terminal::width).unwrap_or(COLUMNS)
}

async fn read_nodes(session: &Session) -> talktree::Result<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut cursor = None;
    loop {
        let page = session.list_messages().limit(1_000).cursor(cursor).await?;
        nodes.extend(page.nodes);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(nodes);
        }
    }
}
