//! Cursors and tokens: what a store has not given is of no use, and does no harm.

use std::cell::RefCell;

use talktree_engine::{
    BranchPoint, ChangeOptions, Directory, Error, HistoryView, Kind, MediaMode, ReadOptions, Result, SearchOptions,
    Store, Summary,
};

use crate::bytes::Choices;
use crate::scratch::Scratch;
use crate::seed;

/// Pages that may follow a cursor.
const MAX_PAGES: usize = 2000;

/// The calls that take a cursor or a token.
const CALLS: [Call; 10] = [
    Call::History,
    Call::RowStats,
    Call::Branches,
    Call::Nodes,
    Call::Plan,
    Call::Snapshot,
    Call::Search,
    Call::Lines,
    Call::Sessions,
    Call::Changes,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    History,
    RowStats,
    Branches,
    Nodes,
    Plan,
    Snapshot,
    Search,
    Lines,
    Sessions,
    Changes,
}

/// Hands a cursor that the bytes make up to a call that takes one: any text, a cursor of the store's with something
/// changed, one of another call, or numbers with the sum that the store itself would write.
///
/// - The answer is a page or `stale-cursor` (of the feed: `reset`; of a plan: `plan-outdated`), never another error.
/// - What the store has not given is never taken, unless its sum is right.
/// - The pages behind it end.
/// - The store is as it was before.
pub fn cursors(data: &[u8]) {
    let mut choices = Choices::new(data);
    let call = choices.one_of(&CALLS);
    let session = choices.one_of(&["", "s", "fork", "never"]);
    let what = choices.byte() % 4;
    STORE.with_borrow_mut(|scratch| {
        let store = &mut scratch.store;
        let (cursor, ours) = match what {
            0 => (choices.text(), false),
            1 => changed(store, call, session, choices),
            2 => {
                let other = choices.one_of(&CALLS);
                (given(store, other, session).unwrap_or_default(), other == call)
            }
            _ => (forged(call, choices), true),
        };
        if call == Call::Plan {
            return plan(store, session, &cursor);
        }
        let first = ask(store, call, session, Some(&cursor));
        if !ours {
            let known = given(store, call, session).is_some_and(|given| given == cursor);
            let refused = match &first {
                Err(error) => {
                    allowed(call, error);
                    true
                }
                Ok(answer) => answer.reset || call == Call::Changes && cursor == "f0",
            };
            assert!(refused || known, "{call:?} takes {cursor:?}, which is none of ours: {first:?}");
        }
        follow(store, call, session, first);
    });
}

thread_local! {
    static STORE: RefCell<Scratch> = RefCell::new(Scratch::with(seed::file()));
}

/// What a call answered, as far as it matters here.
#[derive(Debug)]
struct Answer {
    cursor: Option<String>,
    reset: bool,
}

fn ask(store: &mut Store<Directory>, call: Call, session: &str, cursor: Option<&str>) -> Result<Answer> {
    let answer = |cursor| Ok(Answer { cursor, reset: false });
    match call {
        Call::History => {
            let view = HistoryView { media: MediaMode::Reference, ..HistoryView::default() };
            let options = ReadOptions { view, batch_size: Some(3), max_batch_bytes: None };
            answer(store.read_history(session, &options, cursor)?.cursor)
        }
        Call::RowStats => answer(store.get_history_row_stats(session, None, cursor, Some(3))?.cursor),
        Call::Branches => {
            let point = if session.is_empty() { BranchPoint::Id("m4".to_owned()) } else { BranchPoint::Root };
            answer(store.get_branches(session, &point, cursor, Some(1))?.cursor)
        }
        Call::Nodes => answer(store.list_messages(session, cursor, Some(3))?.cursor),
        Call::Plan => Ok(Answer { cursor: None, reset: false }),
        Call::Snapshot => answer(store.snapshot(cursor, Some(100_000))?.cursor),
        Call::Search => {
            let options = SearchOptions {
                session: Some(session.to_owned()),
                limit: Some(1),
                cursor: cursor.map(str::to_owned),
                ..SearchOptions::default()
            };
            answer(store.search("deploy", &options)?.cursor)
        }
        Call::Lines => answer(store.export_lines(Some(session), cursor, Some(500))?.cursor),
        Call::Sessions => answer(store.list_sessions(cursor, Some(1))?.cursor),
        Call::Changes => {
            let options =
                ChangeOptions { cursor: cursor.map(str::to_owned), limit: Some(5), ..ChangeOptions::default() };
            let page = store.changes(&options)?;
            let more = !page.events.is_empty();
            Ok(Answer { cursor: more.then_some(page.cursor), reset: page.reset })
        }
    }
}

