//! The feed through the sandbox: pages, waiting, streams, listeners, mirrors.

use std::time::Duration;

use futures::TryStreamExt as _;
use talktree::{EventKind, FeedItem};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::place::{Place, message};

/// Long for anything that happens at once.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn every_change_is_told_once_in_order_and_again_after_a_restart() {
    let place = Place::new().await;
    let session = place.session();
    session.append_message(message("m1", "user", "hi")).await.unwrap();
    session.append_message(message("m1", "user", "hi")).await.unwrap();
    session.update_message(message("m1", "user", "x")).await.unwrap();
    session.append_message(message("m2", "assistant", "ok")).await.unwrap();
    session.delete_messages(["m2"]).await.unwrap();
    let place = place.again().await;
    let mut told = Vec::new();
    let mut cursor = None;
    loop {
        let page = place.tenant().changes().limit(1).cursor(cursor).await.unwrap();
        assert!(!page.reset);
        if page.events.is_empty() {
            break;
        }
        told.extend(page.events.into_iter().map(|event| (event.kind, event.ids, event.message.is_some())));
        cursor = Some(page.cursor);
    }
    let ids = |id: &str| vec![id.to_owned()];
    let expected = [
        (EventKind::Appended, ids("m1"), true),
        (EventKind::Updated, ids("m1"), true),
        (EventKind::Appended, ids("m2"), false),
        (EventKind::Deleted, ids("m2"), false),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_first_event_even_of_a_tenant_that_was_never_written() {
    let place = Place::new().await;
    let begin = place.tenant().changes().await.unwrap();
    assert!(begin.events.is_empty() && !begin.reset);
    let waiting = place.tenant().changes().cursor(begin.cursor).wait(SOON).into_future();
    let writing = place.session();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        writing.append_message(message("m", "user", "hi")).await
    });
    let page = timeout(SOON, waiting).await.unwrap().unwrap();
    assert!(!page.reset);
    assert_eq!(page.events[0].ids, ["m"]);
}

#[tokio::test]
async fn a_wait_without_an_event_ends_in_its_time() {
    let place = Place::new().await;
    place.session().append_message(message("m", "user", "hi")).await.unwrap();
    let end = place.tenant().changes().await.unwrap().cursor;
    let page = place.tenant().changes().cursor(end.clone()).wait(Duration::from_millis(200)).await.unwrap();
    assert_eq!((page.events.len(), page.reset, page.cursor), (0, false, end));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_where_it_is_and_filters_renumber_nothing() {
    let place = Place::new().await;
    let (one, other) = (place.tenant().session("one"), place.tenant().session("other"));
    for n in 0..5 {
        one.append_message(message(&format!("a{n}"), "user", "hi")).await.unwrap();
        other.append_message(message(&format!("b{n}"), "user", "hi")).await.unwrap();
    }
    let mut feed = place.tenant().changes().session("other".to_owned()).limit(2).stream();
    for n in 0..6 {
        if n == 5 {
            other.append_message(message("b5", "user", "hi")).await.unwrap();
        }
        let item = timeout(SOON, feed.try_next()).await.unwrap().unwrap().unwrap();
        let FeedItem::Event(event) = item else { panic!("nothing was missed") };
        assert_eq!(event.ids, [format!("b{n}")]);
        let rest = place.tenant().changes().cursor(event.cursor).await.unwrap();
        assert!(!rest.reset);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_hears_what_comes_after_it_subscribed_until_it_is_dropped() {
    let place = Place::new().await;
    let session = place.session();
    session.append_message(message("before", "user", "hi")).await.unwrap();
    let (heard, mut events) = mpsc::unbounded_channel();
    let subscription = session.subscribe(move |item| {
        let FeedItem::Event(event) = item else { panic!("nothing was missed") };
        assert!(event.ids != ["bad"], "a listener may break down");
        let _ = heard.send((event.kind, event.ids));
    });
    for id in ["a", "bad", "b"] {
        session.append_message(message(id, "user", "hi")).await.unwrap();
    }
    for id in ["a", "b"] {
        let event = timeout(SOON, events.recv()).await.unwrap().unwrap();
        assert_eq!(event, (EventKind::Appended, vec![id.to_owned()]));
    }
    drop(subscription);
    session.append_message(message("after", "user", "hi")).await.unwrap();
    assert_eq!(timeout(SOON, events.recv()).await.unwrap(), None, "the listener has gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_follows_appends_updates_deletes_and_clears() {
    let place = Place::new().await;
    let session = place.session();
    for id in ["a", "b"] {
        session.append_message(message(id, "user", "old")).await.unwrap();
    }
    let mut mirror = session
        .mirror()
        .transform(|id, json| (id.to_owned(), json.contains("new")))
        .intercept(|change| change.ids == ["hidden"])
        .start()
        .await
        .unwrap();
    assert_eq!(mirror.ids(), ["a", "b"]);
    session.append_message(message("c", "user", "old")).await.unwrap();
    session.append_message(message("hidden", "user", "old")).await.unwrap();
    session.update_message(message("b", "user", "new")).await.unwrap();
    session.delete_messages(["a"]).await.unwrap();
    place.tenant().session("other").append_message(message("z", "user", "hi")).await.unwrap();
    for _ in 0..4 {
        timeout(SOON, mirror.next()).await.unwrap().unwrap();
    }
    assert_eq!(mirror.messages(), [("b".to_owned(), true), ("c".to_owned(), false)]);
    session.clear_messages().await.unwrap();
    timeout(SOON, mirror.next()).await.unwrap().unwrap();
    assert!(mirror.messages().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_reads_anew_when_its_tenant_began_another_life() {
    let place = Place::new().await;
    place.session().append_message(message("a", "user", "hi")).await.unwrap();
    let mut mirror = place.session().mirror().start().await.unwrap();
    place.tenant().delete().await.unwrap();
    place.session().append_message(message("b", "user", "hi")).await.unwrap();
    let mut missed = false;
    while !missed || mirror.ids() != ["b"] {
        missed |= matches!(timeout(SOON, mirror.next()).await.unwrap().unwrap(), FeedItem::Reset(_));
    }
}
