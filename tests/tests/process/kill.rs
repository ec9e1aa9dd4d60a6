//! SIGKILL at any moment: what was acknowledged is there, in order, and the store is sound.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Program, append};

/// How often the program is killed.
const KILLS: u32 = 100;

/// Requests that may be under way at once.
pub(crate) const AHEAD: usize = 16;

/// A sequence of numbers that looks random, other ones in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = now.as_nanos() as u64 | 1;
        println!("seed {seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Messages of all sizes: some fill pieces of their own.
fn text(number: usize) -> String {
    "x".repeat(match number % 50 {
        7 => 300_000,
        other => other * 20,
    })
}

/// When the program is killed.
pub(crate) enum Moment {
    /// So long after it was started: it may not have come to its first answer.
    AfterStart(Duration),
    /// So long after its first answer.
    AfterAnswer(Duration),
}

/// Sends the writes from a number on until the program dies, and answers how many were acknowledged.
pub(crate) fn write_until_killed(
    program: &mut Program,
    from: usize,
    moment: &Moment,
    write: impl Fn(usize) -> (&'static str, Value) + Send + 'static,
) -> usize {
    let (mut input, output) = program.pipes();
    let (permits, wait) = std::sync::mpsc::sync_channel::<()>(AHEAD);
    let writer = std::thread::spawn(move || {
        for number in from.. {
            let (method, params) = write(number);
            let request = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
            if permits.send(()).is_err() || writeln!(input, "{request}").is_err() {
                return;
            }
        }
    });
    let (first, answered) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut acknowledged = 0;
        for line in output.lines() {
            // What the kill cut short is no answer.
            let Ok(answer) = line.map_err(drop).and_then(|line| serde_json::from_str::<Value>(&line).map_err(drop))
            else {
                break;
            };
            assert_eq!(answer["id"], json!(from + acknowledged), "{answer}");
            assert!(answer["error"].is_null(), "{answer}");
            acknowledged += 1;
            let _ = first.send(());
            let _ = wait.recv();
        }
        acknowledged
    });
    std::thread::sleep(match moment {
        Moment::AfterStart(time) => *time,
        Moment::AfterAnswer(time) => {
            answered.recv().unwrap();
            *time
        }
    });
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let acknowledged = reader.join().unwrap();
    writer.join().unwrap();
    acknowledged
}

#[test]
fn slow_every_acknowledged_write_is_found_after_100_kills_at_random_moments() {
    let root = tempfile::tempdir().unwrap();
    let mut random = Random::new();
    let (mut stored, mut useful) = (0, 0);
    for kill in 0..KILLS {
        // Now and then so early that the program is still starting, or opening the store.
        let moment = if kill % 5 == 0 {
            Moment::AfterStart(Duration::from_millis(random.below(200)))
        } else {
            Moment::AfterAnswer(Duration::from_micros(random.below(300_000)))
        };
        let mut program = Program::start(root.path());
        let acknowledged = write_until_killed(&mut program, stored, &moment, |number| {
            ("appendMessage", append("t", &format!("m{number}"), &text(number)))
        });
        useful += u32::from(acknowledged > 0);
        let mut program = Program::start(root.path());
        let ids = program.ids("t");
        assert!(ids.len() >= stored + acknowledged, "kill {kill}: {} of {}", ids.len(), stored + acknowledged);
        // What was under way may be there or not, but only in the order in which it was sent.
        assert!(ids.len() <= stored + acknowledged + AHEAD + 1, "kill {kill}");
        let expected: Vec<String> = (0..ids.len()).map(|number| format!("m{number}")).collect();
        assert!(ids == expected, "kill {kill}: wrong messages or another order");
        let report = program.result("check", &json!({"tenant": "t"}));
        assert_eq!(report["sound"], json!(true), "kill {kill}: {report}");
        if let Some(last) = ids.len().checked_sub(1) {
            let message = program.result("getLatestLeaf", &json!({"tenant": "t"}));
            assert_eq!(message["message"]["parts"][0]["text"], json!(text(last)), "kill {kill}");
        }
        stored = ids.len();
        if kill % 2 == 0 {
            program.finish();
        }
    }
    println!("{stored} messages, {useful} kills while messages were being written");
    assert!(useful > KILLS / 2, "only {useful} kills came while messages were being written");
}
