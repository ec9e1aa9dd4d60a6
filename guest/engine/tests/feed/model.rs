//! A store beside the list of events that it should tell of.

use std::collections::BTreeMap;

use talktree_engine::{
    AppendOptions, Change, ChangeOptions, DeleteMode, Directory, Durability, EventKind, ImportItem, MediaMode, Options,
    Parent, Source, Store,
};

/// A message in one life of it: one that was deleted and written again is another.
pub(crate) type Life = usize;

/// An event as it should be.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) kind: EventKind,
    pub(crate) session: String,
    pub(crate) ids: Vec<String>,
    /// The message that was appended, imported or updated.
    pub(crate) life: Option<Life>,
}

/// A store and what it should tell.
pub(crate) struct Modelled {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) store: Store<Directory>,
    pub(crate) events: Vec<Expected>,
    /// Messages that are there.
    pub(crate) alive: BTreeMap<(String, String), Life>,
    lives: Life,
    options: Options,
}

pub(crate) fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

impl Modelled {
    pub(crate) fn new(kept_events: Option<u32>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { durability: Durability::Normal, kept_events, ..Options::default() };
        let store = Store::new(Directory::new(directory.path()), options.clone());
        Self { directory, store, events: Vec::new(), alive: BTreeMap::new(), lives: 0, options }
    }

    /// Opens the store again.
    pub(crate) fn reopen(&mut self) {
        self.store.close().unwrap();
        self.store = Store::new(Directory::new(self.directory.path()), self.options.clone());
    }

    pub(crate) fn expect(&mut self, kind: EventKind, session: &str, ids: &[&str], life: Option<Life>) {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        self.events.push(Expected { kind, session: session.to_owned(), ids, life });
    }

    fn comes(&mut self, session: &str, id: &str) -> Life {
        self.lives += 1;
        self.alive.insert((session.to_owned(), id.to_owned()), self.lives);
        self.lives
    }

    pub(crate) fn append(&mut self, session: &str, id: &str, parent: Parent) {
        let options = AppendOptions { parent, ..AppendOptions::default() };
        if let Ok(result) = self.store.append_message(session, &message(id, "first"), &options) {
            assert_eq!(result.inserted, !self.alive.contains_key(&(session.to_owned(), id.to_owned())));
            if result.inserted {
                let life = self.comes(session, id);
                self.expect(EventKind::Appended, session, &[id], Some(life));
            }
        }
    }

    pub(crate) fn append_chain(&mut self, session: &str, ids: &[String]) {
        let messages: Vec<String> = ids.iter().map(|id| message(id, "first")).collect();
        let result = self.store.append_messages(session, &messages, &AppendOptions::default()).unwrap();
        for item in result.items {
            if item.inserted {
                let life = self.comes(session, &item.id);
                self.expect(EventKind::Appended, session, &[&item.id], Some(life));
            }
        }
    }

    pub(crate) fn import(&mut self, session: &str, id: &str, parent: Option<&str>) {
        let item =
            ImportItem { message: message(id, "from elsewhere"), parent_id: parent.map(str::to_owned), created_at: 7 };
        if self.store.import_message(session, &item) == Ok(true) {
            let life = self.comes(session, id);
            self.expect(EventKind::Imported, session, &[id], Some(life));
        }
    }

    pub(crate) fn update(&mut self, session: &str, id: &str, text: &str) {
        let before = self.store.get_message(session, id, MediaMode::Inline).unwrap();
        let new = message(id, text);
        let after = self.store.update_message(session, &new, Source::Server).unwrap();
        assert_eq!(after.is_some(), before.is_some());
        if before.is_some_and(|before| before.json != new) {
            let life = self.alive[&(session.to_owned(), id.to_owned())];
            self.expect(EventKind::Updated, session, &[id], Some(life));
        }
    }

