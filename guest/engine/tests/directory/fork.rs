//! Forks: paths that became sessions of their own.

use proptest::prelude::*;
use talktree_engine::{
    AppendOptions, ChangeOptions, ConfigScope, ConfigurationChange, DeleteMode, EventKind, HistoryView, ImportItem,
    Kind, MediaMode, Message, Parent, Setting, Source,
};

use super::common::{Opened, append, append_under, assert_sound, kind, message, store};

fn path(store: &mut Opened, session: &str, leaf: Option<&str>, overlays: bool) -> Vec<Message> {
    let view = HistoryView { leaf_id: leaf.map(str::to_owned), overlays, ..HistoryView::default() };
    store.get_history(session, &view).unwrap()
}

/// What a fork keeps of messages: all but their places in the session, and the ids of summaries.
fn kept(messages: Vec<Message>) -> Vec<(String, i64, u64, u32)> {
    messages
        .into_iter()
        .map(|message| {
            let mut json: serde_json::Value = serde_json::from_str(&message.json).unwrap();
            if message.id.starts_with("compaction_") {
                json["id"] = "compaction".into();
                json["metadata"]["compaction"]["id"] = "id".into();
            }
            (json.to_string(), message.created_at, message.bytes, message.token_estimate)
        })
        .collect()
}

