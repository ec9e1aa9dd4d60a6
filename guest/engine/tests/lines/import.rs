//! Lines that cannot be taken, and stores that are not empty.

use talktree_engine::{AppendOptions, HistoryView, Kind, LinesReport};

use super::common::{append, exported, failures, import_all, message, pages, store};

fn line(id: &str, parent: Option<&str>, seq: u32) -> String {
    let parent = parent.map(|parent| format!(r#""parentId":"{parent}","#)).unwrap_or_default();
    format!(
        r#"{{"type":"message","session":"s","seq":{seq},{parent}"createdAt":5,"message":{}}}"#,
        message(id, "hello")
    )
}

fn report(session: &str, imported: u32, skipped: u32) -> LinesReport {
    LinesReport { session_id: Some(session.to_owned()), imported, skipped, failed: Vec::new() }
}

#[test]
fn what_cannot_be_taken_is_reported_and_all_else_goes_in() {
    let (_directory, mut tree) = store();
    let lines = [
        r#"{"type":"talktree","version":1}"#.to_owned(),
        "no json".to_owned(),
        line("a", None, 1),
        line("b", Some("a"), 2)[..40].to_owned(),
        r#"{"type":"dream","session":"s"}"#.to_owned(),
        r#"{"type":"dream"}"#.to_owned(),
        line("c", Some("nobody"), 4),
        line("x", Some("y"), 5),
        line("y", Some("x"), 6),
        format!("{} {}", line("e", None, 7), line("f", None, 8)),
        r#"{"type":"message","session":"s","seq":9,"message":{"id":"g"}}"#.to_owned(),
        r#"{"type":"message","seq":9,"message":{"id":"g","role":"user","parts":[]}}"#.to_owned(),
        r#"{"type":"compaction","session":"s","id":"c1","firstId":"a","lastId":"b","createdAt":1,"summary":"S"}"#
            .to_owned(),
        "\0\0\0\0".to_owned(),
        String::new(),
        "\u{feff}  ".to_owned(),
        format!("{}\r", line("d", Some("a"), 20)),
        r#"{"type":"session"#.to_owned(),
    ];
    let reports = tree.import_lines(None, &lines.join("\n")).unwrap();
    let nobody = r#"its parent "nobody" is neither in the store nor among the lines that could be taken; it was stored below "a", the message before it"#;
    let circle = |parent| format!("its parent {parent:?} waits for it in turn: they answer each other in a circle");
    assert_eq!(
        failures(&reports),
        [
            (None, 2, "expected `{`: a line is one object, at byte 0"),
            (None, 6, r#"lines of the type "dream" are not known; a newer version may have written it"#),
            (None, 12, "`session` is missing"),
            (Some("s"), 4, "expected a string, the name of a member, at byte 40"),
            (Some("s"), 5, r#"lines of the type "dream" are not known; a newer version may have written it"#),
            (Some("s"), 7, nobody),
            (Some("s"), 8, &circle("y")),
            (Some("s"), 9, &circle("x")),
            (Some("s"), 10, &format!("something follows the object, at byte {}", line("e", None, 7).len() + 1)),
            (Some("s"), 11, "`role` is missing; it must be a string"),
            (Some("s"), 13, r#"the message "b" that it covers is not there"#),
            (Some("s"), 14, "expected `{`: a line is one object, at byte 0"),
            (Some("s"), 18, "a string has no end, at byte 8"),
        ]
    );
    let history = tree.get_history("s", &HistoryView::default()).unwrap();
    assert_eq!(history.iter().map(|message| (&*message.id, message.seq)).collect::<Vec<_>>(), [("a", 1), ("d", 20)]);
    assert!(tree.check().unwrap().sound);
}

#[test]
fn a_torn_line_costs_its_message_and_no_other() {
    let (_directory, mut tree) = store();
    let lines: Vec<String> = (1..=50_u32)
        .map(|seq| {
            let whole = line(&format!("m{seq}"), (seq > 1).then(|| format!("m{}", seq - 1)).as_deref(), seq);
            if seq == 11 { whole[..30].to_owned() } else { whole }
        })
        .chain([r#"{"type":"compaction","session":"s","id":"c1","firstId":"m5","lastId":"m20","createdAt":1,"summary":"S"}"#
            .to_owned()])
        .collect();
    let reports = tree.import_lines(None, &lines.join("\n")).unwrap();
    assert_eq!((reports[0].imported, reports[0].failed.len()), (49, 2), "{reports:?}");
    let raw = HistoryView { overlays: false, ..HistoryView::default() };
    let history = tree.get_history("s", &raw).unwrap();
    let expected: Vec<u32> = (1..=50).filter(|&seq| seq != 11).collect();
    assert_eq!(history.iter().map(|message| message.seq).collect::<Vec<_>>(), expected);
    assert_eq!(tree.get_compactions("s").unwrap().len(), 1);
    assert!(tree.check().unwrap().sound);
}

#[test]
fn a_message_may_stand_before_its_parent_in_one_call() {
    let (_directory, mut tree) = store();
    let mut lines: Vec<String> = (1..=20_000_u32)
        .map(|seq| {
            let parent = (seq > 1).then(|| format!("m{}", seq - 1));
            line(&format!("m{seq}"), parent.as_deref(), seq)
        })
        .collect();
    lines.reverse();
    let reports = tree.import_lines(None, &lines.join("\n")).unwrap();
    assert_eq!(reports, [report("s", 20_000, 0)]);
    assert_eq!(tree.get_history_row_stats("s", Some("m20000"), None, Some(1)).unwrap().items[0].id, "m1");
}

#[test]
fn what_is_there_already_stays() {
    let (_directory, mut tree) = store();
    for id in ["a", "b", "c"] {
        append(&mut tree, "s", id);
    }
    tree.set_title("s", Some("theirs"), true).unwrap();
    let out = exported(&mut tree, None);
    let (_directory, mut other) = store();
    append(&mut other, "s", "x");
    append(&mut other, "s", "b");
    other.set_title("s", Some("ours"), false).unwrap();
    let before = other.get_message("s", "b", talktree_engine::MediaMode::Inline).unwrap();
    assert_eq!(other.import_lines(None, &out).unwrap(), [report("s", 2, 1)]);
    assert_eq!(other.get_message("s", "b", talktree_engine::MediaMode::Inline).unwrap(), before);
    assert_eq!(other.session_info("s").unwrap().title.as_deref(), Some("ours"));
    // `a` could not have its seq any more, `c` could.
    let nodes = other.list_messages("s", None, None).unwrap().items;
    let seqs: Vec<(&str, u32, Option<&str>)> =
        nodes.iter().map(|node| (&*node.id, node.seq, node.parent_id.as_deref())).collect();
    assert_eq!(seqs, [("x", 1, None), ("b", 2, Some("x")), ("a", 3, None), ("c", 4, Some("b"))]);
    assert_eq!(other.import_lines(None, &out).unwrap(), [report("s", 0, 3)]);
}

#[test]
fn a_second_copy_of_a_session_gets_its_summaries_under_new_ids() {
    let (_directory, mut tree) = store();
    for id in ["a", "b", "c"] {
        append(&mut tree, "", id);
    }
    let first = tree.add_compaction("", "S", "a", "b").unwrap();
    let out = exported(&mut tree, Some(""));
    import_all(&mut tree, Some("copy"), &[out]);
    let copied = tree.get_compactions("copy").unwrap();
    assert_eq!((copied.len(), copied[0].summary.as_str(), copied[0].count), (1, "S", 2));
    assert_ne!(copied[0].id, first.id);
    assert_eq!(tree.get_history("copy", &HistoryView::default()).unwrap().len(), 2);
}

#[test]
fn lines_of_several_sessions_do_not_go_into_one() {
    let (_directory, mut tree) = store();
    append(&mut tree, "a", "m");
    append(&mut tree, "b", "m");
    let out = exported(&mut tree, None);
    let (directory, mut other) = store();
    let error = other.import_lines(Some("one"), &out).unwrap_err();
    assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("session")));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn an_export_of_another_version_is_refused_as_a_whole() {
    let (_directory, mut tree) = store();
    for header in
        [r#"{"type":"talktree","version":2}"#, r#"{"type":"talktree"}"#, r#"{"type":"talktree","version":"1"}"#]
    {
        let error = tree.import_lines(None, &format!("{header}\n{}", line("a", None, 1))).unwrap_err();
        assert_eq!((error.kind, error.subject.as_deref()), (Kind::InvalidArgument, Some("version")));
    }
    assert!(tree.list_sessions(None, None).unwrap().items.is_empty());
}

#[test]
fn an_import_that_broke_off_can_be_begun_again() {
    let (_directory, mut tree) = store();
    for number in 0..40 {
        append(&mut tree, ["", "b"][number % 2], &format!("m{number}"));
    }
    tree.set_leaf("", Some("m4")).unwrap();
    let out = pages(&mut tree, None, 700);
    let (_directory, mut copy) = store();
    import_all(&mut copy, None, &out[..out.len() / 2]);
    import_all(&mut copy, None, &out);
    assert_eq!(exported(&mut copy, None), out.concat());
    assert_eq!(copy.list_sessions(None, None).unwrap(), tree.list_sessions(None, None).unwrap());
}

#[test]
fn a_seq_that_leaves_no_room_does_not_stop_an_import() {
    let (_directory, mut tree) = store();
    let lines = [line("a", None, u32::MAX), line("b", Some("a"), 7), line("c", None, 0)].join("\n");
    let reports = tree.import_lines(None, &lines).unwrap();
    assert_eq!(reports[0].imported, 1);
    assert_eq!(
        failures(&reports),
        [(Some("s"), 2, "the session has no room for another message"), (Some("s"), 3, "`seq` is 0; the first is 1")]
    );
    assert_eq!(
        tree.append_message("s", &message("d", "x"), &AppendOptions::default()).unwrap_err().kind,
        Kind::OverLimit
    );
}

#[test]
fn a_summary_below_an_empty_place_is_exported_with_it_whatever_seq_the_place_can_have() {
    let place = |seq: u32| format!(r#"{{"type":"place","session":"s","seq":{seq},"parentId":"b"}}"#);
    let summary = |below: u32| {
        format!(
            r#"{{"type":"compaction","session":"s","id":"c","firstId":"a","lastId":"b","below":{below},"createdAt":7,"summary":"S"}}"#
        )
    };
    // Behind all messages; where a message is; before what it hangs on.
    for seq in [9, 3, 1] {
        let (_directory, mut tree) = store();
        let lines = [line("a", None, 1), line("b", Some("a"), 2), line("x", Some("a"), 3), place(seq), summary(seq)];
        assert!(failures(&tree.import_lines(None, &lines.join("\n")).unwrap()).is_empty());
        assert!(tree.check().unwrap().sound);
        let out = pages(&mut tree, None, 1 << 20);
        let (_directory, mut copy) = store();
        import_all(&mut copy, None, &out);
        assert_eq!(exported(&mut copy, None), out.concat(), "{seq}");
        assert_eq!(copy.get_compactions("s").unwrap(), tree.get_compactions("s").unwrap());
    }
}
