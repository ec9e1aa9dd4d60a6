//! `cargo xtask`: sets a machine up, builds, tests and measures Talktree. `cargo xtask help` lists the commands.

mod artifacts;
mod binaries;
mod components;
mod ecosystem;
mod fuzz;
mod guest;
mod host;
mod process;
mod project;
mod proof;
mod published;
mod setup;
mod test;
mod toolchain;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What `help` ends with.
const EXAMPLES: &str = "\
Examples:
  cargo xtask demo              from a fresh clone to a conversation tree on the screen
  cargo xtask test              all tests, as they run before a change goes in
  cargo xtask test --quick      the same without slow tests, documentation and examples
  cargo xtask test --ecosystem  Talktree in all other hosts and languages, with their own tools
  cargo xtask setup --check     what is missing on this machine, without installing it
  cargo xtask bench             how the component compares with the engine natively
  cargo xtask peers             how Talktree compares with others, each as its users run it
  cargo xtask load              64 clients, 200 tenants, 100,000 calls, kills; 5,000 tenants in turn; hostile neighbours
  cargo xtask proof --quick     power lost, disks full, processes killed: what is acknowledged stays
  cargo xtask differential      the same random calls here and on Cloudflare's Sessions, for ten seconds
  cargo xtask fuzz --seconds 600 --target database
                                ten minutes of damaged database files, and how to repeat what that finds
  eval \"$(cargo xtask env)\"     then plain cargo builds the guest, too

Exit codes: 0 done, 1 failed, 2 no such command or option, 3 something has to be installed by hand (it says what).

Environment:
  WASI_SDK_PATH     a wasi-sdk, whose C compiler and headers are used
  CC_wasm32_wasip2  any other C compiler for the guest, with CFLAGS_wasm32_wasip2
  WASI_SYSROOT      headers for a clang from the path
  TALKTREE_INSTALL  never: what is missing is said and not installed
  TALKTREE_CACHE    where the set-up keeps what it fetches, by default talktree in the user's cache directory";

/// Sets a machine up, builds, tests and measures Talktree.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Find what building and testing need on this machine, and install what is missing
    Setup {
        /// Only report; exit code 3 when something is missing
        #[arg(long)]
        check: bool,
    },
    /// Build the component into target/talktree/sessions.wasm
    Guest,
    /// Build the component with a summarizer inside, target/talktree/sessions-standalone.wasm
    Standalone,
    /// Collect what a release consists of in target/talktree/dist, with checksums
    Dist,
    /// Build the component and the program into target/release/talktree
    Build,
    /// Pack the crates as they are published, into target/package
    Package,
    /// Build the program and pack it for handing out, into target/talktree
    Binary {
        /// For another kind of machine, as rustc names it: aarch64-unknown-linux-gnu
        #[arg(long)]
        target: Option<String>,
        /// Run what was built for Linux on arm64, with qemu-aarch64-static
        #[arg(long = "try", requires = "target")]
        try_it: bool,
    },
    /// Set up, build, and show what Talktree does
    Demo {
        /// Arguments of `talktree demo`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Set up, build, and run all tests
    Test(test::Options),
    /// Measure the component against the engine natively
    Bench {
        /// Arguments of the bench program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Put load on the real server: many clients and kills, many tenants, hostile neighbours
    Load {
        /// Arguments of the load program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure Talktree beside others that store conversations: the same messages, one run
    Peers {
        /// Arguments of the comparison, such as --quick, --messages 50000 and --rows append,fork
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure what one machine holds: tenants, messages, bytes and calls per second of one server
    Scale {
        /// Arguments of the measurement, such as --tenants 10000 and --large 1000000
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Do everything to lose something: power, disks, memory, kills, several on one directory, load, random calls; hours
    Proof(proof::Options),
    /// Make the same random calls on Talktree and on the published Sessions of Cloudflare, and compare the answers
    Differential {
        /// Arguments of the driver, such as --seconds 600 and --seed 1
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Fuzz with libFuzzer, one target after the other, beginning with the kept corpus
    Fuzz(fuzz::Options),
    /// Take the pictures of the page that README.md shows, with the program that was built
    Picture,
    /// Print the environment that the guest is built with, for a shell to evaluate
    Env {
        /// Also what `cargo component build` needs
        #[arg(long)]
        cargo_component: bool,
    },
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
        Task::Standalone => artifacts::build_standalone(),
        Task::Dist => artifacts::dist(),
        Task::Build => host::build(),
        Task::Package => published::pack().map(drop),
        Task::Binary { target, try_it } => binaries::command(target.as_deref(), try_it),
        Task::Demo { arguments } => host::demo(&arguments),
        Task::Test(options) => test::command(&options),
        Task::Bench { arguments } => host::bench(&arguments),
        Task::Load { arguments } => host::load(&arguments),
        Task::Peers { arguments } => ecosystem::peers::command(&arguments),
        Task::Scale { arguments } => ecosystem::peers::scale(&arguments),
        Task::Proof(options) => proof::command(&options),
        Task::Fuzz(options) => fuzz::command(&options),
        Task::Picture => ecosystem::picture(),
        Task::Differential { arguments } => ecosystem::differential::command(&arguments),
        Task::Env { cargo_component } => guest::print_environment(cargo_component),
    }
}
