//! Promises about futures: they are `Send`, handles are `Sync`, and dropping any of them at any point loses nothing that was
//! acknowledged and leaves nothing stuck.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod common;

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};

use common::message;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use talktree::{
    BlockDefinition, BranchPoint, ConfigurationChange, ImportItem, Session, Talktree, Tenant, WriteAction,
    metrics::Counters, rpc,
};
use tokio::time::timeout;

/// How long anything may take that is not stuck.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_send<T: Send>(_: &T) {}
fn is_shared<T: Send + Sync + 'static>() {}

#[test]
fn handles_are_send_and_sync() {
    is_shared::<Talktree>();
    is_shared::<talktree::Builder>();
    is_shared::<Tenant>();
    is_shared::<Session>();
    is_shared::<talktree::Error>();
    is_shared::<talktree::access::Tenants>();
    is_shared::<Counters>();
    is_shared::<talktree::doctor::Examination>();
    is_shared::<talktree::mcp::Confinement>();
    is_shared::<talktree::serve::ServeOptions>();
    is_shared::<talktree::serve::Server>();
    is_shared::<talktree::summarizer::Extractive>();
    is_shared::<talktree::AppendMessage>();
    is_shared::<talktree::Search>();
    is_shared::<talktree::Changes>();
}

/// A future that can be dropped.
type Dropped = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A method, made into a future that does not care what comes of it.
struct Method {
    name: &'static str,
    make: Box<dyn Fn(Session) -> Dropped>,
}

/// Lists methods; what each gives has to be `Send`.
macro_rules! methods {
    ($($name:literal: $session:ident => $call:expr;)*) => {
        vec![$(Method {
            name: $name,
            make: Box::new(|$session: Session| {
                let future = $call;
                is_send(&future);
                Box::pin(async move { drop(future.await) })
            }),
        },)*]
    };
}

/// Every method of a session, its tenant and its root that gives a future, but for the ends of things.
fn methods() -> Vec<Method> {
    methods! {
        "append_message": s => s.append_message(message("x1", "dropped")).into_future();
        "append_messages": s => s.append_messages([message("x2", "a"), message("x3", "b")]).into_future();
        "update_message": s => s.update_message(message("x1", "changed")).into_future();
        "upsert_message": s => s.upsert_message(message("x4", "c")).into_future();
        "import_message": s => s.import_message(message("x5", "d"), None, 1);
        "import_messages": s => s.import_messages(vec![ImportItem { message: message("x6", "e"), parent_id: None, created_at: 1 }]);
        "delete_messages": s => s.delete_messages(["x1", "x2"]).into_future();
        "set_leaf": s => s.set_leaf(Some("k0"));
        "get_message": s => s.get_message("k0").into_future();
        "get_latest_leaf": s => s.get_latest_leaf().into_future();
        "get_media": s => s.get_media("k0", 0).into_future();
        "read_history": s => s.read_history().into_future();
        "history": s => async move { s.history().try_collect::<Vec<_>>().await };
        "get_history": s => s.get_history().into_future();
        "get_recent_history": s => s.get_recent_history(1_000).into_future();
        "get_history_row_stats": s => s.get_history_row_stats().into_future();
        "get_branches": s => s.get_branches(BranchPoint::Root).into_future();
        "list_messages": s => s.list_messages().into_future();
        "configure": s => s.configure(ConfigurationChange::default());
        "compact": s => s.compact().into_future();
        "prepare_compaction": s => s.prepare_compaction().into_future();
        "commit_compaction": s => s.commit_compaction("no token", "summary").into_future();
        "abandon_compaction": s => s.abandon_compaction("no token");
        "add_compaction": s => s.add_compaction("a summary", "k0", "k1");
        "get_compactions": s => s.get_compactions();
        "remove_compaction": s => s.remove_compaction("none");
        "info": s => s.info();
        "set_title": s => s.set_title(Some("title"));
        "set_automatic_title": s => s.set_automatic_title("title");
        "fork": s => s.fork("fork").into_future();
        "define_block": s => s.define_block("memory", BlockDefinition::default());
        "get_block": s => s.get_block("memory");
        "list_blocks": s => s.list_blocks();
        "write_block": s => s.write_block("memory", "words").action(WriteAction::Append).into_future();
        "block_history": s => s.block_history("memory");
        "restore_block": s => s.restore_block("memory", 1);
        "system_prompt": s => s.system_prompt();
        "refresh_system_prompt": s => s.refresh_system_prompt();
        "reminder": s => s.reminder();
        "tools": s => s.tools();
        "call_tool": s => s.call_tool("set_context", &json!({"label": "memory", "content": "x"}).to_string());
        "search": s => s.search("kept").into_future();
        "search of the tenant": s => s.tenant().search("kept").into_future();
        "list_sessions": s => s.tenant().list_sessions().into_future();
        "changes": s => s.tenant().changes().into_future();
        "changes that wait": s => wait_for_a_change(s);
        "stream of changes": s => async move { s.tenant().changes().stream().take(5).collect::<Vec<_>>().await };
        "mirror": s => async move { s.mirror().start().await };
        "export_lines": s => s.export_lines().into_future();
        "import_lines": s => s.import_lines("{}");
        "snapshot": s => s.tenant().snapshot().into_future();
        "vacuum": s => s.tenant().vacuum();
        "stats": s => s.tenant().stats();
        "check": s => s.tenant().check();
        "close of the tenant": s => s.tenant().close();
        "is_written": s => s.tenant().is_written();
        "last_change": s => s.tenant().last_change();
        "end_of_feed": s => s.tenant().end_of_feed();
        "remove_block": s => s.remove_block("memory");
    }
}

