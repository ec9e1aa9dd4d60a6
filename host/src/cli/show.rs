//! `talktree show`: the tree of a session.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;
use talktree::Node;

use super::{
    Conversation,
    drawing::Tree,
    follow::Following,
    layout::{Layout, counted},
    view::{View, columns, say_empty},
};

/// Draw the tree of a session, with its branches
#[derive(Args)]
#[command(after_help = "\
A line of messages stays in its column. Where a message was answered more than once, the answer on the path to the \
present leaf goes on in the column and the others stand before it, one step to the right. Filled dots are on that \
path, its end is a diamond. `talktree tree` folds what is long.

With --follow, what is written from then on is printed below as it comes, until Ctrl-C. Between two looks, less than \
half a second apart, the tenant is let go of; while `talktree serve` has it open nothing can be seen from here: there, \
listen to /events?tenant=NAME.

Examples:
  talktree show --root data --tenant easy
  talktree show --root data --tenant easy --session work --leaf m42
  talktree show --root data --tenant easy --follow
  talktree show --root data --tenant easy --json | jq '.messages[].id'

Exit codes: 0 done (an empty session too, and --follow that was ended), 1 failed, 2 the command line was wrong.")]
pub(crate) struct Show {
    #[command(flatten)]
    conversation: Conversation,

    /// Look at the tree from this message instead of the present leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,

    /// Columns to use; without it those of the terminal, or 120
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,

    /// Go on with what is written, as it comes
    #[arg(long)]
    follow: bool,

    /// One JSON object: tenant, session, leafId, messages (id, parentId, role, seq, children, preview); with --follow \
    /// instead every new message as it is stored, one a line
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let session = self.conversation.open().await?;
        // Before the tree is read, so that nothing falls between the two.
        let following = match self.follow {
            true => Some(Following::begin(session.clone(), self.json, &self.conversation).await?),
            false => None,
        };
        let view = View::read(session, &self.conversation, self.leaf).await?;
        if self.json && !self.follow {
            let mut out = BufWriter::new(io::stdout().lock());
            write_json(&mut out, &view)?;
            out.flush()?;
        } else if self.json {
            // New messages are all that is printed.
        } else if view.nodes.is_empty() {
            say_empty(&self.conversation);
        } else {
            let mut out = BufWriter::new(anstream::stdout());
            draw(&mut out, &self.conversation.name(), &view.nodes, view.leaf.as_deref(), columns(self.width))?;
            if self.follow {
                writeln!(out)?;
            }
            out.flush()?;
        }
        match following {
            Some(following) => following.run(&view.nodes, &self.conversation).await,
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

fn write_json(out: &mut impl Write, view: &View) -> io::Result<()> {
    let (tenant, id) = (json!(view.session.tenant().name()), json!(view.session.id()));
    write!(out, r#"{{"tenant":{tenant},"session":{id},"leafId":{},"messages":["#, json!(view.leaf))?;
    for (at, node) in view.nodes.iter().enumerate() {
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
    let layout = Layout::new(nodes, columns);
    let counts = [counted(nodes.len(), "message", "messages"), counted(tree.leaves(), "branch", "branches")];
    layout.heading(out, &counts, name)?;
    for (at, line) in tree.lines(layout.rails()).enumerate() {
        if line.is_root && at > 0 {
            writeln!(out)?;
        }
        layout.message(out, &line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use unicode_width::UnicodeWidthStr as _;

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
