//! Nothing that a client names and nothing that lies in the root leads out of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::OnceLock,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Server, append, kind, methods};

/// What must not be read by anybody.
const SECRET: &str = "xyzzy-outside";

/// Names that mean something to file systems, shells, terminals or SQL, and to nobody here.
fn hostile_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "..",
        ".",
        "../..",
        "../outside",
        "../../etc/passwd",
        "/",
        "/etc/passwd",
        "/proc/self/environ",
        "//",
        "a/../b",
        "a/b",
        "a//b",
        "./a",
        "a/",
        "a/.",
        "a/..",
        "~",
        "~root",
        "$HOME",
        "`id`",
        "$(id)",
        "a;b",
        "a|b",
        "a&b",
        "a>b",
        "*",
        "?",
        "[a]",
        "\\",
        "..\\..\\outside",
        "C:\\Windows",
        "C:",
        "\\\\server\\share",
        "\\\\?\\C:\\",
        "a:stream",
        "file:///etc/passwd",
        "con",
        "CON",
        "nul",
        "NUL.txt",
        "aux",
        "prn",
        "com1",
        "COM1",
        "lpt9",
        "com\u{b9}",
        "CONIN$",
        "clock$",
        "\0",
        "a\0",
        "a\0b",
        "\0\0",
        "\u{1}",
        "\t",
        "\n",
        "\r\n",
        "\u{7f}",
        "\u{1b}[2J",
        "a\u{8}b",
        " ",
        " a",
        "a ",
        "a.",
        "a..",
        ".a",
        "...",
        "-rf",
        "--root",
        "-",
        "@",
        "#",
        "%",
        "%%",
        "%2e%2e",
        "%2e%2e%2f",
        "%00",
        "%_",
        "%_0",
        "%41",
        "%61",
        "talktree.db",
        "lock",
        "name",
        "talktree.db-wal",
        "owner.1",
        ".git",
        "lost+found",
        "Easy",
        "easy",
        "EASY",
        "eaſy",
        "é",
        "e\u{301}",
        "\u{c5}",
        "A\u{30a}",
        "\u{212b}",
        "ß",
        "ss",
        "SS",
        "ı",
        "i",
        "I",
        "İ",
        "ﬁ",
        "fi",
        "K",
        "\u{212a}",
        "\u{202e}txt.exe",
        "\u{202e}",
        "\u{2066}a\u{2069}",
        "עברית",
        "مرحبا",
        "\u{200b}",
        "\u{feff}",
        "a\u{ad}b",
        "\u{2028}",
        "\u{e000}",
        "\u{fffd}",
        "\u{ffff}",
        "\u{10ffff}",
        "😀",
        "👨\u{200d}👩\u{200d}👧",
        "部署",
        "a\u{2024}\u{2024}",
        "\u{ff0e}\u{ff0e}\u{ff0f}",
        "\u{2215}",
        "' OR 1=1 --",
        "\"",
        "'",
        "a';DROP TABLE messages;--",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "<script>",
        "null",
        "true",
        "0",
    ]
    .map(str::to_owned)
    .into();
    names.extend([
        "x".repeat(512),
        "/".repeat(512),
        "../".repeat(170),
        "é".repeat(256),
        "\0".repeat(512),
        "X".repeat(201),
        "x".repeat(201),
    ]);
    names
}

/// Everything below a directory: where it lies, and what it holds. Links are told as such, and not followed.
fn everything(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let lying = path.symlink_metadata().unwrap();
            let holds = if lying.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned(), holds);
            if lying.is_dir() {
                directories.push(path);
            }
        }
    }
    found
}

#[test]
fn every_name_is_a_tenant_of_its_own_below_the_root() {
    let server = Server::start(&[]);
    let names = hostile_names();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for (at, name) in names.iter().enumerate() {
        // In params, in the query and in the path of an address.
        let escaped: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let mut params = append(name, &format!("m{at}"), name);
        if at % 2 == 0 {
            let stored = server.call("appendMessage", &params);
            assert_eq!(stored["inserted"], true, "{name:?}: {stored}");
        } else {
            params.as_object_mut().unwrap().remove("tenant");
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "appendMessage", "params": params}).to_string();
            let answer = server.connect().rpc(&format!("/rpc?tenant={escaped}"), None, &body);
            // The sign for what could not be read stands for many names: in an address it is none.
            if name.contains('\u{fffd}') {
                assert_eq!(answer.status, 400, "{name:?}");
                server.call("appendMessage", &append(name, &format!("m{at}"), name));
            } else {
                assert_eq!(answer.json()["result"]["inserted"], true, "{name:?}: {}", answer.body);
            }
        }
    }
    for (at, name) in names.iter().enumerate() {
        let history = server.call("getHistory", &json!({"tenant": name}));
        let messages = history["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 1, "{name:?}");
        assert_eq!((&messages[0]["id"], &messages[0]["parts"][0]["text"]), (&json!(format!("m{at}")), &json!(name)));
    }
    let mut listed = BTreeSet::new();
    let mut cursor = Value::Null;
    loop {
        let page = server.call("listTenants", &json!({"limit": 50, "cursor": cursor}));
        listed.extend(page["tenants"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()));
        cursor = page["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed, names.iter().cloned().collect());
    // There is nothing but the root where the server was started, and in the root one directory for each.
    let beside: Vec<_> = fs::read_dir(server.root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["data"]);
    let mut twins = BTreeSet::new();
    for entry in fs::read_dir(server.root.path().join("data")).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.file_type().unwrap().is_dir(), "{entry:?}");
        let name = entry.file_name().into_string().unwrap();
        assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'%')), "{name}");
        assert!(name.len() <= 200 && twins.insert(name.to_lowercase()), "{name}");
    }
    assert_eq!(twins.len(), names.len());
}

