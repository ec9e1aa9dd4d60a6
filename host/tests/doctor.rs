//! Promises of `talktree doctor`: every finding, and that nothing is changed.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod common;
mod program;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
    time::{Duration, SystemTime},
};

use program::{Server, message, talktree};
use serde_json::{Value, json};
use talktree::doctor::{Examination, Finding, Level};
use tempfile::{TempDir, tempdir};

/// A directory that nobody else can enter.
fn closed() -> TempDir {
    let directory = tempdir().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
    directory
}

/// A root whose tenants are as a server leaves them.
fn root(tenants: &[&str]) -> TempDir {
    let root = closed();
    let mut server = Server::start(root.path());
    for tenant in tenants {
        server.call("appendMessage", json!({"tenant": tenant, "message": message("m1", "user", "planted words")}));
    }
    server.finish();
    root
}

/// What a look at a root finds that is not well, without the machine.
async fn found(what: Examination) -> Vec<Finding> {
    let findings = what.component(false).run().await.unwrap();
    let of_the_root = ["root", "tenant", "lock", "left-over", "schema", "integrity", "clock"];
    findings
        .into_iter()
        .filter(|finding| finding.level >= Level::Note && of_the_root.contains(&finding.check))
        // What it says in the end, when there was something.
        .filter(|finding| finding.about.is_some())
        .collect()
}

async fn told(root: &Path) -> Vec<(&'static str, Level)> {
    let findings = found(Examination::default().root(root)).await;
    findings.iter().map(|finding| (finding.check, finding.level)).collect()
}

/// Everything below a directory with its content and the time of its last change.
fn state(directory: &Path) -> BTreeMap<String, (Vec<u8>, Option<SystemTime>)> {
    let read = |path: String| {
        let whole = directory.join(&path);
        let modified = whole.symlink_metadata().unwrap().modified().ok();
        let content = if whole.is_file() { fs::read(&whole).unwrap() } else { Vec::new() };
        (path, (content, modified))
    };
    common::files(directory).into_iter().map(read).collect()
}

fn doctor(arguments: &[&str]) -> Output {
    let mut command: Command = talktree();
    command.args(["doctor", "--skip-component"]).args(arguments).output().unwrap()
}

#[tokio::test]
async fn a_root_as_a_server_leaves_it_has_nothing_wrong() {
    let root = root(&["easy:test1", &"x".repeat(300), "部署"]);
    assert_eq!(told(root.path()).await, []);
}

#[tokio::test]
async fn names_that_are_no_tenants_are_told() {
    let root = root(&["a", &"x".repeat(300)]);
    fs::create_dir(root.path().join("Upper")).unwrap();
    fs::create_dir(root.path().join("a%62")).unwrap();
    fs::write(root.path().join("notes.txt"), "").unwrap();
    assert_eq!(
        {
            let mut told = told(root.path()).await;
            told.sort_unstable();
            told
        },
        [("tenant", Level::Note), ("tenant", Level::Warning), ("tenant", Level::Warning)]
    );
    let hashed = common::files(root.path()).into_iter().find(|file| file.ends_with("/name")).unwrap();
    fs::write(root.path().join(hashed), "another").unwrap();
    assert!(told(root.path()).await.contains(&("tenant", Level::Problem)));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_place_of_a_tenant_is_told_and_not_followed() {
    let (root, elsewhere) = (root(&["a"]), root(&["b"]));
    std::os::unix::fs::symlink(elsewhere.path().join("b"), root.path().join("b")).unwrap();
    assert_eq!(told(root.path()).await, [("tenant", Level::Problem)]);
}

#[tokio::test]
async fn left_over_files_are_told_by_what_they_are() {
    let root = root(&["a"]);
    for (name, level) in [
        ("talktree.db.deleted", Level::Warning),
        ("talktree.db.restored", Level::Note),
        ("talktree.db-journal", Level::Warning),
        ("talktree.db.schema-1", Level::Note),
        ("talktree.tmp-1", Level::Note),
        ("stranger", Level::Note),
    ] {
        let path = root.path().join("a").join(name);
        fs::write(&path, "x").unwrap();
        assert_eq!(told(root.path()).await, [("left-over", level)], "{name}");
        fs::remove_file(path).unwrap();
    }
    let log = fs::File::create(root.path().join("a/talktree.db-wal")).unwrap();
    log.set_len(300 << 20).unwrap();
    assert_eq!(told(root.path()).await, [("left-over", Level::Warning)]);
    fs::remove_file(root.path().join("a/talktree.db-wal")).unwrap();
    fs::create_dir(root.path().join("cut-off")).unwrap();
    assert_eq!(told(root.path()).await, [("left-over", Level::Note)]);
}

#[tokio::test]
async fn damage_and_schemas_are_told_from_the_beginning_of_the_file() {
    let root = root(&["a"]);
    let file = root.path().join("a/talktree.db");
    let sound = fs::read(&file).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = sound.clone();
        change(&mut bytes);
        fs::write(&file, bytes).unwrap();
    };
    with(&|bytes| bytes[..16].fill(b'x'));
    assert_eq!(told(root.path()).await, [("integrity", Level::Problem)]);
    with(&|bytes| bytes.truncate(bytes.len() - 4096));
    assert_eq!(told(root.path()).await, [("integrity", Level::Problem)]);
    with(&|bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes()));
    assert_eq!(told(root.path()).await, [("schema", Level::Problem)]);
    with(&|bytes| bytes[60..64].copy_from_slice(&1_u32.to_be_bytes()));
    assert_eq!(told(root.path()).await, [("schema", Level::Note)]);
    with(&|_| ());
    assert_eq!(told(root.path()).await, []);
}

