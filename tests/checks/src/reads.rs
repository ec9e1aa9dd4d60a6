//! Everything that can be read of a store, each page of it.

use talktree_engine::{
    BranchPoint, ChangeOptions, Error, EventKind, HistoryView, MediaMode, Message, Page, Place, ReadOptions,
    RecentOptions, Result, SearchFields, SearchOptions, Store,
};

use crate::seed::{ALL_FIELDS, LABELS};

/// Pages of one read. No store of a check has so much that a read of it takes more: it does not end.
const MAX_PAGES: usize = 20_000;

/// Things of a page, so small that there are several.
const PAGE: u32 = 7;

/// Messages of a session that are looked at one by one.
const ONE_BY_ONE: usize = 6;

/// Queries that find something in most stores.
const QUERIES: [&str; 6] = ["deploy", "部", "\"window deploy\" s*", "merge rollback", "x", "summary"];

/// How paths are read: newest first, with summaries, and where media goes.
const VIEWS: [(bool, bool, MediaMode); 4] = [
    (false, true, MediaMode::Inline),
    (true, true, MediaMode::Reference),
    (false, false, MediaMode::Reference),
    (true, false, MediaMode::Inline),
];

/// A store that is being read, and what is told of its errors.
pub(crate) struct Reader<'a, P, J> {
    pub(crate) store: &'a mut Store<P>,
    /// Told the name of a call that failed and why.
    pub(crate) judge: J,
}

/// Reads everything. `sessions` are read beside those that the store lists.
pub(crate) fn everything<P: Place>(store: &mut Store<P>, sessions: &[&str], judge: impl FnMut(&str, &Error)) {
    let mut reader = Reader { store, judge };
    reader.whole_store();
    let (listed, _) = reader.pages("list-sessions", |store, cursor| store.list_sessions(cursor, Some(PAGE)));
    let mut all: Vec<String> = listed.into_iter().map(|entry| entry.id).collect();
    all.extend(sessions.iter().map(|&id| id.to_owned()));
    all.sort();
    all.dedup();
    for session in all {
        reader.session(&session);
    }
}

