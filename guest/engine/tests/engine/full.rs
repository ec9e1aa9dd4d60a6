//! A disk without room. It takes a file system of a given size, which only root can have made; elsewhere the same is
//! tried through the component.

use talktree_engine::{AppendOptions, HistoryView, Kind};

use super::common::{message, store};
use super::mount::Mount;

#[test]
fn a_full_disk_loses_nothing_and_the_store_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(directory.path(), "4m") else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let filler = directory.path().join("filler");
    std::fs::write(&filler, vec![1; 2 << 20]).unwrap();
    let mut opened = store(directory.path());
    let text = "x".repeat(20_000);
    let mut stored = 0;
    let refused = loop {
        let message = message(&format!("m{stored}"), &text);
        match opened.append_message("", &message, &AppendOptions::default()) {
            Ok(result) => assert!(result.inserted),
            Err(error) => break error,
        }
        stored += 1;
        assert!(stored < 1000, "4 MiB cannot hold this");
    };
    assert_eq!(refused.kind, Kind::StorageFull, "{refused}");
    assert!(stored > 5);
    let all_there = |store: &mut talktree_engine::Store<_>| {
        let history = store.get_history("", &HistoryView::default()).unwrap();
        let ids: Vec<String> = history.into_iter().map(|message| message.id).collect();
        assert_eq!(ids, (0..stored).map(|number| format!("m{number}")).collect::<Vec<_>>());
        assert!(store.check().unwrap().sound);
    };
    all_there(&mut opened);
    drop(opened);
    let mut again = store(directory.path());
    all_there(&mut again);
    std::fs::remove_file(&filler).unwrap();
    let retried = again.append_message("", &message(&format!("m{stored}"), &text), &AppendOptions::default()).unwrap();
    assert!(retried.inserted);
    again.close().unwrap();
    assert!(again.check().unwrap().sound);
}
