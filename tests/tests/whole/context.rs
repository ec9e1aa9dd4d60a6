//! Memory blocks, prompt and tools through the sandbox, and who gives blocks their content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use talktree::{Block, BlockDefinition, BlockKind, BlockScope, ErrorKind, Session, WhenChanged, WriteAction};

use crate::place::Place;

fn of(kind: BlockKind) -> BlockDefinition {
    BlockDefinition { kind, ..BlockDefinition::default() }
}

#[tokio::test]
async fn a_frozen_prompt_comes_back_byte_for_byte_until_it_is_refreshed() {
    let place = Place::new().await;
    let session = place.session();
    session.define_block("memory", of(BlockKind::Writable)).await.unwrap();
    let frozen = session.system_prompt().await.unwrap();
    let answer = session.call_tool("set_context", r#"{"label":"memory","content":"Likes tea"}"#).await.unwrap();
    assert!(!answer.is_error && answer.content.contains("memory"), "{}", answer.content);
    assert_eq!(session.system_prompt().await.unwrap(), frozen);
    let place = place.again().await;
    let session = place.session();
    assert_eq!(session.system_prompt().await.unwrap(), frozen);
    assert!(session.refresh_system_prompt().await.unwrap().contains("Likes tea"));
}

#[tokio::test]
async fn a_tenant_without_blocks_is_not_brought_into_being_by_its_prompt_or_tools() {
    let place = Place::new().await;
    assert_eq!(place.session().system_prompt().await.unwrap(), "");
    assert!(place.session().call_tool("set_context", "{}").await.unwrap().is_error);
    assert_eq!(place.session().tools().await.unwrap().len(), 1, "past messages can always be searched");
    assert!(place.talktree.list_tenants().await.unwrap().tenants.is_empty());
}

#[tokio::test]
async fn a_stale_write_is_refused_and_an_old_version_comes_back() {
    let place = Place::new().await;
    let session = place.session();
    session.define_block("memory", of(BlockKind::Writable)).await.unwrap();
    let first = session.write_block("memory", "one").await.unwrap();
    session.write_block("memory", "two").action(WriteAction::Append).await.unwrap();
    let stale = session.write_block("memory", "x").version(first.version).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::VersionMismatch);
    assert_eq!(session.restore_block("memory", first.version).await.unwrap().content, "one");
    assert_eq!(session.block_history("memory").await.unwrap().len(), 3);
    assert_eq!(session.get_block("none").await.unwrap_err().kind(), ErrorKind::UnknownBlock);
}

#[tokio::test]
async fn a_block_of_the_store_is_seen_by_all_sessions() {
    let place = Place::new().await;
    let shared = BlockDefinition { scope: BlockScope::Store, ..of(BlockKind::Searchable) };
    place.session().define_block("notes", shared).await.unwrap();
    let other = place.tenant().session("other");
    let noted = other.call_tool("set_context", r#"{"label":"notes","content":"发布窗口是周五"}"#).await.unwrap();
    assert!(!noted.is_error, "{}", noted.content);
    let found = place.session().call_tool("search_context", r#"{"label":"notes","query":"窗口"}"#).await.unwrap();
    assert!(found.content.contains("周五"), "{}", found.content);
}

#[tokio::test]
async fn a_reminder_gives_what_has_changed_since_the_prompt_was_frozen() {
    let place = Place::new().await;
    let session = place.session();
    let reminding = BlockDefinition { when_changed: WhenChanged::Remind, ..of(BlockKind::Writable) };
    session.define_block("plan", reminding).await.unwrap();
    assert_eq!(session.reminder().await.unwrap(), None);
    session.system_prompt().await.unwrap();
    session.write_block("plan", "Ship it").await.unwrap();
    assert!(session.reminder().await.unwrap().unwrap().contains("Ship it"));
    session.refresh_system_prompt().await.unwrap();
    assert_eq!(session.reminder().await.unwrap(), None);
}

#[tokio::test]
async fn a_provider_is_asked_for_the_first_prompt_and_at_each_refresh() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let place = Place::with(|builder| {
        builder.context_provider("soul", move |session: Session, _: Block| {
            let time = counter.fetch_add(1, Ordering::SeqCst);
            async move { Ok(Some(format!("You work for {}, and were asked {time} times.", session.tenant().name()))) }
        })
    })
    .await;
    let session = place.session();
    session.define_block("soul", of(BlockKind::ReadOnly)).await.unwrap();
    let first = session.system_prompt().await.unwrap();
    assert!(first.contains("You work for t, and were asked 0 times."), "{first}");
    assert_eq!(session.system_prompt().await.unwrap(), first);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "a frozen prompt asks nobody");
    assert!(session.refresh_system_prompt().await.unwrap().contains("asked 1 times"));
}

#[tokio::test]
async fn a_provider_that_fails_changes_nothing() {
    let place = Place::with(|builder| {
        builder.context_provider("soul", |session: Session, _: Block| async move {
            // Any error of a call will do.
            session.get_block("none").await.map(|block| Some(block.content))
        })
    })
    .await;
    let session = place.session();
    let soul = BlockDefinition { content: Some("Kept.".into()), ..of(BlockKind::ReadOnly) };
    session.define_block("soul", soul).await.unwrap();
    let frozen = session.system_prompt().await.unwrap();
    assert_eq!(session.refresh_system_prompt().await.unwrap_err().kind(), ErrorKind::UnknownBlock);
    assert_eq!(session.system_prompt().await.unwrap(), frozen);
}
