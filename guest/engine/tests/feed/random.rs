//! Random operations, with restarts, random cursors, pages and filters.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use talktree_engine::{ChangeOptions, ConfigScope, ConfigurationChange, DeleteMode, EventKind, Parent, Setting};

use super::model::Modelled;

const KINDS: [EventKind; 6] = [
    EventKind::Appended,
    EventKind::Updated,
    EventKind::Deleted,
    EventKind::Cleared,
    EventKind::Imported,
    EventKind::SessionChanged,
];

#[derive(Debug, Clone)]
enum Operation {
    Append(Parent),
    Chain(u8),
    Import(Option<String>),
    Update(u8),
    Delete(Vec<String>, bool, bool),
    Clear,
    Title(Option<u8>, bool),
    DeleteSession,
    Fork(Option<String>, String),
    Compact(String),
    RemoveCompaction,
    SetLeaf(Option<String>),
    Configure,
    Reopen,
    Read { from: Option<prop::sample::Index>, limit: u32, one_session: bool, kinds: Vec<EventKind> },
}

fn ids() -> impl Strategy<Value = String> {
    (0..12_u8).prop_map(|number| format!("m{number}"))
}

fn sessions() -> impl Strategy<Value = String> {
    select(vec![String::new(), "a".to_owned(), "b".to_owned()])
}

fn operation() -> impl Strategy<Value = Operation> {
    let parent = prop_oneof![
        4 => Just(Parent::Latest),
        1 => Just(Parent::Root),
        2 => ids().prop_map(Parent::Id),
    ];
    prop_oneof![
        8 => parent.prop_map(Operation::Append),
        3 => (1..9_u8).prop_map(Operation::Chain),
        3 => prop::option::of(ids()).prop_map(Operation::Import),
        4 => (0..3_u8).prop_map(Operation::Update),
        4 => (prop::collection::vec(ids(), 1..4), any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(ids, subtree, dry)| Operation::Delete(ids, subtree, dry)),
        1 => Just(Operation::Clear),
        2 => (prop::option::of(0..2_u8), any::<bool>()).prop_map(|(title, automatic)| Operation::Title(title, automatic)),
        1 => Just(Operation::DeleteSession),
        2 => (prop::option::of(ids()), sessions()).prop_map(|(leaf, new)| Operation::Fork(leaf, new)),
        2 => ids().prop_map(Operation::Compact),
        1 => Just(Operation::RemoveCompaction),
        1 => prop::option::of(ids()).prop_map(Operation::SetLeaf),
        1 => Just(Operation::Configure),
        1 => Just(Operation::Reopen),
        3 => (
            prop::option::of(any::<prop::sample::Index>()),
            select(vec![1, 2, 3, 100]),
            any::<bool>(),
            subsequence(KINDS.to_vec(), 0..3),
        )
            .prop_map(|(from, limit, one_session, kinds)| Operation::Read { from, limit, one_session, kinds }),
    ]
}

fn run(modelled: &mut Modelled, session: &str, id: &str, operation: &Operation) {
    match operation {
        Operation::Append(parent) => modelled.append(session, id, parent.clone()),
        Operation::Chain(count) => {
            let ids: Vec<String> = (0..*count).map(|number| format!("m{number}")).collect();
            modelled.append_chain(session, &ids);
        }
        Operation::Import(parent) => modelled.import(session, id, parent.as_deref()),
        Operation::Update(text) => modelled.update(session, id, &format!("text {text}")),
        Operation::Delete(ids, subtree, dry_run) => {
            let mode = if *subtree { DeleteMode::Subtree } else { DeleteMode::Splice };
            modelled.delete(session, ids, mode, *dry_run);
        }
        Operation::Clear => modelled.clear(session),
        Operation::Title(title, automatic) => {
            let title = title.map(|title| format!("title {title}"));
            modelled.set_title(session, title.as_deref(), *automatic);
        }
        Operation::DeleteSession => modelled.delete_session(session),
        Operation::Fork(leaf, new) => modelled.fork(session, leaf.as_deref(), new),
        Operation::Compact(last) => modelled.add_compaction(session, id, last),
        Operation::RemoveCompaction => modelled.remove_compaction(session),
        Operation::SetLeaf(leaf) => drop(modelled.store.set_leaf(session, leaf.as_deref())),
        Operation::Configure => {
            let change = ConfigurationChange { protect_head: Setting::Value(1), ..ConfigurationChange::default() };
            modelled.store.configure(&ConfigScope::Session(session.to_owned()), &change).unwrap();
        }
        Operation::Reopen => modelled.reopen(),
        Operation::Read { from, limit, one_session, kinds } => {
            let mut options = ChangeOptions { limit: Some(*limit), ..ChangeOptions::default() };
            // The cursors of all events, and how many of the oldest have gone.
            let (all, end) = modelled.read(&options).unwrap();
            let gone = modelled.events.len() - all.len();
            modelled.check_all(&all, gone, &options);
            let mut first = gone;
            if let Some(from) = from
                && !all.is_empty()
            {
                let index = from.index(all.len());
                options.cursor = Some(all[index].cursor.clone());
                first = gone + index + 1;
            }
            options.session = one_session.then(|| session.to_owned());
            options.kinds.clone_from(kinds);
            let (told, last) = modelled.read(&options).unwrap();
            modelled.check_all(&told, first, &options);
            assert_eq!(last, end, "a filtered reading ends where all others do");
        }
    }
}

