//! The engine natively: a library of this program, on SQLite's own VFS.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use talktree_engine::{
    AppendOptions, ConfigScope, ConfigurationChange, Directory, FILE_NAME, MediaMode, Options, ReadOptions,
    RecentOptions, SearchOptions, Setting, Store,
};

use crate::contender::{Amount, Contender, Durability};

pub(crate) struct Engine {
    store: Store<Directory>,
}

impl Engine {
    pub(crate) fn new(directory: &Path, durability: Durability) -> Self {
        let durability = match durability {
            Durability::Full => talktree_engine::Durability::Full,
            Durability::Normal => talktree_engine::Durability::Normal,
        };
        let options = Options { durability, ..Options::default() };
        Self { store: Store::new(Directory::new(directory), options) }
    }

    fn page(&mut self, amount: &mut Amount, cursor: Option<&str>) -> Result<Option<String>> {
        let page = self.store.read_history("", &ReadOptions::default(), cursor)?;
        page.items.iter().for_each(|message| amount.add(message.json.len()));
        Ok(page.cursor)
    }
}

impl Contender for Engine {
    fn append(&mut self, message: &str) -> Result<()> {
        ensure!(self.store.append_message("", message, &AppendOptions::default())?.inserted, "not inserted");
        Ok(())
    }

    fn append_all(&mut self, messages: Vec<String>) -> Result<()> {
        let items = self.store.append_messages("", &messages, &AppendOptions::default())?.items;
        ensure!(items.iter().all(|item| item.inserted), "not inserted");
        Ok(())
    }

    fn arm(&mut self) -> Result<()> {
        let change = ConfigurationChange { compact_after: Setting::Value(u32::MAX), ..ConfigurationChange::default() };
        self.store.configure(&ConfigScope::Session(String::new()), &change)?;
        Ok(())
    }

    fn read_all(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        let mut cursor = self.page(&mut amount, None)?;
        while let Some(at) = cursor {
            cursor = self.page(&mut amount, Some(&at))?;
        }
        Ok(amount)
    }

    fn read_first(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        self.page(&mut amount, None)?;
        Ok(amount)
    }

    fn read_recent(&mut self, max_bytes: u64) -> Result<Amount> {
        let options = RecentOptions { max_bytes, leaf_id: None, overlays: true, media: MediaMode::Inline };
        let mut amount = Amount::default();
        let recent = self.store.get_recent_history("", &options)?;
        recent.messages.iter().for_each(|message| amount.add(message.json.len()));
        Ok(amount)
    }

    fn read_leaf(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        self.store.get_latest_leaf("", MediaMode::Inline)?.iter().for_each(|message| amount.add(message.json.len()));
        Ok(amount)
    }

    fn append_to(&mut self, session: &str, message: &str) -> Result<()> {
        ensure!(self.store.append_message(session, message, &AppendOptions::default())?.inserted, "not inserted");
        Ok(())
    }

    fn list(&mut self, limit: u32, cursor: Option<String>) -> Result<Option<(usize, Option<String>)>> {
        let page = self.store.list_sessions(cursor.as_deref(), Some(limit))?;
        Ok(Some((page.items.len(), page.cursor)))
    }

    fn search(&mut self, query: &str) -> Result<Option<usize>> {
        let options = SearchOptions { session: Some(String::new()), ..SearchOptions::default() };
        Ok(Some(self.store.search(query, &options)?.items.len()))
    }

    fn index_bytes(&mut self) -> Result<u64> {
        Ok(self.store.stats()?.bytes.index)
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.store.close()?)
    }

    fn database(&self) -> Result<PathBuf> {
        Ok(self.store.place().path().join(FILE_NAME))
    }
}
