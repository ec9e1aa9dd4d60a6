//! `cargo xtask bench`: the engine natively and in the component, side by side in one run.

mod arguments;
mod component;
mod contender;
mod engine;
mod figures;
mod lab;
mod large;
mod memory;
mod plain;
mod report;
mod search;
mod sessions;
mod space;
mod speed;
mod workload;

use std::fs;
use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use clap::Parser;

use crate::arguments::{Arguments, Group};
use crate::lab::Lab;

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(probe) = &arguments.probe {
        memory::probe(probe)?;
        return Ok(ExitCode::SUCCESS);
    }
    let busy = Load::now();
    let mut lab = Lab::new(&arguments)?;
    let space = space::rows(&arguments, &mut lab)?;
    let memory = if arguments.wants(Group::Memory) { memory::rows(&mut lab)? } else { Vec::new() };
    let mut rows = speed::rows(&arguments, &mut lab)?;
    rows.extend(space);
    rows.extend(memory);
    if arguments.json {
        println!("{:#}", report::document(&rows));
    } else {
        print!("{}", report::table(&rows));
        let scale = lab.scale;
        println!("Medians of {} rounds in {}; ratios within the rounds.", scale.rounds, lab.scratch().display());
        if let Some(warning) = busy.and_then(|load| load.warning()) {
            println!("{warning}");
        }
    }
    let missed = rows.iter().any(|row| row.missed());
    Ok(if arguments.strict && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What else the machine has to do, where it tells.
struct Load {
    waiting: f64,
    processors: usize,
}

impl Load {
    fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        let waiting = text.split(' ').next()?.parse().ok()?;
        Some(Self { waiting, processors: thread::available_parallelism().ok()?.get() })
    }

    /// Times mean little where others have the processors.
    fn warning(&self) -> Option<String> {
        let Self { waiting, processors } = self;
        (*waiting > *processors as f64 / 2.0).then(|| {
            format!("The machine was busy when this began (load {waiting} on {processors} processors): measure again.")
        })
    }
}
