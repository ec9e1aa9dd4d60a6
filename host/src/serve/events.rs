//! `GET /events`: the feed of a tenant as Server-Sent Events.
//!
//! `?tenant=T` (or user and conversation) is required; `session` and `types` (separated by commas) choose among the events.
//! Each event is the JSON that `changes` gives, with its cursor as its id, so that a browser that connects again goes on
//! where it was; others give `cursor`, or the header `Last-Event-ID`. Without any of them it begins with what happens from
//! now on, and with `from=oldest` with the oldest event that is kept. An event named `reset` says that events were missed:
//! what is needed has to be read anew.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{StreamExt as _, stream};
use serde::Deserialize;

use super::{Identity, Refusal, Shared, socket::refuse, target::Target};
use crate::feed::PRESENT_END;
use crate::rpc::{Failure, Followed, Follower, Object, push_text};

/// How long one call waits for an event, in ms.
const WAIT: u32 = 20_000;
/// How often a sign of life is sent.
const SIGN: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
struct Cursor {
    cursor: String,
}

/// A feed that is read.
struct Reading {
    follower: Follower,
    /// Events that are ready to be sent.
    ready: VecDeque<Event>,
    over: bool,
}

/// Begins to send events.
pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    match begin(&shared, &identity, query.as_deref(), &headers).await {
        Ok(response) => response,
        Err(refusal) => refuse(&shared, refusal),
    }
}

async fn begin(
    shared: &Arc<Shared>,
    identity: &Identity,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let target = Target::of_query(query)?;
    if target.tenant.is_none() {
        return Err(Refusal::bad("the address has to name the tenant: ?tenant=T"));
    }
    let identity = shared.confined(identity, target.tenant.as_deref())?;
    let given = |name: &str| {
        let mut params = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        params.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut feed = Followed {
        tenant: None,
        session: target.session.map(|session| quoted(&session)),
        types: given("types").map(|types| listed(&types)),
        // A browser that connects again repeats the address, and says what it has seen.
        cursor: last.or_else(|| given("cursor")),
    };
    let from_now = feed.cursor.is_none() && given("from").is_none_or(|from| from != "oldest");
    if from_now {
        feed.cursor = Some(PRESENT_END.to_owned());
    }
    let follower = Follower::new(shared.service(&identity), feed);
    let mut reading = Reading { follower, ready: VecDeque::new(), over: false };
    // What is wrong with the request is told before anything is sent.
    reading.read(0).await.map_err(|failure| Refusal::new(status(&failure), failure))?;
    if from_now {
        // That nothing before is told was asked for.
        reading.ready.clear();
    }
    let shared = Arc::clone(shared);
    let end = async move {
        tokio::select! {
            () = shared.stopping.cancelled() => {}
            _ = shared.authority.over(&identity) => {}
        }
    };
    let events = stream::unfold(reading, |mut reading| async move {
        let event = reading.next().await?;
        Some((Ok::<_, Infallible>(event), reading))
    });
    Ok(Sse::new(events.take_until(Box::pin(end))).keep_alive(KeepAlive::new().interval(SIGN)).into_response())
}

impl Reading {
    /// The next event; none: there was an error.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            if let Err(failure) = self.read(WAIT).await {
                self.over = true;
                return Some(Event::default().event("error").data(failure.json()));
            }
        }
    }

    /// Reads a page, which is waited for so long where there is no event.
    async fn read(&mut self, wait: u32) -> Result<(), Failure> {
        let page = self.follower.next(wait).await?;
        if let Some(cursor) = page.reset {
            let mut reset = Object::new();
            reset.text("cursor", &cursor);
            self.ready.push_back(Event::default().event("reset").id(cursor).data(reset.finish()));
        }
        for event in page.events {
            let cursor: Option<Cursor> = serde_json::from_str(event.get()).ok();
            let data = Event::default().data(event.get());
            self.ready.push_back(match cursor {
                Some(Cursor { cursor }) => data.id(cursor),
                None => data,
            });
        }
        Ok(())
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    push_text(&mut quoted, text);
    quoted
}

/// What is separated by commas, as a JSON list.
fn listed(types: &str) -> String {
    let mut list = String::from("[");
    for (at, word) in types.split(',').enumerate() {
        if at > 0 {
            list.push(',');
        }
        push_text(&mut list, word.trim());
    }
    list.push(']');
    list
}

fn status(failure: &Failure) -> StatusCode {
    match failure.kind() {
        "forbidden" => StatusCode::FORBIDDEN,
        "busy" => StatusCode::SERVICE_UNAVAILABLE,
        "invalid-argument" | "invalid-params" => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
