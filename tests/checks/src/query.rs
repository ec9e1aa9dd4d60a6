//! Queries: any text is one, and finds the same whichever way it is looked for.

use std::cell::RefCell;

use talktree_engine::{AppendOptions, Kind, MediaMode, Place, SearchFields, SearchOptions, SearchResult, Store};

use crate::bytes::Choices;
use crate::read_only::{ReadOnly, read_only};
use crate::scratch::Scratch;
use crate::seed;

/// Takes the bytes as a query, and a few of them as its options.
///
/// - Any text is a query; the only thing that is refused is a page of no size.
/// - An index finds what a scan of the store finds.
/// - Pages put together are one long page, in order of score, each message once, and each is there.
/// - A message that says what the query says is found by it.
pub fn query(data: &[u8]) {
    let mut choices = Choices::new(data);
    let flags = choices.byte();
    let fields = SearchFields {
        text: flags & 1 != 0,
        tools: flags & 2 != 0,
        reasoning: flags & 4 != 0,
        summaries: flags & 8 != 0,
    };
    let options = SearchOptions {
        session: choices.one_of(&[None, Some(""), Some("s"), Some("fork"), Some("never")]).map(str::to_owned),
        limit: choices.one_of(&[Some(1000), None, Some(1), Some(3), Some(0), Some(1001)]),
        role: choices.one_of(&[None, None, Some("user"), Some("assistant"), Some("")]).map(str::to_owned),
        after: choices.one_of(&[None, Some(1_700_000_000_005), Some(i64::MAX)]),
        before: choices.one_of(&[None, Some(1_700_000_000_020), Some(i64::MIN)]),
        cursor: None,
        fields,
    };
    let text = choices.text();
    STORES.with_borrow_mut(|stores| {
        if matches!(options.limit, Some(0 | 1001)) {
            assert_eq!(stores.indexed.store.search(&text, &options).unwrap_err().kind, Kind::InvalidArgument);
            return;
        }
        stores.compare(&text, &options);
        stores.finds_itself(&text);
    });
}

struct Stores {
    indexed: Scratch,
    scanned: Store<ReadOnly>,
    /// The directory of `scanned`.
    _directory: Scratch,
    /// Where queries become messages.
    own: Scratch,
}

thread_local! {
    static STORES: RefCell<Stores> = RefCell::new(Stores::new());
}

impl Stores {
    fn new() -> Self {
        let directory = Scratch::with(seed::without_index());
        let scanned = read_only(directory.directory.path());
        Self {
            indexed: Scratch::with(seed::file()),
            scanned,
            _directory: directory,
            own: Scratch::with(seed::nothing()),
        }
    }

    fn compare(&mut self, text: &str, options: &SearchOptions) {
        let paged = all(&mut self.indexed.store, text, options);
        let whole = all(&mut self.indexed.store, text, &SearchOptions { limit: Some(1000), ..options.clone() });
        let names = |results: &[SearchResult]| {
            results.iter().map(|result| (result.session_id.clone(), result.id.clone())).collect::<Vec<_>>()
        };
        assert_eq!(names(&paged), names(&whole), "pages of {text:?} and all at once");
        assert!(whole.windows(2).all(|pair| pair[0].score >= pair[1].score), "the best is not first");
        let scanned = all(&mut self.scanned, text, &SearchOptions { limit: Some(1000), ..options.clone() });
        let (mut indexed, mut scanned) = (names(&whole), names(&scanned));
        indexed.sort();
        scanned.sort();
        assert_eq!(indexed, scanned, "{text:?}: the index finds other messages than a scan");
        scanned.dedup();
        assert_eq!(indexed.len(), scanned.len(), "{text:?} finds a message twice");
        for result in whole.iter().filter(|result| !result.id.starts_with("compaction_")) {
            let found = self.indexed.store.get_message(&result.session_id, &result.id, MediaMode::Reference).unwrap();
            let found = found.expect("what was found is there");
            assert_eq!((&found.role, found.seq), (&result.role, result.seq));
            assert!(options.role.as_ref().is_none_or(|role| *role == found.role));
            assert!(options.session.as_ref().is_none_or(|session| *session == result.session_id));
        }
    }

    fn finds_itself(&mut self, text: &str) {
        let store = &mut self.own.store;
        let message = format!(
            r#"{{"id":"m","role":"user","parts":[{{"type":"text","text":{}}}]}}"#,
            talktree_engine::message::quote(text)
        );
        store.append_message("s", &message, &AppendOptions::default()).unwrap();
        let options = SearchOptions::default();
        let found = |store: &mut Store<_>, query: &str| !store.search(query, &options).unwrap().items.is_empty();
        let words = found(store, &text.replace('"', " "));
        assert!(!words || found(store, text), "{text:?} does not find itself");
        store.delete_session("s").unwrap();
        assert!(!found(store, text), "{text:?} finds what was deleted");
    }
}

fn all<P: Place>(store: &mut Store<P>, text: &str, options: &SearchOptions) -> Vec<SearchResult> {
    let mut options = options.clone();
    let mut results = Vec::new();
    loop {
        let page = store.search(text, &options).unwrap_or_else(|error| panic!("{text:?}: {:?}: {error}", error.kind));
        assert!(page.items.len() <= options.limit.unwrap_or(20) as usize);
        assert!(page.cursor.is_none() || !page.items.is_empty(), "an empty page is followed by another one");
        results.extend(page.items);
        options.cursor = page.cursor;
        if options.cursor.is_none() {
            return results;
        }
        assert!(results.len() < 10_000, "the results of {text:?} do not end");
    }
}
