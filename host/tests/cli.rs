//! Promises of the other sub-commands, kept by the real program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod program;

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Output, Stdio},
};

use program::{Server, message, talktree};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// A root whose tenant `t` holds one conversation with a branch: m1, u1, then a1 and u2 beside a2.
fn with_a_branch() -> TempDir {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    server.call("appendMessage", json!({"message": message("m1", "user", "Hello")}));
    server.call("appendMessage", json!({"message": message("u1", "user", "Where shall we meet?")}));
    server.call("appendMessage", json!({"message": message("a1", "assistant", "At the station.")}));
    server.call("appendMessage", json!({"message": message("u2", "user", "Which one?")}));
    server.call("appendMessage", json!({"message": message("a2", "assistant", "At the harbour."), "parentId": "u1"}));
    server.finish();
    root
}

fn run(root: &Path, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    talktree().arg(command).arg("--root").arg(root).args(rest).stdin(Stdio::null()).output().unwrap()
}

/// What a command prints that has to succeed.
fn printed(root: &Path, arguments: &[&str]) -> String {
    let done = run(root, arguments);
    assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn show_draws_branches_beside_the_path_to_the_leaf() {
    let root = with_a_branch();
    let expected = "\
5 messages, 2 branches in the default session of tenant \"t\"
● user       Hello  m1
● user       Where shall we meet?  u1
├─○ assistant  At the station.  a1
│ ○ user       Which one?  u2
◆ assistant  At the harbour.  a2
";
    assert_eq!(printed(root.path(), &["show", "--tenant", "t"]), expected);
    let from_elsewhere = printed(root.path(), &["show", "-t", "t", "--leaf", "u2"]);
    assert!(from_elsewhere.contains("├─○ assistant  At the harbour.  a2\n● assistant  At the station.  a1\n◆ user"));
    let narrow = printed(root.path(), &["show", "-t", "t", "--width", "30"]);
    assert!(narrow.contains("● user       Where shall …  u1"), "{narrow}");
}

#[test]
fn show_as_json_tells_the_whole_tree() {
    let root = with_a_branch();
    let shown: Value = serde_json::from_str(&printed(root.path(), &["show", "-t", "t", "--json"])).unwrap();
    assert_eq!((&shown["tenant"], &shown["session"], &shown["leafId"]), (&json!("t"), &json!(""), &json!("a2")));
    let parents: Vec<_> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].clone(), node["parentId"].clone()))
        .collect();
    let expected = [("m1", None), ("u1", Some("m1")), ("a1", Some("u1")), ("u2", Some("a1")), ("a2", Some("u1"))];
    assert_eq!(parents, expected.map(|(id, parent)| (json!(id), json!(parent))));
    assert_eq!(shown["messages"][1]["children"], json!(2));
}

#[test]
fn colours_are_for_terminals_and_never_where_they_are_not_wanted() {
    let root = with_a_branch();
    let show = |variables: &[(&str, &str)]| {
        let done = talktree()
            .args(["show", "--tenant", "t"])
            .env("TALKTREE_ROOT", root.path())
            .env("TERM", "xterm")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!show(&[]), "a pipe is no terminal");
    assert!(show(&[("CLICOLOR_FORCE", "1")]));
    assert!(!show(&[("NO_COLOR", "1")]));
}

#[test]
fn a_message_cannot_write_to_the_terminal() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\r\u{202e}x\u{9b}31m";
    let mut evil_message = message(&format!("id{evil}"), &format!("role{evil}"), evil);
    let tool = json!({"type": format!("tool-{evil}"), "toolCallId": "1", "input": evil});
    evil_message["parts"].as_array_mut().unwrap().push(tool);
    server.call("appendMessage", json!({"tenant": "t\u{1b}[2J", "session": "s\u{1b}[2J", "message": evil_message}));
    server.finish();
    let place = ["-t", "t\u{1b}[2J", "-s", "s\u{1b}[2J"];
    for command in [&["show"][..], &["tree"], &["history"], &["tenants"], &["show", "--leaf", "\u{1b}[2J"]] {
        let place = if command == ["tenants"] { &[][..] } else { &place[..] };
        let done = run(root.path(), &[command, place].concat());
        for output in [done.stdout, done.stderr] {
            let text = String::from_utf8(output).unwrap();
            assert!(!text.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}', '\u{9b}']), "{command:?}: {text:?}");
        }
    }
}

#[test]
fn history_prints_the_path_both_ways() {
    let root = with_a_branch();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let lines = json_lines(&printed(root.path(), &[&["history", "-t", "t", "--json"], arguments].concat()));
        lines.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["m1", "u1", "a2"]);
    assert_eq!(ids(&["--newest-first"]), ["a2", "u1", "m1"]);
    assert_eq!(ids(&["--leaf", "u2"]), ["m1", "u1", "a1", "u2"]);
    assert_eq!(ids(&["--recent", "1"]), ["a2"]);
    assert_eq!(ids(&["--recent", "200B", "--newest-first"]), ["a2", "u1"]);
    let text = printed(root.path(), &["history", "-t", "t"]);
    assert!(text.starts_with("user  m1  #1  20") && text.contains("\n  Where shall we meet?\n"), "{text}");
}

