//! The program `talktree`: Talktree from the command line and for runtimes in any language.

mod cli;
mod config;

fn main() -> std::process::ExitCode {
    cli::main()
}
