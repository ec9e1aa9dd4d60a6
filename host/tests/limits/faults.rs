//! Everything that a store asks of its disk fails once, at each moment of its life.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use talktree::hooks::{Fault, FileOperation, SandboxHooks, Verdict};
use talktree::{Durability, ErrorKind, Talktree};

use crate::life::{check, live};

/// What happens at the operation of a number, and after it.
#[derive(Clone, Copy, Debug)]
enum What {
    /// It fails, and all others work.
    Once(Fault),
    /// It fails, and so does each one after it that needs room.
    FullFrom,
    /// Reads and writes do less than they were asked for, everywhere.
    Short(usize),
    /// The host goes down in it.
    Panic,
}

struct Faults {
    what: What,
    at: u64,
    count: Arc<AtomicU64>,
}

impl SandboxHooks for Faults {
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        if matches!(operation, FileOperation::Look { .. } | FileOperation::List) {
            return Verdict::Proceed;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        match self.what {
            What::Once(fault) if number == self.at => Verdict::Fail(fault),
            What::Panic if number == self.at => panic!("as the test wants it"),
            What::FullFrom if number >= self.at && matches!(operation, FileOperation::Write { .. }) => {
                Verdict::Fail(Fault::NoRoom)
            }
            What::Short(length) => Verdict::Shorten(length),
            _ => Verdict::Proceed,
        }
    }
}

/// Lives a life in which something happens at this operation. Answers how many there were.
async fn life(what: What, at: u64) -> u64 {
    let root = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let talktree = Talktree::builder(root.path())
        .durability(Durability::Normal)
        .sandbox_hooks(move |_| Box::new(Faults { what, at, count: Arc::clone(&counted) }))
        .open()
        .await
        .unwrap();
    let all = live(&talktree).await;
    talktree.close().await.unwrap();
    let moment = format!("{what:?} at {at}, {:?}", all.errors);
    if matches!(what, What::FullFrom) && at == 0 {
        assert!(all.errors.contains(&ErrorKind::StorageFull), "{moment}");
    }
    for kind in &all.errors {
        let typed = match what {
            // A read that finds no room is a failure of the disk.
            What::Once(Fault::NoRoom) | What::FullFrom => matches!(kind, ErrorKind::StorageFull | ErrorKind::Other),
            What::Panic => matches!(kind, ErrorKind::Crashed),
            // A disk that fails when a file is opened to be written is taken for one that cannot be written.
            _ => matches!(kind, ErrorKind::Other | ErrorKind::ReadOnly),
        };
        assert!(typed, "{moment}");
    }

    let sound = Talktree::builder(root.path()).open().await.unwrap();
    let tenant = sound.tenant("t").unwrap();
    check(&tenant, &all, &moment).await;
    tenant.session("").append_message(crate::common::message("last", "x")).await.unwrap();
    sound.close().await.unwrap();
    count.load(Ordering::Relaxed)
}

async fn at_every_moment(what: What) {
    let mut at = 0;
    loop {
        let all = life(what, at).await;
        if at >= all {
            assert!(at > 50, "only {all} operations in a life");
            return;
        }
        // The beginning, where a store comes into being, one by one.
        at += if at < 60 { 1 } else { 7 };
    }
}

#[tokio::test]
async fn a_failure_of_the_disk_at_any_moment_is_typed_and_costs_nothing_acknowledged() {
    at_every_moment(What::Once(Fault::Io)).await;
}

#[tokio::test]
async fn want_of_room_at_any_moment_is_typed_and_costs_nothing_acknowledged() {
    at_every_moment(What::Once(Fault::NoRoom)).await;
}

#[tokio::test]
async fn a_disk_that_is_full_from_any_moment_on_costs_nothing_acknowledged() {
    at_every_moment(What::FullFrom).await;
}

#[tokio::test]
async fn a_host_that_goes_down_at_any_moment_costs_nothing_acknowledged() {
    at_every_moment(What::Panic).await;
}

#[tokio::test]
async fn a_disk_that_always_does_less_than_it_was_asked_for_is_used_all_the_same() {
    for length in [1_000, 4_095, 70_000] {
        let root = tempfile::tempdir().unwrap();
        let talktree = Talktree::builder(root.path())
            .sandbox_hooks(move |_| Box::new(Faults { what: What::Short(length), at: 0, count: Arc::default() }))
            .open()
            .await
            .unwrap();
        let all = live(&talktree).await;
        assert!(all.errors.is_empty(), "{:?}", all.errors);
        talktree.close().await.unwrap();
        let sound = Talktree::open(root.path()).await.unwrap();
        check(&sound.tenant("t").unwrap(), &all, "at the end").await;
    }
}
