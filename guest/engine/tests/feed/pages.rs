//! How much a page holds, and how much one call looks at.

use talktree_engine::{
    AppendOptions, ChangeOptions, ConfigScope, ConfigurationChange, DeleteMode, EventKind, Parent, Setting, Summary,
};

use super::model::{Modelled, message};

#[test]
fn a_page_holds_at_most_four_mebibytes_or_one_event() {
    let mut modelled = Modelled::new(None);
    let mebibyte = "x".repeat(1024 * 1024);
    for number in 0..6 {
        modelled.append("", &format!("m{number}"), Parent::Latest);
        modelled.update("", &format!("m{number}"), &mebibyte);
    }
    modelled.append("", "large", Parent::Latest);
    modelled.update("", "large", &mebibyte.repeat(9));
    modelled.append("", "small", Parent::Latest);
    let mut options = ChangeOptions { limit: Some(1000), ..ChangeOptions::default() };
    let mut told = Vec::new();
    let mut alone = 0;
    loop {
        let page = modelled.store.changes(&options).unwrap();
        if page.events.is_empty() {
            break;
        }
        let bytes: usize = page.events.iter().filter_map(|event| event.message.as_ref()).map(String::len).sum();
        assert!(bytes <= 4 * 1024 * 1024 || page.events.len() == 1, "{bytes}");
        alone += usize::from(bytes > 4 * 1024 * 1024);
        told.extend(page.events);
        options.cursor = Some(page.cursor);
    }
    // Its append and its update both show it as it is now.
    assert_eq!(alone, 2);
    modelled.check_all(&told, 0, &ChangeOptions::default());
}

#[test]
fn a_delete_of_many_messages_names_them_all_by_seq() {
    let mut modelled = Modelled::new(None);
    for start in (0..20_000).step_by(10_000) {
        let ids: Vec<String> = (start..start + 10_000).map(|number| format!("message number {number}")).collect();
        modelled.append_chain("", &ids);
    }
    modelled.append("", "branch", Parent::Id("message number 4".to_owned()));
    let end = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    assert_ne!(end, "f0");
    modelled.delete("", &["message number 3".to_owned()], DeleteMode::Subtree, false);
    modelled.reopen();
    let options = ChangeOptions { kinds: vec![EventKind::Deleted], ..ChangeOptions::default() };
    let (told, _) = modelled.read(&options).unwrap();
    assert_eq!(told[0].ids.len(), 19_998);
    assert_eq!(told[0].ids.last().unwrap(), "branch");
    modelled.check_all(&told, 0, &options);
    let (told, _) = modelled.read(&ChangeOptions { limit: Some(1000), ..ChangeOptions::default() }).unwrap();
    modelled.check_all(&told, 0, &ChangeOptions::default());
}

#[test]
fn a_filtered_page_looks_at_some_thousands_of_events_and_moves_on() {
    let mut modelled = Modelled::new(None);
    for round in 0..3 {
        let ids: Vec<String> = (0..6_000).map(|number| format!("{round} {number}")).collect();
        modelled.append_chain("loud", &ids);
    }
    modelled.append("quiet", "m", Parent::Latest);
    let filters = [
        // One whose runs are skipped as a whole, and one that has to look at all messages.
        ChangeOptions { session: Some("quiet".to_owned()), ..ChangeOptions::default() },
        ChangeOptions { kinds: vec![EventKind::Imported, EventKind::Updated], ..ChangeOptions::default() },
    ];
    for (filter, pages) in filters.into_iter().zip([1, 4]) {
        let mut options = filter.clone();
        let mut read = 0;
        let mut told = Vec::new();
        loop {
            let page = modelled.store.changes(&options).unwrap();
            if options.cursor.as_ref() == Some(&page.cursor) {
                break;
            }
            read += 1;
            told.extend(page.events);
            options.cursor = Some(page.cursor);
        }
        assert_eq!(read, pages);
        modelled.check_all(&told, 0, &filter);
    }
}

#[test]
fn a_compaction_that_was_made_is_told_with_its_record() {
    let mut modelled = Modelled::new(None);
    let change = ConfigurationChange {
        protect_head: Setting::Value(0),
        min_tail: Setting::Value(1),
        keep_recent_tokens: Setting::Value(1),
        ..ConfigurationChange::default()
    };
    modelled.store.configure(&ConfigScope::Store, &change).unwrap();
    for number in 0..6 {
        let long = message(&format!("m{number}"), &"many words ".repeat(100));
        modelled.store.append_message("", &long, &AppendOptions::default()).unwrap();
    }
    let end = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
    let plan = modelled.store.prepare_compaction("", None).unwrap().unwrap();
    let blank = Summary { text: " ".to_owned(), truncated: false, input_tokens: None, output_tokens: None };
    modelled.store.commit_compaction("", &plan.token, &blank).unwrap_err();
    let summary = Summary { text: "short".to_owned(), ..blank };
    let made = modelled.store.commit_compaction("", &plan.token, &summary).unwrap();
    let page = modelled.store.changes(&ChangeOptions { cursor: Some(end), ..ChangeOptions::default() }).unwrap();
    let [told] = page.events.as_slice() else { panic!("{:?}", page.events) };
    assert_eq!((told.kind, &told.ids, &told.compaction), (EventKind::Compacted, &vec![made.id.clone()], &Some(made)));
}

#[test]
fn clearing_more_than_is_kept_keeps_the_newest() {
    let mut modelled = Modelled::new(Some(100));
    for session in ["a", "b"] {
        for start in 0..5 {
            let ids: Vec<String> = (start * 100..start * 100 + 100).map(|number| format!("m{number}")).collect();
            modelled.append_chain(session, &ids);
        }
    }
    modelled.append("a", "branch", Parent::Id("m7".to_owned()));
    modelled.clear("a");
    modelled.clear("b");
    let (told, _) = modelled.read(&ChangeOptions::default()).unwrap();
    assert!((100..=101).contains(&told.len()), "{}", told.len());
    modelled.check_all(&told, modelled.events.len() - told.len(), &ChangeOptions::default());
}
