//! Many sessions: what the list of them costs, and how large the log gets while they are written one by one.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::contender::{Durability, Side, Subject};
use crate::figures::{Row, Samples, Target, Unit};
use crate::lab::Lab;
use crate::speed::mean;

/// Appends between two looks at the log.
const LOOK: usize = 100;

/// The log of a steady writer must not grow beyond this, in MiB: twice the pages after which it is written back.
const LOG: Target = Target::AtMost(8.0);

pub(crate) fn rows(lab: &mut Lab) -> Result<Vec<Row>> {
    let count = lab.scale.large;
    let [mut first, mut all, mut log] = [(); 3].map(|()| Samples::default());
    // Filling them takes longest by far: one round.
    for side in lab.sides_of_round(0).into_iter().filter(|side| *side != Side::Plain) {
        lab.progress(&format!("{count} sessions, {}", side.name()));
        let mut subject = lab.new_subject(side, 1, Durability::Normal)?;
        log.add(side, fill(&mut subject, count)? as f64 / f64::from(1 << 20));
        let page = mean(lab.scale.reads, || subject.store.list(100, None))?;
        first.add(side, page.as_secs_f64() * 1e3);
        let start = Instant::now();
        let listed = list_all(&mut subject)?;
        all.add(side, start.elapsed().as_secs_f64() * 1e3);
        ensure!(listed as u64 == count + 1, "{listed} sessions of {}", count + 1);
    }
    Ok(vec![
        Row::new(format!("first 100 of {count} sessions"), Unit::Milliseconds, first).target(Target::AtMost(5.0)),
        Row::new(format!("all of {count} sessions, in pages of 1,000"), Unit::Milliseconds, all),
        Row::new(format!("log at most, over {count} appends"), Unit::MiB, log).target(LOG),
    ])
}

/// One message in each session. Answers the most that the log had, in bytes.
fn fill(subject: &mut Subject, sessions: u64) -> Result<u64> {
    let messages = subject.next(sessions);
    let mut most = 0;
    for (number, message) in messages.iter().enumerate() {
        subject.store.append_to(&format!("session {number}"), message)?;
        if number % LOOK == 0 {
            most = most.max(log_bytes(&subject.store.database()?)?);
        }
    }
    Ok(most)
}

fn log_bytes(database: &Path) -> Result<u64> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    Ok(fs::metadata(&log).with_context(|| format!("{} is not there", log.display()))?.len())
}

fn list_all(subject: &mut Subject) -> Result<usize> {
    let (mut listed, mut cursor) = (0, None);
    loop {
        let (page, next) = subject.store.list(1_000, cursor)?.context("there is a list")?;
        listed += page;
        cursor = next;
        if cursor.is_none() {
            return Ok(listed);
        }
    }
}
