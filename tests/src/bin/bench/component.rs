//! The engine in the component, as a program meets it: through the host library.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use talktree::{ConfigurationChange, MessagePage, NumberSetting, Session, Talktree};
use tokio::runtime::Runtime;

use crate::contender::{Amount, Contender, Durability};

pub(crate) struct Component {
    runtime: Runtime,
    root: PathBuf,
    session: Session,
}

impl Component {
    /// One root with one tenant. Compiled code is kept beside the roots, so that a second process need not compile.
    pub(crate) fn open(directory: &Path, durability: Durability) -> Result<Self> {
        let durability = match durability {
            Durability::Full => talktree::Durability::Full,
            Durability::Normal => talktree::Durability::Normal,
        };
        let cache = directory.parent().context("a directory below the scratch directory")?.join("compiled");
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let talktree = runtime.block_on(Talktree::builder(directory).durability(durability).cache_dir(cache).open())?;
        let session = talktree.tenant("bench")?.session("");
        Ok(Self { runtime, root: directory.to_owned(), session })
    }

    fn page(&self, amount: &mut Amount, cursor: Option<String>) -> Result<Option<String>> {
        let page: MessagePage = self.runtime.block_on(self.session.read_history().cursor(cursor).into_future())?;
        page.messages.iter().for_each(|message| amount.add(message.json.len()));
        Ok(page.cursor)
    }
}

impl Contender for Component {
    fn append(&mut self, message: &str) -> Result<()> {
        let result = self.runtime.block_on(self.session.append_message(message).into_future())?;
        ensure!(result.inserted, "not inserted");
        Ok(())
    }

    fn append_all(&mut self, messages: Vec<String>) -> Result<()> {
        let result = self.runtime.block_on(self.session.append_messages(messages).into_future())?;
        ensure!(result.items.iter().all(|item| item.inserted), "not inserted");
        Ok(())
    }

    fn arm(&mut self) -> Result<()> {
        let compact_after = NumberSetting::Value(u32::MAX);
        let change = ConfigurationChange { compact_after, ..ConfigurationChange::default() };
        self.runtime.block_on(self.session.configure(change))?;
        Ok(())
    }

    fn read_all(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        let mut cursor = self.page(&mut amount, None)?;
        while let Some(at) = cursor {
            cursor = self.page(&mut amount, Some(at))?;
        }
        Ok(amount)
    }

    fn read_first(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        self.page(&mut amount, None)?;
        Ok(amount)
    }

    fn read_recent(&mut self, max_bytes: u64) -> Result<Amount> {
        let recent = self.runtime.block_on(self.session.get_recent_history(max_bytes).into_future())?;
        let mut amount = Amount::default();
        recent.messages.iter().for_each(|message| amount.add(message.json.len()));
        Ok(amount)
    }

    fn read_leaf(&mut self) -> Result<Amount> {
        let mut amount = Amount::default();
        let leaf = self.runtime.block_on(self.session.get_latest_leaf().into_future())?;
        leaf.iter().for_each(|message| amount.add(message.json.len()));
        Ok(amount)
    }

    fn append_to(&mut self, session: &str, message: &str) -> Result<()> {
        let session = self.session.tenant().session(session);
        let result = self.runtime.block_on(session.append_message(message).into_future())?;
        ensure!(result.inserted, "not inserted");
        Ok(())
    }

    fn list(&mut self, limit: u32, cursor: Option<String>) -> Result<Option<(usize, Option<String>)>> {
        let list = self.session.tenant().list_sessions().limit(limit).cursor(cursor);
        let page = self.runtime.block_on(list.into_future())?;
        Ok(Some((page.sessions.len(), page.cursor)))
    }

    fn search(&mut self, query: &str) -> Result<Option<usize>> {
        let page = self.runtime.block_on(self.session.search(query).into_future())?;
        Ok(Some(page.results.len()))
    }

    fn index_bytes(&mut self) -> Result<u64> {
        Ok(self.runtime.block_on(self.session.tenant().stats())?.bytes.index)
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.runtime.block_on(self.session.tenant().close())?)
    }

    fn database(&self) -> Result<PathBuf> {
        find(&self.root)?.with_context(|| format!("no database below {}", self.root.display()))
    }
}

/// The one database below a directory, whatever the host calls the tenant's own.
fn find(directory: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            if let Some(found) = find(&path)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|name| name == talktree_engine::FILE_NAME) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