fn operations() -> impl Strategy<Value = Vec<(String, String, Operation)>> {
    prop::collection::vec((sessions(), ids(), operation()), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_event_is_told_once_and_in_order(operations in operations()) {
        let mut modelled = Modelled::new(None);
        let mut followed = Vec::new();
        let mut cursor = None;
        for (session, id, operation) in &operations {
            run(&mut modelled, session, id, operation);
            // Who follows gets each event when it is there.
            let (told, next) =
                modelled.read(&ChangeOptions { cursor: cursor.take(), ..ChangeOptions::default() }).unwrap();
            modelled.check_all(&told, followed.len(), &ChangeOptions::default());
            followed.extend(told);
            cursor = Some(next);
        }
        let (all, _) = modelled.read(&ChangeOptions::default()).unwrap();
        let cursors = |events: &[talktree_engine::Change]| events.iter().map(|event| event.cursor.clone()).collect::<Vec<_>>();
        assert_eq!(cursors(&all), cursors(&followed));
        assert_eq!(modelled.store.check().unwrap().problems, Vec::<String>::new());
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn who_comes_too_late_is_told_so_and_nobody_else(kept in 1..12_u32, operations in operations()) {
        let mut modelled = Modelled::new(Some(kept));
        let mut cursors: Vec<String> = Vec::new();
        let beginning = modelled.store.changes(&ChangeOptions::default()).unwrap().cursor;
        for (session, id, operation) in &operations {
            run(&mut modelled, session, id, operation);
            let (all, end) = modelled.read(&ChangeOptions::default()).unwrap();
            let gone = modelled.events.len() - all.len();
            modelled.check_all(&all, gone, &ChangeOptions::default());
            cursors.truncate(modelled.events.len() - all.len().min(modelled.events.len()));
            cursors.extend(all.iter().map(|event| event.cursor.clone()));
            assert_eq!(cursors.len(), modelled.events.len());
            // What no message tells is kept up to a number, and not far beyond.
            let told_by_messages = |index: usize| {
                let event = &modelled.events[index];
                let appended = matches!(event.kind, EventKind::Appended | EventKind::Imported);
                let life = event.ids.first().and_then(|id| modelled.alive.get(&(event.session.clone(), id.clone())));
                appended && life == event.life.as_ref()
            };
            let entries = (gone..modelled.events.len()).filter(|&index| !told_by_messages(index)).count();
            let ever = (0..modelled.events.len()).filter(|&index| !told_by_messages(index)).count();
            assert!(entries >= ever.min(kept as usize), "{entries} of {ever}");
            assert!(entries <= (kept + kept / 64) as usize, "{entries}");
            for (index, cursor) in cursors.iter().enumerate() {
                let page = modelled.store
                    .changes(&ChangeOptions { cursor: Some(cursor.clone()), ..ChangeOptions::default() })
                    .unwrap();
                assert_eq!(page.reset, index + 1 < gone, "{index} of {gone} that have gone");
                if page.reset {
                    assert_eq!(page.cursor, end);
                    assert!(page.events.is_empty());
                } else {
                    modelled.check_all(&page.events.clone(), index + 1, &ChangeOptions::default());
                }
            }
            let page = modelled.store
                .changes(&ChangeOptions { cursor: Some(beginning.clone()), ..ChangeOptions::default() })
                .unwrap();
            assert_eq!(page.reset, gone > 0);
        }
    }
}
