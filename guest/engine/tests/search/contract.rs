//! What is found and how it is shown, case by case.

use serde_json::json;
use talktree_engine::{AppendOptions, DeleteMode, ImportItem, Kind, SearchFields, SearchOptions, Source};

use super::common::{all, everything, ids, ids_with, message, page, say, store};

#[test]
fn words_phrases_and_beginnings_are_found_folded() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    say(&mut store, "", "a", "red green blue");
    say(&mut store, "", "b", "Deployed the café window");
    say(&mut store, "", "c", "blue red");
    say(&mut store, "", "d", "don't upgrade to v1.2.3, ask user@host for 50%");
    for (query, expected) in [
        ("red blue", vec!["a", "c"]),
        ("\"red green\"", vec!["a"]),
        ("\"red blue\"", vec![]),
        ("deploy", vec!["b"]),
        ("deploying cafe", vec!["b"]),
        ("CAFÉ", vec!["b"]),
        ("win*", vec!["b"]),
        ("deploye*", vec!["b"]),
        ("deploying*", vec![]),
        ("upgrades", vec!["d"]),
        ("1.2", vec![]),
        ("v1.2", vec!["d"]),
        ("2.3", vec!["d"]),
        ("don't", vec!["d"]),
        ("dont", vec![]),
        ("host.user", vec![]),
        ("50%", vec!["d"]),
        ("nothing here", vec![]),
        ("red nothing", vec![]),
    ] {
        assert_eq!(ids(&mut store, query), expected, "{query}");
    }
}

#[test]
fn scripts_without_spaces_are_found_by_any_characters() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    say(&mut store, "", "zh", "我们昨天讨论了部署窗口,决定周五");
    say(&mut store, "", "glued", "重跑gen后继续");
    say(&mut store, "", "ja", "東京タワーに行きました");
    say(&mut store, "", "ko", "결제 오류가 발생했습니다");
    say(&mut store, "", "th", "ฉันกินข้าวที่บ้าน");
    say(&mut store, "", "km", "ខ្ញុំស្រលាញ់អ្នក");
    say(&mut store, "", "lo", "ສະບາຍດີ");
    say(&mut store, "", "rare", "𠀀𠀁𠀂 plain");
    for (query, expected) in [
        ("部署", vec!["zh"]),
        ("部署窗口", vec!["zh"]),
        ("窗", vec!["zh"]),
        ("口", vec!["zh"]),
        ("周五", vec!["zh"]),
        ("五", vec!["zh"]),
        ("部长", vec![]),
        ("口决", vec![]),
        ("gen", vec!["glued"]),
        ("跑gen后", vec!["glued"]),
        ("跑 gen", vec!["glued"]),
        ("タワー", vec!["ja"]),
        ("ﾀﾜｰ", vec!["ja"]),
        ("東京", vec!["ja"]),
        ("결제", vec!["ko"]),
        ("류", vec!["ko"]),
        ("생했", vec!["ko"]),
        ("ข้าว", vec!["th"]),
        ("ก", vec!["th"]),
        ("ស្រលាញ់", vec!["km"]),
        ("ສະ", vec!["lo"]),
        ("𠀁", vec!["rare"]),
        ("𠀁𠀂", vec!["rare"]),
    ] {
        assert_eq!(ids(&mut store, query), expected, "{query}");
    }
}

#[test]
fn the_index_follows_every_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    for (id, text) in [("t1", "needle one"), ("t2", "two"), ("t3", "three"), ("t4", "four")] {
        say(&mut opened, "", id, text);
    }
    assert_eq!(ids(&mut opened, "needle"), ["t1"]);
    opened.update_message("", &message("t1", "user", "changed"), Source::Server).unwrap();
    assert_eq!(ids(&mut opened, "needle"), [""; 0]);
    assert_eq!(ids(&mut opened, "changed"), ["t1"]);
    say(&mut opened, "", "t5", "needle");
    say(&mut opened, "s2", "x", "needle");
    assert_eq!(ids(&mut opened, "needle"), ["t5", "x"]);
    let only = SearchOptions { session: Some("s2".to_owned()), ..SearchOptions::default() };
    assert_eq!(ids_with(&mut opened, "needle", &only), ["x"]);
    opened.add_compaction("", "S", "t2", "t4").unwrap();
    assert_eq!(ids(&mut opened, "three"), ["t3"]);
    opened.delete_messages("", &["t5".to_owned()], DeleteMode::Splice, false).unwrap();
    opened.clear_messages("s2").unwrap();
    opened.close().unwrap();
    let mut opened = store(directory.path());
    assert_eq!(ids(&mut opened, "needle"), [""; 0]);
    say(&mut opened, "s2", "y", "needle");
    assert_eq!(ids(&mut opened, "needle"), ["y"]);
    assert_eq!(opened.check().unwrap().problems, [""; 0]);
}

