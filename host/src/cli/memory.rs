//! `talktree memory`: the memory blocks of a tenant, to read and to write, from a script or from an agent that has a shell and
//! no more.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use talktree::{Block, BlockDefinition, BlockScope, Session, Talktree, WriteAction};

use super::{
    Conversation,
    terminal::{FAINT, PLAIN, STRONG, harmless},
};

/// Read the memory blocks of a tenant, or write one
#[derive(Args)]
#[command(after_help = "\
A block that is written and not there yet is declared: for all sessions of the tenant, without a limit, so that whatever is \
remembered in one conversation is known in the next. Earlier versions are kept.

Examples:
  talktree memory --root data --tenant easy
  talktree memory --root data --tenant easy --label notes --write 'Likes tea. Deploys on Fridays.'
  talktree memory --root data --tenant easy --label notes --append 'The port is 8080.'
  talktree memory --root data --tenant easy --json | jq -r .content

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Memory {
    #[command(flatten)]
    conversation: Conversation,

    /// Only this block
    #[arg(long, short, value_name = "NAME")]
    label: Option<String>,

    /// What takes the place of the block's content; - is standard input
    #[arg(long, value_name = "TEXT", requires = "label", conflicts_with = "append")]
    write: Option<String>,

    /// What goes behind the block's content, on a line of its own; - is standard input
    #[arg(long, value_name = "TEXT", requires = "label")]
    append: Option<String>,

    /// JSON Lines: each block as an object
    #[arg(long)]
    json: bool,
}

impl Memory {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let write = self.write.map(|text| (text, WriteAction::Replace));
        let write = write.or_else(|| self.append.map(|text| (text, WriteAction::Append)));
        let blocks = match (write, self.label) {
            (Some((text, action)), Some(label)) => {
                let talktree = Talktree::open(&self.conversation.root.root).await?;
                let session = talktree.tenant(&self.conversation.tenant)?.session(&self.conversation.session);
                let written = write_block(&session, &label, text, action).await;
                talktree.close().await?;
                vec![written?]
            }
            (_, Some(label)) => vec![self.conversation.open().await?.get_block(&label).await?],
            _ => self.conversation.open().await?.list_blocks().await?,
        };
        let mut out = anstream::stdout();
        for block in &blocks {
            if self.json { print_json(&mut out, block)? } else { print_block(&mut out, block)? }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

async fn write_block(session: &Session, label: &str, mut text: String, action: WriteAction) -> anyhow::Result<Block> {
    if text == "-" {
        text.clear();
        io::stdin().read_to_string(&mut text).context("standard input is no text")?;
    }
    let blocks = session.list_blocks().await?;
    if !blocks.iter().any(|block| block.label == label) {
        session.define_block(label, BlockDefinition { scope: BlockScope::Store, ..BlockDefinition::default() }).await?;
    }
    Ok(session.write_block(label, text.trim_end_matches(['\r', '\n'])).action(action).await?)
}

fn print_json(out: &mut impl io::Write, block: &Block) -> io::Result<()> {
    let Block { label, description, content, tokens, max_tokens, version, .. } = block;
    let object = json!({
        "label": label, "description": description, "content": content, "tokens": tokens, "maxTokens": max_tokens,
        "version": version,
    });
    writeln!(out, "{object}")
}

fn print_block(out: &mut impl io::Write, block: &Block) -> io::Result<()> {
    let limit = block.max_tokens.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let description = block.description.as_deref().map(harmless).unwrap_or_default();
    let (label, tokens, version) = (harmless(&block.label), block.tokens, block.version);
    writeln!(out, "{STRONG}{label}{PLAIN}  {description}  {FAINT}{tokens}{limit} tokens, version {version}{PLAIN}")?;
    for line in block.content.lines() {
        writeln!(out, "  {}", harmless(line))?;
    }
    Ok(())
}
