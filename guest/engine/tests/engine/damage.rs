//! Files that were damaged: the rest can be read, and nothing of it panics.

use talktree_engine::{AppendOptions, FILE_NAME, HistoryView, Kind, MediaMode, ReadOptions};

use super::common::{append_many, files, kind, message, store};

/// A closed store of 2,000 messages.
fn whole() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let mut made = store(directory.path());
    append_many(&mut made, 0, 2000);
    made.close().unwrap();
    files(directory.path()).remove(FILE_NAME).unwrap()
}

#[test]
fn a_store_that_was_cut_off_is_corrupt_and_left_alone() {
    let content = whole();
    for length in [content.len() / 2, content.len() - 4096, 8192, 5000, 4096, 600, 100, 99, 10] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE_NAME);
        std::fs::write(&file, &content[..length]).unwrap();
        let mut damaged = store(directory.path());
        let read = kind(damaged.get_history("", &HistoryView::default()));
        let written = kind(damaged.append_message("", &message("w", "hello"), &AppendOptions::default()));
        // Less than a header says nothing of whose it was.
        let expected = if length < 16 { Kind::NotAStore } else { Kind::Corrupt };
        assert_eq!((read, written), (expected, expected), "{length} bytes");
        drop(damaged);
        assert!(std::fs::read(&file).unwrap() == content[..length], "{length} bytes were changed");
    }
}

#[test]
fn what_is_not_damaged_can_still_be_read() {
    let mut content = whole();
    // The page of a message in the middle.
    let text = message("m1000", "hello");
    let at = content.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    let page = at / 4096;
    content[page * 4096..(page + 1) * 4096].fill(0x5a);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(FILE_NAME), &content).unwrap();
    let mut damaged = store(directory.path());
    let report = damaged.check().unwrap();
    assert!(!report.sound);
    assert!(!report.problems.is_empty() && report.problems.len() <= 100);
    assert_eq!(damaged.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().id, "m1999");
    let first = damaged.read_history("", &ReadOptions::default(), None).unwrap();
    assert_eq!(first.items.len(), 50);
    assert_eq!(kind(damaged.get_history("", &HistoryView::default())), Kind::Corrupt);
    // The one does not keep the others from being read.
    assert_eq!(damaged.get_message("", "m1999", MediaMode::Inline).unwrap().unwrap().seq, 2000);
}

#[test]
fn no_byte_that_changes_makes_a_call_panic() {
    let content = whole();
    // A fixed sequence of places and values: the same every time.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for _ in 0..300 {
        let mut content = content.clone();
        for _ in 0..=next(8) {
            // Half of the time near the beginning, where the roots of the tables are.
            let range = if next(2) == 0 { content.len() } else { 16 * 4096 };
            let at = next(range);
            content[at] = next(256) as u8;
        }
        let directory = tempfile::tempdir_in(if cfg!(target_os = "linux") { "/dev/shm" } else { "." }).unwrap();
        std::fs::write(directory.path().join(FILE_NAME), &content).unwrap();
        let mut damaged = store(directory.path());
        // Whatever they answer.
        let _ = damaged.check();
        let _ = damaged.get_latest_leaf("", MediaMode::Inline);
        let _ = damaged.get_history("", &HistoryView::default());
        let _ = damaged.list_messages("", None, Some(1000));
        let _ = damaged.get_history_row_stats("", Some("m1000"), None, Some(1000));
        let _ = damaged.append_message("", &message("w", "hello"), &AppendOptions::default());
        let _ = damaged.delete_messages("", &["m5".to_owned()], talktree_engine::DeleteMode::Subtree, false);
        let _ = damaged.close();
    }
}
