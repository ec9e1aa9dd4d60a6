//! `cargo xtask bench`: the engine natively and in the component, side by side in one run.

mod arguments;
mod component;
mod contender;
mod engine;
mod figures;
mod lab;
mod memory;
mod plain;
mod report;
mod space;
mod speed;
mod workload;

use std::process::ExitCode;

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
    }
    let missed = rows.iter().any(|row| row.missed());
    Ok(if arguments.strict && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
