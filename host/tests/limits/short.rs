//! A disk that does less than it was asked for, always. What else it may do is in `cargo xtask proof`.

use talktree::Talktree;
use talktree::hooks::{FileOperation, SandboxHooks, Verdict};

use crate::life::{check, live};

/// Reads and writes do no more than so many bytes at once.
struct Short(usize);

impl SandboxHooks for Short {
    fn before(&mut self, _operation: &FileOperation<'_>) -> Verdict {
        Verdict::Shorten(self.0)
    }
}

#[tokio::test]
async fn a_disk_that_always_does_less_than_it_was_asked_for_is_used_all_the_same() {
    for length in [1_000, 4_095, 70_000] {
        let root = tempfile::tempdir().unwrap();
        let talktree =
            Talktree::builder(root.path()).sandbox_hooks(move |_| Box::new(Short(length))).open().await.unwrap();
        let all = live(&talktree).await;
        assert!(all.errors.is_empty(), "{:?}", all.errors);
        talktree.close().await.unwrap();
        let sound = Talktree::open(root.path()).await.unwrap();
        check(&sound.tenant("t").unwrap(), &all, "at the end").await;
    }
}
