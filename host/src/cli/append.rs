//! `talktree append`: one message, from a script or from an agent that has a shell and no more.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::Value;
use talktree::Talktree;

use super::{Conversation, terminal::harmless};

/// Append a message to a session
#[derive(Args)]
#[command(after_help = "\
It answers the present leaf, or the message that --parent names: one that was answered already has another branch then, and \
nothing is lost. The id of the message is printed. A text becomes a message with an id at random; with --json the message is \
given as it is, and repeating it stores nothing twice.

Examples:
  talktree append --root data --tenant easy 'The deployment window is Friday.'
  talktree append --root data --tenant easy --session work --role assistant 'Noted.'
  git log -1 | talktree append --root data --tenant easy -
  talktree append --root data --tenant easy --json '{\"id\":\"m1\",\"role\":\"user\",\"parts\":[]}'

Exit codes: 0 it is stored (or was there already), 1 failed, 2 the command line was wrong.")]
pub(crate) struct Append {
    #[command(flatten)]
    conversation: Conversation,

    /// Whose the text is
    #[arg(long, value_name = "ROLE", default_value = "user", value_parser = ["user", "assistant", "system"])]
    role: String,

    /// Id of the message that it answers
    #[arg(long, value_name = "ID")]
    parent: Option<String>,

    /// The text is a whole message as JSON: an object with id, role and parts
    #[arg(long, conflicts_with = "role")]
    json: bool,

    /// What it says; - is standard input
    #[arg(value_name = "TEXT")]
    text: String,
}

impl Append {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut text = self.text;
        if text == "-" {
            text.clear();
            io::stdin().read_to_string(&mut text).context("standard input is no text")?;
        }
        let (id, message) = if self.json {
            (id_of(&text), text)
        } else {
            talktree::text_message(&self.role, text.trim_end_matches(['\r', '\n']))?
        };
        let talktree = Talktree::open(&self.conversation.root.root).await?;
        let session = talktree.tenant(&self.conversation.tenant)?.session(&self.conversation.session);
        let mut append = session.append_message(message);
        if let Some(parent) = self.parent {
            append = append.parent(parent.as_str());
        }
        let done = append.await;
        talktree.close().await?;
        if done?.conflict {
            bail!("a message of this id is there already, and says something else: nothing was written");
        }
        writeln!(io::stdout(), "{}", harmless(&id))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The id of a message. One without it is not taken anyway.
fn id_of(message: &str) -> String {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    message["id"].as_str().unwrap_or_default().to_owned()
}
