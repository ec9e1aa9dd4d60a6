//! The index after many writes of all kinds, after interruptions, and after something was erased.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;
use talktree_engine::{AppendOptions, DeleteMode, Directory, Durability, FILE_NAME, Options, Parent, Source, Store};

use super::common::{everything, ids, ids_with, message, say, store};

/// A word of the index: in which column and where of which message or summary.
type Instance = (String, String, String, i64);

/// Everything that the index says. Parts of one text are told apart by their order.
fn instances(directory: &Path) -> BTreeSet<Instance> {
    let connection = Connection::open(directory.join(FILE_NAME)).unwrap();
    connection
        .execute_batch("CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, 'search_words', 'instance')")
        .unwrap();
    let mut owner = connection
        .prepare("SELECT 'm' || message || 'o' || overlay FROM (SELECT coalesce(message, '') AS message, coalesce(overlay, '') AS overlay FROM search_part WHERE key = -?1)")
        .unwrap();
    let mut all = connection.prepare("SELECT term, doc, col, offset FROM temp.instances").unwrap();
    let rows = all
        .query_map([], |row| {
            let doc: i64 = row.get(1)?;
            let place = match doc {
                1.. => doc.to_string(),
                _ => owner.query_row([doc], |row| row.get(0)).optional()?.unwrap_or_default(),
            };
            Ok((row.get(0)?, place, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}

fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}

/// A word that stands in a message hundreds of times fills pages of the index by itself.
#[test]
fn an_index_of_words_that_fill_pages_stays_whole_while_messages_change_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let mut opened = Store::new(Directory::new(directory.path()), options);
    let mut state = 0x5eed_u64;
    let mut random = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut ids: Vec<String> = Vec::new();
    for write in 0..2_500 {
        let text = format!("t{write} {}", "word ".repeat(random(300)));
        let known = (!ids.is_empty()).then(|| random(ids.len()));
        match (random(20), known) {
            (0 | 1, Some(at)) => {
                opened.update_message("", &message(&ids[at], "user", &text), Source::Server).unwrap();
            }
            (2, Some(at)) => {
                let id = ids.swap_remove(at);
                opened.delete_messages("", &[id], DeleteMode::Splice, false).unwrap();
            }
            _ => {
                let id = format!("m{write}");
                say(&mut opened, "", &id, &text);
                ids.push(id);
            }
        }
        if random(25) == 0 {
            let found = opened.search("word", &everything());
            assert!(found.is_ok(), "at write {write}: {found:?}");
        }
    }
}

#[test]
fn the_index_equals_a_fresh_one_after_ten_thousand_random_writes() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let mut opened = Store::new(Directory::new(directory.path()), options);
    let mut state = 0x1234_5678_u64;
    let mut random = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let words = ["alpha", "betas", "deployed", "部署窗口", "gen后", "running", "δέλτα", "x"];
    let mut sessions: [Vec<String>; 4] = Default::default();
    let mut compactions: Vec<(usize, String)> = Vec::new();
    let mut next = 0;
    for write in 0..10_000 {
        let at = random(sessions.len());
        let session = format!("s{at}");
        let text: Vec<&str> = (0..1 + random(6)).map(|_| words[random(words.len())]).collect();
        let text = text.join(" ");
        let known = (!sessions[at].is_empty()).then(|| sessions[at][random(sessions[at].len())].clone());
        match (random(100), known) {
            (0, Some(_)) if write % 3 == 0 => {
                opened.clear_messages(&session).unwrap();
                sessions[at].clear();
                compactions.retain(|(of, _)| *of != at);
            }
            (1..=14, Some(id)) => {
                let parts = json!([{"type": "text", "text": text}, {"type": "tool-x", "toolCallId": "c", "output": words[random(8)]}]);
                let message = json!({"id": id, "role": "user", "parts": parts}).to_string();
                opened.update_message(&session, &message, Source::Server).unwrap();
            }
            (15..=19, Some(id)) => {
                opened.delete_messages(&session, std::slice::from_ref(&id), DeleteMode::Splice, false).unwrap();
                sessions[at].retain(|other| *other != id);
            }
            (20, Some(id)) => {
                opened.delete_messages(&session, &[id], DeleteMode::Subtree, false).unwrap();
                sessions[at].clear();
                let mut cursor = None;
                loop {
                    let nodes = opened.list_messages(&session, cursor.as_deref(), Some(1000)).unwrap();
                    sessions[at].extend(nodes.items.into_iter().map(|node| node.id));
                    cursor = nodes.cursor;
                    if cursor.is_none() {
                        break;
                    }
                }
            }
            (21..=23, Some(id)) => {
                if let Ok(made) = opened.add_compaction(&session, &text, &id, &id) {
                    compactions.push((at, made.id));
                }
            }
            (24, _) if !compactions.is_empty() => {
                let (of, id) = compactions.swap_remove(random(compactions.len()));
                opened.remove_compaction(&format!("s{of}"), &id).unwrap();
            }
            (_, known) => {
                let id = format!("m{next}");
                next += 1;
                let parent = match known {
                    Some(id) if random(5) == 0 => Parent::Id(id),
                    _ => Parent::Latest,
                };
                let options = AppendOptions { parent, ..AppendOptions::default() };
                opened.append_message(&session, &message(&id, "user", &text), &options).unwrap();
                sessions[at].push(id);
            }
        }
        if random(150) == 0 {
            opened.search(words[random(words.len())], &everything()).unwrap();
        }
    }
    opened.search("alpha", &everything()).unwrap();
    assert_eq!(opened.check().unwrap().problems, [""; 0]);
    opened.close().unwrap();
    let grown = instances(directory.path());
    let fresh = copy(directory.path());
    let connection = Connection::open(fresh.path().join(FILE_NAME)).unwrap();
    connection
        .execute_batch("DROP TABLE search_words; DROP TABLE search_part; DELETE FROM meta WHERE name GLOB 'search-*'")
        .unwrap();
    drop(connection);
    let mut rebuilt = store(fresh.path());
    let mut again = store(directory.path());
    for word in words {
        assert_eq!(ids_with(&mut again, word, &everything()), ids_with(&mut rebuilt, word, &everything()), "{word}");
    }
    rebuilt.close().unwrap();
    assert!(grown.len() > 2000, "{}", grown.len());
    assert!(grown == instances(fresh.path()), "the index differs from a fresh one");
}

#[test]
fn a_build_that_was_cut_short_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    for from in (0..12_000).step_by(4000) {
        let messages: Vec<String> =
            (from..from + 4000).map(|n| message(&format!("m{n}"), "user", &format!("needle number {n}"))).collect();
        opened.append_messages(&format!("s{from}"), &messages, &AppendOptions::default()).unwrap();
    }
    assert!(opened.update_index().unwrap());
    // What a killed instance leaves behind: the files as they are.
    let left = copy(directory.path());
    let mut opened = store(left.path());
    opened.delete_messages("s0", &["m7".to_owned()], DeleteMode::Splice, false).unwrap();
    opened.update_message("s8000", &message("m8000", "user", "changed"), Source::Server).unwrap();
    let mut steps = 1;
    while opened.update_index().unwrap() {
        steps += 1;
    }
    assert!(steps < 3, "{steps} more steps: it began again");
    assert_eq!(ids(&mut opened, "number 11999"), ["m11999"]);
    assert_eq!(ids(&mut opened, "needle").len(), 11_998);
    assert_eq!(ids(&mut opened, "changed"), ["m8000"]);
}

