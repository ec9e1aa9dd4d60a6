//! Sandboxes: one owner, limits, break-downs, and ends.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::collections::VecDeque;
use std::future::IntoFuture;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{becomes_free, files, kind, message};
use talktree::{ErrorKind, Talktree};

#[tokio::test]
async fn a_second_owner_is_busy_at_once_until_the_first_closes() {
    let root = tempfile::tempdir().unwrap();
    let first = Talktree::open(root.path()).await.unwrap();
    let second = Talktree::open(root.path()).await.unwrap();
    let mine = first.tenant("t").unwrap();
    mine.session("").append_message(message("m1", "x")).await.unwrap();

    let theirs = second.tenant("t").unwrap().session("");
    let asked = Instant::now();
    assert_eq!(kind(theirs.append_message(message("m2", "x")).await), ErrorKind::Busy);
    assert_eq!(kind(theirs.get_latest_leaf().await), ErrorKind::Busy);
    assert!(asked.elapsed() < Duration::from_secs(2));
    // Other tenants are free.
    second.tenant("u").unwrap().session("").append_message(message("m", "x")).await.unwrap();

    mine.close().await.unwrap();
    theirs.append_message(message("m2", "x")).await.unwrap();
    assert_eq!(kind(mine.session("").get_latest_leaf().await), ErrorKind::Busy);
    second.close().await.unwrap();
    assert_eq!(mine.session("").get_latest_leaf().await.unwrap().unwrap().id, "m2");
}

#[tokio::test]
async fn an_idle_sandbox_ends_and_lets_go_of_its_tenant() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).idle_timeout(Duration::from_millis(50)).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.append_message(message("m1", "x")).await.unwrap();
    assert!(becomes_free(root.path(), "t").await);
    session.append_message(message("m2", "x")).await.unwrap();
}

#[tokio::test]
async fn no_more_tenants_live_than_allowed_and_all_are_served() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).max_live_tenants(2).open().await.unwrap();
    let sessions: Vec<_> = (0..12).map(|n| talktree.tenant(format!("t{n}")).unwrap().session("")).collect();
    for round in 0..3 {
        let id = format!("m{round}");
        let calls: Vec<_> = sessions.iter().map(|s| s.append_message(message(&id, "x")).into_future()).collect();
        for call in calls {
            assert!(call.await.unwrap().inserted);
        }
    }
    assert!(held_locks(root.path()) <= 2);
    for session in &sessions {
        assert_eq!(session.get_history().await.unwrap().len(), 3);
        assert!(held_locks(root.path()) <= 2);
    }
}

#[tokio::test]
async fn tenants_that_are_never_idle_give_others_their_turn() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).max_live_tenants(2).open().await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let greedy: Vec<_> = (0..3)
        .map(|tenant| {
            let session = talktree.tenant(format!("greedy{tenant}")).unwrap().session("");
            let over = Arc::clone(&over);
            tokio::spawn(async move {
                // Always with calls that wait.
                let mut waiting = VecDeque::new();
                let mut made = 0;
                while !over.load(Ordering::Relaxed) {
                    while waiting.len() < 50 {
                        waiting.push_back(session.get_latest_leaf().into_future());
                    }
                    waiting.pop_front().unwrap().await.unwrap();
                    made += 1;
                    if made % 20 == 0 {
                        session.append_message(message(&format!("m{made}"), "x")).await.unwrap();
                    }
                }
            })
        })
        .collect();
    let patient = talktree.tenant("patient").unwrap().session("");
    for number in 0..10 {
        let appended = patient.append_message(message(&format!("m{number}"), "x")).into_future();
        let appended = tokio::time::timeout(Duration::from_secs(20), appended).await;
        assert!(appended.expect("it never comes to its turn").unwrap().inserted);
    }
    over.store(true, Ordering::Relaxed);
    for task in greedy {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_flood_for_one_tenant_leaves_room_for_the_calls_of_others() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).max_waiting_calls_in_all(40).open().await.unwrap();
    let flooded = talktree.tenant("flooded").unwrap().session("");
    let long = "x".repeat(100_000);
    let flood: Vec<_> =
        (0..400).map(|n| flooded.append_message(message(&format!("m{n}"), &long)).into_future()).collect();
    let other = talktree.tenant("other").unwrap().session("");
    other.append_message(message("m", "x")).await.unwrap();
    let mut refused = 0;
    for call in flood {
        if let Err(error) = call.await {
            assert_eq!(error.kind(), ErrorKind::Busy);
            refused += 1;
        }
    }
    assert!(refused > 0);
    assert_eq!(flooded.get_history().await.unwrap().len(), 400 - refused);
}

fn held_locks(root: &Path) -> usize {
    let tenants = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path().join("lock"));
    tenants.filter(|lock| std::fs::File::open(lock).unwrap().try_lock().is_err()).count()
}

#[tokio::test]
async fn calls_of_one_tenant_are_carried_out_in_the_order_in_which_they_were_made() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let ids: Vec<_> = (0..200).map(|n| format!("m{n}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| session.append_message(message(id, "x")).into_future()).collect();
    // Dropped or awaited the other way round: that changes nothing.
    for (n, call) in calls.into_iter().enumerate().rev() {
        if n % 2 == 0 {
            assert!(call.await.unwrap().inserted);
        }
    }
    let history: Vec<_> = session.get_history().await.unwrap().into_iter().map(|message| message.id).collect();
    assert_eq!(history, ids);
}

#[tokio::test]
async fn tenants_are_served_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            let session = talktree.tenant(format!("t{n}")).unwrap().session("");
            tokio::spawn(async move {
                for m in 0..50 {
                    session.append_message(message(&format!("m{m}"), &n.to_string())).await.unwrap();
                }
                session.get_history().await.unwrap()
            })
        })
        .collect();
    for (n, task) in tasks.into_iter().enumerate() {
        let history = task.await.unwrap();
        assert_eq!(history.len(), 50);
        assert!(history.iter().all(|found| found.json == message(&found.id, &n.to_string())));
    }
}

