//! Methods about summaries that stand for runs of messages.

use super::super::{failure::Failure, json::Object, params::Params};
use crate::{Compaction, CompactionPlan, Session};

type Answer = Result<String, Failure>;

pub(super) fn object(compaction: &Compaction) -> String {
    let mut answer = Object::new();
    answer
        .text("id", &compaction.id)
        .text("summary", &compaction.summary)
        .text("firstId", &compaction.first_id)
        .text("lastId", &compaction.last_id)
        .number("count", compaction.count)
        .number("createdAt", compaction.created_at);
    if let Some(id) = &compaction.replaced_by {
        answer.text("replacedBy", id);
    }
    if let Some(tokens) = compaction.input_tokens {
        answer.number("inputTokens", tokens);
    }
    if let Some(tokens) = compaction.output_tokens {
        answer.number("outputTokens", tokens);
    }
    answer.finish()
}

/// An answer with one compaction, or null.
fn answer(compaction: Option<&Compaction>) -> String {
    Object::new().maybe_json("compaction", compaction.map(object).as_deref()).finish()
}

pub(super) async fn compact(session: &Session, params: Params<'_>) -> Answer {
    let mut compact = session.compact();
    if let Some(leaf) = params.text("leafId")? {
        compact = compact.leaf(leaf);
    }
    Ok(answer(compact.await?.as_ref()))
}

pub(super) async fn prepare(session: &Session, params: Params<'_>) -> Answer {
    let mut prepare = session.prepare_compaction();
    if let Some(leaf) = params.text("leafId")? {
        prepare = prepare.leaf(leaf);
    }
    Ok(Object::new().maybe_json("plan", prepare.await?.as_ref().map(plan).as_deref()).finish())
}

fn plan(plan: &CompactionPlan) -> String {
    Object::new()
        .text("token", &plan.token)
        .text("prompt", &plan.prompt)
        .number("maxTokens", plan.max_tokens)
        .text("firstId", &plan.first_id)
        .text("lastId", &plan.last_id)
        .number("count", plan.count)
        .number("tokensBefore", plan.tokens_before)
        .number("tokensAfter", plan.tokens_after)
        .finish()
}

pub(super) async fn commit(session: &Session, params: Params<'_>) -> Answer {
    let (token, summary) = (params.required_text("token")?, params.required_text("summary")?);
    Ok(answer(Some(&session.commit_compaction(token, summary).await?)))
}

pub(super) async fn add(session: &Session, params: Params<'_>) -> Answer {
    let summary = params.required_text("summary")?;
    let (first, last) = (params.required_text("firstId")?, params.required_text("lastId")?);
    Ok(answer(Some(&session.add_compaction(&summary, &first, &last).await?)))
}

pub(super) async fn get_all(session: &Session) -> Answer {
    let compactions = session.get_compactions().await?;
    Ok(Object::new().list("compactions", &compactions, |compaction, out| out.push_str(&object(compaction))).finish())
}

pub(super) async fn remove(session: &Session, params: Params<'_>) -> Answer {
    let removed = session.remove_compaction(&params.required_text("id")?).await?;
    Ok(Object::new().flag("removed", removed).finish())
}
