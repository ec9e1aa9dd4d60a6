//! Talktree's own export, which the store takes by itself, page by page.

use std::collections::HashMap;

use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::{
    format::Likeness,
    input::{Input, Phase},
    report::{Report, SessionReport},
    run::{ImportError, LinesTaken, Options, Sink},
};

/// Bytes of a page. A line above it stands alone.
const PAGE_BYTES: usize = 4 << 20;

/// What the first and the last line of every export are.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "type")]
    kind: String,
    session: Option<String>,
}

/// Whether a line is the last one of an export.
fn is_the_end(line: &str) -> bool {
    serde_json::from_str::<Header>(line).is_ok_and(|line| line.kind == "end" && line.session.is_none())
}

/// Whether a file that begins with these bytes is an export.
pub(super) fn likeness(head: &[u8]) -> Likeness {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match serde_json::from_slice::<Header>(line) {
        Ok(header) if header.kind == "talktree" => Likeness::Sure,
        _ => Likeness::No,
    }
}

/// Imports an export into a sink.
pub(super) async fn run<S: Sink>(mut input: Input, sink: &mut S, options: &Options) -> Result<Report, ImportError> {
    let mut report = Report { format: "talktree", ..Report::default() };
    let mut sessions: HashMap<String, usize> = HashMap::new();
    // Lines of the pages before this one.
    let mut before = 0;
    let mut ended = options.part;
    loop {
        let (back, read) = spawn_blocking(move || {
            let read = page(&mut input);
            (input, read)
        })
        .await?;
        input = back;
        let (page, lines) = match read {
            Ok(page) if page.0.is_empty() => {
                if !ended {
                    report
                        .failed
                        .add(format_args!("behind line {before}"), "the export was cut off: its end is missing");
                }
                return Ok(report);
            }
            Ok(page) => page,
            Err(error) => {
                report.stopped = Some(ImportError::Io(error).to_string());
                return Ok(report);
            }
        };
        ended |= page.lines().next_back().is_some_and(is_the_end);
        let taken = match sink.take_lines(options.session.as_deref(), page).await {
            Ok(taken) => taken,
            Err(stop) => {
                report.stop(stop);
                return Ok(report);
            }
        };
        for LinesTaken { session, imported, skipped, failed } in taken {
            let failures = match session {
                Some(id) => {
                    let number = *sessions.entry(id.clone()).or_insert_with(|| {
                        report.sessions.push(SessionReport { id, ..SessionReport::default() });
                        report.sessions.len() - 1
                    });
                    let session = &mut report.sessions[number];
                    session.imported += imported;
                    session.skipped += skipped;
                    &mut session.failed
                }
                None => &mut report.failed,
            };
            for (line, why) in failed {
                failures.add(format_args!("line {}", before + line), why);
            }
        }
        before += lines;
    }
}

/// The next whole lines, and how many. The last one need not be ended. What is no text is replaced, so that its line is
/// told as damaged.
fn page(input: &mut Input) -> std::io::Result<(String, u64)> {
    let mut page: Vec<u8> = Vec::new();
    // Where the last whole line ends.
    let whole = loop {
        let piece = input.fill()?;
        if piece.is_empty() {
            break page.len();
        }
        let (from, bytes) = (page.len(), piece.len());
        page.extend_from_slice(piece);
        input.consume(bytes);
        if page.len() >= PAGE_BYTES {
            // A line that is longer than a page is looked through once.
            let last = if from < PAGE_BYTES { 0 } else { from };
            if let Some(at) = page[last..].iter().rposition(|byte| *byte == b'\n') {
                break last + at + 1;
            }
        }
    };
    let rest = page.len() - whole;
    input.seek(input.at() - rest as u64)?;
    page.truncate(whole);
    input.tell(Phase::Storing, input.at());
    let lines = page.iter().filter(|byte| **byte == b'\n').count() as u64;
    let text = String::from_utf8(page).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok((text, lines))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn pages_are_whole_lines_and_nothing_is_lost_between_them() {
        let long = format!("{{\"x\":\"{}\"}}\n", "部".repeat(900_000));
        let text = format!("{}{long}{}{long}last", "{}\n".repeat(3), "{\"a\":1}\n".repeat(700_000));
        let mut input = Input::bytes("x", text.clone()).unwrap();
        let (mut pages, mut lines) = (Vec::new(), 0);
        loop {
            let (page, count) = page(&mut input).unwrap();
            if page.is_empty() {
                break;
            }
            lines += count;
            pages.push(page);
        }
        assert!(pages.len() > 2);
        assert!(pages.iter().rev().skip(1).all(|page| page.ends_with('\n')));
        assert_eq!(pages.concat(), text);
        assert_eq!(lines, 700_005);
    }

    #[test]
    fn an_export_is_recognised_by_its_first_line() {
        assert_eq!(likeness(b"{\"type\":\"talktree\",\"version\":1}\n{}"), Likeness::Sure);
        assert_eq!(likeness(b"{\"type\":\"session\"}\n"), Likeness::No);
        assert_eq!(likeness(b""), Likeness::No);
    }
}
