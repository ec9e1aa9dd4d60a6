//! Compaction of a path: what is covered, what is shown, and that nothing is lost.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use talktree_engine::{
    AppendOptions, ConfigScope, ConfigurationChange, DeleteMode, Directory, HistoryView, Kind, Options, Parent,
    RecentOptions, Setting, Store, SummarizeError, Summary,
};

fn store() -> (tempfile::TempDir, Store<Directory>) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(Directory::new(directory.path()), Options::default());
    (directory, store)
}

fn message(id: &str, role: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

fn append(store: &mut Store<Directory>, id: &str, text: &str) {
    let role = if id.ends_with(|digit: char| digit.to_digit(10).is_some_and(|digit| digit % 2 == 0)) {
        "assistant"
    } else {
        "user"
    };
    assert!(store.append_message("", &message(id, role, text), &AppendOptions::default()).unwrap().inserted);
}

fn fork(store: &mut Store<Directory>, id: &str, parent: &str) {
    let options = AppendOptions { parent: Parent::Id(parent.to_owned()), ..AppendOptions::default() };
    store.append_message("", &message(id, "assistant", "fork"), &options).unwrap();
}

fn ids(store: &mut Store<Directory>, leaf: Option<&str>) -> Vec<String> {
    let view = HistoryView { leaf_id: leaf.map(str::to_owned), ..HistoryView::default() };
    let forward: Vec<String> = store.get_history("", &view).unwrap().into_iter().map(|message| message.id).collect();
    let mut backward: Vec<String> = store
        .get_history("", &HistoryView { newest_first: true, ..view })
        .unwrap()
        .into_iter()
        .map(|message| message.id)
        .collect();
    backward.reverse();
    assert_eq!(forward, backward);
    forward.into_iter().map(|id| if id.starts_with("compaction_") { "*".to_owned() } else { id }).collect()
}

fn configure(store: &mut Store<Directory>, keep: u32, after: Option<u32>) {
    let change = ConfigurationChange {
        keep_recent_tokens: Setting::Value(keep),
        compact_after: after.map_or(Setting::Keep, Setting::Value),
        ..ConfigurationChange::default()
    };
    store.configure(&ConfigScope::Session(String::new()), &change).unwrap();
}

const LONG: &str = "Alpha met beta there. Alpha met beta there. Alpha met beta there. Alpha met beta there. ";

fn twenty(store: &mut Store<Directory>) {
    for n in 1..=20 {
        append(store, &format!("m{n}"), &LONG.repeat(15));
    }
}

fn say(text: &str) -> Summary {
    Summary { text: text.to_owned(), ..Summary::default() }
}

#[test]
fn head_and_tail_stay_and_the_middle_is_summarised() {
    let (_directory, mut store) = store();
    configure(&mut store, 800, None);
    twenty(&mut store);
    let compaction = store.compact("", None, |_| Ok(say("All of it."))).unwrap().unwrap();
    assert_eq!(compaction.first_id, "m4");
    let shown = ids(&mut store, None);
    assert_eq!(shown[..4], ["m1", "m2", "m3", "*"]);
    assert_eq!(shown.last().unwrap(), "m20");
    assert!(shown.len() < 10);
    assert_eq!(store.get_history("", &HistoryView { overlays: false, ..HistoryView::default() }).unwrap().len(), 20);
    assert!(store.check().unwrap().sound);
}

#[test]
fn a_later_compaction_is_given_the_earlier_summary_and_covers_it() {
    let (_directory, mut store) = store();
    configure(&mut store, 800, None);
    twenty(&mut store);
    store.compact("", None, |_| Ok(say("The port is 8443."))).unwrap().unwrap();
    for n in 21..=30 {
        append(&mut store, &format!("m{n}"), &LONG.repeat(15));
    }
    let mut asked = String::new();
    let second = store
        .compact("", None, |request| {
            asked = request.prompt.clone();
            Ok(say("Both."))
        })
        .unwrap()
        .unwrap();
    assert!(asked.contains("The port is 8443."));
    assert_eq!(second.first_id, "m4");
    let all = store.get_compactions("").unwrap();
    assert_eq!(all[0].replaced_by.as_deref(), Some(second.id.as_str()));
    assert_eq!(all[1].replaced_by, None);
    assert!(store.remove_compaction("", &second.id).unwrap());
    assert_eq!(ids(&mut store, None).iter().filter(|id| *id == "*").count(), 1);
}

#[test]
fn a_long_range_is_covered_in_steps_that_fit_a_prompt() {
    let (_directory, mut store) = store();
    let change = ConfigurationChange {
        keep_recent_tokens: Setting::Value(800),
        max_prompt_tokens: Setting::Value(2500),
        ..ConfigurationChange::default()
    };
    store.configure(&ConfigScope::Store, &change).unwrap();
    twenty(&mut store);
    let mut steps = 0;
    store
        .compact("", None, |request| {
            steps += 1;
            assert!(talktree_engine::message::tokens::estimate(&request.prompt) <= 2500);
            Ok(say(&format!("Step {steps}.")))
        })
        .unwrap()
        .unwrap();
    assert!(steps > 1, "{steps}");
    assert_eq!(ids(&mut store, None).iter().filter(|id| *id == "*").count(), 1);
    assert!(store.prepare_compaction("", None).unwrap().is_none());
}

#[test]
fn a_fork_inside_sees_the_originals_and_one_behind_inherits() {
    let (_directory, mut store) = store();
    for n in 1..=6 {
        append(&mut store, &format!("m{n}"), "x");
    }
    store.add_compaction("", "S", "m2", "m4").unwrap();
    fork(&mut store, "f1", "m3");
    fork(&mut store, "f2", "m5");
    assert_eq!(ids(&mut store, Some("f1")), ["m1", "m2", "m3", "f1"]);
    assert_eq!(ids(&mut store, Some("f2")), ["m1", "*", "m5", "f2"]);
    let deleted = store.delete_messages("", &["m4".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(deleted.summaries.len(), 1);
    assert_eq!(ids(&mut store, Some("f1")), ["m1", "m2", "m3", "f1"]);
    assert_eq!(ids(&mut store, Some("m6")), ["m1", "*", "m5", "m6"]);
    let view = HistoryView { leaf_id: Some("m6".to_owned()), ..HistoryView::default() };
    assert!(store.get_history("", &view).unwrap()[1].json.contains(r#""lastId":"m3","count":2"#));
    store.delete_messages("", &["m2".to_owned(), "m3".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(ids(&mut store, Some("m6")), ["m1", "m5", "m6"]);
    assert_eq!(store.get_compactions("").unwrap(), []);
    assert!(store.check().unwrap().sound);
}

#[test]
fn what_hangs_on_nothing_any_more_does_not_keep_a_place() {
    let (_directory, mut store) = store();
    for n in 1..=4 {
        append(&mut store, &format!("m{n}"), "x");
    }
    store.add_compaction("", "S", "m2", "m4").unwrap();
    store.delete_messages("", &["m4".to_owned()], DeleteMode::Splice, false).unwrap();
    fork(&mut store, "f", "m3");
    assert_eq!(ids(&mut store, Some("f")), ["m1", "*", "f"]);
    append(&mut store, "m5", "x");
    assert_eq!(ids(&mut store, None), ["m1", "*", "f", "m5"]);
}

#[test]
fn a_summary_goes_with_the_branch_that_had_it() {
    let (_directory, mut store) = store();
    append(&mut store, "m1", "x");
    append(&mut store, "m2", "x");
    // A branch, so that the run ends on another chain than it begins on.
    fork(&mut store, "b1", "m1");
    append(&mut store, "b2", "x");
    append(&mut store, "b3", "x");
    store.add_compaction("", "S", "m1", "b2").unwrap();
    store.delete_messages("", &["b2".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(ids(&mut store, Some("b3")), ["*", "b3"]);
    assert_eq!(ids(&mut store, Some("b1")), ["m1", "b1"]);
    store.delete_messages("", &["b1".to_owned()], DeleteMode::Subtree, false).unwrap();
    // The other branch never had it.
    assert_eq!(ids(&mut store, Some("m2")), ["m1", "m2"]);
    assert_eq!(store.get_compactions("").unwrap(), []);
}

#[test]
fn of_overlapping_overlays_the_larger_is_shown() {
    let (_directory, mut store) = store();
    for n in 1..=10 {
        append(&mut store, &format!("m{n}"), "x");
    }
    store.add_compaction("", "A", "m2", "m6").unwrap();
    store.add_compaction("", "B", "m5", "m7").unwrap();
    store.add_compaction("", "C", "m8", "m9").unwrap();
    assert_eq!(ids(&mut store, None), ["m1", "*", "m7", "*", "m10"]);
    assert_eq!(ids(&mut store, Some("m5")), ["m1", "m2", "m3", "m4", "m5"]);
}

#[test]
fn totals_count_what_is_shown() {
    let (_directory, mut store) = store();
    configure(&mut store, 800, None);
    twenty(&mut store);
    store.compact("", None, |_| Ok(say("Short."))).unwrap();
    let all = store.get_history("", &HistoryView::default()).unwrap();
    let options = RecentOptions { max_bytes: 1 << 20, leaf_id: None, overlays: true, media: Default::default() };
    let recent = store.get_recent_history("", &options).unwrap();
    assert_eq!(recent.messages, all);
    assert!(!recent.truncated);
    assert_eq!(recent.total_content_bytes, all.iter().map(|message| message.bytes).sum::<u64>());
    assert!(all.iter().all(|message| message.bytes == message.json.len() as u64));
}

#[test]
fn a_refused_summary_changes_nothing_and_makes_automatic_attempts_wait() {
    let (_directory, mut store) = store();
    configure(&mut store, 800, Some(1000));
    twenty(&mut store);
    let due = |store: &mut Store<Directory>, id: &str| {
        let message = message(id, "user", LONG);
        store.append_message("", &message, &AppendOptions::default()).unwrap().compaction_due
    };
    assert!(due(&mut store, "a"));
    for bad in ["  ".to_owned(), LONG.repeat(1000)] {
        let error = store.compact("", None, |_| Ok(say(&bad))).unwrap_err();
        assert_eq!(error.kind, Kind::NoProgress);
    }
    let error = store.compact("", None, |_| Err(SummarizeError::Unavailable("off".to_owned()))).unwrap_err();
    assert_eq!(error.kind, Kind::SummarizerFailed);
    assert_eq!(store.get_compactions("").unwrap(), []);
    assert!(!due(&mut store, "b"));
    append(&mut store, "c", &LONG.repeat(20));
    assert!(due(&mut store, "d"));
    store.compact("", None, |_| Ok(say("Fine."))).unwrap().unwrap();
}

#[test]
fn a_plan_does_not_survive_what_it_covers() {
    let (directory, mut store) = store();
    configure(&mut store, 800, None);
    twenty(&mut store);
    let plan = store.prepare_compaction("", None).unwrap().unwrap();
    assert!(plan.prompt.contains("beta"));
    // Neither an append nor a restart is in its way.
    append(&mut store, "m21", "x");
    drop(store);
    let mut store = Store::new(Directory::new(directory.path()), Options::default());
    let again = store.prepare_compaction("", None).unwrap().unwrap();
    store.update_message("", &message("m5", "user", "edited"), Default::default()).unwrap();
    for token in [&plan.token, &again.token] {
        assert_eq!(store.commit_compaction("", token, &say("S")).unwrap_err().kind, Kind::PlanOutdated);
    }
    let plan = store.prepare_compaction("", None).unwrap().unwrap();
    store.commit_compaction("", &plan.token, &say("S")).unwrap();
    assert_eq!(store.commit_compaction("", &plan.token, &say("S")).unwrap_err().kind, Kind::PlanOutdated);
    assert_eq!(store.commit_compaction("", "forged", &say("S")).unwrap_err().kind, Kind::PlanOutdated);
}

#[test]
fn a_cursor_goes_on_with_the_overlays_of_its_first_page() {
    let (_directory, mut store) = store();
    for n in 1..=10 {
        append(&mut store, &format!("m{n}"), "x");
    }
    let first = store.add_compaction("", "A", "m3", "m4").unwrap();
    let options = talktree_engine::ReadOptions { batch_size: Some(2), ..Default::default() };
    let page = store.read_history("", &options, None).unwrap();
    store.add_compaction("", "B", "m2", "m8").unwrap();
    let second = store.read_history("", &options, page.cursor.as_deref()).unwrap();
    assert_eq!(second.items[0].id, format!("compaction_{}", first.id));
    assert_eq!(second.items[1].id, "m5");
    store.remove_compaction("", &first.id).unwrap();
    assert_eq!(store.read_history("", &options, second.cursor.as_deref()).unwrap_err().kind, Kind::StaleCursor);
}
