//! `cargo xtask`: sets a machine up, builds, tests and measures Talktree. `cargo xtask help` lists the commands.

mod guest;
mod process;
mod project;
mod setup;
mod toolchain;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Sets a machine up, builds, tests and measures Talktree.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Find what the build needs on this machine, and install what is missing
    Setup {
        /// Only report
        #[arg(long)]
        check: bool,
    },
    /// Build the component into target/talktree/sessions.wasm
    Guest,
    /// Print the environment that the guest is built with: eval "$(cargo xtask env)"
    Env,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            if error.is::<setup::ByHand>() { ExitCode::from(3) } else { ExitCode::FAILURE }
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup { check } => setup::command(check),
        Task::Guest => guest::build(),
        Task::Env => guest::print_environment(),
    }
}