#[test]
fn names_that_cannot_be_are_refused_by_every_way_in() {
    let server = Server::start(&[]);
    for name in ["", &"x".repeat(513), &"x".repeat(10_240), &"é".repeat(257), &"../".repeat(4_000)] {
        let escaped: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for (method, _) in methods().iter().filter(|(_, about_tenant)| *about_tenant) {
            let answer = server.call_as(None, method, &json!({"tenant": name}));
            assert_eq!(answer["error"]["code"], -32602, "{method} {}: {answer}", name.len());
        }
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert_eq!(server.connect().rpc(&format!("/rpc?tenant={escaped}"), None, body).status, 400, "{}", name.len());
        let events = server.connect().ask("GET", &format!("/events?tenant={escaped}"), &[], "");
        assert_eq!(events.status, 400, "{}", name.len());
        let status = server.refused(&format!("/agents/coder-agent/{escaped}"), &[]);
        assert!(matches!(status, 400 | 404), "{}: {status}", name.len());
    }
    // An address longer than any head may be.
    let far = server.connect().ask("GET", &format!("/events?tenant={}", "x".repeat(100_000)), &[], "");
    assert!(matches!(far.status, 414 | 431), "{}", far.status);
    assert!(!server.root.path().join("data").exists(), "nothing was made");
}

#[test]
fn sessions_ids_and_blocks_are_names_in_a_table_and_nowhere_else() {
    let server = Server::start(&[]);
    let mut names = hostile_names();
    names.push("x".repeat(10_240));
    let mut taken = 0;
    for name in &names {
        let mut params = append("t", name, "x");
        params["session"] = json!(name);
        let answer = server.call_as(None, "appendMessage", &params);
        // Some are longer than an id may be, or hold what cannot be in one.
        if answer.get("error").is_some() {
            assert!(
                ["invalid-argument", "invalid-message", "too-large", "over-limit"].contains(&kind(&answer)),
                "{name:?}: {answer}"
            );
            continue;
        }
        taken += 1;
        let found = server.call("getMessage", &json!({"tenant": "t", "session": name, "id": name}));
        assert_eq!(found["message"]["id"], *name, "{name:?}");
        // Whatever may become of it, it is an answer.
        server.call_as(
            None,
            "forkSession",
            &json!({"tenant": "t", "session": name, "newSession": format!("../{name}")}),
        );
        server.call_as(None, "defineBlock", &json!({"tenant": "t", "session": name, "label": name, "content": "x"}));
        server.call_as(None, "exportLines", &json!({"tenant": "t", "session": name, "cursor": name}));
        server.call_as(None, "snapshot", &json!({"tenant": "t", "cursor": name}));
        server.call_as(None, "importData", &json!({"tenant": "t", "session": name, "format": name, "data": "{}"}));
    }
    assert!(taken > 100, "{taken}");
    let beside: Vec<_> = fs::read_dir(server.root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["data"]);
    let tenants: Vec<_> =
        fs::read_dir(server.root.path().join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(tenants, ["t"]);
    for entry in fs::read_dir(server.root.path().join("data/t")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("talktree.") || name.starts_with("owner.") || name == "lock", "{name}");
    }
}

/// A root with the tenant `a` in it, and beside the root what must stay as it is: the store of another tenant, an empty
/// directory, a file.
#[cfg(unix)]
fn planted() -> TempDir {
    static PATTERN: OnceLock<TempDir> = OnceLock::new();
    let place = tempfile::tempdir().unwrap();
    copy(PATTERN.get_or_init(make_pattern).path(), place.path());
    place
}

#[cfg(unix)]
fn make_pattern() -> TempDir {
    let mut server = Server::start(&[]);
    for tenant in ["a", "b"] {
        server.call("appendMessage", &append(tenant, "m1", SECRET));
    }
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let place = std::mem::replace(&mut server.root, tempfile::tempdir().unwrap());
    let outside = place.path().join("outside");
    fs::create_dir_all(outside.join("empty")).unwrap();
    fs::write(outside.join("file"), SECRET).unwrap();
    fs::rename(place.path().join("data/b"), outside.join("store")).unwrap();
    place
}

