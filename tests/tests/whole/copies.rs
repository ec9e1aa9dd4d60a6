//! Exports, snapshots, vacuum and deleting, through the sandbox.

use std::io::Cursor;

use futures::TryStreamExt as _;
use talktree::{BlockDefinition, ErrorKind, Tenant};

use crate::place::{Place, message};

async fn exported(tenant: &Tenant, max_bytes: u64) -> Vec<String> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let page = tenant.export_lines().cursor(cursor).max_bytes(max_bytes).await.unwrap();
        pages.push(page.lines);
        cursor = page.cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

async fn snapshot(tenant: &Tenant) -> Vec<u8> {
    let (mut bytes, mut cursor) = (Vec::new(), None);
    loop {
        let piece = tenant.snapshot().cursor(cursor).max_bytes(4_096).await.unwrap();
        bytes.extend(piece.data);
        cursor = piece.cursor;
        if cursor.is_none() {
            assert_eq!(bytes.len() as u64, piece.bytes);
            return bytes;
        }
    }
}

#[tokio::test]
async fn an_imported_export_exports_to_the_same_bytes_page_by_page() {
    let place = Place::new().await;
    for session in ["", "两", "b"] {
        let session = place.tenant().session(session);
        for n in 0..20 {
            session.append_message(message(&format!("m{n}"), "user", "text \u{2028} 部署 \u{0}")).await.unwrap();
        }
        session.append_message(message("side", "assistant", "x")).parent("m3").await.unwrap();
        session.add_compaction("S", "m5", "m9").await.unwrap();
        session.set_title(Some("T")).await.unwrap();
        session
            .define_block("memory", BlockDefinition { content: Some("c".into()), ..Default::default() })
            .await
            .unwrap();
        session.system_prompt().await.unwrap();
    }
    let lines = exported(&place.tenant(), 1_000).await;
    assert!(lines.len() > 5);
    let copy = place.talktree.tenant("copy").unwrap();
    for page in &lines {
        let reports = copy.import_lines(page.as_str()).await.unwrap();
        assert!(reports.iter().all(|report| report.failed.is_empty()), "{reports:?}");
    }
    assert_eq!(exported(&copy, 16 << 20).await.concat(), lines.concat());
    assert!(copy.check().await.unwrap().sound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_taken_under_write_load_is_a_prefix_of_what_was_acknowledged() {
    let place = Place::new().await;
    let session = place.session();
    let writing = session.clone();
    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let writer = tokio::spawn(async move {
        let mut written = 0;
        while !*stopped.borrow_and_update() {
            writing.append_message(message(&format!("m{written}"), "user", &"x".repeat(3_000))).await.unwrap();
            written += 1;
        }
        written
    });
    for n in 0..5 {
        while session.get_latest_leaf().await.unwrap().is_none_or(|leaf| leaf.seq < (n + 1) * 20) {}
        let before = session.get_latest_leaf().await.unwrap().unwrap().seq;
        let bytes = snapshot(&place.tenant()).await;
        let after = session.get_latest_leaf().await.unwrap().unwrap().seq;
        let copy = place.talktree.tenant(format!("copy {n}")).unwrap();
        copy.restore(Cursor::new(bytes)).await.unwrap();
        let messages: Vec<_> = copy.session("").history().try_collect().await.unwrap();
        let ids: Vec<_> = messages.iter().map(|message| message.id.clone()).collect();
        assert_eq!(ids, (0..ids.len()).map(|n| format!("m{n}")).collect::<Vec<_>>());
        assert!((before..=after).contains(&(ids.len() as u32)), "{} of {before} to {after}", ids.len());
    }
    stop.send(true).unwrap();
    let written: u32 = writer.await.unwrap();
    assert_eq!(session.get_latest_leaf().await.unwrap().unwrap().seq, written);
}

#[tokio::test]
async fn what_is_no_snapshot_makes_no_tenant() {
    let place = Place::new().await;
    place.session().append_message(message("m", "user", "hi")).await.unwrap();
    let mut damaged = snapshot(&place.tenant()).await;
    for byte in &mut damaged[4_096..] {
        *byte = !*byte;
    }
    for bytes in [b"no database".to_vec(), Vec::new(), damaged] {
        let copy = place.talktree.tenant("copy").unwrap();
        copy.restore(Cursor::new(bytes)).await.unwrap_err();
        assert_eq!(place.talktree.list_tenants().await.unwrap().tenants, ["t"]);
    }
    let sound = snapshot(&place.tenant()).await;
    let taken = place.tenant().restore(Cursor::new(sound)).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_deleted_tenant_leaves_nothing_and_can_begin_anew() {
    let place = Place::new().await;
    place.session().append_message(message("m", "user", "hi")).await.unwrap();
    place.tenant().delete().await.unwrap();
    assert!(place.root.path().read_dir().unwrap().next().is_none());
    assert_eq!(place.session().get_latest_leaf().await.unwrap(), None);
    for unknown in [
        place.tenant().delete().await.unwrap_err(),
        place.tenant().snapshot().await.unwrap_err(),
        place.tenant().export_lines().await.unwrap_err(),
    ] {
        assert_eq!(unknown.kind(), ErrorKind::UnknownTenant);
    }
    place.session().append_message(message("n", "user", "hi")).await.unwrap();
    assert_eq!(place.session().get_latest_leaf().await.unwrap().unwrap().seq, 1);
}

#[tokio::test]
async fn deleted_words_are_nowhere_in_the_files_after_a_vacuum() {
    let place = Place::new().await;
    let session = place.session();
    for n in 0..50 {
        session.append_message(message(&format!("m{n}"), "user", "common words of every day")).await.unwrap();
    }
    session.append_message(message("secret", "user", "xylophonesecret 密码钥匙")).await.unwrap();
    assert_eq!(session.search("xylophonesecret").await.unwrap().results.len(), 1);
    session.delete_messages(["secret"]).await.unwrap();
    let report = place.tenant().vacuum().await.unwrap();
    assert!(report.after <= report.before);
    let place = place.again().await;
    assert!(place.session().search("xylophonesecret").await.unwrap().results.is_empty());
    let directory = place.root.path().read_dir().unwrap().next().unwrap().unwrap().path();
    for file in directory.read_dir().unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for word in ["xylophonesecret", "xylophon", "密码", "钥匙"] {
            assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
        }
    }
}
