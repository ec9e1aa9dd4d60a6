//! What the commands that serve others have in common: where the data is, limits, and who writes summaries.

use std::time::Duration;

use clap::{Args, ValueEnum};
use talktree::{Builder, Durability, Talktree, summarizer::Spec};

use super::{
    Root,
    values::{self, Quota},
};

/// The tenants and how they are run.
#[derive(Args)]
pub(crate) struct Runtime {
    #[command(flatten)]
    root: Root,

    /// What an acknowledged write survives: power loss (full), or only the death of the process (normal)
    #[arg(long, value_name = "HOW", value_enum, default_value = "full")]
    durability: How,

    #[command(flatten)]
    limits: Limits,

    /// Tenants that may be open at the same time; those used least lately are closed for others [default: 256]
    #[arg(long, value_name = "NUMBER")]
    max_live_tenants: Option<usize>,

    /// Time after which a tenant without calls is closed [default: 10min]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    idle_timeout: Option<Duration>,

    /// Summaries that may be waited for at the same time, half of them for one tenant [default: 4]
    #[arg(long, value_name = "NUMBER")]
    max_compactions: Option<usize>,

    /// Keys of a message's metadata that clients cannot write, in every tenant, beside those that a tenant configures
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    reserved_metadata_keys: Vec<String>,

    /// Who writes summaries: extractive (built in, without a model), command:CMD (run by sh -c, prompt on stdin, summary
    /// on stdout), openai:BASE_URL#MODEL (key from OPENAI_API_KEY), anthropic:MODEL (key from ANTHROPIC_API_KEY), none
    #[arg(long, value_name = "SPEC", default_value = "extractive")]
    summarizer: Spec,

    /// Time that one summary may take, with all attempts at it [default: 120s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    summarizer_timeout: Option<Duration>,
}

/// What one tenant may have. Units and errors are in docs/limits.md.
#[derive(Args)]
pub(crate) struct Limits {
    /// Memory that the sandbox of one tenant may have, at most 4GiB [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = values::memory)]
    memory_limit: Option<usize>,

    /// Room on the disk that the database of one tenant may have, at least 1MiB, or none [default: 8GiB]
    #[arg(long, value_name = "BYTES", value_parser = values::quota)]
    disk_quota: Option<Quota>,

    /// Files and the like that the sandbox of one tenant may have open, at least 16 [default: 256]
    #[arg(long, value_name = "N")]
    handle_limit: Option<usize>,

    /// Bytes that the sandbox of one tenant may hand over in one call, at least 1MiB [default: 256MiB]
    #[arg(long, value_name = "BYTES", value_parser = values::size)]
    transfer_limit: Option<usize>,

    /// Time that one call may take; then its sandbox is ended and the outcome is unknown [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    call_timeout: Option<Duration>,
}

impl Limits {
    /// Sets what was chosen.
    pub(crate) fn set(&self, mut options: Builder) -> Builder {
        if let Some(bytes) = self.memory_limit {
            options = options.memory_limit(bytes);
        }
        if let Some(Quota(bytes)) = self.disk_quota {
            options = options.disk_quota(bytes);
        }
        if let Some(handles) = self.handle_limit {
            options = options.handle_limit(handles);
        }
        if let Some(bytes) = self.transfer_limit {
            options = options.transfer_limit(bytes);
        }
        if let Some(time) = self.call_timeout {
            options = options.call_timeout(time);
        }
        options
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum How {
    Full,
    Normal,
}

impl Runtime {
    /// Opens the root.
    pub(crate) async fn open(self) -> anyhow::Result<Talktree> {
        Ok(self.builder()?.open().await?)
    }

    /// What opens the root.
    pub(crate) fn builder(self) -> anyhow::Result<Builder> {
        let mut options = Talktree::builder(&self.root.root)
            .durability(match self.durability {
                How::Full => Durability::Full,
                How::Normal => Durability::Normal,
            })
            .reserved_metadata_keys(self.reserved_metadata_keys);
        options = self.limits.set(options);
        if let Some(time) = self.summarizer_timeout {
            options = options.summarizer_timeout(time);
        }
        if let Some(tenants) = self.max_live_tenants {
            options = options.max_live_tenants(tenants);
        }
        if let Some(time) = self.idle_timeout {
            options = options.idle_timeout(time);
        }
        if let Some(compactions) = self.max_compactions {
            options = options.max_compactions(compactions);
        }
        Ok(match self.summarizer.build().map_err(anyhow::Error::msg)? {
            Some(summarizer) => options.summarizer(summarizer),
            None => options.no_summarizer(),
        })
    }
}
