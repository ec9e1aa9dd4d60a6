//! Peak memory of a process that streams the whole history: one process for each contender.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::contender::{self, Durability, Side};
use crate::figures::{Row, Samples, Target, Unit};
use crate::lab::Lab;

/// All rows about memory.
pub(crate) fn rows(lab: &mut Lab) -> Result<Vec<Row>> {
    let large = lab.scale.large;
    let mut peak = Samples::default();
    for side in lab.sides_of_round(0) {
        let subject = lab.subject(side, large)?;
        subject.store.close()?;
        let output = Command::new(std::env::current_exe()?)
            .args(["--probe", side.name()])
            .arg(subject.directory())
            .output()
            .context("start the probe")?;
        ensure!(output.status.success(), "the probe failed: {}", String::from_utf8_lossy(&output.stderr));
        let answer = String::from_utf8(output.stdout)?;
        if let Ok(bytes) = answer.trim().parse::<u64>() {
            peak.add(side, bytes as f64 / f64::from(1 << 20));
        }
    }
    Ok(vec![
        Row::new(format!("peak memory, streaming {large}"), Unit::MiB, peak)
            .target(Target::AtMost(40.0))
            .note("the whole process, compiled component loaded from the cache"),
    ])
}

/// The other side: streams the history and prints the peak in bytes, or nothing where the system does not tell.
pub(crate) fn probe(arguments: &[String]) -> Result<()> {
    let [side, directory] = arguments else { bail!("--probe takes a contender and a directory") };
    let side = Side::from_str(side, false).map_err(anyhow::Error::msg)?;
    let mut store = contender::open(side, Path::new(directory), Durability::Full)?;
    let amount = store.read_all()?;
    ensure!(amount.messages > 0, "nothing to read");
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        println!("{}", peak.context("a peak")?.trim().parse::<u64>()? * 1024);
    }
    store.close()
}
