//! Carries operations out on a store and on the model, and compares what both say.

use std::fmt::Debug;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use talktree_engine::{
    AppendOptions, BranchPoint, ConfigScope, ConfigurationChange, ExpectedLeaf, HistoryView, ImportItem, Kind,
    MediaMode, Message, Node, Page, Parent, ReadOptions, RecentOptions, RowStats,
};
use talktree_tests::model::{Cursor, Model, RowCursor, Text, UNKNOWN_TIME};
use talktree_tests::subject::Subject;

use super::operation::{Draft, ExpectedPick, Misuse, NewId, Operation, ParentPick, Pick, SESSIONS, Step, View, steps};

/// How many reads are kept to be gone on with.
const KEPT_READS: usize = 4;

/// A store, its model, and the reads that are under way.
pub(crate) struct Driver<S> {
    subject: S,
    model: Model,
    reads: Vec<Read>,
    fresh: usize,
}

/// A read that has not come to its end.
#[derive(Debug, Clone)]
struct Read {
    session: String,
    call: Call,
    cursor: String,
    expected: Cursor,
}

#[derive(Debug, Clone)]
enum Call {
    History(HistoryView),
    RowStats(Option<String>),
    Branches(BranchPoint),
    List,
}

/// Random sequences, each on a store of its own: so many, or as many as `PROPTEST_CASES` says.
pub(crate) fn compare<S: Subject>(cases: u32, store: impl Fn() -> std::io::Result<S>) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    // What is found is kept as a test with a name, not as a seed.
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 5_000, ..Config::default() };
    let outcome = TestRunner::new(config).run(&steps(100), |steps| {
        run(store().map_err(|error| TestCaseError::fail(error.to_string()))?, &steps);
        Ok(())
    });
    outcome.unwrap();
}

/// Carries all steps out, and then compares all there is.
pub(crate) fn run(subject: impl Subject, steps: &[Step]) {
    let mut driver = Driver { subject, model: Model::default(), reads: Vec::new(), fresh: 0 };
    for (session, operation) in steps {
        driver.step(SESSIONS[*session], operation);
    }
    driver.compare_all();
}

fn kind<T>(answer: Result<T, (Kind, String)>) -> Result<T, Kind> {
    answer.map_err(|(kind, _)| kind)
}

#[track_caller]
fn same<T: PartialEq + Debug>(actual: Result<T, (Kind, String)>, expected: Result<T, Kind>) {
    let sentence = actual.as_ref().err().map(|(_, sentence)| sentence.clone());
    assert_eq!(kind(actual), expected, "left: the store, right: the model ({sentence:?})");
}

