//! `talktree rpc`: JSON-RPC on stdin and stdout.

use std::{io, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use talktree::rpc;

use super::{runtime::Runtime, signals::Signals, values};

/// Serve JSON-RPC 2.0 on stdin and stdout: one request per line
#[derive(Args)]
#[command(after_help = "\
A request may be sent before the last one is answered. Requests of one tenant are carried out in order, tenants \
side by side. At the end of input, on SIGTERM and on SIGINT everything that was read is carried out and answered \
first; a second signal ends the process at once. stdout carries the protocol only, the log goes to stderr.

Examples:
  talktree rpc --root data
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | talktree rpc --root data
  talktree rpc --root data --durability normal --memory-limit 256MiB --call-timeout 10s

Exit codes: 0 end of input or a signal, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Rpc {
    #[command(flatten, next_help_heading = "Tenants")]
    runtime: Runtime,

    /// Length of the longest request; a longer one is refused and skipped
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "128MiB")]
    max_request: usize,
}

impl Rpc {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let talktree = self.runtime.open().await?;
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let served = rpc::serve(talktree.clone(), io::stdin(), io::stdout(), self.max_request, signals.first()).await;
        let closed = talktree.close().await;
        served.context("requests and answers cannot be passed on")?;
        closed.context("not every tenant could be closed")?;
        Ok(ExitCode::SUCCESS)
    }
}
