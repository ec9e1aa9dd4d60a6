//! Names that want to get out of the root, or at each other's messages.

use std::path::Path;

use serde_json::json;

use super::program::{Program, append};

/// Everything below a directory, as paths.
fn below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            found.push(entry.path().strip_prefix(directory).unwrap().to_string_lossy().into_owned());
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn hostile_tenants_and_ids_stay_inside_the_root_and_apart() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(outside.path().join("secret"), "kept").unwrap();
    let long = "x/".repeat(256);
    let names = [
        ".",
        "..",
        "../secret",
        "../../etc/passwd",
        "/etc/passwd",
        "a",
        "A",
        "a ",
        " a",
        "a.",
        "a/",
        "a\\b",
        "CON",
        "nul.txt",
        "lock",
        "talktree.db",
        "~",
        "%2e%2e",
        "\u{0}",
        "a\u{0}b",
        "\n",
        "é",
        "e\u{301}",
        "部",
        "😀",
        "'; --",
        "-rf",
        "*",
        &long,
    ];
    let mut program = Program::start(&root);
    for (number, name) in names.iter().enumerate() {
        let id = format!("{name} {number}").chars().take(300).collect::<String>();
        let result = program.result("appendMessage", &append(name, &id, &number.to_string()));
        assert_eq!(result["inserted"], json!(true), "{name:?}");
    }
    for (number, name) in names.iter().enumerate() {
        let leaf = program.result("getLatestLeaf", &json!({"tenant": name}));
        assert_eq!(leaf["message"]["parts"][0]["text"], json!(number.to_string()), "{name:?}");
        assert_eq!(leaf["seq"], json!(1), "{name:?}");
    }
    let listed = program.result("listTenants", &json!({"limit": 1000}));
    let mut listed: Vec<&str> = listed["tenants"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    let mut expected = names.to_vec();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for name in ["", &"x".repeat(513)] {
        let answer = program.call("appendMessage", &append(name, "m", "hello"));
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
    }
    program.finish();
    let found = below(outside.path());
    assert!(found.iter().all(|path| path == "root" || path == "secret" || path.starts_with("root/")), "{found:?}");
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "kept");
    // Directories that differ only in case would be one on some systems.
    let mut folded: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().to_lowercase())
        .collect();
    let count = folded.len();
    folded.sort_unstable();
    folded.dedup();
    assert_eq!(folded.len(), count);
}

#[test]
fn two_processes_on_one_root_do_not_write_the_same_tenant() {
    let root = tempfile::tempdir().unwrap();
    let mut first = Program::start(root.path());
    first.result("appendMessage", &append("t", "a", "one"));
    let mut second = Program::start(root.path());
    assert_eq!(second.kind("appendMessage", &append("t", "b", "two")), "busy");
    assert_eq!(second.kind("getLatestLeaf", &json!({"tenant": "t"})), "busy");
    // Another tenant is no business of the first one's.
    second.result("appendMessage", &append("u", "b", "two"));
    assert_eq!(first.kind("appendMessage", &append("u", "c", "three")), "busy");
    // A lock dies with its holder.
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    second.result("appendMessage", &append("t", "b", "two"));
    assert_eq!(second.ids("t"), ["a", "b"]);
    second.finish();
}
