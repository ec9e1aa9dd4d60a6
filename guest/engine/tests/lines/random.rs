//! Random stores with everything in them: an import of an export cannot be told from the original.

use proptest::prelude::*;
use talktree_engine::{
    AppendOptions, AutoCompact, BlockDefinition, BlockKind, BlockScope, BlockWrite, ConfigScope, ConfigurationChange,
    DeleteMode, ImportItem, Parent, Setting, Source, WhenChanged, WriteAction,
};

use super::common::{Tree, exported, import_all, message, pages, store};
use super::reads::everything;

const SESSIONS: [&str; 3] = ["", "b", "a \u{2028}\"é"];

/// Labels of blocks.
const LABELS: [&str; 4] = ["soul", "memory", "skills", "notes é"];

/// One change of a store. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Change {
    Append { session: usize, parent: usize },
    Latest { session: usize },
    Under { session: usize, summary: usize },
    Import { session: usize, parent: usize, created_at: i64 },
    Media { session: usize, of: u8 },
    Cover { session: usize, last: usize, length: usize },
    Uncover { session: usize, summary: usize },
    Delete { session: usize, which: Vec<usize>, subtree: bool },
    Update { session: usize, which: usize },
    Leaf { session: usize, which: Option<usize> },
    Title { session: usize, automatic: bool },
    Configure { session: Option<usize>, number: u32 },
    Clear { session: usize },
    Block { session: usize, label: usize, kind: usize, shared: bool },
    Write { session: usize, label: usize, text: u8 },
    Restore { session: usize, label: usize },
    Remove { session: usize, label: usize },
    Prompt { session: usize },
    Load { session: usize, label: usize },
}

fn change() -> impl Strategy<Value = Change> {
    // Most happens in one session: there it comes to nested summaries whose places are deleted.
    let session = || prop_oneof![6 => Just(0_usize), 1 => 0..SESSIONS.len()];
    prop_oneof![
        8 => (session(), 0..100_usize).prop_map(|(session, parent)| Change::Append { session, parent }),
        12 => session().prop_map(|session| Change::Latest { session }),
        2 => (session(), 0..100_usize).prop_map(|(session, summary)| Change::Under { session, summary }),
        2 => (session(), 0..100_usize, -9_007_199_254_740_991..=9_007_199_254_740_991_i64)
            .prop_map(|(session, parent, created_at)| Change::Import { session, parent, created_at }),
        1 => (session(), 0..3_u8).prop_map(|(session, of)| Change::Media { session, of }),
        9 => (session(), 0..100_usize, 1..6_usize)
            .prop_map(|(session, last, length)| Change::Cover { session, last, length }),
        1 => (session(), 0..100_usize).prop_map(|(session, summary)| Change::Uncover { session, summary }),
        9 => (session(), prop::collection::vec(0..100_usize, 1..4), prop::bool::weighted(0.15))
            .prop_map(|(session, which, subtree)| Change::Delete { session, which, subtree }),
        2 => (session(), 0..100_usize).prop_map(|(session, which)| Change::Update { session, which }),
        2 => (session(), prop::option::of(0..100_usize)).prop_map(|(session, which)| Change::Leaf { session, which }),
        1 => (session(), any::<bool>()).prop_map(|(session, automatic)| Change::Title { session, automatic }),
        1 => (prop::option::of(session()), 1..100_000_u32)
            .prop_map(|(session, number)| Change::Configure { session, number }),
        1 => (1..SESSIONS.len()).prop_map(|session| Change::Clear { session }),
        3 => (session(), 0..LABELS.len(), 0..4_usize, any::<bool>())
            .prop_map(|(session, label, kind, shared)| Change::Block { session, label, kind, shared }),
        4 => (session(), 0..LABELS.len(), 0..3_u8).prop_map(|(session, label, text)| Change::Write { session, label, text }),
        1 => (session(), 0..LABELS.len()).prop_map(|(session, label)| Change::Restore { session, label }),
        1 => (session(), 0..LABELS.len()).prop_map(|(session, label)| Change::Remove { session, label }),
        1 => session().prop_map(|session| Change::Prompt { session }),
        1 => (session(), 0..LABELS.len()).prop_map(|(session, label)| Change::Load { session, label }),
    ]
}

fn ids(store: &mut Tree, session: &str) -> Vec<String> {
    store.list_messages(session, None, Some(1000)).unwrap().items.into_iter().map(|node| node.id).collect()
}

fn summaries(store: &mut Tree, session: &str) -> Vec<String> {
    store.get_compactions(session).unwrap().into_iter().map(|summary| summary.id).collect()
}