impl<S: Subject> Driver<S> {
    fn step(&mut self, session: &str, operation: &Operation) {
        match operation {
            Operation::Append { draft, parent, source, expected } => {
                let (sent, text) = self.send(session, draft);
                let options = AppendOptions {
                    parent: self.parent(session, parent),
                    source: *source,
                    expected_leaf: self.expected(session, expected),
                };
                let mut actual = self.subject.append_message(session, &sent, &options);
                // When a compaction is due is no matter of the tree.
                actual.iter_mut().for_each(|result| result.compaction_due = false);
                same(actual, self.model.append_message(session, text.as_ref(), &options));
            }
            Operation::AppendChain { drafts, parent, source, expected } => {
                let (sent, texts): (Vec<_>, Vec<_>) = drafts.iter().map(|draft| self.send(session, draft)).unzip();
                let options = AppendOptions {
                    parent: self.parent(session, parent),
                    source: *source,
                    expected_leaf: self.expected(session, expected),
                };
                let mut actual = self.subject.append_messages(session, &sent, &options);
                actual.iter_mut().for_each(|result| result.compaction_due = false);
                let texts: Vec<_> = texts.iter().map(Option::as_ref).collect();
                same(actual, self.model.append_messages(session, &texts, &options));
            }
            Operation::Update { draft, source } => {
                let (sent, text) = self.send(session, draft);
                let actual = self.subject.update_message(session, &sent, *source);
                same(actual, self.model.update_message(session, text.as_ref(), *source));
            }
            Operation::Upsert { draft, parent, source } => {
                let (sent, text) = self.send(session, draft);
                let parent = self.parent(session, parent);
                let actual = self.subject.upsert_message(session, &sent, &parent, *source);
                same(actual, self.model.upsert_message(session, text.as_ref(), &parent, *source));
            }
            Operation::Import { items, alone } => self.import(session, items, *alone),
            Operation::Delete { picks, mode, dry_run } => {
                let ids: Vec<String> = picks.iter().map(|pick| self.pick(session, pick)).collect();
                let actual = self.subject.delete_messages(session, &ids, *mode, *dry_run);
                same(actual, self.model.delete_messages(session, &ids, *mode, *dry_run));
            }
            Operation::Clear => {
                same(self.subject.clear_messages(session), self.model.clear_messages(session));
            }
            Operation::SetLeaf(pick) => {
                let id = pick.as_ref().map(|pick| self.pick(session, pick));
                let actual = self.subject.set_leaf(session, id.as_deref());
                same(actual, self.model.set_leaf(session, id.as_deref()));
            }
            Operation::Get(pick, media) => {
                let id = self.pick(session, pick);
                let expected = self.model.get_message(session, &id, *media);
                let actual = self.subject.get_message(session, &id, *media);
                self.same_message(session, actual, expected);
            }
            Operation::GetMedia { pick, index, offset, length } => {
                let id = self.pick(session, pick);
                let actual = self.subject.get_media(session, &id, *index, *offset, *length);
                let expected = self.model.get_media(session, &id, *index, *offset, *length);
                same(actual.map(|range| range.data), expected);
            }
            Operation::Stats => self.compare_stats(),
            Operation::History(view) => {
                let view = self.view(session, view);
                self.compare_history(session, &view);
            }
            Operation::Read { view, size, budget } => {
                let call = Call::History(self.view(session, view));
                self.read(session, call, *size, *budget, None);
            }
            Operation::Recent { leaf, budget, overlays, media } => {
                let leaf_id = leaf.as_ref().map(|pick| self.pick(session, pick));
                let options = RecentOptions { max_bytes: *budget, leaf_id, overlays: *overlays, media: *media };
                self.compare_recent(session, &options);
            }
            Operation::RowStats { leaf, size } => {
                let call = Call::RowStats(leaf.as_ref().map(|pick| self.pick(session, pick)));
                self.read(session, call, *size, None, None);
            }
            Operation::Branches { point, size } => {
                let point = match point {
                    Some(pick) => BranchPoint::Id(self.pick(session, pick)),
                    None => BranchPoint::Root,
                };
                self.read(session, Call::Branches(point), *size, None, None);
            }
            Operation::List { size } => self.read(session, Call::List, *size, None, None),
            Operation::Continue { which, size, budget } => {
                if let Some(read) = self.take_read(*which) {
                    self.read(&read.session, read.call, *size, *budget, Some((read.cursor, read.expected)));
                }
            }
            Operation::Misuse { which, how } => {
                if let Some(read) = self.take_read(*which) {
                    self.misuse(read, *how);
                }
            }
            Operation::Configure { of_store, change } => {
                let scope = if *of_store { ConfigScope::Store } else { ConfigScope::Session(session.to_owned()) };
                same(self.subject.configure(&scope, change), self.model.configure(&scope, change));
            }
            Operation::Restart(stop) => self.subject.restart(*stop),
        }
        self.compare_leaf(session);
    }

    fn import(&mut self, session: &str, items: &[(Draft, Option<Pick>, i64)], alone: bool) {
        let mut sent = Vec::new();
        let mut texts = Vec::new();
        for (draft, parent, created_at) in items.iter().take(if alone { 1 } else { items.len() }) {
            let (message, text) = self.send(session, draft);
            let parent_id = parent.as_ref().map(|pick| self.pick(session, pick));
            texts.push((text, parent_id.clone(), *created_at));
            sent.push(ImportItem { message, parent_id, created_at: *created_at });
        }
        // Half of the time each answers the one before it in the call, which is not there yet.
        if !alone && sent.len() % 2 == 1 {
            for index in 1..sent.len() {
                let before = texts[index - 1].0.as_ref().map(|text| text.id.clone());
                sent[index].parent_id.clone_from(&before);
                texts[index].1 = before;
            }
        }
        let items: Vec<_> =
            texts.iter().map(|(text, parent, created_at)| (text.as_ref(), parent.clone(), *created_at)).collect();
        let expected = self.model.import_messages(session, &items);
        if alone {
            same(self.subject.import_message(session, &sent[0]), expected.map(|inserted| inserted == [true]));
        } else {
            same(self.subject.import_messages(session, &sent), expected);
        }
    }