#[test]
fn what_was_deleted_leaves_no_byte_in_the_file_or_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    for number in 0..3000 {
        say(&mut opened, "", &format!("m{number}"), &format!("ordinary zsecret{number:04} words 密码{number}"));
    }
    say(&mut opened, "other", "stays", "ordinary");
    assert_eq!(ids(&mut opened, "zsecret0007"), ["m7"]);
    let compaction = opened.add_compaction("", "zsummary", "m1", "m2").unwrap();
    assert_eq!(ids_with(&mut opened, "zsummary", &everything()).len(), 1);
    let deleted: Vec<String> = (0..3000).filter(|number| number % 3 != 1).map(|number| format!("m{number}")).collect();
    opened.delete_messages("", &deleted, DeleteMode::Splice, false).unwrap();
    opened.remove_compaction("", &compaction.id).unwrap();
    assert_eq!(ids(&mut opened, "zsecret0006"), [""; 0]);
    assert_eq!(ids(&mut opened, "zsecret0007"), ["m7"]);
    assert_eq!(opened.check().unwrap().problems, [""; 0]);
    opened.vacuum().unwrap();
    opened.search("ordinary", &everything()).unwrap();
    for (name, bytes) in std::fs::read_dir(directory.path()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.clone(), std::fs::read(path).unwrap())
    }) {
        let holds = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        for number in (0..3000).step_by(150) {
            assert!(!holds(&format!("zsecret{number:04}")), "{number} in {}", name.display());
        }
        assert!(!holds("zsummary"), "{}", name.display());
    }
    assert_eq!(ids(&mut opened, "ordinary").len(), 1001);
}

#[test]
fn clearing_takes_words_out_at_once_whatever_the_share_of_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    for session in ["small", "large"] {
        let count = if session == "small" { 1200 } else { 2000 };
        let messages: Vec<String> =
            (0..count).map(|n| message(&format!("{session}{n}"), "user", &format!("{session} word"))).collect();
        opened.append_messages(session, &messages, &AppendOptions::default()).unwrap();
    }
    assert_eq!(ids(&mut opened, "word").len(), 3200);
    opened.clear_messages("small").unwrap();
    assert_eq!(ids(&mut opened, "small"), [""; 0]);
    assert_eq!(ids(&mut opened, "word").len(), 2000);
    say(&mut opened, "small", "again", "word");
    opened.clear_messages("large").unwrap();
    assert_eq!(ids(&mut opened, "word"), ["again"]);
    assert_eq!(opened.check().unwrap().problems, [""; 0]);
}
