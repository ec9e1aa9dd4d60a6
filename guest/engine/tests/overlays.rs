//! Random trees with overlays, deletes and forks, read in every way, against the slowest obvious model; and random tool
//! calls, of which no view shows one half.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use talktree_engine::{
    AppendOptions, ConfigScope, ConfigurationChange, DeleteMode, Directory, Durability, HistoryView, Kind, MediaMode,
    Message, Options, Parent, ReadOptions, RecentOptions, Setting, Store, Summary,
};

type Tree = Store<Directory>;

fn store() -> (tempfile::TempDir, Tree) {
    let directory = tempfile::tempdir().unwrap();
    // The disk is not what is tested here.
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Store::new(Directory::new(directory.path()), options);
    (directory, store)
}

/// A message of the model. One that was deleted stays as a place.
#[derive(Debug, Clone)]
struct Node {
    parent: Option<usize>,
    there: bool,
}

#[derive(Debug, Clone)]
struct Covering {
    id: String,
    covers: Vec<usize>,
    place: usize,
}

/// What semantics say, with everything looked at each time.
#[derive(Debug, Default)]
struct Model {
    nodes: Vec<Node>,
    /// Oldest first.
    overlays: Vec<Covering>,
}

impl Model {
    fn places_to(&self, leaf: usize) -> Vec<usize> {
        let mut places = vec![leaf];
        while let Some(parent) = self.nodes[*places.last().unwrap()].parent {
            places.push(parent);
        }
        places.reverse();
        places
    }

    fn path_to(&self, leaf: usize) -> Vec<usize> {
        self.places_to(leaf).into_iter().filter(|&node| self.nodes[node].there).collect()
    }

    fn there(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node].there).collect()
    }

    /// What a path shows: messages by their number, overlays by their id.
    fn shown(&self, leaf: usize) -> Vec<String> {
        let places = self.places_to(leaf);
        let mut candidates: Vec<(usize, &Covering)> =
            self.overlays.iter().enumerate().filter(|(_, overlay)| places.contains(&overlay.place)).collect();
        candidates.sort_by_key(|(age, overlay)| std::cmp::Reverse((overlay.covers.len(), *age)));
        let mut chosen: Vec<&Covering> = Vec::new();
        for (_, overlay) in candidates {
            if chosen.iter().all(|other| other.covers.iter().all(|node| !overlay.covers.contains(node))) {
                chosen.push(overlay);
            }
        }
        let mut shown = Vec::new();
        for node in self.path_to(leaf) {
            match chosen.iter().find(|overlay| overlay.covers.contains(&node)) {
                Some(overlay) if overlay.covers[0] == node => shown.push(format!("compaction_{}", overlay.id)),
                Some(_) => {}
                None => shown.push(name(node)),
            }
        }
        shown
    }

    fn delete(&mut self, gone: &[usize]) {
        for &node in gone {
            self.nodes[node].there = false;
        }
        for overlay in &mut self.overlays {
            overlay.covers.retain(|node| !gone.contains(node));
        }
        self.overlays.retain(|overlay| !overlay.covers.is_empty());
        // A place that nothing hangs on goes; the overlay then belongs to its last message, unless another branch begins
        // there that never had it.
        let needed: Vec<bool> = (0..self.nodes.len())
            .map(|place| self.there().iter().any(|&node| self.places_to(node).contains(&place)))
            .collect();
        let nodes = &self.nodes;
        self.overlays.retain_mut(|overlay| {
            while !needed[overlay.place] {
                let above = nodes[overlay.place].parent.unwrap();
                if (0..nodes.len()).any(|other| needed[other] && nodes[other].parent == Some(above)) {
                    return false;
                }
                overlay.place = above;
            }
            true
        });
    }

    fn below(&self, top: usize) -> Vec<usize> {
        self.there().into_iter().filter(|&node| self.path_to(node).contains(&top)).collect()
    }
}

fn name(node: usize) -> String {
    format!("m{node}")
}

fn text(node: usize) -> String {
    format!(r#"{{"id":"m{node}","role":"user","parts":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(node % 7 * 10))
}

#[derive(Debug, Clone)]
enum Step {
    Append(Option<prop::sample::Index>),
    Cover(prop::sample::Index, prop::sample::Index),
    Uncover(prop::sample::Index),
    Splice(Vec<prop::sample::Index>),
    Subtree(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Append(None)),
        3 => any::<prop::sample::Index>().prop_map(|at| Step::Append(Some(at))),
        4 => (any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(leaf, first)| Step::Cover(leaf, first)),
        1 => any::<prop::sample::Index>().prop_map(Step::Uncover),
        2 => proptest::collection::vec(any::<prop::sample::Index>(), 1..4).prop_map(Step::Splice),
        1 => any::<prop::sample::Index>().prop_map(Step::Subtree),
    ]
}