    /// The text to send, and what it says; none where it is no message.
    fn send(&mut self, session: &str, draft: &Draft) -> (String, Option<Text>) {
        if let Some(invalid) = draft.invalid {
            return (invalid.to_owned(), None);
        }
        let id = match &draft.id {
            NewId::Fresh => {
                self.fresh += 1;
                format!("f{}", self.fresh)
            }
            NewId::Pool(number) => pool(*number),
            NewId::Present(pick) => self.pick(session, pick),
            NewId::Long => {
                self.fresh += 1;
                format!("{:x>1024}", self.fresh)
            }
        };
        let mut text = draft.text(id);
        if draft.repeat
            && let Some(stored) = self.model.text(session, &text.id)
        {
            text = stored;
        }
        if draft.blank {
            text = text.blanked();
        }
        let sent = if draft.spaced { text.spaced() } else { text.compact() };
        (sent, Some(text))
    }

    fn pick(&self, session: &str, pick: &Pick) -> String {
        let of = |ids: &[String], index: usize| ids.get(index % ids.len().max(1)).cloned();
        let ids = self.model.ids(session);
        let found = match pick {
            Pick::Any(index) => of(&ids, *index),
            Pick::Early(index) => of(&ids[..ids.len().min(3)], *index),
            Pick::Late(index) => of(&ids[ids.len().saturating_sub(3)..], *index),
            Pick::Tip(index) => of(&self.model.tips(session), *index),
            Pick::Pool(number) => Some(pool(*number)),
            Pick::Unknown => None,
        };
        found.unwrap_or_else(|| "nowhere".to_owned())
    }

    fn parent(&self, session: &str, pick: &ParentPick) -> Parent {
        match pick {
            ParentPick::Latest => Parent::Latest,
            ParentPick::Root => Parent::Root,
            // In an empty session there is nothing to be picked.
            ParentPick::Id(Pick::Any(_) | Pick::Early(_) | Pick::Late(_) | Pick::Tip(_))
                if self.model.ids(session).is_empty() =>
            {
                Parent::Latest
            }
            ParentPick::Id(pick) => Parent::Id(self.pick(session, pick)),
        }
    }

    fn expected(&self, session: &str, pick: &ExpectedPick) -> ExpectedLeaf {
        match pick {
            ExpectedPick::Any => ExpectedLeaf::Any,
            ExpectedPick::Empty => ExpectedLeaf::Empty,
            ExpectedPick::Right => match self.model.get_latest_leaf(session, MediaMode::Inline) {
                Ok(Some(leaf)) => ExpectedLeaf::Id(leaf.id),
                _ => ExpectedLeaf::Empty,
            },
            ExpectedPick::Id(pick) => ExpectedLeaf::Id(self.pick(session, pick)),
        }
    }

    fn view(&self, session: &str, view: &View) -> HistoryView {
        HistoryView {
            leaf_id: view.leaf.as_ref().map(|pick| self.pick(session, pick)),
            newest_first: view.newest_first,
            overlays: view.overlays,
            media: view.media,
        }
    }

    fn take_read(&mut self, which: usize) -> Option<Read> {
        let last = self.reads.len().checked_sub(1)?;
        Some(self.reads[last - which.min(last)].clone())
    }

    /// Makes a call that answers a page, compares it, and keeps where it goes on.
    fn read(
        &mut self,
        session: &str,
        call: Call,
        size: Option<u32>,
        budget: Option<u64>,
        from: Option<(String, Cursor)>,
    ) {
        let (cursor, expected) = from.unzip();
        let (cursor, expected) = (cursor.as_deref(), expected.as_ref());
        let next = match &call {
            Call::History(view) => {
                let options = ReadOptions { view: view.clone(), batch_size: size, max_batch_bytes: budget };
                let expected = self.model.read_history(session, &options, expected);
                let actual = self.subject.read_history(session, &options, cursor);
                self.same_page(session, actual, expected)
            }
            Call::RowStats(leaf) => {
                let expected = self.model.get_history_row_stats(session, leaf.as_deref(), expected, size);
                let actual = self.subject.get_history_row_stats(session, leaf.as_deref(), cursor, size);
                self.same_page(session, actual, expected)
            }
            Call::Branches(point) => {
                let expected = self.model.get_branches(session, point, expected, size);
                let actual = self.subject.get_branches(session, point, cursor, size);
                self.same_page(session, actual, expected)
            }
            Call::List => {
                let expected = self.model.list_messages(session, expected, size);
                let actual = self.subject.list_messages(session, cursor, size);
                self.same_page(session, actual, expected)
            }
        };
        if let Some((cursor, expected)) = next {
            self.reads.push(Read { session: session.to_owned(), call, cursor, expected });
            if self.reads.len() > KEPT_READS {
                self.reads.remove(0);
            }
        }
    }

