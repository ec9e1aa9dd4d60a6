//! `talktree show`: the tree of a session.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;
use talktree::Node;

use super::{
    drawing::Tree,
    follow::Following,
    layout::{Layout, counted},
    view::{Looking, View},
};

/// Draw the tree of a session, with its branches
#[derive(Args)]
#[command(after_help = "\
A line of messages stays in its column. Where a message was answered more than once, the answer on the path to the \
present leaf goes on in the column and the others stand before it, one step to the right. Filled dots are on that \
path, its end is a diamond. `talktree tree` folds what is long.

With --follow, what is written from then on is printed below as it comes, until Ctrl-C. The tenant is opened only where \
its files have changed, and let go of at once; while `talktree serve` has it open nothing can be seen from here: there, \
listen to /events?tenant=NAME.

Examples:
  talktree show --root data --tenant easy
  talktree show --root data --tenant easy --session work --leaf m42
  talktree show --root data --tenant easy --follow
  talktree show --root data --tenant easy --json | jq '.messages[].id'

Exit codes: 0 done (an empty session too, and --follow that was ended), 1 failed, 2 the command line was wrong.")]
pub(crate) struct Show {
    #[command(flatten)]
    looking: Looking,

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
        let session = self.looking.conversation.open().await?;
        if !self.follow {
            let view = self.looking.read(session).await?;
            if self.json {
                print_json(&view)?
            } else {
                self.print(&view)?
            }
            return Ok(ExitCode::SUCCESS);
        }
        // It begins before the tree is read, so that nothing falls between the two.
        let conversation = &self.looking.conversation;
        let Some(mut following) = Following::begin(session.clone(), self.json, conversation).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        let view = self.looking.read(session).await?;
        if !self.json {
            self.print(&view)?;
            anstream::println!();
        }
        following.run(&view.nodes, conversation).await?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, view: &View) -> io::Result<()> {
        if view.nodes.is_empty() {
            self.looking.say_empty();
            return Ok(());
        }
        let mut out = BufWriter::new(anstream::stdout());
        let name = self.looking.conversation.name();
        draw(&mut out, &name, &view.nodes, view.leaf.as_deref(), self.looking.columns())?;
        out.flush()
    }
}

fn print_json(view: &View) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let (tenant, id) = (json!(view.session.tenant().name()), json!(view.session.id()));
    write!(out, r#"{{"tenant":{tenant},"session":{id},"leafId":{},"messages":["#, json!(view.leaf))?;
    for (at, node) in view.nodes.iter().enumerate() {
        let message = json!({
            "id": node.id, "parentId": node.parent_id, "role": node.role, "seq": node.seq, "children": node.children,
            "preview": node.preview,
        });
        write!(out, "{}{message}", if at == 0 { "" } else { "," })?;
    }
    writeln!(out, "]}}")?;
    out.flush()
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
