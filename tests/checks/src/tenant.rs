//! A tenant as the host's sources know it, over the engine itself instead of a sandbox with the engine inside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use talktree_engine::{Directory, ImportItem, LinesReport, MediaMode, Message, Store};

use crate::error::{Error, Result};

/// A tenant.
#[derive(Clone)]
pub(crate) struct Tenant(Arc<Mutex<Store<Directory>>>);

/// A session of one.
pub(crate) struct Session {
    tenant: Tenant,
    id: String,
}

impl Tenant {
    pub(crate) fn new(store: Store<Directory>) -> Self {
        Self(Arc::new(Mutex::new(store)))
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store<Directory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session(&self, id: &str) -> Session {
        Session { tenant: self.clone(), id: id.to_owned() }
    }

    pub(crate) async fn import_lines(&self, lines: String) -> Result<Vec<LinesReport>> {
        Ok(self.store().import_lines(None, &lines)?)
    }
}

impl Session {
    pub(crate) async fn get_latest_leaf(&self) -> Result<Option<Message>> {
        Ok(self.tenant.store().get_latest_leaf(&self.id, MediaMode::Inline)?)
    }

    pub(crate) async fn import_messages(&self, items: Vec<ImportItem>) -> Result<Vec<bool>> {
        Ok(self.tenant.store().import_messages(&self.id, &items)?)
    }

    pub(crate) async fn import_lines(&self, lines: String) -> Result<Vec<LinesReport>> {
        Ok(self.tenant.store().import_lines(Some(&self.id), &lines)?)
    }

    pub(crate) async fn set_automatic_title(&self, title: &str) -> Result<()> {
        self.tenant.store().set_title(&self.id, Some(title), true)?;
        Ok(())
    }

    pub(crate) async fn add_compaction(&self, summary: &str, first: &str, last: &str) -> Result<()> {
        self.tenant.store().add_compaction(&self.id, summary, first, last)?;
        Ok(())
    }

    pub(crate) async fn set_leaf(&self, id: Option<&str>) -> Result<Option<String>> {
        self.tenant.store().set_leaf(&self.id, id).map_err(Error::from)
    }
}