    fn misuse(&mut self, read: Read, how: Misuse) {
        let Read { session, call, cursor, expected } = read;
        let other = SESSIONS.iter().find(|other| **other != session).copied().unwrap_or_default();
        let from = Some((cursor.clone(), expected.clone()));
        match (how, call) {
            (Misuse::OtherSession, call) => self.read(other, call, None, None, from),
            (Misuse::OtherView, Call::History(mut view)) => {
                view.newest_first = !view.newest_first;
                self.read(&session, Call::History(view), None, None, from);
            }
            (Misuse::OtherLeaf, Call::History(mut view)) => {
                view.leaf_id = self.model.ids(&session).first().cloned();
                self.read(&session, Call::History(view), None, None, from);
            }
            (Misuse::OtherCall, Call::History(_)) => self.read(&session, Call::RowStats(None), None, None, from),
            (Misuse::OtherCall, _) => self.read(&session, Call::History(HistoryView::default()), None, None, from),
            (_, Call::List) => {
                let cursor = format!("{}0", cursor.replace('.', ".0"));
                let actual = self.subject.list_messages(&session, Some(&cursor), None).map(|page| page.items.len());
                assert_eq!(kind(actual), Err(Kind::StaleCursor), "{cursor}");
            }
            (_, Call::Branches(_)) => self.read(&session, Call::Branches(BranchPoint::Root), None, None, from),
            (_, Call::RowStats(leaf) | Call::History(HistoryView { leaf_id: leaf, .. })) => {
                let cursor = &cursor[..cursor.len() - 1];
                let actual = self.subject.get_history_row_stats(&session, leaf.as_deref(), Some(cursor), None);
                assert_eq!(kind(actual.map(|page| page.items.len())), Err(Kind::StaleCursor), "{cursor}");
            }
        }
    }

    #[track_caller]
    fn same_page<T: Timed>(
        &mut self,
        session: &str,
        actual: Result<Page<T>, (Kind, String)>,
        expected: Result<RowCursor<T>, Kind>,
    ) -> Option<(String, Cursor)> {
        match (actual, expected) {
            (Ok(page), Ok((mut items, cursor))) => {
                self.learn(session, &page.items, &mut items);
                assert_eq!(page.items, items, "left: the store, right: the model");
                assert_eq!(page.cursor.is_some(), cursor.is_some(), "a cursor where the model has {cursor:?}");
                page.cursor.zip(cursor)
            }
            (actual, expected) => {
                let sentence = actual.as_ref().err().map(|(_, sentence)| sentence.clone());
                assert_eq!(
                    kind(actual.map(|page| page.items)),
                    expected.map(|(items, _)| items),
                    "left: the store, right: the model ({sentence:?})"
                );
                None
            }
        }
    }

    #[track_caller]
    fn same_message(
        &mut self,
        session: &str,
        actual: Result<Option<Message>, (Kind, String)>,
        expected: Result<Option<Message>, Kind>,
    ) {
        let list = |found: Option<Message>| found.into_iter().collect::<Vec<_>>();
        let page = actual.map(|found| Page { items: list(found), cursor: None });
        self.same_page(session, page, expected.map(|found| (list(found), None)));
    }

    /// Times are the store's: they are taken from it once, and have to stay.
    fn learn<T: Timed>(&mut self, session: &str, actual: &[T], expected: &mut [T]) {
        for (actual, expected) in actual.iter().zip(expected) {
            if let (Some((seq, time)), Some(UNKNOWN_TIME)) = (actual.time(), expected.time().map(|(_, time)| time)) {
                assert!(time > 1_600_000_000_000, "written at {time}");
                expected.set_time(time);
                self.model.learn_time(session, seq, time);
            }
        }
    }

