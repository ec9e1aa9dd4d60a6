//! How long calls take.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::arguments::{Arguments, Group};
use crate::contender::{Contender, Durability, Subject};
use crate::figures::{Row, Samples, Target, Unit, median};
use crate::lab::Lab;
use crate::large;
use crate::search;
use crate::sessions;

/// Budget of the newest messages.
const RECENT_BYTES: u64 = 64 * 1024;

/// Growth from the small to the large store that is allowed.
const GROWTH: Target = Target::AtMost(1.2);

/// All rows about time that are wanted.
pub(crate) fn rows(arguments: &Arguments, lab: &mut Lab) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if arguments.wants(Group::Append) {
        rows.extend(append(lab, Durability::Full)?);
        rows.extend(append(lab, Durability::Normal)?);
    }
    if arguments.wants(Group::History) {
        rows.extend(history(lab)?);
    }
    if arguments.wants(Group::Recent) {
        rows.extend(recent(lab)?);
    }
    if arguments.wants(Group::Open) {
        rows.extend(open(lab)?);
    }
    if arguments.wants(Group::Large) {
        rows.extend(large::rows(lab)?);
    }
    if arguments.wants(Group::Search) {
        rows.extend(search::rows(lab)?);
    }
    if arguments.wants(Group::Sessions) {
        rows.extend(sessions::rows(lab)?);
    }
    if arguments.wants(Group::Armed) {
        rows.push(armed(lab)?);
    }
    Ok(rows)
}

/// What a threshold for compaction that is not reached costs an append.
fn armed(lab: &mut Lab) -> Result<Row> {
    let scale = lab.scale;
    let mut samples = [Samples::default(), Samples::default()];
    for round in 0..scale.rounds {
        lab.progress(&format!("append with a threshold, round {}", round + 1));
        for side in lab.sides_of_round(round) {
            for (armed, samples) in samples.iter_mut().enumerate() {
                let mut subject = lab.new_subject(side, scale.small, Durability::Full)?;
                if armed == 1 {
                    subject.store.arm()?;
                }
                samples.add(side, appends(&mut subject, scale.appends)?.as_secs_f64());
            }
        }
    }
    let [without, with] = samples;
    let ratio = with.growth_from(&without);
    Ok(Row::new("append with a threshold, to one without".to_owned(), Unit::Times, ratio).target(Target::AtMost(1.1)))
}

fn append(lab: &mut Lab, durability: Durability) -> Result<Vec<Row>> {
    let scale = lab.scale;
    let sizes = [0, scale.small, scale.medium, scale.large];
    let mut samples = sizes.map(|_| Samples::default());
    for round in 0..scale.rounds {
        lab.progress(&format!("append, {}, round {}", durability.name(), round + 1));
        for (size, samples) in sizes.into_iter().zip(&mut samples) {
            for side in lab.sides_of_round(round) {
                let took = if size < scale.medium {
                    // These would soon be larger than they claim: new ones each round.
                    let mut subject = lab.new_subject(side, size, durability)?;
                    appends(&mut subject, scale.appends)?
                } else {
                    let subject = lab.subject(side, size)?;
                    subject.reopen(durability)?;
                    appends(subject, scale.appends)?
                };
                samples.add(side, took.as_secs_f64() * 1e6 / scale.appends as f64);
            }
        }
    }
    let name = durability.name();
    let growth = samples[3].growth_from(&samples[1]);
    let mut rows: Vec<Row> = sizes
        .into_iter()
        .zip(samples)
        .map(|(size, samples)| {
            let row = Row::new(format!("append, {name}, {size} before"), Unit::Microseconds, samples)
                .target(Target::TimesEngine(1.3));
            if durability == Durability::Full { row.target(Target::TimesPlain(1.2)) } else { row }
        })
        .collect();
    rows.push(
        Row::new(format!("append, {name}, growth {} to {}", scale.small, scale.large), Unit::Times, growth)
            .target(GROWTH),
    );
    Ok(rows)
}

/// The time of so many appends, the one that opens the store left out.
pub(crate) fn appends(subject: &mut Subject, count: u64) -> Result<Duration> {
    let messages = subject.next(count + 1);
    let (first, rest) = (&messages[0], &messages[1..]);
    subject.store.append(first)?;
    let start = Instant::now();
    for message in rest {
        subject.store.append(message)?;
    }
    Ok(start.elapsed())
}