#[test]
fn history_as_json_is_the_bytes_that_were_stored() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    let odd = r#"{"parts":[{"text":"\ud83d \u0000","type":"text"}],"n":1e3,"id":"m","role":"user"}"#;
    server.call_raw("appendMessage", &format!(r#"{{"tenant":"t","message":{odd}}}"#));
    server.finish();
    assert_eq!(printed(root.path(), &["history", "-t", "t", "--json"]), format!("{odd}\n"));
}

#[test]
fn a_long_history_streams_and_may_be_left_early() {
    let root = tempdir().unwrap();
    let mut server = Server::start(root.path());
    let chain: Vec<_> = (0..3_000).map(|at| message(&format!("m{at}"), "user", "some words of a long story")).collect();
    server.call("appendMessages", json!({"messages": chain}));
    server.finish();
    assert_eq!(printed(root.path(), &["history", "-t", "t", "--json"]).lines().count(), 3_000);
    let mut child = talktree()
        .args(["history", "-t", "t"])
        .env("TALKTREE_ROOT", root.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn tenants_are_listed_one_a_line() {
    let root = tempdir().unwrap();
    assert_eq!(printed(root.path(), &["tenants"]), "");
    let mut server = Server::start(root.path());
    for tenant in ["b", "a\nb", "é"] {
        server.call("appendMessage", json!({"tenant": tenant, "message": message("m", "user", "x")}));
    }
    server.finish();
    assert_eq!(printed(root.path(), &["tenants"]), "a b\nb\né\n");
    assert_eq!(printed(root.path(), &["tenants", "--json"]), "\"a\\nb\"\n\"b\"\n\"é\"\n");
}

#[test]
fn what_is_not_there_is_said_and_not_made() {
    let root = tempdir().unwrap();
    let missing = root.path().join("missing");
    for command in [&["show", "-t", "t"][..], &["history", "-t", "t"], &["tenants"]] {
        let done = run(&missing, command);
        assert_eq!(done.status.code(), Some(1), "{command:?}");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(told.starts_with("error: ") && told.contains("missing"), "{told}");
    }
    assert!(!missing.exists());
    for command in ["show", "history"] {
        let done = run(root.path(), &[command, "-t", "nobody"]);
        assert_eq!(done.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&done.stderr).contains("no messages"), "{done:?}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    let tree = with_a_branch();
    for command in ["show", "history"] {
        let done = run(tree.path(), &[command, "-t", "t", "--leaf", "zz"]);
        assert_eq!(done.status.code(), Some(1), "{command}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("zz"), "{done:?}");
    }
}

#[test]
fn wrong_command_lines_exit_with_2_and_say_what_is_right() {
    let root = tempdir().unwrap();
    for wrong in [
        &["show"][..],
        &["show", "--tenant", "t", "--width", "3"],
        &["history", "--tenant", "t", "--recent", "much"],
        &["import", "--tenant", "t"],
        &["import", "--tenant", "t", "--format", "none-such", "x"],
        &["tenants", "extra"],
    ] {
        let done = run(root.path(), wrong);
        assert_eq!(done.status.code(), Some(2), "{wrong:?}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("--help"), "{done:?}");
    }
}

#[test]
fn import_takes_over_a_tree_and_a_second_time_changes_nothing() {
    let root = tempdir().unwrap();
    let file = root.path().join("chat.json");
    let chat = json!([message("m1", "user", "Hello"), message("m2", "assistant", "Hi")]);
    fs::write(&file, chat.to_string()).unwrap();
    let data = root.path().join("data");
    let file = file.to_str().unwrap();

    let dry: Value =
        serde_json::from_str(&printed(&data, &["import", "-t", "t", "--dry-run", "--json", file])).unwrap();
    assert_eq!((&dry["dryRun"], &dry["sessions"][0]["imported"]), (&json!(true), &json!(2)));
    assert!(!data.exists(), "a dry run stores nothing");

    let report = printed(&data, &["import", "-t", "t", file]);
    assert!(report.contains("2 imported") && report.contains("ai-sdk"), "{report}");
    let again: Value = serde_json::from_str(&printed(&data, &["import", "-t", "t", "--json", file])).unwrap();
    assert_eq!((&again["sessions"][0]["imported"], &again["sessions"][0]["skipped"]), (&json!(0), &json!(2)));
    let history = printed(&data, &["history", "-t", "t", "--json"]);
    let ids: Vec<_> = json_lines(&history).iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, [json!("m1"), json!("m2")]);
}

#[test]
fn import_reports_what_failed_and_why_and_exits_with_1() {
    let root = tempdir().unwrap();
    let data = root.path().join("data");
    let torn = root.path().join("torn.jsonl");
    let good = message("m1", "user", "Hello");
    fs::write(&torn, format!("{good}\n{{\"id\":\"m2\",\"role\":\"us")).unwrap();
    let torn = torn.to_str().unwrap();
    let done = run(&data, &["import", "-t", "t", "--json", torn]);
    assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(report["sessions"][0]["imported"], json!(1));
    let failed = &report["sessions"][0]["failed"][0];
    assert!(failed["where"].as_str().unwrap().contains('2') && !failed["why"].as_str().unwrap().is_empty(), "{report}");

    let text = run(&data, &["import", "-t", "t", torn]);
    assert_eq!(text.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&text.stdout).contains("failed line 2"), "{text:?}");

    // One file that is none does not hinder the next.
    let other = root.path().join("good.json");
    fs::write(&other, json!([message("x1", "user", "x")]).to_string()).unwrap();
    let both = run(&data, &["import", "-t", "u", "--json", "/no/such/file", other.to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(1));
    let reports = json_lines(&String::from_utf8(both.stdout).unwrap());
    assert!(reports[0]["error"].as_str().unwrap().contains("/no/such/file"));
    assert_eq!(reports[1]["sessions"][0]["imported"], json!(1));
}

#[test]
fn import_finds_transcripts_of_all_kinds_in_archives_and_directories() {
    let root = tempdir().unwrap();
    let data = root.path().join("data");
    let home = root.path().join("home");
    fs::create_dir_all(home.join("projects/w")).unwrap();
    let transcripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    let copied = [("claude-code/parallel-tools", "projects/w/a.jsonl"), ("codex/tools", "rollout-x.jsonl")];
    for (case, name) in copied {
        let files = fs::read_dir(transcripts.join(case)).unwrap().map(|file| file.unwrap().path());
        let input = files.into_iter().find(|file| file.to_string_lossy().contains("input")).unwrap();
        fs::copy(input, home.join(name)).unwrap();
    }
    fs::write(home.join("settings.json"), "{}").unwrap();
    let mut zip = zip::ZipWriter::new(fs::File::create(root.path().join("export.zip")).unwrap());
    let chats = fs::read(transcripts.join("chatgpt/several-and-lines/input.json")).unwrap();
    for (name, bytes) in [("conversations.json", &*chats), ("user.json", b"{\"id\":\"u\"}")] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();

    let export = root.path().join("export.zip");
    let arguments = ["import", "-t", "t", "--json", export.to_str().unwrap(), home.to_str().unwrap()];
    let reports = json_lines(&printed(&data, &arguments));
    let formats: Vec<_> = reports.iter().map(|report| report["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["chatgpt", "claude-code", "codex"]);
    assert_eq!(reports[0]["sessions"][1]["id"], json!("c2"));
    let history = json_lines(&printed(&data, &["history", "-t", "t", "--session", "c1", "--json"]));
    assert_eq!(history.last().unwrap()["id"], json!("n4"));
    let apart = printed(&data, &["import", "-t", "u", "-s", "all", "--json", home.to_str().unwrap()]);
    assert!(json_lines(&apart).iter().all(|report| report["sessions"][0]["id"].as_str().unwrap().starts_with("all/")));

    let nothing = root.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let done = run(&data, &["import", "-t", "t", nothing.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn export_writes_a_path_to_a_file_or_to_standard_output() {
    let root = with_a_branch();
    let markdown = printed(root.path(), &["export", "-t", "t", "--format", "markdown", "--leaf", "u2"]);
    assert!(markdown.contains("At the station.") && !markdown.contains("At the harbour."), "{markdown}");
    let file = root.path().join("out.json");
    printed(root.path(), &["export", "-t", "t", "--format", "openai-messages", "-o", file.to_str().unwrap()]);
    let messages: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(messages[2], json!({"role": "assistant", "content": "At the harbour."}));

    // What is there already stays whole when an export fails.
    let failed = run(root.path(), &["export", "-t", "t", "-f", "ai-sdk", "--leaf", "no", "-o", file.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap(), messages);
}

#[test]
fn import_reads_standard_input() {
    let root = tempdir().unwrap();
    let mut child = talktree()
        .args(["import", "--tenant", "t", "--session", "s", "--json", "-"])
        .env("TALKTREE_ROOT", root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!([message("m1", "user", "x")]).to_string().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["sessions"][0]["id"], &report["sessions"][0]["imported"]), (&json!("s"), &json!(1)));
}

#[test]
fn the_demo_runs_to_its_end_and_leaves_nothing() {
    let temporary = tempdir().unwrap();
    let done = talktree().arg("demo").env("TMPDIR", temporary.path()).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{text}\n{}", String::from_utf8_lossy(&done.stderr));
    for part in ["8 imported", "kill -KILL", "├─", "swimming pool"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_subcommand_explains_itself_with_examples() {
    for command in ["rpc", "import", "export", "show", "history", "tenants", "demo"] {
        let done = talktree().args([command, "--help"]).output().unwrap();
        assert_eq!(done.status.code(), Some(0));
        let help = String::from_utf8(done.stdout).unwrap();
        assert!(help.contains("Examples:") && help.contains(&format!("talktree {command}")), "{help}");
    }
}