#[test]
fn tools_reasoning_and_summaries_are_found_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let parts = json!([
        {"type": "text", "text": "visible"},
        {"type": "tool-search", "toolCallId": "c", "input": {"query": "部署 haystack"}, "output": {"found": "needle"}},
        {"type": "reasoning", "text": "pondered"},
        {"type": "data-x", "data": "hidden"},
    ]);
    let first = json!({"id": "m", "role": "assistant", "parts": parts}).to_string();
    store.append_message("", &first, &AppendOptions::default()).unwrap();
    say(&mut store, "", "n", "other");
    let compaction = store.add_compaction("", "the gist of it", "m", "n").unwrap();
    let fields = |tools, reasoning, summaries| SearchOptions {
        fields: SearchFields { text: false, tools, reasoning, summaries },
        ..SearchOptions::default()
    };
    for query in ["haystack", "needle", "部署", "pondered", "hidden", "gist"] {
        assert_eq!(ids(&mut store, query), [""; 0], "{query}");
    }
    let found = page(&mut store, "haystack needle", &fields(true, false, false)).items;
    assert_eq!(found[0].snippet, "search input: query: 部署 [haystack] output: found: [needle]");
    assert_eq!(found[0].content, "visible");
    assert_eq!(page(&mut store, "ponder", &fields(false, true, false)).items[0].snippet, "[pondered]");
    assert_eq!(ids_with(&mut store, "visible", &fields(true, true, true)), [""; 0]);
    let found = page(&mut store, "gist", &fields(false, false, true)).items;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, format!("compaction_{}", compaction.id));
    assert_eq!((found[0].role.as_str(), found[0].seq), ("assistant", 2));
    assert_eq!((found[0].content.as_str(), found[0].snippet.as_str()), ("the gist of it", "the [gist] of it"));
    assert_eq!(ids_with(&mut store, "visible pondered", &everything()), ["m"]);
    store.remove_compaction("", &compaction.id).unwrap();
    assert_eq!(ids_with(&mut store, "gist", &everything()), [""; 0]);
    assert_eq!(store.check().unwrap().problems, [""; 0]);
}

#[test]
fn the_best_come_first_and_of_equal_ones_the_newest() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    for number in 0..30 {
        say(
            &mut store,
            if number % 2 == 0 { "" } else { "s" },
            &format!("m{number}"),
            &format!("common word number {number}"),
        );
    }
    say(&mut store, "", "best", "common common");
    let options = SearchOptions::default();
    let first = page(&mut store, "common", &options);
    assert_eq!(first.items.len(), 20);
    assert_eq!(first.items[0].id, "best");
    let order: Vec<&str> = first.items[1..4].iter().map(|result| result.id.as_str()).collect();
    assert_eq!(order, ["m29", "m28", "m27"]);
    assert!(first.items.windows(2).all(|pair| pair[0].score >= pair[1].score && pair[1].score > 0.0));
    let found = page(&mut store, "number 17", &options).items;
    assert_eq!(found.len(), 1);
    let result = &found[0];
    assert_eq!(
        (result.id.as_str(), result.session_id.as_str(), result.role.as_str(), result.seq),
        ("m17", "s", "user", 9)
    );
    assert_eq!((result.content.as_str(), result.content_truncated), ("common word number 17", false));
    assert_eq!(result.snippet, "common word [number] [17]");
}

#[test]
fn pages_hold_everything_once_whatever_is_appended_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    for number in 0..50 {
        say(&mut store, "", &format!("m{number}"), &format!("common {}", "filler ".repeat(number % 7)));
    }
    let mut options = SearchOptions { limit: Some(7), ..SearchOptions::default() };
    let mut seen = Vec::new();
    loop {
        let next = page(&mut store, "common", &options);
        seen.extend(next.items.into_iter().map(|result| result.id));
        say(&mut store, "", &format!("new{}", seen.len()), "common filler");
        let Some(cursor) = next.cursor else { break };
        options.cursor = Some(cursor);
    }
    assert_eq!(seen.len(), 50);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 50);
    // A cursor is good for the search that gave it.
    options.cursor = page(&mut store, "common", &SearchOptions { limit: Some(7), ..SearchOptions::default() }).cursor;
    assert_eq!(store.search("filler", &options).unwrap_err().kind, Kind::StaleCursor);
    let other = SearchOptions { role: Some("user".to_owned()), ..options.clone() };
    assert_eq!(store.search("common", &other).unwrap_err().kind, Kind::StaleCursor);
    let forged = SearchOptions { cursor: Some("q1.2.3.4.00000000".to_owned()), ..options };
    assert_eq!(store.search("common", &forged).unwrap_err().kind, Kind::StaleCursor);
}