#[tokio::test]
async fn deep_damage_is_found_by_a_deep_look_alone_and_nothing_is_written() {
    let root = root(&["sound", "worn"]);
    let file = root.path().join("worn/talktree.db");
    let mut bytes = fs::read(&file).unwrap();
    // A page in the middle.
    let at = bytes.len() / 2 / 4096 * 4096;
    bytes[at..at + 4096].fill(0x55);
    fs::write(&file, bytes).unwrap();
    let before = state(root.path());
    assert_eq!(told(root.path()).await, []);
    let deep = found(Examination::default().root(root.path()).deep(true)).await;
    let told: Vec<_> = deep.iter().map(|finding| (finding.check, finding.level, finding.about.as_deref())).collect();
    assert_eq!(told, [("integrity", Level::Problem, Some("worn"))], "{deep:?}");
    assert!(state(root.path()) == before, "something was changed");
}

#[tokio::test]
async fn a_store_whose_writer_was_killed_is_read_with_its_log_and_stays_as_it_is() {
    let root = closed();
    let mut server = Server::start(root.path());
    server.call("appendMessage", json!({"message": message("m1", "user", "Hello")}));
    server.kill();
    assert!(root.path().join("t/talktree.db-wal").metadata().unwrap().len() > 0, "the log is there");
    let before = state(root.path());
    assert_eq!(found(Examination::default().root(root.path()).deep(true)).await, []);
    assert!(state(root.path()) == before, "something was changed");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_tenant_that_a_process_has_open_is_told_with_its_process_and_not_disturbed() {
    let root = closed();
    let mut server = Server::start(root.path());
    server.call("appendMessage", json!({"message": message("m1", "user", "Hello")}));
    let found = found(Examination::default().root(root.path()).deep(true)).await;
    let process = format!("process {} (talktree", server.id());
    let hides = fs::read_to_string("/proc/locks").is_ok_and(|locks| locks.trim().is_empty());
    assert!(hides || found.iter().any(|finding| finding.check == "lock" && finding.sentence.contains(&process)));
    assert!(found.iter().any(|finding| finding.check == "integrity" && finding.level == Level::Note), "{found:?}");
    server.call("appendMessage", json!({"message": message("m2", "user", "Still here")}));
    server.finish();
}

#[cfg(unix)]
#[tokio::test]
async fn rights_of_others_and_times_of_the_future_are_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = root(&["a"]);
    let mode = |mode| fs::set_permissions(root.path().join("a"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o770);
    assert_eq!(told(root.path()).await, [("tenant", Level::Problem)]);
    mode(0o700);
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    let found = found(Examination::default().root(root.path()).now(an_hour_ago)).await;
    assert_eq!(found.iter().map(|finding| finding.check).collect::<Vec<_>>(), ["clock"]);
}

#[tokio::test]
async fn the_component_is_compiled_and_every_kind_of_check_says_something() {
    let root = root(&["a"]);
    let found = Examination::default().root(root.path()).run().await.unwrap();
    for check in ["component", "cache", "root", "file-system", "tenant", "clock", "temporary"] {
        assert!(found.iter().any(|finding| finding.check == check), "{check}: {found:?}");
    }
    assert!(found.iter().all(|finding| finding.level < Level::Warning || finding.advice.is_some()), "{found:?}");
}

#[test]
fn the_program_tells_problems_by_its_exit_code_and_as_json() {
    let root = root(&["a"]);
    let path = root.path().to_string_lossy().into_owned();
    let well = doctor(&["--root", &path]);
    assert_eq!(well.status.code(), Some(0), "{}", String::from_utf8_lossy(&well.stdout));
    fs::write(root.path().join("a/talktree.db"), "x".repeat(5_000)).unwrap();
    let ill = doctor(&["--root", &path, "--json", "--token-file", "/nowhere"]);
    assert_eq!(ill.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&ill.stdout).unwrap();
    assert_eq!(report["problems"], json!(2));
    let finding =
        report["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "integrity").unwrap();
    assert_eq!((&finding["level"], &finding["about"]), (&json!("problem"), &json!("a")));
    assert!(finding["advice"].is_string());
    let shown = String::from_utf8(doctor(&["--root", &path]).stdout).unwrap();
    assert!(shown.contains("problem") && shown.contains("to do: "), "{shown}");
    assert_eq!(doctor(&["--deep"]).status.code(), Some(2), "there is nothing to read");
}

#[test]
fn the_program_looks_at_its_own_configuration() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("talktree.toml");
    let run = |config: &str| {
        fs::write(&file, config).unwrap();
        let mut command = talktree();
        command.env_remove("TALKTREE_NO_CONFIG").env("TALKTREE_CONFIG", &file).env_remove("ANTHROPIC_API_KEY");
        command.env("TALKTREE_LISTN", "x");
        let done = command.args(["doctor", "--skip-component", "--json"]).output().unwrap();
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        let told = |check: &str, level: &str| {
            let findings = report["findings"].as_array().unwrap();
            findings.iter().any(|finding| finding["check"] == check && finding["level"] == level)
        };
        (told("configuration", "problem"), told("configuration", "warning"), told("summarizer", "problem"))
    };
    assert_eq!(run(""), (false, true, false), "the variable is misspelt");
    assert_eq!(run("root = \n"), (true, true, false));
    assert_eq!(run("roto = 'd'\n"), (true, true, false));
    assert_eq!(run("summarizer = 'anthropic:m'\n"), (false, true, true), "its key is missing");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(run("root = 'd'\n"), (true, true, false), "others may write into it");
    }
}
