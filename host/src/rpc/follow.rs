//! The feed of a tenant, followed page by page by whoever passes its events on.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{failure::Failure, json::Object, service::Service};

/// Events that are asked for at a time.
const PAGE: u32 = 100;

/// Where the feed is read, and which of its events.
#[derive(Debug)]
pub(crate) struct Followed {
    /// None: the tenant that goes without saying.
    pub(crate) tenant: Option<String>,
    /// JSON texts of `session` and `types`, where they are given.
    pub(crate) session: Option<String>,
    pub(crate) types: Option<String>,
    /// Where it goes on; none: with the oldest event that is kept.
    pub(crate) cursor: Option<String>,
}

/// A feed that is read.
pub(crate) struct Follower {
    service: Service,
    feed: Followed,
}

/// Some events.
pub(crate) struct Page {
    /// As `changes` gives them.
    pub(crate) events: Vec<Box<RawValue>>,
    /// Events were missed; they go on behind this cursor.
    pub(crate) reset: Option<String>,
}

#[derive(Deserialize)]
struct Changes {
    events: Vec<Box<RawValue>>,
    cursor: String,
    reset: bool,
}

impl Follower {
    pub(crate) fn new(service: Service, feed: Followed) -> Self {
        Self { service, feed }
    }

    /// The next events. Where there are none, one is waited for so long, in ms.
    pub(crate) async fn next(&mut self, wait: u32) -> Result<Page, Failure> {
        let mut params = Object::new();
        if let Some(tenant) = &self.feed.tenant {
            params.text("tenant", tenant);
        }
        params.maybe_json("session", self.feed.session.as_deref()).maybe_json("types", self.feed.types.as_deref());
        params.maybe_text("cursor", self.feed.cursor.as_deref()).number("limit", PAGE).number("waitMs", wait);
        let changes = self.service.invoke("changes", &mut params).await?;
        let Changes { events, cursor, reset } = serde_json::from_str(&changes)
            .map_err(|error| Failure::store("other", format!("the feed cannot be read: {error}"), None, None, None))?;
        self.feed.cursor = Some(cursor.clone());
        Ok(Page { events, reset: reset.then_some(cursor) })
    }
}