#[test]
fn a_fork_is_the_path_in_a_session_of_its_own() {
    let (_directory, mut store) = store();
    let item = |id: &str, parent: Option<&str>, created_at| ImportItem {
        message: message(id, id),
        parent_id: parent.map(str::to_owned),
        created_at,
    };
    store
        .import_messages(
            "a",
            &[item("m1", None, 10), item("m2", Some("m1"), 5), item("x", Some("m1"), 6), item("m3", Some("m2"), 20)],
        )
        .unwrap();
    append_under(&mut store, "a", "y", "m2");
    store.set_title("a", Some("title"), true).unwrap();
    let change = ConfigurationChange { protect_head: Setting::Value(7), ..ConfigurationChange::default() };
    store.configure(&ConfigScope::Session("a".to_owned()), &change).unwrap();
    let before = path(&mut store, "a", Some("m3"), true);
    assert_eq!(store.fork_session("a", Some("m3"), "b").unwrap(), 3);
    let copy = path(&mut store, "b", None, true);
    assert_eq!(copy.iter().map(|message| message.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(copy[2].parent_id.as_deref(), Some("m2"));
    assert_eq!(kept(copy), kept(before.clone()));
    let entry = store.session_info("b").unwrap();
    assert_eq!((entry.title.as_deref(), entry.title_automatic, entry.messages), (Some("title"), true, 3));
    let scope = ConfigScope::Session("b".to_owned());
    assert_eq!(store.configure(&scope, &ConfigurationChange::default()).unwrap().protect_head, 7);
    // Neither knows of the other.
    append(&mut store, "b", "m4");
    store.update_message("b", &message("m1", "changed"), Source::Server).unwrap();
    store.delete_messages("b", &["m2".to_owned()], DeleteMode::Splice, false).unwrap();
    assert_eq!(path(&mut store, "a", Some("m3"), true), before);
    assert_eq!(store.list_messages("b", None, None).unwrap().items.len(), 3);
    assert_sound(&mut store);
}

#[test]
fn a_fork_of_what_is_not_there_or_to_what_is_there_is_refused() {
    let (_directory, mut store) = store();
    assert_eq!(kind(store.fork_session("a", None, "b")), Kind::UnknownSession);
    append(&mut store, "a", "m1");
    append(&mut store, "b", "m1");
    assert_eq!(kind(store.fork_session("a", None, "b")), Kind::InvalidArgument);
    assert_eq!(kind(store.fork_session("a", None, "a")), Kind::InvalidArgument);
    assert_eq!(kind(store.fork_session("a", Some("x"), "c")), Kind::UnknownMessage);
    assert_eq!(kind(store.fork_session("a", None, &"c".repeat(1025))), Kind::InvalidArgument);
    assert_eq!(kind(store.session_info("c")), Kind::UnknownSession);
    // Nothing is a path as well.
    store.clear_messages("a").unwrap();
    assert_eq!(store.fork_session("a", None, "c").unwrap(), 0);
    assert_eq!(store.session_info("c").unwrap().messages, 0);
    append(&mut store, "c", "m1");
    assert_eq!(store.get_latest_leaf("c", MediaMode::Inline).unwrap().unwrap().seq, 1);
    assert_sound(&mut store);
}

#[test]
fn the_present_leaf_is_forked_even_if_it_was_chosen() {
    let (_directory, mut store) = store();
    append(&mut store, "a", "m1");
    append(&mut store, "a", "m2");
    append_under(&mut store, "a", "x", "m1");
    store.set_leaf("a", Some("m2")).unwrap();
    store.fork_session("a", None, "b").unwrap();
    assert_eq!(store.get_latest_leaf("b", MediaMode::Inline).unwrap().unwrap().id, "m2");
    store.fork_session("b", None, "c").unwrap();
    assert_eq!(kept(path(&mut store, "c", None, true)), kept(path(&mut store, "a", None, true)));
}

#[test]
fn payloads_are_shared_and_large_texts_copied() {
    let (_directory, mut store) = store();
    let image = format!("data:image/png;base64,{}", "AAAA".repeat(200_000));
    let file = format!(r#"{{"type":"file","mediaType":"image/png","url":"{image}"}}"#);
    let media = format!(
        r#"{{"id":"i","role":"user","parts":[{file},{file},{{"type":"text","text":"{}"}}]}}"#,
        "x".repeat(700_000)
    );
    store.append_message("a", &media, &AppendOptions::default()).unwrap();
    append(&mut store, "a", "m");
    let before = store.stats().unwrap().bytes;
    store.fork_session("a", None, "b").unwrap();
    assert_eq!(store.get_message("b", "i", MediaMode::Inline).unwrap().unwrap().json, media);
    let after = store.stats().unwrap().bytes;
    assert_eq!(after.media_bytes, before.media_bytes);
    assert_sound(&mut store);
    store.delete_session("a").unwrap();
    assert_eq!(store.get_message("b", "i", MediaMode::Inline).unwrap().unwrap().json, media);
    assert_eq!(store.stats().unwrap().bytes.media_bytes, before.media_bytes);
    store.delete_session("b").unwrap();
    assert_eq!(store.stats().unwrap().bytes.media_bytes, 0);
    assert_sound(&mut store);
}

#[test]
fn a_fork_is_one_event() {
    let (_directory, mut store) = store();
    append(&mut store, "a", "m1");
    append(&mut store, "a", "m2");
    let cursor = store.changes(&ChangeOptions::default()).unwrap().cursor;
    store.fork_session("a", None, "b").unwrap();
    append(&mut store, "b", "m3");
    append(&mut store, "a", "m3");
    store.delete_messages("b", &["m1".to_owned(), "m3".to_owned()], DeleteMode::Splice, false).unwrap();
    let page = store.changes(&ChangeOptions { cursor: Some(cursor), ..ChangeOptions::default() }).unwrap();
    let told: Vec<_> = page.events.iter().map(|event| (event.kind, event.session_id.as_str())).collect();
    let expected = [
        (EventKind::SessionChanged, "b"),
        (EventKind::Appended, "b"),
        (EventKind::Appended, "a"),
        (EventKind::Deleted, "b"),
    ];
    assert_eq!(told, expected);
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize),
    Compact(usize, usize),
    Delete(usize, bool),
    Update(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..8_usize).prop_map(Step::Append),
        3 => (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(first, last)| Step::Compact(first.index(30), last.index(30))),
        2 => (0..30_usize, any::<bool>()).prop_map(|(which, subtree)| Step::Delete(which, subtree)),
        1 => (0..30_usize).prop_map(Step::Update),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_reads_as_the_path_did_with_its_summaries(steps in steps()) {
        let (_directory, mut store) = store();
        let mut written: Vec<String> = Vec::new();
        for step in &steps {
            let id = |which: usize| written.get(which % written.len().max(1)).cloned().unwrap_or_default();
            match step {
                Step::Append(back) => {
                    let back = id(written.len().saturating_sub(back + 1));
                    let new = format!("m{}", written.len());
                    let parent = if store.get_message("a", &back, MediaMode::Inline).unwrap().is_some() {
                        Parent::Id(back)
                    } else {
                        Parent::Latest
                    };
                    let options = AppendOptions { parent, ..AppendOptions::default() };
                    store.append_message("a", &message(&new, &new), &options).unwrap();
                    written.push(new);
                }
                Step::Compact(first, last) => drop(store.add_compaction("a", "a summary", &id(*first), &id(*last))),
                Step::Delete(which, subtree) => {
                    let mode = if *subtree && which % 3 == 0 { DeleteMode::Subtree } else { DeleteMode::Splice };
                    store.delete_messages("a", &[id(*which)], mode, false).unwrap();
                }
                Step::Update(which) => {
                    drop(store.update_message("a", &message(&id(*which), "another text"), Source::Server));
                }
            }
        }
        let mut leaves: Vec<Option<String>> = vec![None];
        leaves.extend(store.list_messages("a", None, Some(1000)).unwrap().items.into_iter().map(|node| Some(node.id)));
        if store.session_info("a").is_err() {
            return Ok(());
        }
        for compaction in store.get_compactions("a").unwrap() {
            leaves.push(Some(format!("compaction_{}", compaction.id)));
        }
        for (number, leaf) in leaves.iter().enumerate() {
            let fork = format!("fork {number}");
            let raw = path(&mut store, "a", leaf.as_deref(), false);
            assert_eq!(store.fork_session("a", leaf.as_deref(), &fork).unwrap() as usize, raw.len());
            assert_eq!(kept(path(&mut store, &fork, None, false)), kept(raw));
            let shown = path(&mut store, "a", leaf.as_deref(), true);
            assert_eq!(kept(path(&mut store, &fork, None, true)), kept(shown));
        }
        assert_sound(&mut store);
    }
}
