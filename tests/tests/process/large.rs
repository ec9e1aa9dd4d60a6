//! A large message is there whole, or not at all.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use super::program::{Program, append};

/// Characters of the message.
const LENGTH: usize = 64 << 20;

/// Kills at moments spread over the time that the append takes.
const KILLS: u32 = 6;

#[test]
fn slow_a_kill_during_a_large_append_leaves_the_old_state() {
    let root = tempfile::tempdir().unwrap();
    let mut program = Program::start(root.path());
    program.result("appendMessage", &append("t", "small", "before"));
    // How long it takes here, on a tenant of its own.
    let begun = Instant::now();
    program.result("appendMessage", &append("other", "large", &"x".repeat(LENGTH)));
    let takes = begun.elapsed();
    program.finish();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage",
        "params": append("t", "large", &"x".repeat(LENGTH))})
    .to_string();
    let mut cut_short = 0;
    for kill in 1..=KILLS {
        let mut program = Program::start(root.path());
        let (mut input, output) = program.pipes();
        let request = request.clone();
        // The pipe breaks when the program dies.
        let writer = std::thread::spawn(move || drop(writeln!(input, "{request}")));
        std::thread::sleep(takes.mul_f64(f64::from(kill) / f64::from(KILLS + 1)).max(Duration::from_millis(1)));
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        writer.join().unwrap();
        let acknowledged =
            std::io::BufRead::lines(output).any(|line| line.is_ok_and(|line| line.contains("\"inserted\":true")));
        let mut program = Program::start(root.path());
        let ids = program.ids("t");
        match ids.as_slice() {
            [small] if small == "small" => {
                assert!(!acknowledged, "kill {kill}: an acknowledged message is missing");
                cut_short += 1;
            }
            [small, large] if small == "small" && large == "large" => {
                let message = program.result("getMessage", &json!({"tenant": "t", "id": "large"}));
                let text = message["message"]["parts"][0]["text"].as_str().unwrap();
                assert!(text.len() == LENGTH && text.bytes().all(|byte| byte == b'x'), "kill {kill}");
                program.result("deleteMessages", &json!({"tenant": "t", "ids": ["large"]}));
            }
            other => panic!("kill {kill}: {other:?}"),
        }
        assert_eq!(program.result("check", &json!({"tenant": "t"}))["sound"], json!(true), "kill {kill}");
        program.finish();
    }
    assert!(cut_short > 0, "no kill came in time");
}
