//! Talktree as one of those that `cargo xtask peers` compares: a store in this process, through the host library.
//!
//! `peer messages COUNT` prints the workload, one message a line, for all of them. `peer drive FULL_OR_NORMAL DIRECTORY
//! MESSAGES` takes commands on stdin, as bench/peers/README.md describes them, and answers each with a line of figures.

#[path = "../bench/workload.rs"]
mod workload;

mod driver;

use std::io::{self, BufWriter, Write};

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["messages", count] => print_messages(count.parse()?),
        ["drive", durability, directory, messages] => driver::run(durability, directory.as_ref(), messages.as_ref()),
        _ => bail!("peer messages COUNT | peer drive full|normal DIRECTORY MESSAGES"),
    }
}

fn print_messages(count: u64) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for message in workload::messages(0, count) {
        writeln!(out, "{message}")?;
    }
    Ok(out.flush()?)
}
