//! `cargo xtask load`: load on the real server, at full length.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use talktree_tests::load::{mixed, neighbours, new_seed, turns};

/// Puts load on the real server, and fails where a promise is not kept.
#[derive(Debug, Parser)]
#[command(name = "load")]
struct Arguments {
    /// What to run [default: all]
    #[arg(value_enum)]
    what: Vec<What>,

    /// Where the numbers begin that decide what happens: repeats what a failed run did
    #[arg(long)]
    seed: Option<u64>,

    /// Calls of the mixed run
    #[arg(long, default_value = "100000")]
    calls: u64,

    /// Clients of the mixed run
    #[arg(long, default_value = "64", value_parser = clap::value_parser!(u64).range(1..))]
    clients: u64,

    /// Tenants of the mixed run
    #[arg(long, default_value = "200", value_parser = clap::value_parser!(u64).range(1..))]
    tenants: u64,

    /// How often the server is killed or told to end in the mixed run
    #[arg(long, default_value = "12")]
    ends: u64,

    /// Tenants that are opened in turn
    #[arg(long, default_value = "5000")]
    turns: u64,

    /// Tenants that may be live meanwhile
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u64).range(16..))]
    live: u64,

    /// How often it is quiet, and then not, for each hostile neighbour
    #[arg(long, default_value = "5")]
    rounds: u32,

    /// Where the stores are made [default: the system's temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Option<PathBuf>,
}

/// What can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Many clients and tenants, mixed calls by all ways in, while sandboxes and the server are killed
    Mixed,
    /// Many tenants opened in turn under a cap
    Turns,
    /// What tenants feel of a hostile one
    Neighbours,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let wants = |what| arguments.what.is_empty() || arguments.what.contains(&what);
    let scratch = || match &arguments.scratch {
        Some(directory) => tempfile::Builder::new().prefix("talktree-load").tempdir_in(directory),
        None => tempfile::Builder::new().prefix("talktree-load").tempdir(),
    };
    if wants(What::Turns) {
        let options = turns::Options { tenants: arguments.turns, live: arguments.live };
        print!("{}", turns::run(&scratch()?.path().join("data"), options)?);
    }
    let mut failed = false;
    if wants(What::Neighbours) {
        let options = neighbours::Options { rounds: arguments.rounds, window: Duration::from_secs(2) };
        for felt in neighbours::run(&scratch()?.path().join("data"), options)? {
            let word = if felt.is_allowed() { "ok" } else { "MISSED" };
            println!("{felt} {word}");
            failed |= !felt.is_allowed();
        }
    }
    if wants(What::Mixed) {
        let seed = arguments.seed.unwrap_or_else(new_seed);
        println!("seed {seed}");
        let Arguments { calls, clients, tenants, ends, .. } = arguments;
        // Fewer live than there are, so that they are closed and opened all the time.
        let options =
            mixed::Options { clients, tenants, calls, ends, live: (tenants / 2).max(1), time_limit_ms: 250, seed };
        println!("{}", mixed::run(&scratch()?.path().join("data"), options)?);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