#[test]
fn a_page_ends_exactly_where_the_results_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    for number in 0..6 {
        say(&mut store, "", &format!("m{number}"), "running");
    }
    // The index cannot tell `run` from what begins with `runn`.
    say(&mut store, "", "other", "run");
    for query in ["running", "runn*"] {
        let options = SearchOptions { limit: Some(3), ..SearchOptions::default() };
        let first = page(&mut store, query, &options);
        let second = page(&mut store, query, &SearchOptions { cursor: first.cursor, ..options });
        assert_eq!((first.items.len(), second.items.len()), (3, 3), "{query}");
        assert_eq!(second.cursor.is_some(), query == "running");
    }
}

#[test]
fn filters_narrow_by_session_role_and_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    for (id, role, created_at) in [("a", "user", 10), ("b", "assistant", 20), ("c", "user", 30)] {
        let message = message(id, role, "needle");
        store.import_message("s", &ImportItem { message, parent_id: None, created_at }).unwrap();
    }
    let options = SearchOptions::default;
    let mut found = |options: &SearchOptions| ids_with(&mut store, "needle", options);
    assert_eq!(found(&options()), ["a", "b", "c"]);
    assert_eq!(found(&SearchOptions { role: Some("user".to_owned()), ..options() }), ["a", "c"]);
    assert_eq!(found(&SearchOptions { after: Some(20), ..options() }), ["b", "c"]);
    assert_eq!(found(&SearchOptions { before: Some(20), ..options() }), ["a", "b"]);
    assert_eq!(found(&SearchOptions { after: Some(20), before: Some(20), ..options() }), ["b"]);
    assert_eq!(found(&SearchOptions { after: Some(21), before: Some(20), ..options() }), [""; 0]);
    assert_eq!(found(&SearchOptions { session: Some("s".to_owned()), ..options() }), ["a", "b", "c"]);
    assert_eq!(found(&SearchOptions { session: Some("t".to_owned()), ..options() }), [""; 0]);
    for limit in [0, 1001] {
        let options = SearchOptions { limit: Some(limit), ..options() };
        assert_eq!(store.search("needle", &options).unwrap_err().kind, Kind::InvalidArgument);
    }
}

#[test]
fn a_large_message_is_found_by_words_from_its_ends_and_phrases_across_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let mut text = String::from("alpha ");
    for number in 0..120_000 {
        text.push_str(&format!("w{number} "));
    }
    text.push_str("omega 部署\n");
    say(&mut store, "", "large", &text);
    say(&mut store, "", "small", "alpha omega");
    assert_eq!(ids(&mut store, "alpha omega"), ["large", "small"]);
    assert_eq!(ids(&mut store, "alpha w60000 w119999 部署"), ["large"]);
    for number in (0..119_000).step_by(9973) {
        let phrase: Vec<String> = (number..number + 250).map(|number| format!("w{number}")).collect();
        assert_eq!(ids(&mut store, &format!("\"{}\"", phrase.join(" "))), ["large"], "{number}");
    }
    assert_eq!(ids(&mut store, "\"w5 w7\""), [""; 0]);
    let found = page(&mut store, "w60000", &SearchOptions::default()).items;
    assert_eq!((found[0].content.len(), found[0].content_truncated), (64 * 1024, true));
    assert!(found[0].snippet.contains("w59999 [w60000] w60001"));
    store.update_message("", &message("large", "user", "alpha"), Source::Server).unwrap();
    assert_eq!(ids(&mut store, "omega"), ["small"]);
    assert_eq!(store.check().unwrap().problems, [""; 0]);
    store.update_message("", &message("large", "user", &text), Source::Server).unwrap();
    assert_eq!(ids(&mut store, "omega"), ["large", "small"]);
    store.delete_messages("", &["large".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(all(&mut store, "alpha", &SearchOptions::default()).len(), 1);
    assert_eq!(store.check().unwrap().problems, [""; 0]);
}
