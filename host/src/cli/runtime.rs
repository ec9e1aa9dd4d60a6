//! What the commands that serve others have in common: where the data is, limits, and who writes summaries.

use std::time::Duration;

use clap::{Args, ValueEnum};
use talktree::{Durability, Talktree, summarizer::Spec};

use super::{Root, values};

/// The tenants and how they are run.
#[derive(Args)]
pub(crate) struct Runtime {
    #[command(flatten)]
    root: Root,

    /// What an acknowledged write survives: power loss (full), or only the death of the process (normal)
    #[arg(long, value_name = "HOW", value_enum, default_value = "full")]
    durability: How,

    /// Memory that the sandbox of one tenant may have, at most 4GiB [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    memory_limit: Option<usize>,

    /// Time that one call may take; then its sandbox is ended and the outcome is unknown [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    call_timeout: Option<Duration>,

    /// Keys of a message's metadata that clients cannot write, in every tenant, beside those that a tenant configures
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    reserved_metadata_keys: Vec<String>,

    /// Who writes summaries: extractive (built in, without a model), command:CMD (run by sh -c, prompt on stdin, summary
    /// on stdout), openai:BASE_URL#MODEL (key from OPENAI_API_KEY), anthropic:MODEL (key from ANTHROPIC_API_KEY), none
    #[arg(long, value_name = "SPEC", default_value = "extractive")]
    summarizer: Spec,
}

#[derive(Clone, Copy, ValueEnum)]
enum How {
    Full,
    Normal,
}

impl Runtime {
    /// Opens the root.
    pub(crate) async fn open(self) -> anyhow::Result<Talktree> {
        let mut options = Talktree::builder(&self.root.root)
            .durability(match self.durability {
                How::Full => Durability::Full,
                How::Normal => Durability::Normal,
            })
            .reserved_metadata_keys(self.reserved_metadata_keys);
        if let Some(bytes) = self.memory_limit {
            options = options.memory_limit(bytes);
        }
        if let Some(time) = self.call_timeout {
            options = options.call_timeout(time);
        }
        options = match self.summarizer.build().map_err(anyhow::Error::msg)? {
            Some(summarizer) => options.summarizer(summarizer),
            None => options.no_summarizer(),
        };
        Ok(options.open().await?)
    }
}
