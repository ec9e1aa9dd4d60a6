//! The disk quota: `storage-full` that leaves the store readable, and ways out of it.

use std::path::Path;

use talktree::{DeleteMode, Durability, Error, ErrorKind, Session, Talktree, Tenant};

use crate::common::{files, kind, message};

const MIB: u64 = 1 << 20;

async fn open(root: &Path, quota: impl Into<Option<u64>>) -> Talktree {
    Talktree::builder(root).durability(Durability::Normal).disk_quota(quota).open().await.unwrap()
}

/// Appends messages of this size until one is refused, and answers the ids of those that are stored.
async fn fill(session: &Session, name: &str, bytes: usize) -> (Vec<String>, Error) {
    let mut stored = Vec::new();
    loop {
        let id = format!("{name}{}", stored.len());
        let text = format!("banana {}", "x".repeat(bytes));
        match session.append_message(message(&id, &text)).await {
            Ok(appended) => assert!(appended.inserted),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                return (stored, error);
            }
        }
        stored.push(id);
        assert!(stored.len() < 100_000, "nothing was ever refused");
    }
}

async fn ids(session: &Session) -> Vec<String> {
    session.get_history().await.unwrap().into_iter().map(|message| message.id).collect()
}

/// The length of the store's files.
fn on_disk(root: &Path) -> u64 {
    let found = files(root);
    let lengths = found.iter().filter(|name| name.contains("talktree.db"));
    lengths.map(|name| std::fs::metadata(root.join(name)).unwrap().len()).sum()
}

async fn snapshot(tenant: &Tenant) -> Vec<u8> {
    let mut copy = Vec::new();
    let mut cursor = None;
    loop {
        let piece = tenant.snapshot().cursor(cursor).await.unwrap();
        copy.extend_from_slice(&piece.data);
        cursor = piece.cursor;
        if cursor.is_none() {
            return copy;
        }
    }
}

#[tokio::test]
async fn a_full_quota_is_storage_full_and_everything_is_read_searched_and_copied() {
    let root = tempfile::tempdir().unwrap();
    let talktree = open(root.path(), 2 * MIB).await;
    let tenant = talktree.tenant("t").unwrap();
    let session = tenant.session("");
    let (stored, refused) = fill(&session, "m", 20_000).await;
    assert_eq!(refused.limit(), Some(2 * MIB), "{refused}");
    assert!(refused.current().unwrap() <= 2 * MIB && refused.message().contains("deleting"), "{refused}");
    // What is stored takes most of the quota: no room is kept for a log that is written back in time.
    assert!(stored.len() * 20_000 > MIB as usize * 3 / 2, "{} messages", stored.len());
    assert!(on_disk(root.path()) <= 2 * MIB);
    for _ in 0..3 {
        assert_eq!(kind(session.append_message(message("more", &"y".repeat(50_000))).await), ErrorKind::StorageFull);
    }

    assert_eq!(ids(&session).await, stored);
    assert!(!session.get_recent_history(100_000).await.unwrap().messages.is_empty());
    assert_eq!(session.search("banana").limit(1_000).await.unwrap().results.len(), stored.len());
    assert!(tenant.check().await.unwrap().sound);
    let disk = tenant.disk().await.unwrap();
    assert_eq!(disk.quota, Some(2 * MIB));
    assert!(disk.bytes > MIB && disk.bytes <= 2 * MIB, "{disk:?}");

    let copy = snapshot(&tenant).await;
    let other = talktree.tenant("copy").unwrap();
    other.restore(std::io::Cursor::new(copy)).await.unwrap();
    assert_eq!(ids(&other.session("")).await, stored);

    talktree.close().await.unwrap();
    let again = open(root.path(), 2 * MIB).await;
    let session = again.tenant("t").unwrap().session("");
    assert_eq!(ids(&session).await, stored);
    assert_eq!(kind(session.append_message(message("more", &"y".repeat(50_000))).await), ErrorKind::StorageFull);
}

#[tokio::test]
async fn whoever_deletes_can_append_again_and_vacuum_gives_the_rest_back() {
    let root = tempfile::tempdir().unwrap();
    let talktree = open(root.path(), 4 * MIB).await;
    let tenant = talktree.tenant("t").unwrap();
    let session = tenant.session("");
    let (mut stored, _) = fill(&session, "m", 30_000).await;
    for round in 0..3 {
        let gone: Vec<String> = stored.drain(..stored.len() / 2).collect();
        for id in &gone {
            session.delete_messages([id]).await.unwrap();
        }
        let (more, _) = fill(&session, &format!("r{round}-"), 30_000).await;
        assert!(more.len() + 3 >= gone.len(), "{} went, {} came", gone.len(), more.len());
        stored.extend(more);
        assert_eq!(ids(&session).await, stored);
    }
    let half = stored.len() / 2;
    session.delete_messages(stored.drain(half..)).mode(DeleteMode::Subtree).await.unwrap();
    let report = tenant.vacuum().await.unwrap();
    assert!(report.after < report.before * 2 / 3, "{report:?}");
    assert!(on_disk(root.path()) < 3 * MIB);
    assert_eq!(ids(&session).await, stored);
    session.append_message(message("last", "x")).await.unwrap();
    assert!(tenant.check().await.unwrap().sound);

    session.clear_messages().await.unwrap();
    tenant.vacuum().await.unwrap();
    assert!(on_disk(root.path()) < MIB);
    assert!(fill(&session, "n", 30_000).await.0.len() > 50);
}

