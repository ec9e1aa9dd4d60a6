//! Methods that write messages.

use super::super::{failure::Failure, json::Object, params::Params};
use crate::{AppendOptions, DeleteMode, ExpectedLeaf, Parent, Session, Source};

type Answer = Result<String, Failure>;

fn source(params: Params<'_>) -> Result<Source, Failure> {
    let words = [("server", Source::Server), ("client", Source::Client)];
    Ok(params.choice("source", &words)?.unwrap_or(Source::Server))
}

/// `parentId`: absent is the present leaf, null a new root.
fn parent(params: Params<'_>) -> Result<Parent, Failure> {
    Ok(params.nullable_text("parentId")?.map_or(Parent::Latest, Parent::from))
}

fn append_options(params: Params<'_>) -> Result<AppendOptions, Failure> {
    // Absent is any leaf, null is an empty session.
    let expected_leaf = params.nullable_text("expectedLeaf")?.map_or(ExpectedLeaf::Any, ExpectedLeaf::from);
    Ok(AppendOptions { parent: parent(params)?, source: source(params)?, expected_leaf })
}

pub(super) async fn append_message(session: &Session, params: Params<'_>) -> Answer {
    let done = session.append_message(params.json("message")?).options(append_options(params)?).await?;
    let mut answer = Object::new();
    answer.flag("inserted", done.inserted).flag("conflict", done.conflict);
    if let Some(message) = &done.message {
        answer.json("message", message);
    }
    Ok(answer.flag("compactionDue", done.compaction_due).finish())
}

pub(super) async fn append_messages(session: &Session, params: Params<'_>) -> Answer {
    let done = session.append_messages(params.jsons("messages")?).options(append_options(params)?).await?;
    let mut answer = Object::new();
    answer.list("results", &done.items, |item, out| {
        let mut result = Object::new();
        result.text("id", &item.id).flag("inserted", item.inserted).flag("conflict", item.conflict);
        out.push_str(&result.finish());
    });
    Ok(answer.flag("compactionDue", done.compaction_due).finish())
}

pub(super) async fn update_message(session: &Session, params: Params<'_>) -> Answer {
    let message = session.update_message(params.json("message")?).source(source(params)?).await?;
    Ok(Object::new().maybe_json("message", message.as_deref()).finish())
}

pub(super) async fn upsert_message(session: &Session, params: Params<'_>) -> Answer {
    let done = session.upsert_message(params.json("message")?).parent(parent(params)?).source(source(params)?).await?;
    let mut answer = Object::new();
    answer.flag("inserted", done.inserted);
    if let Some(message) = &done.message {
        answer.json("message", message);
    }
    Ok(answer.finish())
}

pub(super) async fn import_message(session: &Session, params: Params<'_>) -> Answer {
    let message = params.json("message")?;
    let parent = params.required_nullable_text("parentId")?;
    let inserted = session.import_message(message, parent.as_deref(), params.required_number("createdAt")?).await?;
    Ok(Object::new().flag("inserted", inserted).finish())
}

pub(super) async fn delete_messages(session: &Session, params: Params<'_>) -> Answer {
    let ids = params.texts("ids")?;
    let words = [("splice", DeleteMode::Splice), ("subtree", DeleteMode::Subtree)];
    let mode = params.choice("mode", &words)?.unwrap_or(DeleteMode::Splice);
    let dry_run = params.flag("dryRun")?.unwrap_or(false);
    let done = session.delete_messages(ids).mode(mode).dry_run(dry_run).await?;
    Ok(Object::new().number("deleted", done.deleted).texts("summaries", &done.summaries).finish())
}

pub(super) async fn clear_messages(session: &Session) -> Answer {
    let deleted = session.clear_messages().await?;
    Ok(Object::new().number("deleted", deleted).finish())
}

pub(super) async fn set_leaf(session: &Session, params: Params<'_>) -> Answer {
    let leaf = session.set_leaf(params.required_nullable_text("id")?.as_deref()).await?;
    Ok(Object::new().maybe_text("leafId", leaf.as_deref()).finish())
}
