//! Stores whose rows say what no store says: each call that comes upon it answers `corrupt`, and `check` finds it.

use rusqlite::Connection;
use talktree_engine::{
    AppendOptions, BlockDefinition, ChangeOptions, Directory, Error, FILE_NAME, HistoryView, Kind, MediaMode, Result,
    SearchOptions, Store,
};

use super::common::{append_many, message, store};

/// A store with messages, a large one, a summary, a block and an index, one of whose rows is changed by these words.
fn changed(sql: &str) -> (tempfile::TempDir, Store<Directory>) {
    let directory = tempfile::tempdir().unwrap();
    let mut made = store(directory.path());
    append_many(&mut made, 0, 20);
    made.append_message("", &message("large", &"x".repeat(300_000)), &AppendOptions::default()).unwrap();
    let picture = "iVBORw0KGgoA".repeat(200);
    let file = format!(r#"{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{picture}"}}"#);
    let text = format!(r#"{{"id":"picture","role":"user","parts":[{file}]}}"#);
    made.append_message("", &text, &AppendOptions::default()).unwrap();
    made.add_compaction("", "in short", "m2", "m5").unwrap();
    let block = BlockDefinition { content: Some("text".to_owned()), ..BlockDefinition::default() };
    made.define_block("", "notes", &block).unwrap();
    made.system_prompt("").unwrap();
    assert_eq!(made.search("hello", &SearchOptions::default()).unwrap().items.len(), 20);
    made.close().unwrap();
    let connection = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
    (directory, made)
}

/// The errors of calls that read all that there is.
fn read(store: &mut Store<Directory>) -> Vec<Error> {
    let mut errors = Vec::new();
    fn note<T>(errors: &mut Vec<Error>, answer: Result<T>) {
        errors.extend(answer.err());
    }
    note(&mut errors, store.stats());
    note(&mut errors, store.get_history("", &HistoryView::default()));
    note(&mut errors, store.get_history("", &HistoryView { overlays: false, ..HistoryView::default() }));
    note(&mut errors, store.get_message("", "large", MediaMode::Inline));
    note(&mut errors, store.get_message("", "picture", MediaMode::Inline));
    note(&mut errors, store.list_messages("", None, Some(1000)));
    note(&mut errors, store.get_compactions(""));
    note(&mut errors, store.list_blocks(""));
    note(&mut errors, store.reminder(""));
    note(&mut errors, store.search("hello", &SearchOptions::default()));
    note(&mut errors, store.export_lines(None, None, None));
    let mut options = ChangeOptions::default();
    for _ in 0..100 {
        match store.changes(&options) {
            Ok(page) if options.cursor.as_ref() == Some(&page.cursor) => return errors,
            Ok(page) => options.cursor = Some(page.cursor),
            Err(error) => {
                errors.push(error);
                return errors;
            }
        }
    }
    panic!("the feed does not end");
}

#[test]
fn a_row_that_says_what_no_store_says_is_corrupt_and_never_other() {
    for sql in [
        "UPDATE message SET bytes = 9223372036854775807 WHERE id = 'm3'",
        "UPDATE message SET bytes = -9223372036854775807 WHERE id = 'large'",
        "UPDATE message SET bytes = 9007199254740000 WHERE id = 'picture'",
        "UPDATE session SET leaf = 1",
        "UPDATE session SET last_seq = -1",
        "UPDATE session SET bytes = 9223372036854775807, outside = -9223372036854775807",
        "UPDATE session SET rank = 9223372036854775807, last_event = 9223372036854775807",
        "UPDATE run SET chain = -1",
        "UPDATE overlay SET first = 7",
        "UPDATE event SET number = 9007199254740991 WHERE number = (SELECT max(number) FROM event)",
        "UPDATE event SET session = 77",
        "DROP TABLE run",
        "ALTER TABLE overlay RENAME COLUMN summary TO other",
        "DELETE FROM meta WHERE name LIKE 'search-%'",
        "UPDATE piece SET data = CAST(x'ff' || substr(data, 2) AS BLOB)",
    ] {
        let (_directory, mut damaged) = changed(sql);
        let errors = read(&mut damaged);
        assert!(!errors.is_empty(), "{sql} is not noticed");
        for error in errors {
            assert_eq!(error.kind, Kind::Corrupt, "{sql}: {error}");
        }
    }
}

#[test]
fn a_check_finds_everything_that_a_read_would_refuse_or_tell_wrongly() {
    for sql in [
        // Bytes of a text, of a large one and of a payload, all of the same length.
        "UPDATE message SET body = replace(body, '\"hello\"', '\"hello,') WHERE id = 'm3'",
        "UPDATE message SET id = 'another' WHERE id = 'm3'",
        "UPDATE message SET role = 'system' WHERE id = 'm3'",
        "UPDATE piece SET data = CAST(x'ff' || substr(data, 2) AS BLOB)",
        "UPDATE slice SET data = CAST(x'00' || substr(data, 2) AS BLOB)",
        "UPDATE chain SET depth = 1",
        "UPDATE message SET event = 1 WHERE id = 'm3'",
        "UPDATE message SET event = 9007199254740991 WHERE id = 'picture'",
        "UPDATE overlay SET count = 3",
        "UPDATE overlay SET last_id = 'm9'",
        "UPDATE overlay SET summary = 'another'",
        "UPDATE overlay SET place = last + 1",
        "UPDATE session SET overlays = 0",
        "UPDATE prompt SET text = 'another'",
        "UPDATE block SET kind = 'of no kind'",
        "UPDATE block SET key = 0",
        "UPDATE block SET bytes = 1",
        "INSERT INTO config VALUES (1, 'protect-head', 'many')",
        "UPDATE event SET kind = 99",
        "UPDATE event SET ids = x'ff'",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    ] {
        let (_directory, mut damaged) = changed(sql);
        let report = damaged.check().unwrap();
        assert!(!report.sound, "{sql} is not found");
    }
    let (_directory, mut whole) = changed("");
    assert!(whole.check().unwrap().sound);
}