impl<P: Place, J: FnMut(&str, &Error)> Reader<'_, P, J> {
    /// One call.
    pub(crate) fn call<T>(&mut self, name: &str, call: impl FnOnce(&mut Store<P>) -> Result<T>) -> Option<T> {
        match call(self.store) {
            Ok(answer) => Some(answer),
            Err(error) => {
                (self.judge)(name, &error);
                None
            }
        }
    }

    /// All pages of a call, up to one that fails, and whether none did.
    pub(crate) fn pages<T>(
        &mut self,
        name: &str,
        mut next: impl FnMut(&mut Store<P>, Option<&str>) -> Result<Page<T>>,
    ) -> (Vec<T>, bool) {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let Some(page) = self.call(name, |store| next(store, cursor.as_deref())) else { return (all, false) };
            all.extend(page.items);
            cursor = page.cursor;
            if cursor.is_none() {
                return (all, true);
            }
        }
        panic!("{name} does not end: {MAX_PAGES} pages with {} things", all.len());
    }

    /// All text of a call that gives lines or bytes.
    fn pieces(&mut self, name: &str, mut next: impl FnMut(&mut Store<P>, Option<&str>) -> Result<Option<String>>) {
        self.pages(name, |store, cursor| Ok(Page::<()> { items: Vec::new(), cursor: next(store, cursor)? }));
    }

    fn whole_store(&mut self) {
        self.call("stats", Store::stats);
        for kinds in [Vec::new(), vec![EventKind::Deleted, EventKind::Imported]] {
            for session in [None, Some("")] {
                self.feed(&ChangeOptions {
                    limit: Some(PAGE),
                    session: session.map(str::to_owned),
                    kinds: kinds.clone(),
                    cursor: None,
                });
            }
        }
        self.pieces("export-lines", |store, cursor| Ok(store.export_lines(None, cursor, Some(3000))?.cursor));
        self.search(None);
    }

    /// The feed to its end. It ends where a page brings nothing and its cursor stands still.
    fn feed(&mut self, options: &ChangeOptions) {
        let mut options = options.clone();
        for _ in 0..MAX_PAGES {
            let Some(page) = self.call("changes", |store| store.changes(&options)) else { return };
            if page.events.is_empty() && options.cursor.as_ref() == Some(&page.cursor) {
                return;
            }
            options.cursor = Some(page.cursor);
        }
        panic!("the feed does not end: {MAX_PAGES} pages");
    }

    fn search(&mut self, session: Option<&str>) {
        for fields in [SearchFields::default(), ALL_FIELDS] {
            for query in QUERIES.into_iter().take(if session.is_none() { QUERIES.len() } else { 2 }) {
                let session = session.map(str::to_owned);
                let mut options = SearchOptions { session, fields, limit: Some(PAGE), ..SearchOptions::default() };
                self.pages("search", |store, cursor| {
                    options.cursor = cursor.map(str::to_owned);
                    store.search(query, &options)
                });
            }
        }
    }

    fn session(&mut self, session: &str) {
        self.call("session-info", |store| store.session_info(session));
        self.call("get-latest-leaf", |store| store.get_latest_leaf(session, MediaMode::Inline));
        self.call("get-compactions", |store| store.get_compactions(session));
        self.call("prepare-compaction", |store| store.prepare_compaction(session, None));
        self.call("auto-compact", |store| store.auto_compact(session));
        self.pieces("export-lines", |store, cursor| Ok(store.export_lines(Some(session), cursor, Some(3000))?.cursor));
        self.search(Some(session));
        self.memory(session);
        let (nodes, _) = self.pages("list-messages", |store, cursor| store.list_messages(session, cursor, Some(PAGE)));
        self.history(session, None, &VIEWS);
        self.branches(session, &BranchPoint::Root);
        let step = nodes.len() / ONE_BY_ONE + 1;
        for (number, node) in nodes.iter().step_by(step).enumerate() {
            self.message(session, &node.id, VIEWS[number % VIEWS.len()]);
        }
    }

    fn memory(&mut self, session: &str) {
        self.call("tools", |store| store.tools(session));
        self.call("reminder", |store| store.reminder(session));
        self.call("list-blocks", |store| store.list_blocks(session));
        for label in LABELS {
            self.call("get-block", |store| store.get_block(session, label));
            self.call("block-history", |store| store.block_history(session, label));
            let search = format!(r#"{{"label":"{label}","query":"text"}}"#);
            self.call("call-tool", |store| store.call_tool(session, "search_context", &search));
        }
        let search = r#"{"query":"deploy"}"#;
        self.call("call-tool", |store| store.call_tool(session, "session_search", search));
    }

    fn history(&mut self, session: &str, leaf: Option<&str>, views: &[(bool, bool, MediaMode)]) {
        let leaf_id = leaf.map(str::to_owned);
        for &(newest_first, overlays, media) in views {
            let view = HistoryView { leaf_id: leaf_id.clone(), newest_first, overlays, media };
            let options = ReadOptions { view: view.clone(), batch_size: Some(PAGE), max_batch_bytes: Some(2000) };
            let (paged, complete) =
                self.pages("read-history", |store, cursor| store.read_history(session, &options, cursor));
            let whole = self.call("get-history", |store| store.get_history(session, &view));
            if let (Some(whole), true) = (whole, complete) {
                let ids = |messages: &[Message]| messages.iter().map(|message| message.id.clone()).collect::<Vec<_>>();
                assert_eq!(ids(&paged), ids(&whole), "pages of {session:?} to {leaf:?} and its whole history");
            }
            for max_bytes in [0, 700] {
                let options = RecentOptions { max_bytes, leaf_id: leaf_id.clone(), overlays, media };
                self.call("get-recent-history", |store| store.get_recent_history(session, &options));
            }
        }
        self.pages("get-history-row-stats", |store, cursor| {
            store.get_history_row_stats(session, leaf, cursor, Some(PAGE))
        });
    }

    fn branches(&mut self, session: &str, point: &BranchPoint) {
        self.pages("get-branches", |store, cursor| store.get_branches(session, point, cursor, Some(2)));
    }

    fn message(&mut self, session: &str, id: &str, view: (bool, bool, MediaMode)) {
        self.branches(session, &BranchPoint::Id(id.to_owned()));
        self.history(session, Some(id), &[view]);
        let inline = self.call("get-message", |store| store.get_message(session, id, MediaMode::Inline)).flatten();
        let blank = self.call("get-message", |store| store.get_message(session, id, MediaMode::Reference)).flatten();
        if let Some(message) = &inline {
            assert_eq!(message.bytes, message.json.len() as u64, "{id:?}");
        }
        for reference in blank.iter().flat_map(|message| &message.media) {
            let range = |store: &mut Store<P>| store.get_media(session, id, reference.index, 1, Some(500));
            self.call("get-media", range);
        }
    }
}
