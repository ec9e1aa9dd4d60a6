//! The sub-commands of `talktree`, one file each, and what they have in common.
//!
//! Exit codes: 0 done, 1 failed (the reason is on stderr), 2 the command line was wrong, or what the environment or the
//! configuration file say in its place.

mod append;
mod care;
mod chat;
mod completions;
mod config;
mod demo;
mod doctor;
mod drawing;
mod export;
mod follow;
mod help;
mod history;
mod import;
mod layout;
mod log;
mod marks;
mod mcp;
mod memory;
mod outline;
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
mod view;

use std::{
    env,
    ffi::OsString,
    io,
    path::PathBuf,
    process::{ExitCode, exit},
};

use anyhow::{Context as _, ensure};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};
use talktree::{Session, Talktree, Tenant, said as parts};

use crate::config::{Given, Resolved, resolve};

/// Durable conversation trees for LLM agents: every message, every branch, one sandboxed SQLite file per tenant.
#[derive(Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  talktree demo                                         see what it does, in a temporary directory
  talktree import --root data --tenant easy export.zip  take over old conversations
  talktree tree --root data --tenant easy               draw its tree
  talktree search --root data --tenant easy 部署        find messages by their words
  talktree chat --root data --tenant easy               talk with a model, without a key at first
  talktree rpc --root data                              serve JSON-RPC on stdin and stdout
  talktree serve --root data                            serve it over HTTP and WebSockets
  talktree mcp --root data --tenant easy                serve an agent, by the Model Context Protocol

Every option can come from the environment, as TALKTREE_COMMAND_OPTION or TALKTREE_OPTION, and from a configuration file; \
`talktree config` shows what holds, and from where. --FLAG=false says against them that a flag is not set.

Exit codes: 0 done, 1 failed, 2 the command line, a variable or the configuration file was wrong."
)]
struct Cli {
    /// Configuration file, instead of the user's own
    #[arg(long, global = true, value_name = "FILE", help_heading = GENERAL)]
    config: Option<PathBuf>,

    /// Read no configuration file
    #[arg(long, global = true, help_heading = GENERAL)]
    no_config: bool,

    /// How much is logged on stderr: error, warn, info, debug, trace, or a filter such as talktree=debug [default: warn]
    #[arg(long, global = true, value_name = "FILTER", help_heading = GENERAL)]
    log: Option<String>,

    #[command(subcommand)]
    command: Command,
}

/// Over the options that every command has.
const GENERAL: &str = "General options";

#[derive(Subcommand)]
enum Command {
    Rpc(rpc::Rpc),
    Serve(Box<serve::Serve>),
    Chat(Box<chat::Chat>),
    Mcp(mcp::Mcp),
    Token(token::Token),
    Append(append::Append),
    Memory(memory::Memory),
    Import(import::Import),
    Export(export::Export),
    Show(show::Show),
    Tree(tree::TreeCommand),
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
    Config(config::Config),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

/// Where the data is.
#[derive(Args)]
struct Root {
    /// Directory that holds the tenants
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
}

/// Which conversation.
#[derive(Args)]
struct Conversation {
    #[command(flatten)]
    root: Root,

    /// Tenant that the conversation belongs to
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
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

/// Threads for the tasks of the host, on small machines too: one task that takes long then holds up fewer others.
const WORKERS: usize = 4;
/// A variable of the environment.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// All commands, as they are shown.
fn commands() -> clap::Command {
    help::arrange(Cli::command())
}

/// The command line that counts, with what the environment and the file say. Ends the process where there is none.
fn read() -> (Cli, Resolved) {
    let commands = commands();
    let arguments: Vec<_> = env::args_os().collect();
    let resolved = resolve(&commands, &Given { arguments: arguments.clone(), variable: &variable });
    let resolved = resolved.unwrap_or_else(|error| {
        complain(&error.to_string());
        exit(2);
    });
    let read = commands.clone().try_get_matches_from(&resolved.arguments);
    match read.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => (cli, resolved),
        Err(error) if is_help(&error) => {
            // The same once more, by commands that name their variables.
            let shown = help::with_variables(commands).try_get_matches_from(arguments).err().unwrap_or(error);
            shown.exit();
        }
        Err(error) => {
            // Whoever has closed stderr does not want to know.
            let _ = error.print();
            for setting in &resolved.settings {
                anstream::eprintln!("note: --{} is from {}", setting.option, setting.origin);
            }
            exit(error.exit_code());
        }
    }
}

fn is_help(error: &clap::Error) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}

