//! Many tenants opened in turn under a cap of live ones: what the process holds does not grow with those it has seen.

use std::{fmt, path::Path, time::Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{
    Times,
    client::{Client, Transport},
    message,
    server::{Holds, Server},
};

/// What may come on top of what was held when the cap was reached: memory in KiB, and for the rest one of each.
const MEMORY_SLACK_KIB: u64 = 24 * 1024;
const SLACK: u64 = 40;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Tenants that are opened, several times the cap.
    pub tenants: u64,
    /// Tenants that may be live at a time.
    pub live: u64,
}

/// What was seen.
#[derive(Debug)]
pub struct Report {
    options: Options,
    /// The time of the first call of a tenant that is on disk and not live: below the cap, and at it.
    opened_below: Times,
    opened_at: Times,
    /// The time of the same call where the tenant is live.
    live: Times,
    /// What the process had after so many tenants.
    held: Vec<(u64, Holds)>,
}

impl Report {
    /// The median time that opening a tenant takes, in ms: the first call's, less that of the same call to a live tenant.
    pub fn opening_ms(&self) -> f64 {
        self.opened_below.percentile(50) - self.live.percentile(50)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { tenants, live } = self.options;
        let row = |times: &Times| format!("{:.2} / {:.2} ms", times.percentile(50), times.percentile(99));
        writeln!(
            f,
            "{tenants} tenants opened in turn, {live} live at most; medians and 99th percentiles of a first call:"
        )?;
        writeln!(f, "  tenant live already                  {}", row(&self.live))?;
        writeln!(f, "  opened for it, room left             {}", row(&self.opened_below))?;
        writeln!(f, "  opened for it, another one closed    {}", row(&self.opened_at))?;
        for (seen, Holds { memory_kib, threads, files }) in &self.held {
            writeln!(f, "  after {seen:>5} tenants: {:>4} MiB, {threads} threads, {files} files", memory_kib / 1024)?;
        }
        Ok(())
    }
}

/// Runs it below a directory. Fails where something has grown.
pub fn run(root: &Path, options: Options) -> Result<Report> {
    let limit = format!("--max-live-tenants={}", options.live);
    let serve = [limit.as_str(), "--durability=normal"];
    let mut server = Server::start(root, &serve)?;
    let mut client = Client::new(Transport::Http, server.address());
    for number in 0..options.tenants {
        let first = json!({"tenant": tenant(number), "message": message("m1", "first")});
        client.must("appendMessage", first)?;
    }
    // All are on disk, and none is live.
    server.end()?;
    server.restart(None)?;
    let mut client = Client::new(Transport::Http, server.address());
    let mut report = Report {
        options,
        opened_below: Times::default(),
        opened_at: Times::default(),
        live: Times::default(),
        held: Vec::new(),
    };
    for round in 0..2 {
        for number in 0..options.tenants {
            open(&mut client, number, round, &mut report)?;
            let seen = round * options.tenants + number + 1;
            if seen.is_multiple_of((options.tenants * 2 / 10).max(1)) || seen == options.live * 2 {
                report.held.extend(server.holds().map(|holds| (seen, holds)));
            }
        }
    }
    check_growth(&report.held)?;
    server.end()?;
    Ok(report)
}

/// Opens a tenant by a read, waits for an event that does not come, and writes every other time.
fn open(client: &mut Client, number: u64, round: u64, report: &mut Report) -> Result<()> {
    let tenant = tenant(number);
    let begun = Instant::now();
    let leaf = client.must("getLatestLeaf", json!({"tenant": tenant}))?;
    let took = begun.elapsed();
    let at_cap = round > 0 || number >= report.options.live - report.options.live / 8;
    if at_cap { &mut report.opened_at } else { &mut report.opened_below }.add(took);
    ensure!(leaf["message"]["id"].is_string(), "{tenant}: {leaf}");
    let begun = Instant::now();
    client.must("getLatestLeaf", json!({"tenant": tenant}))?;
    report.live.add(begun.elapsed());
    let end = client.must("changes", json!({"tenant": tenant}))?["cursor"].clone();
    client.must("changes", json!({"tenant": tenant, "cursor": end, "waitMs": 1}))?;
    if number.is_multiple_of(2) {
        let id = format!("r{round}");
        client.must("appendMessage", json!({"tenant": tenant, "message": message(&id, "again")}))?;
    }
    Ok(())
}

/// Compares what was held later with what was held when the cap had been reached.
fn check_growth(held: &[(u64, Holds)]) -> Result<()> {
    let Some((_, first)) = held.first() else { return Ok(()) };
    let (seen, last) = held.last().context("there is a last one")?;
    let most = |of: fn(&Holds) -> u64| held.iter().map(|(_, holds)| of(holds)).max().unwrap_or_default();
    ensure!(
        last.memory_kib <= first.memory_kib + first.memory_kib / 10 + MEMORY_SLACK_KIB,
        "memory has grown from {} to {} KiB over {seen} tenants: {held:?}",
        first.memory_kib,
        last.memory_kib
    );
    ensure!(most(|holds| holds.threads) <= first.threads + SLACK, "threads have grown: {held:?}");
    ensure!(most(|holds| holds.files) <= first.files + SLACK, "open files have grown: {held:?}");
    Ok(())
}

fn tenant(number: u64) -> String {
    format!("tenant:{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grows(last: Holds) -> bool {
        let first = Holds { memory_kib: 200_000, threads: 110, files: 700 };
        check_growth(&[(100, first), (1_000, last)]).is_err()
    }

    #[test]
    fn growth_is_seen() {
        assert!(!grows(Holds { memory_kib: 201_000, threads: 112, files: 710 }));
        assert!(grows(Holds { memory_kib: 400_000, threads: 110, files: 700 }));
        assert!(grows(Holds { memory_kib: 200_000, threads: 1_010, files: 700 }));
        assert!(grows(Holds { memory_kib: 200_000, threads: 110, files: 1_600 }));
    }
}
