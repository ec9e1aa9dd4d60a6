//! Files that are damaged or none of ours, places that cannot be written, disks without room.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::program::{Program, append};

/// The database of the only tenant below a root.
fn database(root: &Path) -> PathBuf {
    let found: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("talktree.db"))
        .filter(|file| file.is_file())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// A root with a tenant that was closed well.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let mut program = Program::start(root.path());
    for number in 0..20 {
        program.result("appendMessage", &append("t", &format!("m{number}"), "hello"));
    }
    program.finish();
    root
}

fn tenant() -> Value {
    json!({"tenant": "t"})
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let root = root();
    let file = database(root.path());
    let mut newer = std::fs::read(&file).unwrap();
    // The user version, in the header.
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let mut foreign = std::fs::read(&file).unwrap();
    foreign[68..72].copy_from_slice(b"MINE");
    for (content, kind) in [(b"notes".repeat(5000), "not-a-store"), (foreign, "not-a-store"), (newer, "schema-too-new")]
    {
        std::fs::write(&file, &content).unwrap();
        let mut program = Program::start(root.path());
        for _ in 0..2 {
            assert_eq!(program.kind("getLatestLeaf", &tenant()), kind);
            assert_eq!(program.kind("appendMessage", &append("t", "m", "hello")), kind);
            assert_eq!(program.kind("check", &tenant()), kind);
        }
        // The others have nothing to do with it.
        program.result("getLatestLeaf", &json!({"tenant": "another"}));
        program.finish();
        assert!(std::fs::read(&file).unwrap() == content, "the file was changed");
    }
}

#[test]
fn damage_is_reported_and_does_not_end_the_program() {
    let root = root();
    let file = database(root.path());
    let content = std::fs::read(&file).unwrap();
    for page in 1..content.len() / 4096 {
        let mut damaged = content.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(&file, &damaged).unwrap();
        let mut program = Program::start(root.path());
        let report = program.call("check", &tenant());
        assert!(report["result"]["sound"] == json!(false) || report["error"]["data"]["kind"] == "corrupt", "{report}");
        for method in ["getLatestLeaf", "getHistory", "listMessages", "stats"] {
            let answer = program.call(method, &tenant());
            assert!(answer["error"].is_null() || answer["error"]["data"]["kind"] == "corrupt", "{method}: {answer}");
        }
        program.finish();
    }
    std::fs::write(&file, &content[..content.len() / 2]).unwrap();
    let mut program = Program::start(root.path());
    assert_eq!(program.kind("getLatestLeaf", &tenant()), "corrupt");
    assert_eq!(program.kind("appendMessage", &append("t", "m", "hello")), "corrupt");
    program.finish();
}

/// A file system of its own, taken down again at the end. None: that is not allowed here.
struct Mount(PathBuf);

impl Mount {
    fn new(path: &Path, options: &[&str]) -> Option<Self> {
        let mount = Command::new("mount").args(options).arg(path).output();
        mount.is_ok_and(|output| output.status.success()).then(|| Self(path.to_path_buf()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_is_said_so_and_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(root.path(), &["-t", "tmpfs", "-o", "size=3m", "talktree-test"]) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let filler = root.path().join("filler");
    std::fs::write(&filler, vec![1; 1 << 20]).unwrap();
    let mut program = Program::start(root.path());
    let text = "x".repeat(20_000);
    let mut stored: Vec<String> = Vec::new();
    let kind = loop {
        let id = format!("m{}", stored.len());
        let answer = program.call("appendMessage", &append("t", &id, &text));
        if !answer["error"].is_null() {
            break answer["error"]["data"]["kind"].clone();
        }
        stored.push(id);
        assert!(stored.len() < 1000);
    };
    assert_eq!(kind, json!("storage-full"));
    assert!(stored.len() > 5);
    assert_eq!(program.ids("t"), stored);
    assert_eq!(program.result("check", &tenant())["sound"], json!(true));
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let mut program = Program::start(root.path());
    assert_eq!(program.ids("t"), stored);
    std::fs::remove_file(&filler).unwrap();
    let id = format!("m{}", stored.len());
    program.result("appendMessage", &append("t", &id, &text));
    stored.push(id);
    assert_eq!(program.ids("t"), stored);
    assert_eq!(program.result("check", &tenant())["sound"], json!(true));
    program.finish();
}

#[test]
fn a_root_that_can_only_be_read_is_read() {
    let root = root();
    let Some(_mount) = Mount::new(root.path(), &["-o", "bind,ro", &root.path().to_string_lossy()]) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let before = std::fs::read(database(root.path())).unwrap();
    let mut program = Program::start(root.path());
    assert_eq!(program.ids("t").len(), 20);
    assert_eq!(program.result("getLatestLeaf", &tenant())["message"]["id"], json!("m19"));
    assert_eq!(program.result("check", &tenant())["sound"], json!(true));
    assert_eq!(program.kind("appendMessage", &append("t", "m", "hello")), "read-only");
    assert_eq!(program.kind("clearMessages", &tenant()), "read-only");
    assert_eq!(program.kind("appendMessage", &append("new", "m", "hello")), "read-only");
    assert!(program.result("getLatestLeaf", &json!({"tenant": "new"}))["message"].is_null());
    program.finish();
    assert!(std::fs::read(database(root.path())).unwrap() == before);
}

#[test]
fn a_store_that_was_killed_is_read_whole_where_nothing_can_be_written() {
    let root = tempfile::tempdir().unwrap();
    let mut program = Program::start(root.path());
    for number in 0..20 {
        program.result("appendMessage", &append("t", &format!("m{number}"), "hello"));
    }
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    drop(program);
    assert!(database(root.path()).with_file_name("talktree.db-wal").is_file());
    let Some(_mount) = Mount::new(root.path(), &["-o", "bind,ro", &root.path().to_string_lossy()]) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let mut program = Program::start(root.path());
    assert_eq!(program.ids("t").len(), 20);
    program.finish();
}