/// Reads on to the end.
fn follow(store: &mut Store<Directory>, call: Call, session: &str, first: Result<Answer>) {
    let mut answer = first;
    for _ in 0..MAX_PAGES {
        match answer {
            Err(error) => return allowed(call, &error),
            Ok(Answer { cursor: None, .. }) => return,
            Ok(Answer { cursor: Some(cursor), .. }) => answer = ask(store, call, session, Some(&cursor)),
        }
    }
    panic!("{call:?} does not end");
}

fn allowed(call: Call, error: &Error) {
    let expected = error.kind == Kind::StaleCursor
        // A session that never was is told of first.
        || call == Call::Lines && error.kind == Kind::UnknownSession
        || call == Call::Branches && error.kind == Kind::UnknownMessage;
    assert!(expected, "{call:?}: {:?}: {error}", error.kind);
}

/// A token of a plan that was made up covers nothing, or what a plan of the store's may cover.
fn plan(store: &mut Store<Directory>, session: &str, token: &str) {
    // Blank: where the token is good after all nothing is written but that it came to nothing.
    let committed = store.commit_compaction(session, token, &Summary::default()).unwrap_err();
    let expected = matches!(
        committed.kind,
        Kind::PlanOutdated | Kind::StaleCursor | Kind::NoProgress | Kind::InvalidRange | Kind::SummarizerFailed
    );
    assert!(expected, "{:?}: {committed}", committed.kind);
    if let Err(error) = store.abandon_compaction(session, token) {
        assert!(matches!(error.kind, Kind::PlanOutdated | Kind::StaleCursor), "{:?}: {error}", error.kind);
    }
}

/// The first cursor that the store gives for a call.
fn given(store: &mut Store<Directory>, call: Call, session: &str) -> Option<String> {
    if call == Call::Plan {
        return Some(store.prepare_compaction(session, None).ok()??.token);
    }
    ask(store, call, session, None).ok()?.cursor
}

/// A cursor of the store's, with something changed in it. Answers whether it may still be one.
fn changed(store: &mut Store<Directory>, call: Call, session: &str, mut choices: Choices<'_>) -> (String, bool) {
    let mut text = given(store, call, session).unwrap_or_else(|| "h1.2.3".to_owned()).into_bytes();
    while !choices.is_empty() {
        let at = choices.below(text.len().max(1));
        match choices.byte() % 3 {
            0 if !text.is_empty() => drop(text.remove(at)),
            1 => text.insert(at, choices.byte()),
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = choices.byte();
                }
            }
        }
    }
    // Numbers may be written in more than one way: with zeros before them, in capitals, with a plus.
    let text = String::from_utf8_lossy(&text).into_owned();
    let ours = signed(&text);
    (text, ours)
}

/// Whether the sum at the end of a cursor is that of the rest.
fn signed(cursor: &str) -> bool {
    let Some(at) = cursor.rfind('.') else { return false };
    let (text, sum) = cursor.split_at(at + 1);
    u32::from_str_radix(sum, 16) == Ok(checksum(text))
}

/// Numbers of the input's choice, as the store would write them.
fn forged(call: Call, mut choices: Choices<'_>) -> String {
    let letter = match call {
        Call::History => 'h',
        Call::RowStats => 'r',
        Call::Branches => 'b',
        Call::Nodes => 'n',
        Call::Plan => 'p',
        Call::Snapshot => 's',
        Call::Search => 'q',
        Call::Lines => 'l',
        Call::Sessions => 'd',
        Call::Changes => 'f',
    };
    let mut text = String::from(letter);
    while !choices.is_empty() {
        let number = match choices.byte() % 6 {
            0 => choices.number(1),
            1 => choices.number(8),
            // Places in the tree: a chain and a seq.
            2 => (choices.number(1) << 32) | choices.number(1),
            3 => choices.one_of(&[u64::MAX, i64::MAX as u64, u32::MAX.into(), 1 << 32, 1 << 63, 0]),
            4 => (choices.number(1) << 32) | 0xffff_ffff,
            _ => choices.number(2),
        };
        text.push_str(&format!("{number:x}."));
    }
    let sum = checksum(&text);
    text.push_str(&format!("{sum:08x}"));
    text
}

/// The sum that the store writes, which is no secret.
fn checksum(text: &str) -> u32 {
    let bytes = seed::EPOCH.to_le_bytes().into_iter().chain(text.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}
