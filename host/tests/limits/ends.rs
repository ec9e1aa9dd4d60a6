//! Memory and time: what goes beyond them ends the sandbox, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use talktree::hooks::{FileOperation, SandboxHooks, Verdict};
use talktree::summarizer::{SummaryRequest, from_fn};
use talktree::{
    Block, BlockDefinition, BlockKind, ConfigurationChange, Durability, ErrorKind, NumberSetting, Session, Talktree,
};

use crate::common::{kind, message};
use crate::life::{check, live};

/// Gives no memory at one moment.
struct Miser {
    at: u64,
    count: Arc<AtomicU64>,
}

impl SandboxHooks for Miser {
    fn memory_growing(&mut self, _from: usize, _to: usize) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed) != self.at
    }
}

#[tokio::test]
async fn memory_that_is_refused_at_any_moment_is_typed_and_costs_nothing_acknowledged() {
    for at in 0.. {
        let root = tempfile::tempdir().unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let talktree = Talktree::builder(root.path())
            .durability(Durability::Normal)
            .sandbox_hooks(move |_| Box::new(Miser { at, count: Arc::clone(&counted) }))
            .open()
            .await
            .unwrap();
        let all = live(&talktree).await;
        talktree.close().await.unwrap();
        let moment = format!("no memory at {at}: {:?}", all.errors);
        for kind in &all.errors {
            let typed = matches!(kind, ErrorKind::Crashed | ErrorKind::OverLimit);
            assert!(typed, "{moment}");
        }
        let sound = Talktree::open(root.path()).await.unwrap();
        check(&sound.tenant("t").unwrap(), &all, &moment).await;
        if at >= count.load(Ordering::Relaxed) {
            assert!(at > 3, "memory grew {at} times in a life");
            return;
        }
    }
}

#[tokio::test]
async fn a_tenant_at_its_memory_limit_is_told_so_and_lives_on_beside_its_neighbours() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).memory_limit(24 << 20).open().await.unwrap();
    let (hungry, other) = (talktree.tenant("hungry").unwrap(), talktree.tenant("other").unwrap().session(""));
    let session = hungry.session("");
    for round in 0..5 {
        session.append_message(message(&format!("m{round}"), "x")).await.unwrap();
        let refused = kind(session.append_message(message("huge", &"x".repeat(30 << 20))).await);
        assert!(matches!(refused, ErrorKind::Crashed | ErrorKind::OverLimit), "{refused}");
        other.append_message(message(&format!("m{round}"), "x")).await.unwrap();
    }
    assert_eq!(session.get_history().await.unwrap().len(), 5);
    assert!(hungry.check().await.unwrap().sound);
    assert_eq!(other.get_history().await.unwrap().len(), 5);
}

#[tokio::test]
async fn an_answer_beyond_the_transfer_limit_crashes_alone() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).transfer_limit(2 << 20).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.append_message(message("small", "x")).await.unwrap();
    session.append_message(message("large", &"x".repeat(4 << 20))).await.unwrap();
    assert_eq!(kind(session.get_message("large").await), ErrorKind::Crashed);
    assert!(session.get_message("small").await.unwrap().is_some());
    talktree.close().await.unwrap();
    let wide = Talktree::open(root.path()).await.unwrap();
    assert!(wide.tenant("t").unwrap().session("").get_message("large").await.unwrap().is_some());
}

/// A disk that is slow as long as it is told to be.
struct Slow(Arc<AtomicBool>);

impl SandboxHooks for Slow {
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        if matches!(operation, FileOperation::Write { .. }) && self.0.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_secs(4));
        }
        Verdict::Proceed
    }
}

#[tokio::test]
async fn time_that_the_host_takes_counts_and_the_next_call_finds_everything() {
    let root = tempfile::tempdir().unwrap();
    let slow = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&slow);
    let talktree = Talktree::builder(root.path())
        .call_timeout(Duration::from_secs(3))
        .sandbox_hooks(move |_| Box::new(Slow(Arc::clone(&told))))
        .open()
        .await
        .unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.append_message(message("m1", "x")).await.unwrap();
    slow.store(true, Ordering::Relaxed);
    let asked = Instant::now();
    assert_eq!(kind(session.append_message(message("m2", "x")).await), ErrorKind::TimedOut);
    assert!(asked.elapsed() < Duration::from_secs(30));
    slow.store(false, Ordering::Relaxed);
    // Nobody knows of m2; a retry with the same id is safe.
    session.append_message(message("m2", "x")).await.unwrap();
    let ids: Vec<_> = session.get_history().await.unwrap().into_iter().map(|message| message.id).collect();
    assert_eq!(ids, ["m1", "m2"]);
}

#[tokio::test]
async fn a_summarizer_that_hangs_ends_in_time_and_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path())
        .summarizer(from_fn(|_: SummaryRequest| std::future::pending()))
        .summarizer_timeout(Duration::from_secs(4))
        .open()
        .await
        .unwrap();
    let (tenant, other) = (talktree.tenant("t").unwrap(), talktree.tenant("u").unwrap().session(""));
    let session = tenant.session("");
    let keep_recent_tokens = NumberSetting::Value(600);
    session.configure(ConfigurationChange { keep_recent_tokens, ..ConfigurationChange::default() }).await.unwrap();
    let chain = (0..20).map(|number| message(&format!("m{number}"), &"Some words. ".repeat(100)));
    session.append_messages(chain).await.unwrap();
    let asked = Instant::now();
    let compaction = tokio::spawn({
        let session = session.clone();
        async move { session.compact().await }
    });
    for number in 0..10 {
        let one = Instant::now();
        session.append_message(message(&format!("n{number}"), "x")).await.unwrap();
        other.append_message(message(&format!("n{number}"), "x")).await.unwrap();
        assert!(one.elapsed() < Duration::from_secs(3), "a call waited for the summarizer");
    }
    let refused = compaction.await.unwrap().expect_err("there was no summary");
    assert!(matches!(refused.kind(), ErrorKind::SummarizerFailed | ErrorKind::TimedOut), "{refused}");
    assert!(asked.elapsed() < Duration::from_secs(60));
    assert_eq!(session.get_history().await.unwrap().len(), 30);
}

#[tokio::test]
async fn a_provider_that_hangs_ends_in_time_and_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path())
        .call_timeout(Duration::from_secs(4))
        .context_provider("soul", |_: Session, _: Block| std::future::pending::<talktree::Result<Option<String>>>())
        .open()
        .await
        .unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let soul = BlockDefinition { kind: BlockKind::ReadOnly, ..BlockDefinition::default() };
    session.define_block("soul", soul).await.unwrap();
    let asked = Instant::now();
    let prompt = session.system_prompt();
    session.append_message(message("m", "x")).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(4), "a call waited for the provider");
    assert_eq!(kind(prompt.await), ErrorKind::TimedOut);
    assert!(asked.elapsed() < Duration::from_secs(30));
}