fn history(lab: &mut Lab) -> Result<Vec<Row>> {
    let scale = lab.scale;
    let (mut whole, mut first) = (Samples::default(), Samples::default());
    for round in 0..scale.rounds {
        lab.progress(&format!("history, round {}", round + 1));
        for side in lab.sides_of_round(round) {
            let subject = lab.subject(side, scale.large)?;
            subject.store.read_leaf()?;
            first.add(side, mean(scale.reads, || subject.store.read_first())?.as_secs_f64() * 1e3);
            let start = Instant::now();
            let amount = subject.store.read_all()?;
            whole.add(side, start.elapsed().as_secs_f64() * 1e3);
            ensure!(amount.messages == subject.written(), "{} messages of {}", amount.messages, subject.written());
        }
    }
    Ok(vec![
        Row::new(format!("history of {}, in pages of 50", scale.large), Unit::Milliseconds, whole)
            .target(Target::TimesEngine(1.5))
            .target(Target::TimesPlain(1.5)),
        Row::new(format!("first page of history of {}", scale.large), Unit::Milliseconds, first)
            .target(Target::TimesEngine(1.5))
            .target(Target::AtMost(1.0)),
    ])
}

fn recent(lab: &mut Lab) -> Result<Vec<Row>> {
    let scale = lab.scale;
    let sizes = [scale.small, scale.large];
    let mut samples = sizes.map(|_| Samples::default());
    for round in 0..scale.rounds {
        lab.progress(&format!("recent, round {}", round + 1));
        for (size, samples) in sizes.into_iter().zip(&mut samples) {
            for side in lab.sides_of_round(round) {
                let subject = lab.subject(side, size)?;
                let amount = subject.store.read_recent(RECENT_BYTES)?;
                ensure!(amount.bytes <= RECENT_BYTES && amount.messages > 5, "{amount:?}");
                let took = mean(scale.reads, || subject.store.read_recent(RECENT_BYTES))?;
                samples.add(side, took.as_secs_f64() * 1e3);
            }
        }
    }
    let [small, large] = samples;
    let growth = large.growth_from(&small);
    Ok(vec![
        Row::new(format!("recent 64 KiB of {}", scale.large), Unit::Milliseconds, large)
            .target(Target::TimesEngine(1.5))
            .target(Target::AtMost(0.5)),
        Row::new(format!("recent, growth {} to {}", scale.small, scale.large), Unit::Times, growth).target(GROWTH),
    ])
}

fn open(lab: &mut Lab) -> Result<Vec<Row>> {
    let scale = lab.scale;
    let sizes = [scale.small, scale.large];
    let mut leaf = sizes.map(|_| Samples::default());
    let mut page = sizes.map(|_| Samples::default());
    let mut append = sizes.map(|_| Samples::default());
    for round in 0..scale.rounds {
        lab.progress(&format!("open, round {}", round + 1));
        for index in 0..sizes.len() {
            for side in lab.sides_of_round(round) {
                let subject = lab.subject(side, sizes[index])?;
                subject.reopen(Durability::Full)?;
                let mut messages = subject.next(scale.opens.into()).into_iter();
                let store = &mut *subject.store;
                leaf[index].add(side, opening(store, scale.opens, |store| store.read_leaf().map(drop))?);
                page[index].add(side, opening(store, scale.opens, |store| store.read_first().map(drop))?);
                let first_append = |store: &mut dyn Contender| store.append(&messages.next().unwrap_or_default());
                append[index].add(side, opening(store, scale.opens, first_append)?);
            }
        }
    }
    let growth = leaf[1].growth_from(&leaf[0]);
    let [_, leaf] = leaf;
    let [_, page] = page;
    let [_, append] = append;
    Ok(vec![
        Row::new(format!("open {}, to the leaf", scale.large), Unit::Milliseconds, leaf).target(Target::AtMost(5.0)),
        Row::new(format!("open {}, to the first page", scale.large), Unit::Milliseconds, page)
            .target(Target::AtMost(5.0)),
        Row::new(format!("open {}, to the first append", scale.large), Unit::Milliseconds, append)
            .target(Target::AtMost(3.0)),
        Row::new(format!("open, growth {} to {}", scale.small, scale.large), Unit::Times, growth).target(GROWTH),
    ])
}

/// The median time of a call that has to open the store first, in ms.
fn opening(
    store: &mut dyn Contender,
    times: u32,
    mut call: impl FnMut(&mut dyn Contender) -> Result<()>,
) -> Result<f64> {
    let mut figures = Vec::new();
    for _ in 0..times {
        store.close()?;
        let start = Instant::now();
        call(store)?;
        figures.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(figures).unwrap_or_default())
}

/// The mean time of a call.
pub(crate) fn mean<T>(times: u32, mut call: impl FnMut() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..times {
        call()?;
    }
    Ok(start.elapsed() / times)
}
