//! `talktree tree`: the shape of a session.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Value, json};
use talktree::Compaction;

use super::{
    drawing::Tree,
    layout::{Layout, counted},
    outline::{Entry, outline},
    view::{Looking, View},
};

/// Draw the shape of a session: its branches and summaries, long stretches folded
#[derive(Args)]
#[command(after_help = "\
Drawn is what begins, ends, forks, or answers where something forks; three or more messages between are folded into one \
line. What a summary (≡) stands for on reading is above it, folded. Filled dots are on the path to the present leaf, \
which is a diamond. `talktree show` draws every message.

Examples:
  talktree tree --root data --tenant easy
  talktree tree --root data --tenant easy --session work --leaf m42 --width 60
  talktree tree --root data --tenant easy --json | jq '.lines[] | select(.kind == \"summary\") | .summary'

Exit codes: 0 done (an empty session too), 1 failed, 2 the command line was wrong.")]
pub(crate) struct TreeCommand {
    #[command(flatten)]
    looking: Looking,

    /// One JSON object: tenant, session, leafId, messages, branches, lines (each of a kind: message, folded, summary)
    #[arg(long)]
    json: bool,
}

impl TreeCommand {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let view = self.looking.read(self.looking.conversation.open().await?).await?;
        let summaries = if view.nodes.is_empty() { Vec::new() } else { view.session.get_compactions().await? };
        if self.json {
            let mut out = BufWriter::new(io::stdout().lock());
            write_json(&mut out, &view, &summaries)?;
            out.flush()?;
        } else if view.nodes.is_empty() {
            self.looking.say_empty();
        } else {
            let mut out = BufWriter::new(anstream::stdout());
            draw(&mut out, &self.looking.conversation.name(), &view, &summaries, self.looking.columns())?;
            out.flush()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn draw(out: &mut impl Write, name: &str, view: &View, summaries: &[Compaction], columns: usize) -> io::Result<()> {
    let tree = Tree::new(&view.nodes, view.leaf.as_deref());
    let layout = Layout::new(&view.nodes, columns);
    let mut counts =
        vec![counted(view.nodes.len(), "message", "messages"), counted(tree.leaves(), "branch", "branches")];
    let in_force = summaries.iter().filter(|summary| summary.replaced_by.is_none()).count();
    if in_force > 0 {
        counts.push(counted(in_force, "summary", "summaries"));
    }
    layout.heading(out, &counts, name)?;
    for (at, entry) in outline(&tree, view.nodes.len(), summaries, layout.rails()).enumerate() {
        match entry {
            Entry::Message(line) => {
                if line.is_root && at > 0 {
                    writeln!(out)?;
                }
                layout.message(out, &line)?;
            }
            Entry::Folded { rails, messages, .. } => layout.folded(out, &rails, messages)?,
            Entry::Summary { rails, summary, .. } => layout.summary(out, &rails, summary)?,
        }
    }
    Ok(())
}

fn write_json(out: &mut impl Write, view: &View, summaries: &[Compaction]) -> io::Result<()> {
    let tree = Tree::new(&view.nodes, view.leaf.as_deref());
    let (tenant, id) = (json!(view.session.tenant().name()), json!(view.session.id()));
    let (messages, branches) = (view.nodes.len(), if view.nodes.is_empty() { 0 } else { tree.leaves() });
    let leaf = json!(view.leaf);
    write!(out, r#"{{"tenant":{tenant},"session":{id},"leafId":{leaf},"#)?;
    write!(out, r#""messages":{messages},"branches":{branches},"lines":["#)?;
    for (at, entry) in outline(&tree, messages, summaries, 0).enumerate() {
        write!(out, "{}{}", if at == 0 { "" } else { "," }, line(&entry))?;
    }
    writeln!(out, "]}}")
}

fn line(entry: &Entry<'_>) -> Value {
    match entry {
        Entry::Message(line) => json!({
            "kind": "message", "level": line.level, "onPath": line.on_path, "isLeaf": line.is_leaf,
            "id": line.node.id, "parentId": line.node.parent_id, "role": line.node.role, "seq": line.node.seq,
            "children": line.node.children, "preview": line.node.preview,
        }),
        Entry::Folded { level, on_path, first, last, messages, .. } => json!({
            "kind": "folded", "level": level, "onPath": on_path, "messages": messages,
            "firstId": first.id, "lastId": last.id,
        }),
        Entry::Summary { level, on_path, summary, .. } => json!({
            "kind": "summary", "level": level, "onPath": on_path, "id": summary.id, "messages": summary.count,
            "firstId": summary.first_id, "lastId": summary.last_id, "summary": summary.summary,
        }),
    }
}