#[cfg(unix)]
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            fs::create_dir(&to).unwrap();
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Asks everything about a tenant. Nothing may come out of it, and the server has to answer.
#[cfg(unix)]
fn ask_everything(server: &Server, tenant: &str, what: &str) {
    let message = json!({"id": "new", "role": "user", "parts": []});
    for (method, _) in methods().iter().filter(|(_, about_tenant)| *about_tenant) {
        let mut params = json!({"tenant": tenant});
        match method.as_str() {
            "appendMessage" | "upsertMessage" | "updateMessage" => params["message"] = message.clone(),
            "appendMessages" => params["messages"] = json!([message]),
            "importMessage" => {
                params["message"] = message.clone();
                params["parentId"] = Value::Null;
                params["createdAt"] = json!(1);
            }
            "importData" => {
                params["format"] = json!("openai-messages");
                params["data"] = json!(r#"[{"role":"user","content":"x"}]"#);
            }
            "getMessage" => params["id"] = json!("m1"),
            "getRecentHistory" => params["maxBytes"] = json!(1_000),
            "search" => params["query"] = json!("xyzzy"),
            "defineBlock" => params["label"] = json!("l"),
            _ => {}
        }
        let answer = server.call_as(None, method, &params);
        assert!(!answer.to_string().contains(SECRET), "{what}: {method}: {answer}");
        // What a name of a directory tells is the business of whoever runs the server.
        assert!(!answer.to_string().contains("outside"), "{what}: {method}: {answer}");
    }
    assert!(server.call("ping", &json!({})).is_object(), "{what}");
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_tenant_leads_nowhere() {
    use std::os::unix::fs::symlink;
    for target in ["../outside/store", "../outside/empty", "../outside/file", "a", ".", "..", "/", "link", "nowhere"] {
        let place = planted();
        let before = everything(&place.path().join("outside"));
        symlink(target, place.path().join("data/link")).unwrap();
        let server = Server::start_in(place, &[]);
        ask_everything(&server, "link", target);
        let refused = server.call_as(None, "appendMessage", &append("link", "m", "x"));
        assert_eq!(kind(&refused), "forbidden", "{target}: {refused}");
        assert_eq!(server.call("listTenants", &json!({}))["tenants"], json!(["a"]), "{target}");
        assert_eq!(everything(&server.root.path().join("outside")), before, "{target}");
        assert!(
            server.root.path().join("data/link").symlink_metadata().unwrap().is_symlink(),
            "{target}: it was left alone"
        );
        // The others are served, and are what they were.
        assert_eq!(server.call("stats", &json!({"tenant": "a"}))["messages"], 1, "{target}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_of_a_tenant_leads_nowhere() {
    use std::os::unix::fs::symlink;
    let files = [
        "talktree.db",
        "talktree.db-wal",
        "talktree.db-journal",
        "talktree.db.deleted",
        "talktree.db.restored",
        "talktree.tmp-1",
        "owner.1",
        "lock",
    ];
    let targets = ["store/talktree.db", "file", "new", "empty"].map(|target| format!("../../outside/{target}"));
    let targets = [&targets[..], &["/dev/zero".to_owned()]].concat();
    for file in files {
        let place = planted();
        let outside = everything(&place.path().join("outside"));
        let data = place.path().join("data");
        for (at, target) in targets.iter().enumerate() {
            let tenant = data.join(format!("a{at}"));
            fs::create_dir(&tenant).unwrap();
            copy(&data.join("a"), &tenant);
            let _ = fs::remove_file(tenant.join(file));
            symlink(target, tenant.join(file)).unwrap();
        }
        let server = Server::start_in(place, &[]);
        for (at, target) in targets.iter().enumerate() {
            let (tenant, what) = (format!("a{at}"), format!("{file} -> {target}"));
            if file == "talktree.db" {
                ask_everything(&server, &tenant, &what);
            } else {
                // What it has said itself may be read.
                server.call_as(None, "appendMessage", &append(&tenant, "m", "x"));
                server.call_as(None, "snapshot", &json!({"tenant": tenant, "maxBytes": 100}));
                server.call_as(None, "vacuum", &json!({"tenant": tenant}));
                server.call_as(None, "close", &json!({"tenant": tenant}));
                server.call_as(None, "getHistory", &json!({"tenant": tenant}));
                server.call_as(None, "deleteTenant", &json!({"tenant": tenant}));
                server.call_as(None, "appendMessage", &append(&tenant, "m", "x"));
            }
            assert_eq!(everything(&server.root.path().join("outside")), outside, "{what}");
        }
        assert_eq!(server.call("stats", &json!({"tenant": "a"}))["messages"], 1, "{file}: others are served");
    }
}

#[cfg(unix)]
#[test]
fn deleting_a_tenant_takes_links_away_and_not_what_they_lead_to() {
    use std::os::unix::fs::symlink;
    let place = planted();
    let before = everything(&place.path().join("outside"));
    let inside = place.path().join("data/a");
    symlink("../../outside/store", inside.join("directory")).unwrap();
    symlink("../../outside/file", inside.join("file")).unwrap();
    fs::create_dir(inside.join("deeper")).unwrap();
    symlink("../../../outside", inside.join("deeper/all")).unwrap();
    let server = Server::start_in(place, &[]);
    assert_eq!(server.call("deleteTenant", &json!({"tenant": "a"}))["deleted"], true);
    assert!(!server.root.path().join("data/a").exists());
    assert_eq!(everything(&server.root.path().join("outside")), before);
}
