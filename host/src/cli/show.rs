//! `talktree show`: the tree of a session.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use serde_json::json;
use talktree::{Node, Session};
use unicode_width::UnicodeWidthStr as _;

use super::{
    Conversation,
    terminal::{self, FAINT, PLAIN, STRONG, cut, harmless, role_style},
    tree::{Line, Tree},
};

/// Columns where stdout is no terminal.
const COLUMNS: usize = 120;
/// Columns that an id may take.
const ID_COLUMNS: usize = 24;

/// Draw the tree of a session, with its branches
#[derive(Args)]
#[command(after_help = "\
A line of messages stays in its column. Where a message was answered more than once, the answer on the path to the \
present leaf goes on in the column and the others stand before it, one step to the right. Filled dots are on that \
path, its end is a diamond.

Examples:
  talktree show --root data --tenant easy
  talktree show --root data --tenant easy --session work --leaf m42
  talktree show --root data --tenant easy --json | jq '.messages[].id'

Exit codes: 0 done (an empty session too), 1 failed, 2 the command line was wrong.")]
pub(crate) struct Show {
    #[command(flatten)]
    conversation: Conversation,

    /// Look at the tree from this message instead of the present leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,

    /// Columns to use; without it those of the terminal, or 120
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,

    /// One JSON object: tenant, session, leafId, messages (id, parentId, role, seq, children, preview)
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let session = self.conversation.open().await?;
        let nodes = read_nodes(&session).await?;
        let leaf = match self.leaf {
            Some(leaf) => Some(leaf),
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
        if self.json {
            let mut out = BufWriter::new(io::stdout().lock());
            write_json(&mut out, &session, &nodes, leaf.as_deref())?;
            out.flush()?;
        } else if nodes.is_empty() {
            anstream::eprintln!(
                "There are no messages in {}. `talktree tenants` lists the tenants.",
                self.conversation.name()
            );
        } else {
            let columns = self.width.map(usize::from).or_else(terminal::width).unwrap_or(COLUMNS);
            let mut out = BufWriter::new(anstream::stdout());
            draw(&mut out, &self.conversation.name(), &nodes, leaf.as_deref(), columns)?;
        }
        Ok(ExitCode::SUCCESS)
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

fn write_json(out: &mut impl Write, session: &Session, nodes: &[Node], leaf: Option<&str>) -> io::Result<()> {
    let (tenant, id) = (json!(session.tenant().name()), json!(session.id()));
    write!(out, r#"{{"tenant":{tenant},"session":{id},"leafId":{},"messages":["#, json!(leaf))?;
    for (at, node) in nodes.iter().enumerate() {
        let message = json!({
            "id": node.id, "parentId": node.parent_id, "role": node.role, "seq": node.seq, "children": node.children,
            "preview": node.preview,
        });
        write!(out, "{}{message}", if at == 0 { "" } else { "," })?;
    }
    writeln!(out, "]}}")
}

fn draw(out: &mut impl Write, name: &str, nodes: &[Node], leaf: Option<&str>, columns: usize) -> io::Result<()> {
    let tree = Tree::new(nodes, leaf);
    let roles = nodes.iter().map(|node| harmless(&node.role).width()).max().unwrap_or(0).min(12);
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let messages = plural(nodes.len(), "message", "messages");
    writeln!(out, "{FAINT}{messages}, {} in {name}{PLAIN}", plural(tree.leaves(), "branch", "branches"))?;
    // A third of the width for the lines on the left: the rest is for what was said.
    for (at, line) in tree.lines(columns / 3).enumerate() {
        if line.is_root && at > 0 {
            writeln!(out)?;
        }
        draw_line(out, &line, roles, columns)?;
    }
    out.flush()
}

fn draw_line(out: &mut impl Write, line: &Line<'_>, roles: usize, columns: usize) -> io::Result<()> {
    let dot = match (line.is_leaf, line.on_path) {
        (true, _) => "◆",
        (_, true) => "●",
        _ => "○",
    };
    let role = harmless(&line.node.role);
    let role = cut(&role, roles);
    let id = harmless(&line.node.id);
    let id = cut(&id, ID_COLUMNS);
    let pad = " ".repeat(roles.saturating_sub(role.width()));
    let used = line.rails.width() + 1 + 1 + roles + 2 + id.width() + 2;
    let preview = harmless(&line.node.preview);
    let preview = cut(&preview, columns.saturating_sub(used).max(1));
    let style = role_style(&line.node.role);
    let weight = if line.is_leaf { STRONG } else { anstyle::Style::new() };
    writeln!(
        out,
        "{FAINT}{}{PLAIN}{style}{dot} {role}{PLAIN}{pad}  {weight}{preview}{PLAIN}  {FAINT}{id}{PLAIN}",
        line.rails
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn node(id: &str, parent: Option<&str>, role: &str, seq: u32, preview: &str) -> Node {
        let parent_id = parent.map(str::to_owned);
        Node { id: id.into(), parent_id, role: role.into(), seq, children: 0, preview: preview.into() }
    }

    fn plain(nodes: &[Node], leaf: &str, columns: usize) -> String {
        let mut out = Vec::new();
        draw(&mut anstream::StripStream::new(&mut out), "here", nodes, Some(leaf), columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_tree_is_drawn_with_roles_texts_and_ids() {
        let nodes = [
            node("m1", None, "user", 1, "Where shall we meet?"),
            node("a1", Some("m1"), "assistant", 2, "At the station."),
            node("a2", Some("m1"), "assistant", 3, "At the harbour."),
        ];
        let expected = "\
3 messages, 2 branches in here
● user       Where shall we meet?  m1
├─○ assistant  At the station.  a1
◆ assistant  At the harbour.  a2
";
        assert_eq!(plain(&nodes, "a2", 80), expected);
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        let long = "部署 window ".repeat(30);
        let mut nodes = vec![node("root", None, "user", 1, &long)];
        for at in 2..40 {
            nodes.push(node(&format!("{at}{}", "i".repeat(60)), Some("root"), "a-very-long-role-indeed", at, &long));
        }
        for columns in [60, 80, 200] {
            for line in plain(&nodes, "root", columns).lines().skip(1) {
                assert!(line.width() <= columns, "{} > {columns}: {line}", line.width());
            }
        }
    }

    #[test]
    fn what_a_message_says_cannot_move_the_cursor() {
        let nodes = [node("m\u{1b}[2J", None, "us\u{202e}er", 1, "a\u{1b}]0;title\u{7}\nb")];
        let mut out = Vec::new();
        draw(&mut out, "here", &nodes, None, 80).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("\u{1b}[2J") && !text.contains('\u{7}') && !text.contains('\u{202e}'), "{text:?}");
        assert_eq!(text.lines().count(), 2);
    }
}