    /// Ids of a session's messages by seq.
    pub(crate) fn ids(&mut self, session: &str) -> Vec<String> {
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.store.list_messages(session, cursor.as_deref(), Some(1000)).unwrap();
            ids.extend(page.items.into_iter().map(|node| node.id));
            cursor = page.cursor;
            if cursor.is_none() {
                return ids;
            }
        }
    }

    fn goes(&mut self, session: &str, id: &str) {
        self.alive.remove(&(session.to_owned(), id.to_owned())).unwrap();
    }

    pub(crate) fn delete(&mut self, session: &str, ids: &[String], mode: DeleteMode, dry_run: bool) {
        let before = self.ids(session);
        let result = self.store.delete_messages(session, ids, mode, dry_run).unwrap();
        let after = self.ids(session);
        let gone: Vec<&str> = before.iter().filter(|id| !after.contains(id)).map(String::as_str).collect();
        if dry_run {
            assert!(gone.is_empty());
            return;
        }
        assert_eq!(result.deleted as usize, gone.len());
        for id in &gone {
            self.goes(session, id);
        }
        if !gone.is_empty() {
            self.expect(EventKind::Deleted, session, &gone, None);
        }
    }

    pub(crate) fn clear(&mut self, session: &str) {
        let ids = self.ids(session);
        assert_eq!(self.store.clear_messages(session).unwrap() as usize, ids.len());
        for id in &ids {
            self.goes(session, id);
        }
        if !ids.is_empty() {
            self.expect(EventKind::Cleared, session, &[], None);
        }
    }

    pub(crate) fn set_title(&mut self, session: &str, title: Option<&str>, automatic: bool) {
        let Ok(before) = self.store.session_info(session) else { return };
        let after = self.store.set_title(session, title, automatic).unwrap();
        if (before.title, before.title_automatic) != (after.title, after.title_automatic) {
            self.expect(EventKind::SessionChanged, session, &[], None);
        }
    }

    pub(crate) fn delete_session(&mut self, session: &str) {
        let ids = self.ids(session);
        if let Ok(deleted) = self.store.delete_session(session) {
            assert_eq!(deleted as usize, ids.len());
            for id in &ids {
                self.goes(session, id);
            }
            self.expect(EventKind::SessionChanged, session, &[], None);
        }
    }

    pub(crate) fn fork(&mut self, session: &str, leaf: Option<&str>, new: &str) {
        if self.store.fork_session(session, leaf, new).is_ok() {
            for id in self.ids(new) {
                self.comes(new, &id);
            }
            self.expect(EventKind::SessionChanged, new, &[], None);
        }
    }

    pub(crate) fn add_compaction(&mut self, session: &str, first: &str, last: &str) {
        if let Ok(compaction) = self.store.add_compaction(session, "a summary", first, last) {
            self.expect(EventKind::CompactionChanged, session, &[&compaction.id], None);
        }
    }

    pub(crate) fn remove_compaction(&mut self, session: &str) {
        let Some(compaction) = self.store.get_compactions(session).unwrap().pop() else { return };
        assert!(self.store.remove_compaction(session, &compaction.id).unwrap());
        self.expect(EventKind::CompactionChanged, session, &[&compaction.id], None);
    }

    /// All events behind a cursor, read in pages. None: the cursor is of no use.
    pub(crate) fn read(&mut self, options: &ChangeOptions) -> Option<(Vec<Change>, String)> {
        let mut options = options.clone();
        let mut events = Vec::new();
        loop {
            let page = self.store.changes(&options).unwrap();
            if page.reset {
                assert!(page.events.is_empty());
                return None;
            }
            let moved = options.cursor.as_ref() != Some(&page.cursor);
            assert!(page.events.len() <= options.limit.unwrap_or(100) as usize);
            assert!(moved || page.events.is_empty());
            events.extend(page.events);
            options.cursor = Some(page.cursor.clone());
            if !moved {
                return Some((events, page.cursor));
            }
        }
    }

    /// Whether an event was told as it should be.
    #[track_caller]
    pub(crate) fn check(&mut self, told: &Change, expected: &Expected) {
        assert_eq!((told.kind, &told.session_id, &told.ids), (expected.kind, &expected.session, &expected.ids));
        let stored = match (expected.life, expected.ids.first()) {
            (Some(life), Some(id)) if self.alive.get(&(expected.session.clone(), id.clone())) == Some(&life) => {
                self.store.get_message(&expected.session, id, MediaMode::Inline).unwrap()
            }
            _ => None,
        };
        let stored = stored.map_or((None, None), |stored| (Some(stored.json), stored.parent_id));
        assert_eq!((told.message.clone(), told.parent_id.clone()), stored, "{expected:?}");
        let compaction = match expected.kind {
            EventKind::Compacted | EventKind::CompactionChanged => {
                let all = self.store.get_compactions(&expected.session).unwrap();
                all.into_iter().find(|compaction| compaction.id == expected.ids[0])
            }
            _ => None,
        };
        assert_eq!(told.compaction, compaction);
    }

    /// Whether what was told is the list from an index on, as far as it is wanted.
    #[track_caller]
    pub(crate) fn check_all(&mut self, told: &[Change], from: usize, options: &ChangeOptions) {
        let expected: Vec<Expected> = self.events[from..]
            .iter()
            .filter(|event| options.session.as_ref().is_none_or(|session| *session == event.session))
            .filter(|event| options.kinds.is_empty() || options.kinds.contains(&event.kind))
            .cloned()
            .collect();
        let kinds = |told: &[Change]| told.iter().map(|told| (told.kind, told.ids.clone())).collect::<Vec<_>>();
        assert_eq!(told.len(), expected.len(), "{:#?}\n{expected:#?}", kinds(told));
        for (told, expected) in told.iter().zip(&expected) {
            self.check(told, expected);
        }
    }
}