fn apply(store: &mut Tree, model: &mut Model, step: &Step) {
    let there = model.there();
    match step {
        Step::Append(at) => {
            let parent = match at {
                Some(at) if !there.is_empty() => Some(*at.get(&there)),
                _ => there.last().copied(),
            };
            let options = AppendOptions {
                parent: parent.map_or(Parent::Root, |parent| Parent::Id(name(parent))),
                ..AppendOptions::default()
            };
            let node = model.nodes.len();
            assert!(store.append_message("", &text(node), &options).unwrap().inserted);
            model.nodes.push(Node { parent, there: true });
        }
        Step::Cover(leaf, first) => {
            if there.is_empty() {
                return;
            }
            let path = model.path_to(*leaf.get(&there));
            let first = first.index(path.len());
            let covers = path[first..].to_vec();
            let last = *covers.last().unwrap();
            let made = store.add_compaction("", "S", &name(covers[0]), &name(last)).unwrap();
            assert_eq!(made.count as usize, covers.len());
            model.overlays.push(Covering { id: made.id, covers, place: last });
        }
        Step::Uncover(which) => {
            if !model.overlays.is_empty() {
                let overlay = model.overlays.remove(which.index(model.overlays.len()));
                assert!(store.remove_compaction("", &overlay.id).unwrap());
            }
        }
        Step::Splice(which) if !there.is_empty() => {
            let mut gone: Vec<usize> = which.iter().map(|at| *at.get(&there)).collect();
            gone.sort_unstable();
            gone.dedup();
            let mut summaries: Vec<String> = model
                .overlays
                .iter()
                .filter(|overlay| overlay.covers.iter().any(|node| gone.contains(node)))
                .map(|overlay| overlay.id.clone())
                .collect();
            let ids: Vec<String> = gone.iter().map(|&node| name(node)).collect();
            let mut answer = store.delete_messages("", &ids, DeleteMode::Splice, false).unwrap();
            answer.summaries.sort();
            summaries.sort();
            assert_eq!((answer.deleted as usize, answer.summaries), (gone.len(), summaries));
            model.delete(&gone);
        }
        Step::Subtree(which) if !there.is_empty() => {
            let gone = model.below(*which.get(&there));
            let id = name(*which.get(&there));
            let answer = store.delete_messages("", &[id], DeleteMode::Subtree, false).unwrap();
            assert_eq!(answer.deleted as usize, gone.len());
            model.delete(&gone);
        }
        Step::Splice(_) | Step::Subtree(_) => {}
    }
}

fn ids(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.id.clone()).collect()
}

