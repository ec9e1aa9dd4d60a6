//! The list of sessions, titles, forks and ends through the sandbox.

use futures::TryStreamExt as _;
use talktree::ErrorKind;

use crate::place::{Place, message};

async fn listed(place: &Place) -> Vec<(String, u32)> {
    let page = place.tenant().list_sessions().await.unwrap();
    page.sessions.into_iter().map(|session| (session.id, session.messages)).collect()
}

#[tokio::test]
async fn sessions_are_listed_by_their_last_activity() {
    let place = Place::new().await;
    for (id, session) in [("1", "a"), ("2", "b"), ("3", "a"), ("4", "c"), ("5", "b")] {
        place.tenant().session(session).append_message(message(id, "user", "hi")).await.unwrap();
    }
    let place = place.again().await;
    assert_eq!(listed(&place).await, [("b".to_owned(), 2), ("c".to_owned(), 1), ("a".to_owned(), 2)]);
    let first = place.tenant().list_sessions().limit(2).await.unwrap();
    let rest = place.tenant().list_sessions().limit(2).cursor(first.cursor).await.unwrap();
    assert_eq!(rest.sessions[0].id, "a");
    assert_eq!(rest.cursor, None);
}

#[tokio::test]
async fn a_title_of_the_user_stays_when_a_program_finds_another() {
    let place = Place::new().await;
    let session = place.session();
    session.append_message(message("m", "user", "hi")).await.unwrap();
    assert_eq!(session.set_automatic_title("Auto").await.unwrap().title.as_deref(), Some("Auto"));
    assert_eq!(session.set_title(Some("Mine")).await.unwrap().title.as_deref(), Some("Mine"));
    let kept = session.set_automatic_title("Other").await.unwrap();
    assert_eq!((kept.title.as_deref(), kept.title_automatic), (Some("Mine"), false));
    let unknown = place.tenant().session("none").set_title(Some("x")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::UnknownSession);
    let nobody = place.talktree.tenant("nobody").unwrap().session("");
    assert_eq!(nobody.set_title(Some("x")).await.unwrap_err().kind(), ErrorKind::UnknownSession);
    assert_eq!(nobody.info().await.unwrap_err().kind(), ErrorKind::UnknownSession);
}

#[tokio::test]
async fn a_fork_reads_like_the_path_that_it_was_made_of() {
    let place = Place::new().await;
    let session = place.session();
    for n in 0..8 {
        session.append_message(message(&format!("m{n}"), "user", "hi")).await.unwrap();
    }
    session.append_message(message("side", "user", "another way")).parent("m2").await.unwrap();
    session.add_compaction("A summary.", "m1", "m4").await.unwrap();
    assert_eq!(session.fork("copy").leaf("m6").await.unwrap(), 7);
    let copy = place.tenant().session("copy");
    let shown = |messages: Vec<talktree::Message>| -> Vec<_> {
        messages.into_iter().map(|message| (message.role, message.created_at, message.bytes)).collect()
    };
    let (original, copied): (Vec<_>, Vec<_>) = (
        session.history().leaf("m6").overlays(false).try_collect().await.unwrap(),
        copy.history().overlays(false).try_collect().await.unwrap(),
    );
    assert_eq!(shown(original), shown(copied));
    let read: Vec<_> = copy.history().try_collect().await.unwrap();
    assert_eq!(read.len(), 4);
    assert!(read[1].id.starts_with("compaction_") && read[1].json.contains("A summary."));
    assert!(place.tenant().check().await.unwrap().sound);
    let taken = session.fork("copy").await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_deleted_session_begins_anew_and_leaves_the_others_alone() {
    let place = Place::new().await;
    let (gone, kept) = (place.tenant().session("gone"), place.tenant().session("kept"));
    gone.append_message(message("m", "user", "needle")).await.unwrap();
    kept.append_message(message("m", "user", "needle")).await.unwrap();
    assert_eq!(place.tenant().search("needle").await.unwrap().results.len(), 2);
    assert_eq!(gone.delete().await.unwrap(), 1);
    assert_eq!(gone.delete().await.unwrap_err().kind(), ErrorKind::UnknownSession);
    assert_eq!(listed(&place).await, [("kept".to_owned(), 1)]);
    assert_eq!(place.tenant().search("needle").await.unwrap().results[0].session_id, "kept");
    gone.append_message(message("n", "user", "again")).await.unwrap();
    assert_eq!(gone.get_latest_leaf().await.unwrap().unwrap().seq, 1);
}
