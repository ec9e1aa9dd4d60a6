//! `cargo xtask proof`: everything that is done to lose something, at full length.
//!
//! Each part is a program of its own with a seed that it prints; the tests do the same in short forms.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use crate::{ecosystem::differential, fuzz, host, process::run};

/// How much is done.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the parts with this in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// A tenth of it, in some minutes
    #[arg(long)]
    quick: bool,
    /// Name the parts, and do nothing
    #[arg(long)]
    list: bool,
}

/// What one part runs.
enum Part {
    Faults(&'static [&'static str], &'static [&'static str]),
    Load(&'static [&'static str], &'static [&'static str]),
    Differential(&'static [&'static str], &'static [&'static str]),
    /// Seconds for each target.
    Fuzz(u64, u64),
}

/// The parts: name, at full length, and quickly.
const PARTS: [(&str, Part); 8] = [
    ("power", Part::Faults(&["power", "--lives", "12", "--steps", "80"], &["power", "--steps", "60", "--one-in", "4"])),
    ("disk", Part::Faults(&["disk", "--lives", "6"], &["disk", "--steps", "40", "--one-in", "6"])),
    ("memory", Part::Faults(&["memory", "--lives", "12"], &["memory"])),
    ("kills", Part::Faults(&["kills", "--lives", "10", "--kills", "200"], &["kills", "--kills", "60"])),
    ("together", Part::Faults(&["together", "--seconds", "300"], &["together", "--seconds", "20"])),
    ("load", Part::Load(&[], &["mixed", "--calls", "5000", "--ends", "4"])),
    ("fuzz", Part::Fuzz(2_700, 20)),
    ("differential", Part::Differential(&["--seconds", "600"], &["--seconds", "20"])),
];

/// Runs the parts, and closes with how long each took.
pub(crate) fn command(options: &Options) -> Result<()> {
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let parts: Vec<_> = PARTS.iter().filter(|(name, _)| wanted(name)).collect();
    ensure!(!parts.is_empty(), "no part has that in its name; --list names them");
    if options.list {
        parts.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let mut times: Vec<(&str, Duration, &str)> = Vec::new();
    for (name, part) in parts {
        eprintln!("\n== {name}");
        let begun = Instant::now();
        let outcome = part.run(options.quick);
        if let Err(error) = &outcome {
            eprintln!("{name}: {error:#}");
        }
        // The others are run all the same: what is found in hours should not hide what else there is.
        times.push((name, begun.elapsed(), if outcome.is_ok() { "passed" } else { "FAILED" }));
    }
    eprintln!();
    for (name, time, word) in &times {
        eprintln!("{:>7.1} s  {name:<22} {word}", time.as_secs_f64());
    }
    ensure!(times.iter().all(|(_, _, word)| *word == "passed"), "not everything passed");
    Ok(())
}

impl Part {
    fn run(&self, quick: bool) -> Result<()> {
        let choose = |full: &[&'static str], short: &[&'static str]| -> Vec<String> {
            if quick { short } else { full }.iter().map(ToString::to_string).collect()
        };
        match self {
            Self::Faults(full, short) => run(host::faults()?.args(choose(full, short))),
            Self::Load(full, short) => host::load(&choose(full, short)),
            Self::Fuzz(full, short) => fuzz::command(&fuzz::Options::lasting(if quick { *short } else { *full })),
            Self::Differential(full, short) => differential::command(&choose(full, short)),
        }
    }
}
