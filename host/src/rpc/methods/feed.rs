//! The method that reads the feed.

use std::time::Duration;

use super::super::connection::{Connection, Subscription};
use super::super::{
    failure::Failure,
    json::Object,
    params::{Params, choice},
};
use super::compaction;
use crate::{Change, ChangePage, Changes, EventKind, Tenant};

/// A long poll waits for at most so long: 10 minutes.
const MAX_WAIT_MS: u64 = 600_000;

/// The words for the kinds of events.
const KINDS: [(&str, EventKind); 9] = [
    ("append", EventKind::Appended),
    ("update", EventKind::Updated),
    ("delete", EventKind::Deleted),
    ("clear", EventKind::Cleared),
    ("compact", EventKind::Compacted),
    ("compaction", EventKind::CompactionChanged),
    ("import", EventKind::Imported),
    ("context", EventKind::ContextChanged),
    ("session", EventKind::SessionChanged),
];

/// One event as JSON.
pub(in crate::rpc) fn event(change: &Change) -> String {
    let kind = KINDS.iter().find(|(_, kind)| *kind == change.kind).map(|(word, _)| *word);
    let mut event = Object::new();
    event
        .text("cursor", &change.cursor)
        .maybe_text("type", kind)
        .text("sessionId", &change.session_id)
        .texts("ids", &change.ids);
    if matches!(change.kind, EventKind::Appended | EventKind::Updated | EventKind::Imported) {
        event.maybe_text("parentId", change.parent_id.as_deref());
    }
    if let Some(message) = &change.message {
        event.json("message", message);
    }
    if let Some(made) = &change.compaction {
        event.json("compaction", &compaction::object(made));
    }
    event.finish()
}

fn page(page: &ChangePage) -> String {
    Object::new()
        .list("events", &page.events, |change, out| out.push_str(&event(change)))
        .text("cursor", &page.cursor)
        .flag("reset", page.reset)
        .finish()
}

/// What is asked for, but for how long to wait.
fn asked(tenant: &Tenant, params: Params<'_>) -> Result<Changes, Failure> {
    let mut kinds = Vec::new();
    for word in params.jsons_if_given("types")?.unwrap_or_default() {
        kinds.push(choice("types", &word, &KINDS)?);
    }
    Ok(tenant.changes().cursor(params.text("cursor")?).session(params.session_if_given()?).kinds(kinds))
}

/// Subscribes to the feed, from a cursor or the present end on.
pub(super) async fn subscribe(
    tenant: &Tenant,
    params: Params<'_>,
    connection: &Connection,
) -> Result<(String, Subscription), Failure> {
    let mut asked = asked(tenant, params)?;
    let cursor = match params.text("cursor")? {
        Some(cursor) => cursor,
        None => tenant.end_of_feed().await?.cursor,
    };
    asked = asked.cursor(cursor.clone());
    let (number, subscription) = connection.subscribe(asked.stream())?;
    Ok((Object::new().number("subscription", number).text("cursor", &cursor).finish(), subscription))
}

/// Ends a subscription.
pub(super) fn unsubscribe(params: Params<'_>, connection: &Connection) -> Result<String, Failure> {
    let ended = connection.unsubscribe(params.required_number::<u64>("subscription")?);
    Ok(Object::new().flag("unsubscribed", ended).finish())
}

/// A page of the feed. A wait for an event ends when `ending` does.
pub(super) async fn changes(
    tenant: &Tenant,
    params: Params<'_>,
    ending: impl Future<Output = ()>,
) -> Result<String, Failure> {
    let asked = asked(tenant, params)?.limit(params.number::<u32>("limit")?);
    let wait = params.number::<u64>("waitMs")?.unwrap_or(0);
    if wait > MAX_WAIT_MS {
        let sentence = format!("\"waitMs\" is at most {MAX_WAIT_MS}, this is {wait}");
        return Err(Failure::argument("waitMs", sentence));
    }
    if wait == 0 {
        return Ok(page(&asked.await?));
    }
    let waiting = asked.clone().wait(Duration::from_millis(wait)).into_future();
    tokio::select! {
        biased;
        events = waiting => Ok(page(&events?)),
        () = ending => Ok(page(&asked.await?)),
    }
}
