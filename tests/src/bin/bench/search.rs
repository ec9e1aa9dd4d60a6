//! What a search costs, the index that it needs, and an append while there is one.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::contender::{Durability, Side, Subject};
use crate::figures::{Row, Samples, Target, Unit};
use crate::lab::Lab;
use crate::speed::{appends, mean};

/// What is looked for: a word and its forms, two characters anywhere, words in a row.
const QUERIES: [(&str, &str); 3] =
    [("an English word", "rollback"), ("a Chinese word", "部署"), ("a phrase", "\"rollback the\"")];

/// Searching stores of two sizes; making the index; appending with one, and the search after that.
pub(crate) fn rows(lab: &mut Lab) -> Result<Vec<Row>> {
    let mut rows = searches(lab)?;
    rows.extend(with_an_index(lab)?);
    Ok(rows)
}

/// Those that can search, in the order of this round.
fn sides(lab: &Lab, round: u32) -> Vec<Side> {
    lab.sides_of_round(round).into_iter().filter(|side| *side != Side::Plain).collect()
}

fn searches(lab: &mut Lab) -> Result<Vec<Row>> {
    let sizes = [lab.scale.medium, lab.scale.large];
    let mut samples = sizes.map(|_| QUERIES.map(|_| Samples::default()));
    for round in 0..lab.scale.rounds {
        lab.progress(&format!("search, round {}", round + 1));
        for (size, samples) in sizes.into_iter().zip(&mut samples) {
            for side in sides(lab, round) {
                let reads = lab.scale.reads.min(20);
                let store = &mut lab.subject(side, size)?.store;
                for ((_, query), samples) in QUERIES.iter().zip(samples.iter_mut()) {
                    // The first one catches up with what was written since, or makes the index.
                    ensure!(store.search(query)? == Some(20), "{query} is in more than 20 messages");
                    let took = mean(reads, || store.search(query))?;
                    samples.add(side, took.as_secs_f64() * 1e3);
                }
            }
        }
    }
    let row = |size: u64, what: &str, samples| {
        Row::new(format!("search in {size}, {what}"), Unit::Milliseconds, samples).target(Target::TimesEngine(1.8))
    };
    Ok(sizes
        .into_iter()
        .zip(samples)
        .flat_map(|(size, samples)| {
            QUERIES.iter().zip(samples).map(move |((what, _), samples)| row(size, what, samples)).collect::<Vec<_>>()
        })
        .collect())
}

fn with_an_index(lab: &mut Lab) -> Result<Vec<Row>> {
    let scale = lab.scale;
    let [mut build, mut catch_up, mut share] = [(); 3].map(|()| Samples::default());
    let mut appending = [Samples::default(), Samples::default()];
    for round in 0..scale.rounds {
        lab.progress(&format!("index, round {}", round + 1));
        for side in sides(lab, round) {
            let mut without = lab.new_subject(side, scale.medium, Durability::Full)?;
            appending[0].add(side, appends(&mut without, scale.appends)?.as_secs_f64());
            let mut with = lab.new_subject(side, scale.medium, Durability::Full)?;
            build.add(side, searching(&mut with)? / (scale.medium as f64 / 1e3));
            let text: usize = crate::workload::messages(0, scale.medium).iter().map(String::len).sum();
            share.add(side, with.store.index_bytes()? as f64 / text as f64);
            appending[1].add(side, appends(&mut with, scale.appends)?.as_secs_f64());
            // One more was appended than was measured.
            catch_up.add(side, searching(&mut with)? / ((scale.appends + 1) as f64 / 1e3));
        }
    }
    let [without, with] = appending;
    Ok(vec![
        Row::new("index, made for 1,000 messages", Unit::Milliseconds, build).target(Target::TimesEngine(1.8)),
        Row::new("search that catches up, for 1,000 messages", Unit::Milliseconds, catch_up)
            .target(Target::TimesEngine(1.8)),
        Row::new("append with an index, to one without", Unit::Times, with.growth_from(&without))
            .target(Target::AtMost(1.2)),
        Row::new("index, bytes per byte of text", Unit::Times, share),
    ])
}

/// The time of a search that has to work on the index first, in ms.
fn searching(subject: &mut Subject) -> Result<f64> {
    let start = Instant::now();
    subject.store.search("latency")?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
