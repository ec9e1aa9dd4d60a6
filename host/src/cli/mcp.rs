//! `talktree mcp`: the Model Context Protocol on stdin and stdout.

use std::{
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use talktree::{
    Talktree,
    mcp::{self, Confinement},
};

use super::{runtime::Runtime, signals::Signals, values};

/// How long a tenant stays open, and locked, when nothing is asked.
const IDLE: Duration = Duration::from_millis(500);

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
    #[command(flatten, next_help_heading = "Tenants")]
    runtime: Runtime,

    /// Nothing but this tenant
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
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
        // Several agents may take turns in one tenant, each with a process of its own: nobody keeps it for long.
        let builder = self.runtime.builder()?.idle_timeout(IDLE);
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let opened = Arc::new(OnceLock::<Talktree>::new());
        let keep = Arc::clone(&opened);
        let opening = async move {
            let talktree = builder.open().await?;
            // It is opened once.
            let _ = keep.set(talktree.clone());
            Ok::<_, talktree::Error>(talktree)
        };
        let served = mcp::serve_opening(opening, confinement, input, output, signals.first()).await;
        let closed = match opened.get() {
            Some(talktree) => talktree.close().await,
            None => Ok(()),
        };
        served?;
        closed.context("not every tenant could be closed")?;
        Ok(ExitCode::SUCCESS)
    }
}
