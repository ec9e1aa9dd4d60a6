//! A root of its own for each test, and messages.

use serde_json::json;
use talktree::{Builder, Session, Talktree, Tenant};
use tempfile::TempDir;

/// A root that is opened.
pub(crate) struct Place {
    pub(crate) talktree: Talktree,
    pub(crate) root: TempDir,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    /// With choices of its own.
    pub(crate) async fn with(choose: impl FnOnce(Builder) -> Builder) -> Self {
        let root = tempfile::tempdir().unwrap();
        let talktree = choose(Talktree::builder(root.path())).open().await.unwrap();
        Self { talktree, root }
    }

    /// The same after the process has come to its end and begun again.
    pub(crate) async fn again(self) -> Self {
        self.talktree.close().await.unwrap();
        let talktree = Talktree::open(self.root.path()).await.unwrap();
        Self { talktree, root: self.root }
    }

    pub(crate) fn tenant(&self) -> Tenant {
        self.talktree.tenant("t").unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        self.tenant().session("")
    }
}

/// A message with one text part.
pub(crate) fn message(id: &str, role: &str, text: &str) -> String {
    json!({ "id": id, "role": role, "parts": [{ "type": "text", "text": text }] }).to_string()
}
