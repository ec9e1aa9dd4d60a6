//! The same limits as options of the program.

use serde_json::json;

use crate::program::{Server, message, talktree};

#[test]
fn the_program_keeps_the_limits_that_it_is_given_and_shows_them() {
    let root = tempfile::tempdir().unwrap();
    let options =
        ["--disk-quota", "1MiB", "--transfer-limit", "2MiB", "--handle-limit", "32", "--durability", "normal"];
    let mut server = Server::start_with(root.path(), &options);
    let text = "x".repeat(50_000);
    let mut stored = Vec::new();
    let refused = loop {
        let id = format!("m{}", stored.len());
        let answer = server.try_call("appendMessage", json!({"message": message(&id, "user", &text)}));
        if !answer["error"].is_null() {
            break answer["error"]["data"].clone();
        }
        stored.push(id);
        assert!(stored.len() < 100);
    };
    assert_eq!((refused["kind"].as_str(), refused["limit"].as_u64()), (Some("storage-full"), Some(1 << 20)));
    assert_eq!(server.history(), stored);
    let disk = server.call("stats", json!({}))["disk"].take();
    assert_eq!(disk["quota"], json!(1 << 20));
    assert!(disk["bytes"].as_u64().unwrap() > 500_000, "{disk}");
    server.call("clearMessages", json!({}));
    server.call("vacuum", json!({}));
    server.call("appendMessage", json!({"message": message("new", "user", &text)}));
    server.end_input();
    assert!(server.wait().success());
}

#[test]
fn a_limit_that_nothing_works_with_is_refused_at_the_start() {
    let root = tempfile::tempdir().unwrap();
    for option in [["--disk-quota", "4KiB"], ["--handle-limit", "2"], ["--transfer-limit", "1KiB"]] {
        let output = talktree().args(["rpc", "--root"]).arg(root.path()).args(option).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{option:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("at least"), "{said}");
    }
}
