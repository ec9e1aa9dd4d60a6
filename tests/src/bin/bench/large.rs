//! What large messages and media cost.

use std::time::Instant;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::contender::Durability;
use crate::figures::{Row, Samples, Target, Unit, median};
use crate::lab::Lab;

const MIB: usize = 1 << 20;

/// Messages of a kind in a round.
const APPENDS: usize = 5;

/// Appending a message of 1 MiB, an image of 2 MiB, and that image again.
pub(crate) fn rows(lab: &mut Lab) -> Result<Vec<Row>> {
    let names = ["append of a message of 1 MiB", "append of an image of 2 MiB", "append of the same image again"];
    let mut samples = names.map(|_| Samples::default());
    for round in 0..lab.scale.rounds {
        lab.progress(&format!("large messages, round {}", round + 1));
        for side in lab.sides_of_round(round) {
            let mut subject = lab.new_subject(side, 1, Durability::Full)?;
            for (kind, samples) in samples.iter_mut().enumerate() {
                let mut took = Vec::new();
                for number in 0..APPENDS {
                    let message = message(kind, number);
                    let start = Instant::now();
                    subject.store.append(&message)?;
                    took.push(start.elapsed().as_secs_f64() * 1e3);
                }
                samples.add(side, median(took).unwrap_or_default());
            }
        }
    }
    Ok(names
        .into_iter()
        .zip(samples)
        .map(|(name, samples)| Row::new(name.to_owned(), Unit::Milliseconds, samples).target(Target::TimesEngine(1.5)))
        .collect())
}

fn message(kind: usize, number: usize) -> String {
    let part = match kind {
        0 => format!(r#"{{"type":"text","text":"{}"}}"#, "lorem ipsum dolor ".repeat(MIB / 18)),
        // The third kind is the first image of the second one.
        _ => image(if kind == 1 { number } else { 0 }),
    };
    format!(r#"{{"id":"large-{kind}-{number}","role":"user","parts":[{part}]}}"#)
}

fn image(number: usize) -> String {
    let bytes: Vec<u8> = (0..2 * MIB).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ number as u8).collect();
    format!(r#"{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{}"}}"#, STANDARD.encode(bytes))
}
