//! The feed through SIGKILL at any moment: every change once, in order, whatever the reader had read before.

use std::time::Duration;

use serde_json::{Value, json};

use super::kill::{AHEAD, Moment, Random, write_until_killed};
use super::program::{Program, append};

/// How often the program is killed, where `TALKTREE_KILLS` says nothing else.
const KILLS: u32 = 60;

fn kills() -> u32 {
    std::env::var("TALKTREE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS)
}

/// The session that a write goes to: two of them in turns, of which each keeps its own tree.
fn session(number: usize) -> &'static str {
    if (number / 4).is_multiple_of(2) { "a" } else { "b" }
}

/// The write of this number. Each changes something, so that each gives one event.
fn write(number: usize) -> (&'static str, Value) {
    let mut params = match number % 4 {
        2 => append("t", &format!("m{}", number - 1), &format!("changed by {number}")),
        3 => json!({"tenant": "t", "ids": [format!("m{}", number - 3)]}),
        _ => append("t", &format!("m{number}"), &"x".repeat(number % 3_000)),
    };
    params["session"] = json!(session(number));
    let method = match number % 4 {
        2 => "updateMessage",
        3 => "deleteMessages",
        _ => "appendMessage",
    };
    (method, params)
}

/// The event of the write of this number.
fn event(number: usize) -> Value {
    let (kind, id) = match number % 4 {
        2 => ("update", number - 1),
        3 => ("delete", number - 3),
        _ => ("append", number),
    };
    json!({"type": kind, "sessionId": session(number), "ids": [format!("m{id}")]})
}

/// Everything after a cursor, in pages of random size, and where that ends.
fn follow(program: &mut Program, random: &mut Random, mut cursor: Value) -> (Vec<Value>, Value) {
    let mut events = Vec::new();
    loop {
        let params = json!({"tenant": "t", "cursor": cursor, "limit": 1 + random.below(200)});
        let page = program.result("changes", &params);
        assert_eq!(page["reset"], json!(false), "nothing was missed");
        let more = page["events"].as_array().unwrap();
        for event in more {
            events.push(json!({"type": event["type"], "sessionId": event["sessionId"], "ids": event["ids"]}));
        }
        cursor = page["cursor"].clone();
        if more.is_empty() {
            return (events, cursor);
        }
    }
}

#[test]
fn slow_the_feed_survives_kills_at_random_moments_without_a_gap_or_a_repeat() {
    let root = tempfile::tempdir().unwrap();
    let mut random = Random::new();
    let (mut told, mut cursor) = (0, Value::Null);
    for kill in 0..kills() {
        let mut program = Program::start(root.path());
        let moment = Moment::AfterStart(Duration::from_micros(random.below(250_000)));
        let acknowledged = write_until_killed(&mut program, told, &moment, write);
        let mut program = Program::start(root.path());
        // A reader that was killed in the middle begins again where it was.
        let (events, end) = follow(&mut program, &mut random, cursor.clone());
        assert!(events.len() >= acknowledged, "kill {kill}: {} events of {acknowledged} writes", events.len());
        assert!(events.len() <= acknowledged + AHEAD + 1, "kill {kill}: {} of {acknowledged}", events.len());
        let expected: Vec<_> = (told..told + events.len()).map(event).collect();
        assert_eq!(events, expected, "kill {kill}");
        told += events.len();
        cursor = end;
    }
    let mut program = Program::start(root.path());
    let (all, _) = follow(&mut program, &mut random, Value::Null);
    assert_eq!(all, (0..told).map(event).collect::<Vec<_>>());
    println!("{told} events");
    assert!(told > 100, "the kills came too early: {told} events");
}

#[test]
fn a_subscription_sends_what_happens_behind_its_answer_and_long_polls_end_with_the_input() {
    let root = tempfile::tempdir().unwrap();
    let mut program = Program::start(root.path());
    program.result("appendMessage", &append("t", "before", "hi"));
    let number = program.result("subscribe", &json!({"tenant": "t"}))["subscription"].clone();
    let answer = program.call("appendMessage", &append("t", "m", "hi"));
    let note = program.line();
    // Whichever of the two comes first.
    let note = if note["method"] == "event" { note } else { answer };
    assert_eq!(note["params"]["subscription"], number, "{note}");
    assert_eq!(note["params"]["event"]["ids"], json!(["m"]), "{note}");
    assert_eq!(note["params"]["event"]["message"]["id"], json!("m"), "{note}");
    assert_eq!(program.result("unsubscribe", &json!({"subscription": number}))["unsubscribed"], json!(true));
    program.result("appendMessage", &append("t", "after", "hi"));
    assert_eq!(program.result("unsubscribe", &json!({"subscription": number}))["unsubscribed"], json!(false));
    let end = program.result("changes", &json!({"tenant": "t"}))["cursor"].clone();
    program.send("changes", &json!({"tenant": "t", "cursor": end, "waitMs": 600_000}));
    program.end_input();
    assert_eq!(program.line()["result"]["events"], json!([]));
    program.finish();
}