#[tokio::test]
async fn too_many_waiting_calls_are_refused_as_busy_and_the_accepted_ones_answered() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).max_waiting_calls(5).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let calls: Vec<_> =
        (0..200).map(|n| session.append_message(message(&format!("m{n}"), "x")).into_future()).collect();
    let mut accepted = 0;
    let mut refused = 0;
    for call in calls {
        match call.await {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Busy);
                refused += 1;
            }
        }
    }
    assert!(accepted >= 5 && refused > 0, "{accepted} accepted, {refused} refused");
    assert_eq!(session.get_history().await.unwrap().len(), accepted);
}

#[tokio::test]
async fn a_call_that_breaks_the_memory_limit_crashes_alone() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).memory_limit(24 << 20).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.append_message(message("m1", "x")).await.unwrap();
    let huge = message("huge", &"x".repeat(40 << 20));
    assert_eq!(kind(session.append_message(huge).await), ErrorKind::Crashed);
    session.append_message(message("m2", "x")).await.unwrap();
    let ids: Vec<_> = session.get_history().await.unwrap().into_iter().map(|message| message.id).collect();
    assert_eq!(ids, ["m1", "m2"]);
}

#[tokio::test]
async fn where_no_sandbox_can_be_made_the_call_crashes_and_nothing_stays() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).memory_limit(1 << 16).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    assert_eq!(kind(session.append_message(message("m1", "x")).await), ErrorKind::Crashed);
    assert_eq!(kind(session.get_latest_leaf().await), ErrorKind::Crashed);
    assert_eq!(files(root.path()), [""; 0]);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended_and_the_next_one_works() {
    let root = tempfile::tempdir().unwrap();
    let patient = Talktree::open(root.path()).await.unwrap();
    patient.tenant("t").unwrap().session("").append_message(message("m1", "x")).await.unwrap();
    patient.close().await.unwrap();

    let talktree = Talktree::builder(root.path()).call_timeout(Duration::from_millis(50)).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let chain: Vec<_> = (0..10_000).map(|n| message(&format!("c{n}"), &"x".repeat(5_000))).collect();
    let asked = Instant::now();
    assert_eq!(kind(session.append_messages(chain).await), ErrorKind::TimedOut);
    assert!(asked.elapsed() < Duration::from_secs(10));
    talktree.close().await.unwrap();

    let patient = Talktree::open(root.path()).await.unwrap();
    let session = patient.tenant("t").unwrap().session("");
    session.append_message(message("m2", "x")).await.unwrap();
    let ids: Vec<_> = session.get_history().await.unwrap().into_iter().map(|message| message.id).collect();
    assert_eq!(ids, ["m1", "m2"], "all or none of a chain is stored");
}

#[tokio::test]
async fn after_a_time_out_the_same_handle_works_again() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::builder(root.path()).call_timeout(Duration::from_millis(50)).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let large = message("large", &"x".repeat(48 << 20));
    assert_eq!(kind(session.append_message(large).await), ErrorKind::TimedOut);
    // On a busy machine a small call may take too long as well: a retry is safe.
    for _ in 0..50 {
        match session.append_message(message("m1", "x")).await {
            Ok(_) => return,
            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}"),
        }
    }
    panic!("no call within the limit came through");
}

#[tokio::test]
async fn large_messages_pass_one_after_the_other_within_the_memory_limit() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    for n in 0..3 {
        let large = message(&format!("m{n}"), &"x".repeat(40 << 20));
        assert!(session.append_message(&large).await.unwrap().inserted);
        assert!(session.get_message(&format!("m{n}")).await.unwrap().unwrap().json == large);
    }
    // The sandbox was replaced on the way, and the tenant was not let go of.
    let other = Talktree::open(root.path()).await.unwrap();
    assert_eq!(kind(other.tenant("t").unwrap().session("").get_latest_leaf().await), ErrorKind::Busy);
}

#[tokio::test]
async fn close_carries_out_what_was_accepted_and_refuses_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let calls: Vec<_> = (0..50).map(|n| session.append_message(message(&format!("m{n}"), "x")).into_future()).collect();
    talktree.close().await.unwrap();
    assert_eq!(kind(session.get_latest_leaf().await), ErrorKind::Other);
    for call in calls {
        assert!(call.await.unwrap().inserted);
    }
    talktree.close().await.unwrap();

    let again = Talktree::open(root.path()).await.unwrap();
    assert_eq!(again.tenant("t").unwrap().session("").get_history().await.unwrap().len(), 50);
}

#[tokio::test]
async fn dropping_the_last_handle_carries_out_what_was_accepted_and_lets_go() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    drop(talktree);
    for n in 0..20 {
        drop(session.append_message(message(&format!("m{n}"), "x")).into_future());
    }
    drop(session);
    let again = Talktree::open(root.path()).await.unwrap();
    assert_eq!(again.tenant("t").unwrap().session("").get_history().await.unwrap().len(), 20);
}