    #[track_caller]
    fn compare_leaf(&mut self, session: &str) {
        let expected = self.model.get_latest_leaf(session, MediaMode::Inline);
        let actual = self.subject.get_latest_leaf(session, MediaMode::Inline);
        self.same_message(session, actual, expected);
    }

    #[track_caller]
    fn compare_history(&mut self, session: &str, view: &HistoryView) {
        let expected = self.model.get_history(session, view).map(|items| (items, None));
        let actual = self.subject.get_history(session, view).map(|items| Page { items, cursor: None });
        self.same_page(session, actual, expected);
    }

    #[track_caller]
    fn compare_recent(&mut self, session: &str, options: &RecentOptions) {
        let expected = self.model.get_recent_history(session, options);
        let actual = self.subject.get_recent_history(session, options);
        if let (Ok(actual), Ok(expected)) = (&actual, &expected) {
            assert_eq!(
                (actual.truncated, actual.total_content_bytes),
                (expected.truncated, expected.total_content_bytes),
                "left: the store, right: the model"
            );
        }
        let actual = actual.map(|recent| Page { items: recent.messages, cursor: None });
        self.same_page(session, actual, expected.map(|recent| (recent.messages, None)));
    }

    #[track_caller]
    fn compare_stats(&mut self) {
        let stats = self.subject.stats().map_err(|(kind, sentence)| format!("{kind:?}: {sentence}")).unwrap();
        let largest: Vec<u64> = stats.largest.iter().map(|message| message.bytes).collect();
        let bytes = stats.bytes;
        let actual = (stats.messages, stats.sessions, bytes.messages, bytes.media_bytes, largest);
        assert_eq!(actual, self.model.stats(), "left: the store, right: the model");
    }

    /// Everything that can be read of every session.
    fn compare_all(&mut self) {
        for session in SESSIONS {
            self.compare_leaf(session);
            self.read(session, Call::List, Some(1000), None, None);
            self.read(session, Call::Branches(BranchPoint::Root), Some(1000), None, None);
            for id in self.model.ids(session) {
                for newest_first in [false, true] {
                    let view = HistoryView { leaf_id: Some(id.clone()), newest_first, ..HistoryView::default() };
                    self.compare_history(session, &view);
                }
                self.read(session, Call::RowStats(Some(id.clone())), Some(1000), None, None);
                self.read(session, Call::Branches(BranchPoint::Id(id.clone())), Some(1000), None, None);
                for max_bytes in [0, 200, 700, u64::MAX] {
                    let leaf_id = Some(id.clone());
                    let options = RecentOptions { max_bytes, leaf_id, overlays: true, media: MediaMode::Inline };
                    self.compare_recent(session, &options);
                }
            }
            let scope = ConfigScope::Session(session.to_owned());
            let change = ConfigurationChange::default();
            same(self.subject.configure(&scope, &change), self.model.configure(&scope, &change));
        }
        self.compare_stats();
        let report = self.subject.check().map_err(|(kind, sentence)| format!("{kind:?}: {sentence}")).unwrap();
        assert!(report.sound, "{report:?}");
    }
}

fn pool(number: u8) -> String {
    ["p", "p\"", "部", "p\u{0}q", "%_*", "../p", "P"][usize::from(number) % 7].to_owned()
}

/// What may say when a message was written.
trait Timed: PartialEq + Debug {
    /// Of which message, and when.
    fn time(&self) -> Option<(u32, i64)>;
    fn set_time(&mut self, time: i64);
}

impl Timed for Message {
    fn time(&self) -> Option<(u32, i64)> {
        Some((self.seq, self.created_at))
    }

    fn set_time(&mut self, time: i64) {
        self.created_at = time;
    }
}

impl Timed for RowStats {
    fn time(&self) -> Option<(u32, i64)> {
        Some((self.seq, self.created_at))
    }

    fn set_time(&mut self, time: i64) {
        self.created_at = time;
    }
}

impl Timed for Node {
    fn time(&self) -> Option<(u32, i64)> {
        None
    }

    fn set_time(&mut self, _time: i64) {}
}