/// Waits where the feed has come to its end.
async fn wait_for_a_change(session: Session) -> talktree::Result<()> {
    let tenant = session.tenant();
    let mut cursor = None;
    loop {
        let page = tenant.changes().cursor(cursor).limit(1_000).await?;
        cursor = Some(page.cursor);
        if page.events.is_empty() {
            tenant.changes().cursor(cursor).wait(Duration::from_millis(500)).await?;
            return Ok(());
        }
    }
}

/// Polls a future so many times, with a moment in between, and drops it.
async fn drop_after(polls: usize, mut future: Dropped) {
    for _ in 0..polls {
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            return;
        }
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
}

/// What was acknowledged, all of it and in order.
async fn kept(session: &Session) -> Vec<String> {
    let (mut kept, mut cursor) = (Vec::new(), None);
    loop {
        let page = session.list_messages().cursor(cursor).limit(1_000).await.unwrap();
        kept.extend(page.nodes.into_iter().map(|node| node.id).filter(|id| id.starts_with('k')));
        cursor = page.cursor;
        if cursor.is_none() {
            return kept;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_future_of_any_method_can_be_dropped_at_any_point() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("s");
    let mut acknowledged = Vec::new();
    for id in ["k0", "k1"] {
        session.append_message(message(id, "kept")).await.unwrap();
        acknowledged.push(id.to_owned());
    }
    for Method { name, make } in methods() {
        for polls in [0, 1, 2, 5] {
            drop_after(polls, make(session.clone())).await;
            let id = format!("k{}", acknowledged.len());
            let appended = timeout(PATIENCE, session.append_message(message(&id, "kept")).into_future()).await;
            appended.unwrap_or_else(|_| panic!("stuck after {name}, {polls} polls")).unwrap();
            acknowledged.push(id);
        }
        // Run to its end it does what it did before: nothing is locked.
        timeout(PATIENCE, make(session.clone())).await.unwrap_or_else(|_| panic!("{name} is stuck"));
        assert_eq!(kept(&session).await, acknowledged, "after {name}");
    }
    timeout(PATIENCE, talktree.close()).await.unwrap().unwrap();
    let again = Talktree::open(root.path()).await.unwrap();
    let session = again.tenant("t").unwrap().session("s");
    assert_eq!(kept(&session).await, acknowledged);
    assert!(session.tenant().check().await.unwrap().sound);
    again.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ends_of_things_can_be_dropped_and_asked_for_again() {
    let root = tempfile::tempdir().unwrap();
    for polls in [0, 1, 3] {
        let talktree = Talktree::open(root.path()).await.unwrap();
        let tenant = talktree.tenant("t").unwrap();
        let session = tenant.session("");
        session.append_message(message("m1", "x")).await.unwrap();
        let other = talktree.tenant("other").unwrap().session("");
        other.append_message(message(&format!("k{polls}"), "kept")).await.unwrap();
        let snapshot = tenant.snapshot().await.unwrap().data;

        let clear = session.clear_messages();
        drop_after(polls, Box::pin(async { drop(clear.await) })).await;
        let deleted = session.delete();
        drop_after(polls, Box::pin(async { drop(deleted.await) })).await;
        assert_eq!(timeout(PATIENCE, session.get_latest_leaf().into_future()).await.unwrap().unwrap(), None);
        let gone = tenant.delete();
        drop_after(polls, Box::pin(async { drop(gone.await) })).await;
        // Calls of one tenant are carried out in order, those that were dropped, too.
        timeout(PATIENCE, tenant.close()).await.unwrap().unwrap();
        assert!(!tenant.is_written().await.unwrap());
        let restored = tenant.restore(std::io::Cursor::new(snapshot));
        drop_after(polls, Box::pin(async { drop(restored.await) })).await;
        timeout(PATIENCE, tenant.close()).await.unwrap().unwrap();
        assert!(tenant.is_written().await.unwrap());

        let closing = talktree.clone();
        drop_after(polls, Box::pin(async move { drop(closing.close().await) })).await;
        let opening = Talktree::builder(root.path()).open();
        is_send(&opening);
        drop_after(polls, Box::pin(async { drop(opening.await) })).await;
        timeout(PATIENCE, talktree.close()).await.unwrap().unwrap();
    }
    let talktree = Talktree::open(root.path()).await.unwrap();
    let other = talktree.tenant("other").unwrap().session("");
    assert_eq!(kept(&other).await, ["k0", "k1", "k3"]);
    talktree.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn serving_can_be_dropped_and_what_it_had_taken_in_is_whole() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    for polls in [0, 1, 3] {
        let lines: String = (0..50)
            .map(|n| {
                let message = json!({"id": format!("m{polls}.{n}"), "role": "user", "parts": []});
                let params = json!({"tenant": "t", "message": message});
                format!("{}\n", json!({"jsonrpc": "2.0", "id": n, "method": "appendMessage", "params": params}))
            })
            .collect();
        let input = std::io::Cursor::new(lines.into_bytes());
        let serving =
            rpc::serve(talktree.clone(), input, std::io::sink(), rpc::DEFAULT_MAX_REQUEST, std::future::pending());
        is_send(&serving);
        drop_after(polls, Box::pin(async { drop(serving.await) })).await;
        timeout(PATIENCE, session.append_message(message(&format!("k{polls}"), "kept")).into_future())
            .await
            .unwrap()
            .unwrap();
    }
    assert_eq!(kept(&session).await, ["k0", "k1", "k3"]);
    assert!(session.tenant().check().await.unwrap().sound);
    timeout(PATIENCE, talktree.close()).await.unwrap().unwrap();
}
