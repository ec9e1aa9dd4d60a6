//! What `talktree show` and `talktree tree` have in common: a session's messages, seen from one of them.

use anyhow::bail;
use clap::Args;
use talktree::{Node, Session};

use super::{
    Conversation,
    terminal::{self, harmless},
};

/// Columns where stdout is no terminal.
const COLUMNS: usize = 120;

/// What is looked at, and how wide.
#[derive(Args)]
pub(crate) struct Looking {
    #[command(flatten)]
    pub(crate) conversation: Conversation,

    /// Look at the tree from this message instead of the present leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,

    /// Columns to use; without it those of the terminal, or 120
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
}

/// All messages of a session, without their contents, and the one from which they are seen.
pub(crate) struct View {
    pub(crate) session: Session,
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaf: Option<String>,
}

impl Looking {
    /// Reads what there is. Seen from the present leaf where no other is named.
    pub(crate) async fn read(&self, session: Session) -> anyhow::Result<View> {
        let nodes = read_nodes(&session).await?;
        let leaf = match &self.leaf {
            Some(leaf) => Some(leaf.clone()),
            None => session.get_latest_leaf().await?.map(|message| message.id),
        };
        if let (Some(leaf), false) = (&leaf, nodes.is_empty())
            && !nodes.iter().any(|node| node.id == *leaf)
        {
            bail!(
                "there is no message {:?} in {}; `talktree show` without --leaf lists all",
                harmless(leaf),
                self.conversation.name()
            );
        }
        Ok(View { session, nodes, leaf })
    }

    /// Says that there is nothing to be seen.
    pub(crate) fn say_empty(&self) {
        let name = self.conversation.name();
        anstream::eprintln!("There are no messages in {name}. `talktree tenants` lists the tenants.");
    }

    /// The columns to use: those that were asked for, or the terminal's.
    pub(crate) fn columns(&self) -> usize {
        self.width.map(usize::from).or_else(terminal::width).unwrap_or(COLUMNS)
    }
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
