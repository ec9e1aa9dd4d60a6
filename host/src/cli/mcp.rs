//! `talktree mcp`: the Model Context Protocol on stdin and stdout.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use talktree::mcp::{self, Confinement};

use super::{runtime::Runtime, signals::Signals};

/// Serve the Model Context Protocol on stdin and stdout, for one agent
#[derive(Args)]
#[command(after_help = "\
With --tenant and --session an agent is confined: then neither is an argument of any tool, and nothing else can be \
reached. stdout carries the protocol only, the log goes to stderr.

Examples:
  talktree mcp --root data --tenant easy
  talktree mcp --root data --tenant easy --session notes --read-only
  claude mcp add talktree -- talktree mcp --root data --tenant easy

Exit codes: 0 end of input or a signal, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Mcp {
    #[command(flatten)]
    runtime: Runtime,

    /// Nothing but this tenant
    #[arg(long, short, value_name = "NAME")]
    tenant: Option<String>,

    /// Nothing but this session
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,

    /// Nothing that writes
    #[arg(long)]
    read_only: bool,
}

impl Mcp {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let confinement = Confinement { tenant: self.tenant, session: self.session, read_only: self.read_only };
        let talktree = self.runtime.open().await?;
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let served = mcp::serve(talktree.clone(), confinement, input, output, signals.first()).await;
        let closed = talktree.close().await;
        served?;
        closed.context("not every tenant could be closed")?;
        Ok(ExitCode::SUCCESS)
    }
}
