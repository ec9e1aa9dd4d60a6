//! Runs one input through its check, as often as wanted and with a debugger: what a fuzzer has found.
//!
//! `cargo run --release --package talktree-checks --bin repeat -- TARGET FILE`
#![allow(clippy::unwrap_used, reason = "a promise that does not hold is a panic")]

use std::process::ExitCode;

use talktree_checks::CHECKS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, file] = arguments.as_slice() else {
        eprintln!("usage: repeat TARGET FILE");
        return ExitCode::from(2);
    };
    let Some((_, check)) = CHECKS.iter().find(|(name, _)| name == target) else {
        eprintln!(
            "no target {target:?}; there are {}",
            CHECKS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        );
        return ExitCode::from(2);
    };
    check(&std::fs::read(file).unwrap());
    println!("{target} keeps its promises with {file}");
    ExitCode::SUCCESS
}