/// Reads one path in every way, and compares.
fn compare(store: &mut Tree, model: &Model, leaf: usize, page: u32) {
    let expected = model.shown(leaf);
    let view = HistoryView { leaf_id: Some(name(leaf)), ..HistoryView::default() };
    let all = store.get_history("", &view).unwrap();
    assert_eq!(ids(&all), expected);
    let total: u64 = all.iter().map(|message| message.json.len() as u64).sum();
    for newest_first in [false, true] {
        let view = HistoryView { newest_first, ..view.clone() };
        let options = ReadOptions { view, batch_size: Some(page), max_batch_bytes: None };
        let (mut read, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.read_history("", &options, cursor.as_deref()).unwrap();
            assert!(!page.items.is_empty());
            read.extend(page.items);
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        if newest_first {
            read.reverse();
        }
        assert_eq!(read, all);
    }
    for budget in [0, total / 3, total / 2, total.saturating_sub(1), total] {
        let options =
            RecentOptions { max_bytes: budget, leaf_id: Some(name(leaf)), overlays: true, media: MediaMode::Inline };
        let recent = store.get_recent_history("", &options).unwrap();
        assert_eq!(recent.total_content_bytes, total);
        assert_eq!(recent.messages, all[all.len() - recent.messages.len()..]);
        assert_eq!(recent.truncated, recent.messages.len() < all.len());
        let bytes: u64 = recent.messages.iter().map(|message| message.bytes).sum();
        assert!(bytes <= budget || recent.messages.len() == 1);
        if let Some(next) = all.len().checked_sub(recent.messages.len() + 1).map(|next| &all[next]) {
            assert!(bytes + next.bytes > budget);
        }
    }
    for overlay in &model.overlays {
        // The id of an overlay stands for its place.
        let id = format!("compaction_{}", overlay.id);
        let view = HistoryView { leaf_id: Some(id), ..HistoryView::default() };
        assert_eq!(ids(&store.get_history("", &view).unwrap()), model.shown(overlay.place));
    }
}

#[test]
fn a_summary_of_what_stays_survives_when_several_branches_below_go_at_once() {
    let (_directory, mut store) = store();
    let parents = [None, Some(0), Some(1), Some(2), Some(1), Some(4)];
    for (node, parent) in parents.into_iter().enumerate() {
        let parent = parent.map_or(Parent::Root, |parent: usize| Parent::Id(name(parent)));
        let options = AppendOptions { parent, ..AppendOptions::default() };
        assert!(store.append_message("", &text(node), &options).unwrap().inserted);
    }
    let side = AppendOptions { parent: Parent::Id(name(1)), ..AppendOptions::default() };
    assert!(store.append_message("", &text(6), &side).unwrap().inserted);
    let id = store.add_compaction("", "S", &name(0), &name(6)).unwrap().id;
    store.delete_messages("", &[name(1)], DeleteMode::Subtree, false).unwrap();
    let left = store.get_compactions("").unwrap();
    assert_eq!(left.iter().map(|made| (&*made.id, made.count)).collect::<Vec<_>>(), [(&*id, 1)]);
    assert_eq!(ids(&store.get_history("", &HistoryView::default()).unwrap()), [format!("compaction_{id}")]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_reader_sees_the_same_overlays(steps in proptest::collection::vec(step(), 1..60), page in 1..5_u32) {
        let (_directory, mut store) = store();
        let mut model = Model::default();
        for (n, step) in steps.iter().enumerate() {
            apply(&mut store, &mut model, step);
            let there = model.there();
            if let Some(&leaf) = there.get(n % there.len().max(1)) {
                compare(&mut store, &model, leaf, page);
            }
        }
        for leaf in model.there() {
            compare(&mut store, &model, leaf, page);
        }
        let mut known: Vec<String> = store.get_compactions("").unwrap().into_iter().map(|made| made.id).collect();
        known.sort();
        let mut expected: Vec<String> = model.overlays.iter().map(|overlay| overlay.id.clone()).collect();
        expected.sort();
        prop_assert_eq!(known, expected);
        let report = store.check().unwrap();
        prop_assert!(report.sound, "{:?}", report.problems);
    }

    #[test]
    fn no_view_shows_a_result_without_its_call_nor_a_call_without_its_result(
        turns in proptest::collection::vec((0..5_u8, 0..3_u8, 0..3_u8), 4..40),
        keep in 10..200_u32,
        prompt in 600..1500_u32,
    ) {
        let (_directory, mut store) = store();
        let change = ConfigurationChange {
            keep_recent_tokens: Setting::Value(keep),
            max_prompt_tokens: Setting::Value(prompt),
            protect_head: Setting::Value(1),
            ..ConfigurationChange::default()
        };
        store.configure(&ConfigScope::Store, &change).unwrap();
        for (n, &(kind, first, second)) in turns.iter().enumerate() {
            let part = |kind: &str, id: u8| format!(r#"{{"type":"{kind}","toolCallId":"c{id}","x":"{}"}}"#, "word ".repeat(20));
            let (role, parts) = match kind {
                0 => ("user", r#"{"type":"text","text":"go on with it please"}"#.to_owned()),
                1 => ("assistant", part("tool-call", first)),
                2 => ("assistant", format!("{},{}", part("tool-call", first), part("tool-call", second))),
                3 => ("tool", part("tool-result", first)),
                _ => ("user", part("tool-result", second)),
            };
            let message = format!(r#"{{"id":"m{n}","role":"{role}","parts":[{parts}]}}"#);
            store.append_message("", &message, &AppendOptions::default()).unwrap();
        }
        let pairs = pairs(&turns);
        let whole = |messages: &[Message], note: &str| {
            let shown = ids(messages);
            for (call, result) in &pairs {
                let (call, result) = (shown.contains(&name(*call)), shown.contains(&name(*result)));
                assert_eq!(call, result, "{note}: {call} {result} in {shown:?}, pairs {pairs:?}");
            }
        };
        let budgets = |store: &mut Tree, note: &str| {
            let total = store.get_history("", &HistoryView::default()).unwrap().iter().map(|one| one.bytes).sum::<u64>();
            for budget in (0..=total).step_by(60) {
                let options = RecentOptions { max_bytes: budget, leaf_id: None, overlays: true, media: MediaMode::Inline };
                whole(&store.get_recent_history("", &options).unwrap().messages, note);
            }
        };
        budgets(&mut store, "before");
        for _ in 0..3 {
            match store.compact("", None, |_| Ok(Summary { text: "S".to_owned(), ..Summary::default() })) {
                Ok(_) => {}
                Err(error) => prop_assert_eq!(error.kind, Kind::NoProgress),
            }
            whole(&store.get_history("", &HistoryView::default()).unwrap(), "compacted");
            budgets(&mut store, "compacted");
        }
    }
}

/// Which results belong to which calls, as the contract says it: each result looks up for the nearest call of its id that
/// has none yet, past at most one message of the user's that is not all results.
fn pairs(turns: &[(u8, u8, u8)]) -> Vec<(usize, usize)> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, &(kind, first, second)) in turns.iter().enumerate() {
        match kind {
            1 => open.push((at, first)),
            2 => open.extend([(at, first), (at, second)]),
            3 | 4 => {
                let id = if kind == 3 { first } else { second };
                let near = |&(call, of): &(usize, u8)| {
                    of == id && turns[call + 1..at].iter().filter(|(kind, _, _)| *kind == 0).count() <= 1
                };
                if let Some(found) = open.iter().rposition(near) {
                    pairs.push((open.remove(found).0, at));
                }
            }
            _ => {}
        }
    }
    pairs
}