#[tokio::test]
async fn a_full_store_that_is_large_is_cleared_at_once() {
    let root = tempfile::tempdir().unwrap();
    let talktree = open(root.path(), 64 * MIB).await;
    let tenant = talktree.tenant("t").unwrap();
    // Small messages, which cost the most to delete, in two sessions, with an index of their words.
    for name in ["a", "b"] {
        let session = tenant.session(name);
        let mut number = 0;
        loop {
            let chain: Vec<_> = (0..500)
                .map(|n| message(&format!("{name}{}", number + n), &format!("banana {n} {}", "y".repeat(300))))
                .collect();
            match session.append_messages(chain).await {
                Ok(_) => number += 500,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                    break;
                }
            }
            if name == "a" && number == 30_000 {
                tenant.search("banana").await.unwrap();
                break;
            }
        }
    }
    let messages = tenant.stats().await.unwrap().messages;
    assert!(messages > 50_000, "{messages}");
    assert!(tenant.session("a").clear_messages().await.unwrap() > 0);
    tenant.session("b").delete().await.unwrap();
    tenant.vacuum().await.unwrap();
    assert!(on_disk(root.path()) < 20 * MIB, "{}", on_disk(root.path()));
    tenant.session("a").append_message(message("new", "x")).await.unwrap();
    assert!(tenant.check().await.unwrap().sound);
}

#[tokio::test]
async fn a_first_write_beyond_the_quota_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let talktree = open(root.path(), MIB).await;
    let session = talktree.tenant("t").unwrap().session("");
    assert_eq!(kind(session.append_message(message("m", &"x".repeat(3 << 20))).await), ErrorKind::StorageFull);
    assert_eq!(files(root.path()), [""; 0]);
    session.append_message(message("m", "x")).await.unwrap();
    assert_eq!(kind(session.append_message(message("n", &"x".repeat(3 << 20))).await), ErrorKind::StorageFull);
    session.append_message(message("n", "x")).await.unwrap();
    assert_eq!(ids(&session).await, ["m", "n"]);
}

#[tokio::test]
async fn a_quota_that_was_made_smaller_lets_read_delete_and_shrink() {
    let root = tempfile::tempdir().unwrap();
    let wide = open(root.path(), None).await;
    let session = wide.tenant("t").unwrap().session("");
    let mut stored = Vec::new();
    for number in 0..40 {
        stored.push(format!("m{number}"));
        session.append_message(message(&stored[number], &"x".repeat(1 << 20))).await.unwrap();
    }
    wide.close().await.unwrap();

    let narrow = open(root.path(), 10 * MIB).await;
    let tenant = narrow.tenant("t").unwrap();
    let session = tenant.session("");
    let large = message("n", &"x".repeat(200_000));
    assert_eq!(kind(session.append_message(&large).await), ErrorKind::StorageFull);
    assert_eq!(ids(&session).await, stored);
    assert!(tenant.disk().await.unwrap().bytes > 40 * MIB);
    session.delete_messages(stored.drain(5..)).mode(DeleteMode::Subtree).await.unwrap();
    tenant.vacuum().await.unwrap();
    session.append_message(&large).await.unwrap();
    stored.push("n".to_owned());
    assert_eq!(ids(&session).await, stored);
}

#[tokio::test]
async fn a_snapshot_beyond_the_quota_is_not_restored() {
    let root = tempfile::tempdir().unwrap();
    let wide = open(root.path(), None).await;
    let tenant = wide.tenant("t").unwrap();
    tenant.session("").append_message(message("m", &"x".repeat(2 << 20))).await.unwrap();
    let copy = snapshot(&tenant).await;
    wide.close().await.unwrap();

    let narrow = open(root.path(), MIB).await;
    let other = narrow.tenant("u").unwrap();
    assert_eq!(kind(other.restore(std::io::Cursor::new(copy)).await), ErrorKind::StorageFull);
    assert!(!other.is_written().await.unwrap());
}

#[tokio::test]
async fn one_tenant_at_its_quota_takes_nothing_from_another() {
    let root = tempfile::tempdir().unwrap();
    let talktree = open(root.path(), MIB).await;
    let (full, free) = (talktree.tenant("full").unwrap().session(""), talktree.tenant("free").unwrap().session(""));
    fill(&full, "m", 50_000).await;
    for number in 0..5 {
        free.append_message(message(&format!("m{number}"), "x")).await.unwrap();
        assert_eq!(kind(full.append_message(message("n", &"x".repeat(100_000))).await), ErrorKind::StorageFull);
    }
    assert!(talktree.live_disk_bytes() > MIB / 2);
}

#[tokio::test]
async fn limits_below_what_works_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = [
        Talktree::builder(root.path()).disk_quota(1000),
        Talktree::builder(root.path()).handle_limit(3),
        Talktree::builder(root.path()).transfer_limit(1000),
    ];
    for builder in refused {
        let error = builder.open().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.subject().is_some() && error.limit().is_some());
    }
}
