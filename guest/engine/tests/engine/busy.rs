//! A second opener of the same file.

use talktree_engine::{AppendOptions, Kind, MediaMode};

use super::common::{append, kind, message, store};

#[test]
fn a_store_that_another_one_has_open_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = store(directory.path());
    append(&mut first, "", "a");
    let mut second = store(directory.path());
    assert_eq!(kind(second.get_latest_leaf("", MediaMode::Inline)), Kind::Busy);
    assert_eq!(kind(second.append_message("", &message("b", "hello"), &AppendOptions::default())), Kind::Busy);
    // Neither of the two is any the worse for it.
    append(&mut first, "", "c");
    first.close().unwrap();
    append(&mut second, "", "d");
    assert_eq!(second.get_latest_leaf("", MediaMode::Inline).unwrap().unwrap().seq, 3);
    assert_eq!(kind(first.get_latest_leaf("", MediaMode::Inline)), Kind::Busy);
}