fn chosen<T: Clone>(among: &[T], number: usize) -> Option<T> {
    (!among.is_empty()).then(|| among[number % among.len()].clone())
}

fn apply(store: &mut Tree, change: &Change, number: usize) {
    let id = format!("m{number}");
    let append = |store: &mut Tree, session: usize, text: &str, parent: Parent| {
        let options = AppendOptions { parent, ..AppendOptions::default() };
        store.append_message(SESSIONS[session], text, &options).unwrap();
    };
    match change {
        Change::Append { session, parent } => {
            let parent = chosen(&ids(store, SESSIONS[*session]), *parent).map_or(Parent::Root, Parent::Id);
            append(store, *session, &message(&id, "one \\n two"), parent);
        }
        Change::Latest { session } => append(store, *session, &message(&id, "on"), Parent::Latest),
        Change::Under { session, summary } => {
            if let Some(summary) = chosen(&summaries(store, SESSIONS[*session]), *summary) {
                append(store, *session, &message(&id, "below"), Parent::Id(format!("compaction_{summary}")));
            }
        }
        Change::Import { session, parent, created_at } => {
            let parent_id = chosen(&ids(store, SESSIONS[*session]), *parent);
            let item = ImportItem { message: message(&id, "\\u0000\u{2028}"), parent_id, created_at: *created_at };
            store.import_message(SESSIONS[*session], &item).unwrap();
        }
        Change::Media { session, of } => {
            let data = "iVBORw0KGgoA".repeat(120 + usize::from(*of));
            let text = format!(
                r#"{{"id":"{id}","role":"user","parts":[{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{data}"}}]}}"#
            );
            append(store, *session, &text, Parent::Latest);
        }
        Change::Cover { session, last, length } => {
            let session = SESSIONS[*session];
            if let Some(last) = chosen(&ids(store, session), *last) {
                let rows = store.get_history_row_stats(session, Some(&last), None, Some(1000)).unwrap().items;
                let first = &rows[rows.len().saturating_sub(*length)].id;
                store.add_compaction(session, &format!("what {id} says"), first, &last).unwrap();
            }
        }
        Change::Uncover { session, summary } => {
            let session = SESSIONS[*session];
            if let Some(summary) = chosen(&summaries(store, session), *summary) {
                store.remove_compaction(session, &summary).unwrap();
            }
        }
        Change::Delete { session, which, subtree } => {
            let there = ids(store, SESSIONS[*session]);
            let which: Vec<String> = which.iter().filter_map(|&number| chosen(&there, number)).collect();
            let mode = if *subtree { DeleteMode::Subtree } else { DeleteMode::Splice };
            store.delete_messages(SESSIONS[*session], &which, mode, false).unwrap();
        }
        Change::Update { session, which } => {
            if let Some(which) = chosen(&ids(store, SESSIONS[*session]), *which) {
                let text = message(&which, "corrected, and longer than it was");
                store.update_message(SESSIONS[*session], &text, Source::Server).unwrap();
            }
        }
        Change::Leaf { session, which } => {
            let which = which.and_then(|number| chosen(&ids(store, SESSIONS[*session]), number));
            store.set_leaf(SESSIONS[*session], which.as_deref()).unwrap();
        }
        Change::Title { session, automatic } => {
            if store.session_info(SESSIONS[*session]).is_ok() {
                store.set_title(SESSIONS[*session], Some(&format!("About {id}")), *automatic).unwrap();
            }
        }
        Change::Configure { session, number } => {
            let scope =
                session.map_or(ConfigScope::Store, |session| ConfigScope::Session(SESSIONS[session].to_owned()));
            let change = ConfigurationChange {
                keep_recent_tokens: Setting::Value(*number),
                token_factor: Setting::Value(f64::from(*number) / 7000.0),
                auto_compact: Setting::Value(if number.is_multiple_of(2) {
                    AutoCompact::Off
                } else {
                    AutoCompact::Inline
                }),
                reserved_metadata_keys: Setting::Value(vec![id, "\"é".to_owned()]),
                ..ConfigurationChange::default()
            };
            store.configure(&scope, &change).unwrap();
        }
        Change::Clear { session } => {
            store.clear_messages(SESSIONS[*session]).unwrap();
        }
        Change::Block { session, label, kind, shared } => {
            let kinds = [BlockKind::ReadOnly, BlockKind::Writable, BlockKind::Searchable, BlockKind::Loadable];
            let definition = BlockDefinition {
                description: number.is_multiple_of(2).then(|| format!("what {id} is about")),
                max_tokens: number.is_multiple_of(3).then_some(1000),
                kind: kinds[*kind],
                scope: if *shared { BlockScope::Store } else { BlockScope::Session },
                when_changed: if number.is_multiple_of(2) { WhenChanged::Remind } else { WhenChanged::Wait },
                content: (*kind < 2 && !number.is_multiple_of(3)).then(|| id.clone()),
            };
            // A block of that label may be there with another kind or scope.
            let _ = store.define_block(SESSIONS[*session], LABELS[*label], &definition);
        }
        Change::Write { session, label, text } => {
            let Ok(block) = store.get_block(SESSIONS[*session], LABELS[*label]) else { return };
            let entries = matches!(block.kind, BlockKind::Searchable | BlockKind::Loadable);
            let write = BlockWrite {
                content: ["", "\"é\u{2028}", "longer text\n"][usize::from(*text)].to_owned(),
                action: if number.is_multiple_of(2) { WriteAction::Append } else { WriteAction::Replace },
                key: entries.then(|| format!("key{}", number % 3)),
                title: (entries && number.is_multiple_of(2)).then(|| format!("title {id}")),
                version: None,
            };
            let _ = store.write_block(SESSIONS[*session], LABELS[*label], &write);
        }
        Change::Restore { session, label } => {
            if let Some(oldest) = store.block_history(SESSIONS[*session], LABELS[*label]).unwrap_or_default().last() {
                store.restore_block(SESSIONS[*session], LABELS[*label], oldest.version).unwrap();
            }
        }
        Change::Remove { session, label } => {
            store.remove_block(SESSIONS[*session], LABELS[*label]).unwrap();
        }
        Change::Prompt { session } => {
            store.system_prompt(SESSIONS[*session]).unwrap();
        }
        Change::Load { session, label } => {
            let arguments = format!(r#"{{"label":"{}","key":"key{}"}}"#, LABELS[*label], number % 3);
            store.call_tool(SESSIONS[*session], "load_context", &arguments).unwrap();
        }
    }
}

/// What can be read, with the list of sessions.
fn all_reads(store: &mut Tree) -> String {
    let sessions = store.list_sessions(None, None).unwrap().items;
    format!("{}{sessions:#?}", everything(store, &SESSIONS))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_import_of_an_export_is_the_original(
        changes in prop::collection::vec(change(), 1..50),
        max_bytes in prop_oneof![Just(1_u64), 100..2_000_u64, Just(1 << 20)],
    ) {
        let (_directory, mut original) = store();
        for (number, change) in changes.iter().enumerate() {
            apply(&mut original, change, number);
        }
        let out = pages(&mut original, None, max_bytes);
        let (_directory, mut copy) = store();
        import_all(&mut copy, None, &out);
        let whole = out.concat();
        prop_assert_eq!(&exported(&mut copy, None), &whole);
        prop_assert_eq!(all_reads(&mut copy), all_reads(&mut original), "{}", whole);
        let report = copy.check().unwrap();
        prop_assert!(report.sound, "{:?}", report);
        // Both go on in the same way.
        for session in SESSIONS {
            prop_assert_eq!(copy.system_prompt(session).unwrap(), original.system_prompt(session).unwrap());
            if original.session_info(session).is_ok() {
                for tree in [&mut original, &mut copy] {
                    tree.import_message(session, &ImportItem { message: message("next", "on"), parent_id: None, created_at: 1 }).unwrap();
                }
            }
        }
        prop_assert_eq!(everything(&mut copy, &SESSIONS), everything(&mut original, &SESSIONS));
        // A second import of the same changes nothing.
        let before = exported(&mut copy, None);
        import_all(&mut copy, None, &out);
        prop_assert_eq!(exported(&mut copy, None), before);
    }

    #[test]
    fn a_session_goes_into_another_one(changes in prop::collection::vec(change(), 1..30)) {
        let (_directory, mut original) = store();
        for (number, mut change) in changes.into_iter().enumerate() {
            if let Change::Block { shared, .. } = &mut change {
                // What belongs to the store does not come along.
                *shared = false;
            }
            apply(&mut original, &change, number);
        }
        if original.session_info("").is_err() {
            return Ok(());
        }
        let out = pages(&mut original, Some(""), 500);
        let (_directory, mut copy) = store();
        import_all(&mut copy, Some("elsewhere"), &out);
        let back = exported(&mut copy, Some("elsewhere")).replace(r#""session":"elsewhere""#, r#""session":"""#);
        prop_assert_eq!(back, out.concat());
        let expected = everything(&mut original, &[""]);
        // The store's own configuration is in force in the original.
        let reads = |text: &str| text.lines().filter(|line| !line.starts_with("Configuration")).skip(1).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(reads(&everything(&mut copy, &["elsewhere"])), reads(&expected));
    }
}
