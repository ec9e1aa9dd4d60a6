//! Promises of the hooks for metrics.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod common;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use common::{kind, message};
use talktree::{
    ErrorKind, Talktree,
    metrics::{Counters, EndedCall, Metrics},
};

/// A call as it was told.
#[derive(Clone, Debug)]
struct Told {
    tenant: String,
    operation: &'static str,
    outcome: Result<(), ErrorKind>,
    waited: Duration,
    ran: Duration,
    bytes: (u64, u64),
}

#[derive(Clone, Default)]
struct Kept {
    calls: Arc<Mutex<Vec<Told>>>,
    opened: Arc<Mutex<Vec<String>>>,
    lost: Arc<Mutex<Vec<String>>>,
}

impl Kept {
    fn named(&self, operation: &str) -> Vec<Told> {
        self.calls.lock().unwrap().iter().filter(|told| told.operation == operation).cloned().collect()
    }
}

impl Metrics for Kept {
    fn call_ended(&self, call: &EndedCall<'_>) {
        self.calls.lock().unwrap().push(Told {
            tenant: call.tenant.to_owned(),
            operation: call.operation,
            outcome: call.outcome,
            waited: call.waited,
            ran: call.ran,
            bytes: (call.bytes_in, call.bytes_out),
        });
    }

    fn sandbox_opened(&self, tenant: &str, took: Duration) {
        assert!(took > Duration::ZERO);
        self.opened.lock().unwrap().push(tenant.to_owned());
    }

    fn sandbox_lost(&self, tenant: &str) {
        self.lost.lock().unwrap().push(tenant.to_owned());
    }
}

#[tokio::test]
async fn every_call_is_told_once_with_its_tenant_its_outcome_and_its_bytes_before_it_is_answered() {
    let root = tempfile::tempdir().unwrap();
    let (kept, counters) = (Kept::default(), Counters::default());
    let builder = Talktree::builder(root.path()).metrics(kept.clone()).metrics(counters.clone());
    let talktree = builder.open().await.unwrap();
    let session = talktree.tenant("easy:test1").unwrap().session("");
    let text = message("m1", "Hello");
    let bytes = text.len() as u64;
    session.append_message(text).await.unwrap();
    let appended = kept.named("append-message");
    assert_eq!(appended.len(), 1);
    assert_eq!(
        (appended[0].tenant.as_str(), appended[0].outcome, appended[0].bytes),
        ("easy:test1", Ok(()), (bytes, 0))
    );
    assert!(appended[0].ran > Duration::ZERO && appended[0].waited < Duration::from_secs(60));
    assert_eq!(*kept.opened.lock().unwrap(), ["easy:test1"]);

    session.get_history().await.unwrap();
    assert_eq!(kept.named("get-history")[0].bytes, (0, bytes));
    session.search("hello").await.unwrap();
    assert!(kept.named("search").iter().any(|told| told.bytes.1 > 0));
    let unknown = session.append_message(message("m2", "x")).parent("none").await;
    assert_eq!(kind(unknown), ErrorKind::UnknownParent);
    assert_eq!(kept.named("append-message")[1].outcome, Err(ErrorKind::UnknownParent));

    session.tenant().close().await.unwrap();
    session.tenant().delete().await.unwrap();
    assert_eq!(kind(session.tenant().delete().await), ErrorKind::UnknownTenant);
    let outcomes: Vec<_> = kept.named("delete-tenant").iter().map(|told| told.outcome).collect();
    assert_eq!(outcomes, [Ok(()), Err(ErrorKind::UnknownTenant)]);
    assert_eq!(kept.named("close").len(), 1);

    let line = "talktree_operation_errors_total{operation=\"append-message\",kind=\"unknown-parent\"} 1";
    assert!(counters.text().lines().any(|found| found == line), "{}", counters.text());
    talktree.close().await.unwrap();
}

#[tokio::test]
async fn calls_that_are_refused_and_sandboxes_that_are_lost_are_told() {
    let root = tempfile::tempdir().unwrap();
    let kept = Kept::default();
    let builder = Talktree::builder(root.path()).metrics(kept.clone()).call_timeout(Duration::from_millis(20));
    let talktree = builder.max_waiting_calls(1).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    // A chain that takes longer than its limit.
    let chain: Vec<_> = (0..10_000).map(|n| message(&format!("m{n}"), &"x".repeat(500))).collect();
    let slow = std::future::IntoFuture::into_future(session.append_messages(chain));
    let waiting: Vec<_> = (0..5).map(|_| session.get_latest_leaf().into_future()).collect();
    assert_eq!(kind(slow.await), ErrorKind::TimedOut);
    let refused = futures::future::join_all(waiting).await.into_iter().filter(|answer| answer.is_err()).count();
    assert!(refused > 0);
    let told = kept.named("get-latest-leaf");
    assert_eq!(told.iter().filter(|told| told.outcome == Err(ErrorKind::Busy)).count(), refused);
    assert!(told.iter().filter(|told| told.outcome.is_err()).all(|told| told.ran == Duration::ZERO));
    assert_eq!(kept.named("append-messages")[0].outcome, Err(ErrorKind::TimedOut));
    assert_eq!(*kept.lost.lock().unwrap(), ["t"]);
    talktree.close().await.unwrap();
}

#[tokio::test]
async fn a_hook_that_panics_costs_no_call() {
    struct Panics;
    impl Metrics for Panics {
        fn call_ended(&self, _call: &EndedCall<'_>) {
            panic!("on purpose");
        }
    }
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).metrics(Panics).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    for n in 0..3 {
        assert!(session.append_message(message(&format!("m{n}"), "x")).await.unwrap().inserted);
    }
    talktree.close().await.unwrap();
}
