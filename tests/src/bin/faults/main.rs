//! `cargo xtask proof`: what goes wrong around a store, at full length.

use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use talktree::Durability;
use talktree_tests::faults::{
    Amount, Reference, kills, new_seed, power,
    requests::{self, Wrong},
    together,
};

/// Makes things go wrong around a store, and fails where a promise is not kept.
#[derive(Debug, Parser)]
#[command(name = "faults")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Power is lost at any moment: opens what the disk may then hold
    Power(Lives),
    /// The n-th request for the disk fails, in all ways
    Disk(Lives),
    /// The n-th request for memory, and those behind it, are refused
    Memory(Lives),
    /// Processes are killed at any moment
    Kills {
        #[command(flatten)]
        lives: Lives,

        /// How many of each life, with each durability
        #[arg(long, default_value = "200")]
        kills: u64,
    },
    /// Several instances, in one process and in several, and the program are on one directory; some are killed
    Together {
        /// Where the numbers begin that decide what happens: repeats what a failed run did
        #[arg(long)]
        seed: Option<u64>,

        /// Processes with two instances each
        #[arg(long, default_value = "3", value_parser = clap::value_parser!(u64).range(1..))]
        processes: u64,

        /// How long
        #[arg(long, default_value = "60")]
        seconds: u64,
    },
    /// One of the processes of `together`
    #[command(hide = true)]
    Instances {
        /// What its writers are called
        name: String,

        /// The directory of the store
        directory: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, Args)]
struct Lives {
    /// Where the numbers begin that decide what happens: repeats what a failed run did
    #[arg(long)]
    seed: Option<u64>,

    /// How many lives, of seeds that follow one another
    #[arg(long, default_value = "1")]
    lives: u64,

    /// Calls of a life
    #[arg(long, default_value = "60", value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,

    /// Of so many moments one is tried
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    one_in: u64,
}

impl Lives {
    fn amount(self) -> Amount {
        Amount { one_in: self.one_in }
    }

    /// Has each life go wrong, and says what was tried.
    fn each(self, wrong: impl Fn(&Reference) -> Result<Vec<String>>) -> Result<()> {
        let first = self.seed.unwrap_or_else(new_seed);
        for seed in (first..).take(self.lives as usize) {
            let begun = Instant::now();
            println!("seed {seed}, {} calls", self.steps);
            let reference = Reference::new(seed, self.steps as usize)?;
            for line in wrong(&reference)? {
                println!("  {line}");
            }
            println!("  {:.1} s", begun.elapsed().as_secs_f64());
        }
        Ok(())
    }
}

const BOTH: [Durability; 2] = [Durability::Full, Durability::Normal];

fn main() -> ExitCode {
    match run(Arguments::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a promise was not kept: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(what: What) -> Result<()> {
    match what {
        What::Power(lives) => lives.each(|reference| {
            let tried = BOTH.map(|durability| {
                Ok(format!("{durability:?}: {}", power::run(reference, durability, durability, lives.amount())?))
            });
            tried.into_iter().collect()
        }),
        What::Disk(lives) => lives.each(|reference| {
            let tried = Wrong::OF_DISK.map(|wrong| {
                let tried = requests::run(reference, Durability::Normal, wrong, lives.amount())?;
                Ok(format!("{wrong:?}: {tried}"))
            });
            tried.into_iter().collect()
        }),
        What::Memory(lives) => lives.each(|reference| {
            let tried = requests::run(reference, Durability::Normal, Wrong::Memory, lives.amount())?;
            Ok(vec![tried.to_string()])
        }),
        What::Kills { lives, kills } => lives.each(|reference| {
            BOTH.iter()
                .map(|&durability| Ok(format!("{durability:?}: {}", kills::run(reference, durability, kills)?)))
                .collect()
        }),
        What::Together { seed, processes, seconds } => {
            let seed = seed.unwrap_or_else(new_seed);
            println!("seed {seed}");
            let time = Duration::from_secs(seconds);
            println!("  {}", together::run(together::Options { seed, processes, time })?);
            Ok(())
        }
        What::Instances { name, directory } => together::instances(&name, &directory),
    }
}
