//! `talktree rpc`: JSON-RPC on stdin and stdout.

use std::{io, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use talktree::{Durability, Talktree, rpc, summarizer::Spec};

use super::{Root, values};

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

    /// Length of the longest request; a longer one is refused and skipped
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "128MiB")]
    max_request: usize,

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

impl Rpc {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
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
        let talktree = options.open().await?;
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let served = rpc::serve(talktree.clone(), io::stdin(), io::stdout(), self.max_request, signals.first()).await;
        let closed = talktree.close().await;
        served.context("requests and answers cannot be passed on")?;
        closed.context("not every tenant could be closed")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// SIGTERM and SIGINT: the first asks for an end in good order, the second for an end.
struct Signals(tokio::sync::mpsc::Receiver<()>);

impl Signals {
    fn listen() -> io::Result<Self> {
        let (told, first) = tokio::sync::mpsc::channel(1);
        let mut signals = Listener::new()?;
        tokio::spawn(async move {
            signals.next().await;
            tracing::info!("ending: what was read is carried out");
            // Nobody waits for it any more where serving has ended already.
            let _ = told.send(()).await;
            signals.next().await;
            tracing::warn!("ended at once by a second signal");
            std::process::exit(1);
        });
        Ok(Self(first))
    }

    async fn first(mut self) {
        self.0.recv().await;
    }
}

#[cfg(unix)]
struct Listener(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Listener {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Listener(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Listener {
    fn new() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