fn complain(sentence: &str) {
    anstream::eprintln!("{}error:{} {}", terminal::BAD, terminal::PLAIN, terminal::harmless(sentence));
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let (cli, resolved) = read();
    log::start(cli.log.as_deref());
    let done = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS.max(std::thread::available_parallelism().map_or(1, usize::from)))
        .enable_all()
        .build()
        .context("the runtime cannot be started")
        .and_then(|runtime| {
            let done = runtime.block_on(async {
                match cli.command {
                    Command::Rpc(rpc) => rpc.run().await,
                    Command::Serve(serve) => serve.run().await,
                    Command::Chat(chat) => chat.run().await,
                    Command::Mcp(mcp) => mcp.run().await,
                    Command::Token(token) => token.run(),
                    Command::Append(append) => append.run().await,
                    Command::Memory(memory) => memory.run().await,
                    Command::Import(import) => import.run().await,
                    Command::Export(export) => export.run().await,
                    Command::Show(show) => show.run().await,
                    Command::Tree(tree) => tree.run().await,
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
                    Command::Doctor(doctor) => doctor.run(&commands(), &resolved).await,
                    Command::Config(config) => config.run(&commands(), &resolved),
                    Command::Completions(completions) => completions.run(commands()),
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
            complain(&sentence(&error));
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
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::collections::HashMap;

    use super::*;
    use crate::config;

    #[test]
    fn the_command_line_is_consistent() {
        commands().debug_assert();
        help::with_variables(commands()).debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_and_shows_examples() {
        for command in commands().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{}", command.get_name());
        }
    }

    /// A value that an option takes: one of those that it names, its default, or the first of some that fits.
    fn value(arg: &clap::Arg) -> String {
        let named = arg.get_possible_values().first().map(|value| value.get_name().to_owned());
        let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
        let others = [
            "7",
            "80",
            "64MiB",
            "90d",
            "30s",
            "user:",
            "https://app.example",
            "openai-messages",
            "127.0.0.1:0",
            "scripted",
        ];
        let all = named.into_iter().chain(default).chain(others.map(str::to_owned));
        let mut fitting = all.filter(|value| !value.is_empty() && config::check(arg, value.as_ref()).is_ok());
        fitting.next().unwrap_or_else(|| panic!("no value fits {}: add one", arg.get_id()))
    }

    /// One command with what it needs otherwise, and one of its options said elsewhere: whether it arrives.
    #[test]
    fn every_option_of_every_command_can_come_from_the_environment_and_from_the_file() {
        let commands = commands();
        let mut seen: HashMap<String, String> = HashMap::new();
        for command in commands.get_subcommands() {
            let name = command.get_name();
            for arg in config::of_command(command) {
                let option = arg.get_long().unwrap();
                let is_flag = !arg.get_action().takes_values();
                let said = if is_flag { "true".to_owned() } else { value(arg) };
                for variable in config::variables(name, option) {
                    let given = |asked: &str| (asked == variable).then(|| OsString::from(&said));
                    let arguments = ["talktree", name, "--no-config"].map(OsString::from).to_vec();
                    let resolved = resolve(&commands, &Given { arguments, variable: &given }).unwrap();
                    let is_there = resolved.settings.iter().any(|setting| setting.option == option);
                    assert!(is_there, "{variable} does not reach --{option} of {name}");
                    let typed = if is_flag { format!("--{option}") } else { format!("--{option}={said}") };
                    assert!(resolved.arguments.contains(&typed.into()), "{name}: {:?}", resolved.arguments);
                    // One variable, one thing: only the file of tokens is called differently where it is made and used,
                    // and what `chat` is told of its model is what `serve` is told of it.
                    let thing = match option {
                        "file" => "token-file",
                        other => other.strip_prefix("chat-").unwrap_or(other),
                    };
                    let before = seen.entry(variable.clone()).or_insert_with(|| thing.to_owned());
                    assert_eq!(before, thing, "{variable} means two things");
                }
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("c.toml");
                let text = if is_flag { "true".to_owned() } else { format!("{said:?}") };
                std::fs::write(&path, format!("[{name}]\n{option} = {text}\n")).unwrap();
                let arguments = vec!["talktree".into(), name.into(), "--config".into(), path.into()];
                let resolved = resolve(&commands, &Given { arguments, variable: &|_| None });
                // What helps with a file that is wrong does without.
                let settings = resolved.unwrap().settings;
                assert!(settings.iter().any(|setting| setting.option == option), "[{name}] {option}");
            }
        }
    }

    #[test]
    fn the_sample_names_every_option_and_is_right_when_its_signs_are_taken_away() {
        let commands = commands();
        let sample = config::sample(&commands);
        let directory = tempfile::tempdir().unwrap();
        for command in commands.get_subcommands() {
            for option in config::of_command(command).filter_map(clap::Arg::get_long) {
                assert!(sample.contains(&format!("\n# {option} = ")), "{option}");
            }
        }
        // As it is, it says nothing.
        let path = directory.path().join("c.toml");
        std::fs::write(&path, &sample).unwrap();
        let read = config::ConfigFile::read(&path, &commands).unwrap().unwrap();
        read.check(&commands, None).unwrap();
        // Without the signs every key is known; values are examples.
        let bare: String = sample
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| !line.starts_with(' ') && (line.contains(" = ") || line.starts_with('[')))
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(&path, bare).unwrap();
        config::ConfigFile::read(&path, &commands).unwrap().unwrap();
    }
}
