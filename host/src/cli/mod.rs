//! The sub-commands of `talktree`, one file each, and what they have in common.
//!
//! Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line was wrong.

mod care;
mod demo;
mod export;
mod history;
mod import;
mod log;
mod mcp;
mod prune;
mod rpc;
mod runtime;
mod search;
mod serve;
mod sessions;
mod show;
mod signals;
mod tenants;
mod terminal;
mod token;
mod tree;
mod values;

use std::{io, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, ensure};
use clap::{Args, Parser, Subcommand};
use talktree::{Session, Talktree, Tenant, said as parts};

/// Durable conversation trees for LLM agents: every message, every branch, one sandboxed SQLite file per tenant.
#[derive(Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  talktree demo                                         see what it does, in a temporary directory
  talktree import --root data --tenant easy export.zip  take over old conversations
  talktree show --root data --tenant easy               draw its tree
  talktree search --root data --tenant easy 部署        find messages by their words
  talktree rpc --root data                              serve JSON-RPC on stdin and stdout
  talktree serve --root data                            serve it over HTTP and WebSockets
  talktree mcp --root data --tenant easy                serve an agent, by the Model Context Protocol

Exit codes: 0 done, 1 failed, 2 the command line was wrong.
The log goes to stderr; TALKTREE_LOG says how much: error, warn (the default), info, debug, trace, or a filter such \
as talktree=debug."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Rpc(rpc::Rpc),
    Serve(Box<serve::Serve>),
    Mcp(mcp::Mcp),
    Token(token::Token),
    Import(import::Import),
    Export(export::Export),
    Show(show::Show),
    History(history::History),
    Search(search::Search),
    Sessions(sessions::Sessions),
    Tenants(tenants::Tenants),
    Stats(care::Stats),
    Check(care::Check),
    Vacuum(care::Vacuum),
    Snapshot(care::Snapshot),
    Restore(care::Restore),
    Delete(care::Delete),
    Prune(prune::Prune),
    Demo(demo::Demo),
}

/// Where the data is.
#[derive(Args)]
struct Root {
    /// Directory that holds the tenants
    #[arg(long, env = "TALKTREE_ROOT", value_name = "DIR")]
    root: PathBuf,
}

/// Which conversation.
#[derive(Args)]
struct Conversation {
    #[command(flatten)]
    root: Root,

    /// Tenant that the conversation belongs to
    #[arg(long, short, value_name = "NAME")]
    tenant: String,

    /// Id of the session
    #[arg(long, short, value_name = "ID", default_value = "")]
    session: String,
}

impl Root {
    /// Opens what is there, to read it: where nothing is, a slip of the pen is likelier than an empty root.
    async fn open(&self) -> anyhow::Result<Talktree> {
        ensure!(
            self.root.is_dir(),
            "the root {} is not there; the first write of rpc or import makes it",
            self.root.display()
        );
        Ok(Talktree::open(&self.root).await?)
    }
}

impl Root {
    /// A tenant that is there: a name that was never written is a slip of the pen too.
    async fn open_tenant(&self, name: &str) -> anyhow::Result<Tenant> {
        let tenant = self.open().await?.tenant(name)?;
        ensure!(
            tenant.is_written().await?,
            "there is no tenant {:?} here; `talktree tenants` lists those that there are",
            terminal::harmless(name)
        );
        Ok(tenant)
    }
}

impl Conversation {
    async fn open(&self) -> anyhow::Result<Session> {
        Ok(self.root.open().await?.tenant(&self.tenant)?.session(&self.session))
    }

    /// What to call it in a sentence.
    fn name(&self) -> String {
        let tenant = terminal::harmless(&self.tenant);
        match self.session.as_str() {
            "" => format!("the default session of tenant {tenant:?}"),
            session => format!("session {:?} of tenant {tenant:?}", terminal::harmless(session)),
        }
    }
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start();
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")
        .and_then(|runtime| {
            let done = runtime.block_on(async {
                match cli.command {
                    Command::Rpc(rpc) => rpc.run().await,
                    Command::Serve(serve) => serve.run().await,
                    Command::Mcp(mcp) => mcp.run().await,
                    Command::Token(token) => token.run(),
                    Command::Import(import) => import.run().await,
                    Command::Export(export) => export.run().await,
                    Command::Show(show) => show.run().await,
                    Command::History(history) => history.run().await,
                    Command::Search(search) => search.run().await,
                    Command::Sessions(sessions) => sessions.run().await,
                    Command::Tenants(tenants) => tenants.run().await,
                    Command::Stats(stats) => stats.run().await,
                    Command::Check(check) => check.run().await,
                    Command::Vacuum(vacuum) => vacuum.run().await,
                    Command::Snapshot(snapshot) => snapshot.run().await,
                    Command::Restore(restore) => restore.run().await,
                    Command::Delete(delete) => delete.run().await,
                    Command::Prune(prune) => prune.run().await,
                    Command::Demo(demo) => demo.run(),
                }
            });
            // What still reads stdin cannot be interrupted, and need not be waited for.
            runtime.shutdown_background();
            done
        });
    match done {
        Ok(code) => code,
        // Whoever reads has had enough (`talktree history | head`).
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let sentence = sentence(&error);
            anstream::eprintln!("{}error:{} {}", terminal::BAD, terminal::PLAIN, terminal::harmless(&sentence));
            ExitCode::FAILURE
        }
    }
}

/// The error with all its reasons, and the thing that it is about where they do not name it.
fn sentence(error: &anyhow::Error) -> String {
    let sentence = format!("{error:#}");
    match error.downcast_ref::<talktree::Error>().and_then(talktree::Error::subject) {
        Some(subject) if !sentence.contains(subject) => format!("{sentence} ({subject:?})"),
        _ => sentence,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_and_shows_examples() {
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{}", command.get_name());
        }
    }
}
