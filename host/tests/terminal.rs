//! Promises of what people see in a terminal, kept by the real program.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod program;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use program::{PATIENCE, Server, message, talktree};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn run(root: &Path, arguments: &[&str]) -> Command {
    let (command, rest) = arguments.split_first().unwrap();
    let mut talktree = talktree();
    talktree.arg(command).arg("--root").arg(root).args(rest).stdin(Stdio::null());
    talktree
}

/// What a command prints that has to succeed.
fn printed(root: &Path, arguments: &[&str]) -> String {
    let done = run(root, arguments).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Tenant `t`: m1 to m40 in one line, of which m10 to m19 are summarized, and b1 beside m31.
fn long_conversation() -> TempDir {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    for at in 1..=40 {
        let role = if at % 2 == 1 { "user" } else { "assistant" };
        server.call("appendMessage", json!({"message": message(&format!("m{at}"), role, &format!("Words {at}"))}));
    }
    server.call("addCompaction", json!({"summary": "They counted.", "firstId": "m10", "lastId": "m19"}));
    let branch = message("b1", "user", "See [1]: the \u{1b}[2J部署窗口 is [Friday]");
    server.call("appendMessage", json!({"message": branch, "parentId": "m30"}));
    server.finish();
    root
}

#[test]
fn tree_shows_the_shape_of_a_conversation_and_folds_what_is_long() {
    let root = long_conversation();
    let expected = "\
41 messages, 2 branches, 1 summary in the default session of tenant \"t\"
● user       Words 1  m1
┆ … 8 messages …
┆ … 10 messages …
≡ summary of 10 messages: They counted.
┆ … 10 messages …
● assistant  Words 30  m30
├─○ user       Words 31  m31
│ ┆ … 8 messages …
│ ○ assistant  Words 40  m40
◆ user       See [1]: the [2J部署窗口 is [Friday]  b1
";
    assert_eq!(printed(root.path(), &["tree", "-t", "t"]), expected);
    let narrow = printed(root.path(), &["tree", "-t", "t", "--width", "24"]);
    assert!(narrow.lines().skip(1).all(|line| line.chars().count() <= 24), "{narrow}");
    assert!(narrow.contains("Words 40\n"), "the id gives way to the text: {narrow}");

    let tree: Value = serde_json::from_str(&printed(root.path(), &["tree", "-t", "t", "--json"])).unwrap();
    assert_eq!((&tree["messages"], &tree["branches"], &tree["leafId"]), (&json!(41), &json!(2), &json!("b1")));
    let kinds: Vec<_> = tree["lines"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
    let expected =
        ["message", "folded", "folded", "summary", "folded", "message", "message", "folded", "message", "message"];
    assert_eq!(kinds, expected);
    assert_eq!(tree["lines"][3]["summary"], json!("They counted."));
    assert_eq!(tree["lines"][1]["messages"], json!(8));
}

#[test]
fn tree_of_nothing_says_so_and_an_unknown_leaf_is_an_error() {
    let root = long_conversation();
    let done = run(root.path(), &["tree", "-t", "t", "-s", "none"]).output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(String::from_utf8(done.stderr).unwrap().contains("There are no messages"));
    let done = run(root.path(), &["tree", "-t", "t", "--leaf", "m99"]).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8(done.stderr).unwrap().contains("there is no message \"m99\""));
}

#[test]
fn search_marks_what_was_found_and_takes_no_bracket_of_the_message_for_a_mark() {
    let root = long_conversation();
    let plain = printed(root.path(), &["search", "-t", "t", "部署"]);
    assert!(plain.contains("See [1]: the ␛[2J[部署]窗口 is [Friday]"), "{plain}");
    let coloured = run(root.path(), &["search", "-t", "t", "部署"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let coloured = String::from_utf8(coloured.stdout).unwrap();
    assert!(coloured.contains("m部署\u{1b}[0m窗口 is [Friday]") && !coloured.contains("\u{1b}[2J"), "{coloured:?}");
    let unwanted = run(root.path(), &["search", "-t", "t", "部署"]).env("NO_COLOR", "1").output().unwrap();
    assert_eq!(String::from_utf8(unwanted.stdout).unwrap(), plain);
}

#[test]
fn stats_show_what_fills_the_store_as_bars() {
    let root = long_conversation();
    let text = printed(root.path(), &["stats", "-t", "t"]);
    assert!(text.starts_with("41 messages in 1 sessions") && text.contains('█'), "{text}");
}

/// Lines of a program that goes on.
struct Following {
    child: std::process::Child,
    lines: mpsc::Receiver<String>,
}

impl Following {
    fn start(root: &Path, arguments: &[&str]) -> Self {
        let mut child = run(root, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// The next line with this in it.
    fn until(&self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(text) {
                return line;
            }
        }
        panic!("no line with {text:?}");
    }

    /// Ctrl-C.
    fn interrupt(mut self) -> Option<i32> {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

/// Appends as soon as the tenant is free.
fn append(root: &Path, text: &str) {
    let end = Instant::now() + PATIENCE;
    while !run(root, &["append", "-t", "t", "--role", "user", text]).output().unwrap().status.success() {
        assert!(Instant::now() < end, "the tenant is never let go of");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn show_follow_prints_what_others_write_until_it_is_interrupted() {
    let root = long_conversation();
    let people = Following::start(root.path(), &["show", "-t", "t", "--follow"]);
    let script = Following::start(root.path(), &["show", "-t", "t", "--follow", "--json"]);
    people.until("b1");
    thread::sleep(Duration::from_secs(1));
    append(root.path(), "One \u{1b}[2J more");
    append(root.path(), "And another");
    assert!(people.until("One ").ends_with("One ␛[2J more"));
    people.until("And another");
    let first: Value = serde_json::from_str(&script.until("")).unwrap();
    assert_eq!(first["parts"][0]["text"], json!("One \u{1b}[2J more"), "old messages are not told");
    script.until("And another");
    assert_eq!((people.interrupt(), script.interrupt()), (Some(0), Some(0)));
}

#[test]
fn show_follow_waits_for_a_conversation_that_has_not_begun() {
    let root = tempdir().unwrap();
    let people = Following::start(root.path(), &["show", "-t", "t", "--follow"]);
    thread::sleep(Duration::from_secs(1));
    append(root.path(), "The first word");
    people.until("The first word");
    assert_eq!(people.interrupt(), Some(0));
}

#[test]
fn show_follow_waits_while_another_process_has_the_tenant_and_can_be_interrupted_meanwhile() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    server.call("appendMessage", json!({"message": message("m1", "user", "Before")}));
    let people = Following::start(root.path(), &["show", "-t", "t", "--follow"]);
    let impatient = Following::start(root.path(), &["show", "-t", "t", "--follow"]);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(impatient.interrupt(), Some(0));
    server.call("appendMessage", json!({"message": message("m2", "user", "Meanwhile")}));
    server.finish();
    people.until("Meanwhile");
    append(root.path(), "Afterwards");
    people.until("Afterwards");
    assert_eq!(people.interrupt(), Some(0));
}
