//! What an export says, and how its pages hang together.

use talktree_engine::{
    AppendOptions, BlockDefinition, BlockScope, BlockWrite, ConfigScope, ConfigurationChange, DeleteMode, HistoryView,
    ImportItem, Kind, Parent, Setting,
};

use super::common::{NOTHING, append, append_under, exported, import_all, message, pages, store};

#[test]
fn an_export_reads_as_its_description_says() {
    let (_directory, mut tree) = store();
    let import = |id: &str, parent_id: Option<&str>, created_at| ImportItem {
        message: message(id, "hello"),
        parent_id: parent_id.map(str::to_owned),
        created_at,
    };
    for (id, parent, time) in [
        ("m1", None, 10),
        ("m2", Some("m1"), 20),
        ("m3", Some("m2"), 30),
        ("m4", Some("m3"), 40),
        ("b1", Some("m2"), 50),
    ] {
        tree.import_message("", &import(id, parent, time)).unwrap();
    }
    let summary = tree.add_compaction("", "S", "m1", "m3").unwrap();
    tree.set_title("", Some("T"), true).unwrap();
    tree.delete_messages("", &["m3".to_owned()], DeleteMode::Splice, false).unwrap();
    tree.set_leaf("", Some("m4")).unwrap();
    let change = ConfigurationChange { compact_after: Setting::Value(9), ..ConfigurationChange::default() };
    tree.configure(&ConfigScope::Store, &change).unwrap();
    let info = tree.session_info("").unwrap();
    let text = |id: &str| message(id, "hello");
    let expected = [
        r#"{"type":"talktree","version":1}"#.to_owned(),
        r#"{"type":"configuration","compactAfter":9}"#.to_owned(),
        format!(
            r#"{{"type":"session","session":"","createdAt":{},"order":1,"title":"T","titleAutomatic":true}}"#,
            info.created_at
        ),
        format!(r#"{{"type":"message","session":"","seq":1,"createdAt":10,"message":{}}}"#, text("m1")),
        format!(r#"{{"type":"message","session":"","seq":2,"parentId":"m1","createdAt":20,"message":{}}}"#, text("m2")),
        // m4 has the summary, b1 has not: the place where m3 was is between m2 and m4.
        r#"{"type":"place","session":"","seq":3,"parentId":"m2"}"#.to_owned(),
        format!(
            r#"{{"type":"message","session":"","seq":4,"parentId":"m2","below":3,"createdAt":40,"message":{}}}"#,
            text("m4")
        ),
        format!(r#"{{"type":"message","session":"","seq":5,"parentId":"m2","createdAt":50,"message":{}}}"#, text("b1")),
        format!(
            r#"{{"type":"compaction","session":"","id":"{}","firstId":"m1","lastId":"m2","below":3,"createdAt":{},"summary":"S"}}"#,
            summary.id, summary.created_at
        ),
        format!(
            r#"{{"type":"end","session":"","lastActivityAt":{},"nextSeq":6,"leafId":"m4"}}"#,
            info.last_activity_at
        ),
        r#"{"type":"end"}"#.to_owned(),
    ];
    let lines = exported(&mut tree, None);
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    // Of one session: without what belongs to the store.
    let one = exported(&mut tree, Some(""));
    let expected: Vec<String> = expected
        .into_iter()
        .filter(|line| !line.contains("compactAfter"))
        .map(|line| line.replace(r#","order":1"#, ""))
        .collect();
    assert_eq!(one.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn sessions_come_in_the_order_of_their_ids_and_go_back_into_that_of_activity() {
    let (_directory, mut tree) = store();
    for (number, session) in ["b", "", "é", "a", "b", "Z", "a"].into_iter().enumerate() {
        append(&mut tree, session, &format!("m{number}"));
    }
    let out = pages(&mut tree, None, 300);
    let named: Vec<String> = out
        .concat()
        .lines()
        .filter(|line| line.contains(r#""type":"session""#))
        .map(|line| line.split('"').nth(7).unwrap().to_owned())
        .collect();
    assert_eq!(named, ["", "Z", "a", "b", "é"]);
    let (_directory, mut copy) = store();
    import_all(&mut copy, None, &out);
    let order = |tree: &mut super::common::Tree| tree.list_sessions(None, None).unwrap().items;
    assert_eq!(order(&mut copy), order(&mut tree));
    assert_eq!(order(&mut copy)[0].id, "a");
    // What is written next is the newest.
    append(&mut copy, "é", "next");
    assert_eq!(order(&mut copy)[0].id, "é");
}

#[test]
fn an_export_of_nothing_is_empty_and_one_of_an_unknown_session_is_refused() {
    let (directory, mut tree) = store();
    assert_eq!(exported(&mut tree, None), NOTHING);
    assert_eq!(tree.export_lines(Some(""), None, None).unwrap_err().kind, Kind::UnknownSession);
    let (other, mut copy) = store();
    let out = exported(&mut tree, None);
    assert!(copy.import_lines(None, &out).unwrap().is_empty());
    for directory in [directory, other] {
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "something was created");
    }
}

#[test]
fn a_message_above_the_size_of_a_page_stands_alone() {
    let (_directory, mut tree) = store();
    append(&mut tree, "", "small");
    let large = message("large", &"x".repeat(3 << 20));
    tree.append_message("", &large, &AppendOptions::default()).unwrap();
    append(&mut tree, "", "small too");
    let out = pages(&mut tree, None, 1 << 20);
    assert_eq!(out.len(), 3);
    assert!(out[1].lines().count() == 1 && out[1].contains(&large));
    let (_directory, mut copy) = store();
    import_all(&mut copy, None, &out);
    assert_eq!(copy.get_history("", &HistoryView::default()).unwrap()[1].json, large);
    assert_eq!(pages(&mut copy, None, 1 << 20), out);
}

#[test]
fn what_is_written_between_pages_does_not_tear_an_export() {
    let (_directory, mut tree) = store();
    for number in 0..30 {
        append(&mut tree, "", &format!("m{number}"));
    }
    tree.add_compaction("", "early", "m1", "m3").unwrap();
    let before = exported(&mut tree, Some(""));
    let mut lines = String::new();
    let mut cursor = None;
    let mut written = 0;
    loop {
        let page = tree.export_lines(Some(""), cursor.as_deref(), Some(400)).unwrap();
        lines.push_str(&page.lines);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
        append(&mut tree, "", &format!("late{written}"));
        tree.add_compaction("", "late", &format!("late{written}"), &format!("late{written}")).unwrap();
        written += 1;
    }
    assert!(written > 5);
    let without_activity = |text: &str| {
        text.lines().map(|line| line.split(",\"lastActivityAt\"").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(without_activity(&lines), without_activity(&before));
}

#[test]
fn a_cursor_whose_pages_would_not_fit_together_is_stale() {
    let (_directory, mut tree) = store();
    for number in 0..30 {
        append(&mut tree, "", &format!("m{number}"));
        append(&mut tree, "other", &format!("m{number}"));
    }
    let cursor = tree.export_lines(None, None, Some(1000)).unwrap().cursor.unwrap();
    let stale = |tree: &mut super::common::Tree, session| {
        tree.export_lines(session, Some(&cursor), None).unwrap_err().kind == Kind::StaleCursor
    };
    assert!(stale(&mut tree, Some("")), "it belongs to an export of the store");
    tree.delete_messages("other", &["m1".to_owned()], DeleteMode::Splice, false).unwrap();
    tree.export_lines(None, Some(&cursor), None).unwrap();
    tree.delete_messages("", &["m1".to_owned()], DeleteMode::Splice, false).unwrap();
    assert!(stale(&mut tree, None), "a message was deleted");
    let cursor = tree.export_lines(None, None, Some(1000)).unwrap().cursor.unwrap();
    tree.delete_session("").unwrap();
    assert_eq!(tree.export_lines(None, Some(&cursor), None).unwrap_err().kind, Kind::StaleCursor);
    assert_eq!(tree.export_lines(None, Some("garbage"), None).unwrap_err().kind, Kind::StaleCursor);
}

#[test]
fn bytes_of_a_message_survive_whatever_they_are() {
    let (_directory, mut tree) = store();
    let deep = format!("{}1{}", "[".repeat(126), "]".repeat(126));
    for (number, member) in [
        r#""s":"\u0000\ud83d\/\u2028""#.to_owned(),
        "\"s\":\"\u{2028}\u{2029}\u{feff}\u{7f}\"".to_owned(),
        r#""n":[18446744073709551616,1.0,1e3,-0]"#.to_owned(),
        r#""d":{"a":1,"a":2}"#.to_owned(),
        format!(r#""deep":{deep}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!(r#"{{"id":"m{number}","role":"user","parts":[],{member}}}"#);
        tree.append_message("", &text, &AppendOptions { parent: Parent::Root, ..AppendOptions::default() }).unwrap();
    }
    let out = exported(&mut tree, None);
    let (_directory, mut copy) = store();
    import_all(&mut copy, None, std::slice::from_ref(&out));
    assert_eq!(exported(&mut copy, None), out);
    append_under(&mut copy, "on", "m4");
}

#[test]
fn blocks_of_the_store_go_with_the_store_and_blocks_of_a_session_with_it() {
    let (_directory, mut tree) = store();
    append(&mut tree, "s", "m");
    let define = |tree: &mut super::common::Tree, label, scope, content: &str| {
        let content = Some(content.to_owned());
        tree.define_block("s", label, &BlockDefinition { scope, content, ..BlockDefinition::default() }).unwrap();
    };
    define(&mut tree, "shared", BlockScope::Store, "for all");
    define(&mut tree, "own", BlockScope::Session, "for one");
    let prompt = tree.system_prompt("s").unwrap();
    let block = |session: &str, label: &str, declared: u32, content: &str, created_at: i64| {
        format!(
            r#"{{"type":"block"{session},"label":"{label}","kind":"writable","whenChanged":"wait","declared":{declared},"version":1,"versions":[{{"version":1,"createdAt":{created_at}}}],"entries":[{{"born":1,"place":1,"content":"{content}"}}]}}"#
        )
    };
    let whole = exported(&mut tree, None);
    let lines: Vec<&str> = whole.lines().collect();
    let time = |tree: &mut super::common::Tree, label| tree.block_history("s", label).unwrap()[0].created_at;
    assert_eq!(lines[1], block("", "shared", 1, "for all", time(&mut tree, "shared")));
    assert_eq!(lines[4], block(r#","session":"s""#, "own", 2, "for one", time(&mut tree, "own")));
    assert!(lines[5].starts_with(r#"{"type":"prompt","session":"s","text":"#), "{}", lines[5]);
    let one = exported(&mut tree, Some("s"));
    assert!(!one.contains("shared\",\"kind\"") && one.contains(lines[4]));
    let (_directory, mut copy) = store();
    import_all(&mut copy, None, &[whole]);
    tree.write_block("s", "own", &BlockWrite { content: "later".to_owned(), ..BlockWrite::default() }).unwrap();
    assert_eq!(copy.system_prompt("s").unwrap(), prompt, "it is frozen there, too");
    assert_eq!(copy.get_block("s", "own").unwrap().content, "for one");
}
