//! Tenants as directories: what is made, what is not, and what is never touched.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{files, kind, message};
use talktree::{BranchPoint, ConfigurationChange, ErrorKind, FactorSetting, Talktree};

#[tokio::test]
async fn reads_of_an_unknown_tenant_answer_as_of_an_empty_one_and_create_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("root");
    let talktree = Talktree::open(&root).await.unwrap();
    let tenant = talktree.tenant("nobody").unwrap();
    let session = tenant.session("s");

    assert_eq!(session.get_message("m").await.unwrap(), None);
    assert_eq!(session.get_latest_leaf().await.unwrap(), None);
    assert_eq!(session.get_history().await.unwrap(), []);
    let page = session.read_history().await.unwrap();
    assert_eq!((page.messages.len(), page.cursor), (0, None));
    assert!(!session.get_recent_history(1_000).await.unwrap().truncated);
    assert_eq!(session.get_history_row_stats().await.unwrap().rows, []);
    assert_eq!(session.get_branches(BranchPoint::Root).await.unwrap().messages, []);
    assert_eq!(session.list_messages().await.unwrap().nodes, []);
    assert_eq!(session.configure(ConfigurationChange::default()).await.unwrap().protect_head, 3);
    assert_eq!(kind(session.get_history().leaf("m").await), ErrorKind::UnknownMessage);
    assert!(tenant.check().await.unwrap().sound);
    tenant.close().await.unwrap();
    assert_eq!(talktree.list_tenants().await.unwrap().tenants, [""; 0]);

    talktree.close().await.unwrap();
    assert_eq!(files(parent.path()), [""; 0]);
}

#[tokio::test]
async fn a_first_write_that_fails_or_writes_nothing_leaves_no_directory() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("never").unwrap().session("");

    assert_eq!(kind(session.append_message("{").await), ErrorKind::InvalidMessage);
    assert_eq!(kind(session.append_message(message("m", "x")).parent("gone").await), ErrorKind::UnknownParent);
    assert_eq!(kind(session.append_message(message("m", "x")).expected_leaf("gone").await), ErrorKind::LeafMoved);
    assert_eq!(kind(session.import_message(message("m", "x"), Some("gone"), 1).await), ErrorKind::UnknownParent);
    assert_eq!(kind(session.set_leaf(Some("gone")).await), ErrorKind::UnknownMessage);
    let change = ConfigurationChange { token_factor: FactorSetting::Value(-1.0), ..Default::default() };
    assert_eq!(kind(session.configure(change).await), ErrorKind::InvalidArgument);
    assert_eq!(session.update_message(message("m", "x")).await.unwrap(), None);
    assert_eq!(session.delete_messages(["m"]).await.unwrap().deleted, 0);
    assert_eq!(session.delete_messages(["m"]).dry_run(true).await.unwrap().deleted, 0);
    assert_eq!(session.clear_messages().await.unwrap(), 0);
    assert_eq!(session.set_leaf(None).await.unwrap(), None);
    assert_eq!(files(root.path()), [""; 0]);

    session.append_message(message("m", "x")).await.unwrap();
    assert_eq!(talktree.list_tenants().await.unwrap().tenants, ["never"]);
}

#[tokio::test]
async fn names_come_back_exactly_in_byte_order_and_in_pages() {
    let root = tempfile::tempdir().unwrap();
    let long = "long name ".repeat(51);
    let mut names = vec!["easy:test1", "A", "a", "../../etc/passwd", "con", "部署", "a b.", "\0", "%61", &long, " "];
    let talktree = Talktree::open(root.path()).await.unwrap();
    for name in &names {
        talktree.tenant(name).unwrap().session("").append_message(message("m", name)).await.unwrap();
    }
    names.sort_unstable();

    let mut listed = Vec::new();
    let mut cursor = None;
    loop {
        let page = talktree.list_tenants().cursor(cursor).limit(3).await.unwrap();
        assert!(page.tenants.len() == 3 || page.cursor.is_none());
        listed.extend(page.tenants);
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, names);
    talktree.close().await.unwrap();

    // Each finds its own again.
    let talktree = Talktree::open(root.path()).await.unwrap();
    for name in &names {
        let leaf = talktree.tenant(name).unwrap().session("").get_latest_leaf().await.unwrap().unwrap();
        assert_eq!(leaf.json, message("m", name));
    }
    assert_eq!(kind(talktree.list_tenants().limit(0).await), ErrorKind::InvalidArgument);
    assert_eq!(kind(talktree.list_tenants().cursor("x".to_owned()).await), ErrorKind::StaleCursor);
    for entry in std::fs::read_dir(root.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.len() <= 255 && name.bytes().all(|b| b.is_ascii_lowercase() || b"0123456789%-_".contains(&b)));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_place_of_a_tenant_is_refused_and_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), root.path().join("planted")).unwrap();
    std::fs::write(root.path().join("file"), "no directory").unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    for name in ["planted", "file"] {
        let session = talktree.tenant(name).unwrap().session("");
        assert_eq!(kind(session.append_message(message("m", "x")).await), ErrorKind::Forbidden);
        assert_eq!(kind(session.get_latest_leaf().await), ErrorKind::Forbidden);
    }
    assert_eq!(talktree.list_tenants().await.unwrap().tenants, [""; 0]);
    assert_eq!(files(elsewhere.path()), [""; 0]);
}

#[tokio::test]
async fn what_is_no_tenant_below_the_root_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    for other in ["Upper", "lost+found", "a.b", "empty", "%_abc"] {
        std::fs::create_dir(root.path().join(other)).unwrap();
    }
    std::fs::write(root.path().join("empty/notes"), "mine").unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    assert_eq!(talktree.list_tenants().await.unwrap().tenants, [""; 0]);
    // Its directory was there before: a failed first write does not remove what is in it.
    assert_eq!(
        kind(talktree.tenant("empty").unwrap().session("").append_message("{").await),
        ErrorKind::InvalidMessage
    );
    assert_eq!(std::fs::read_to_string(root.path().join("empty/notes")).unwrap(), "mine");
}

#[tokio::test]
async fn a_root_that_cannot_be_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    std::fs::write(&file, "").unwrap();
    for root in [parent.path().join("missing/root"), file.clone(), file.join("root")] {
        assert_eq!(kind(Talktree::open(&root).await), ErrorKind::NotConfigured, "{}", root.display());
    }
}

#[tokio::test]
async fn names_out_of_range_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    assert_eq!(kind(talktree.tenant("")), ErrorKind::InvalidArgument);
    assert_eq!(kind(talktree.tenant("x".repeat(513))), ErrorKind::InvalidArgument);
    assert!(talktree.tenant("x".repeat(512)).is_ok());
}

#[cfg(unix)]
#[tokio::test]
async fn a_tenant_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().join("root");
    let talktree = Talktree::open(&root).await.unwrap();
    talktree.tenant("t").unwrap().session("").append_message(message("m", "x")).await.unwrap();
    for made in [&root, &root.join("t")] {
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
