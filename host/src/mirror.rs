//! A list of messages that stays in step with a session, and listeners that are told what happens.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use futures::{Stream, TryStreamExt};
use tokio::task::JoinHandle;

use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Changes, Feed, FeedItem};
use crate::session::Session;
use crate::tenant::Tenant;
use crate::types::{Change, EventKind};

impl Tenant {
    /// Tells a listener of everything that happens in the tenant from now on, in order, until the subscription is dropped.
    ///
    /// It is called on a thread of the host, once for each event, and for each reset of the feed ([`FeedItem::Reset`]). One
    /// that panics has missed that event and is told of the next. For part of the events, or from a cursor on, take the
    /// stream of [`changes`](Self::changes).
    pub fn subscribe(&self, listener: impl FnMut(FeedItem) + Send + 'static) -> Subscription {
        Subscription::new(self, self.changes(), listener)
    }
}

impl Session {
    /// Tells a listener of everything that happens in this session from now on. See [`Tenant::subscribe`].
    pub fn subscribe(&self, listener: impl FnMut(FeedItem) + Send + 'static) -> Subscription {
        Subscription::new(self.tenant(), self.tenant().changes().session(self.id().to_owned()), listener)
    }

    /// A list of the session's messages that stays in step with it: see [`Mirror`].
    pub fn mirror(&self) -> MirrorBuilder<String> {
        MirrorBuilder {
            session: self.clone(),
            transform: Box::new(|_, json| json.to_owned()),
            intercept: Box::new(|_| false),
        }
    }
}

/// A listener that is told of events until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the subscription"]
pub struct Subscription {
    task: JoinHandle<()>,
}

impl Subscription {
    fn new(tenant: &Tenant, changes: Changes, mut listener: impl FnMut(FeedItem) + Send + 'static) -> Self {
        let for_task = tenant.clone();
        // Asked for before this returns, so that nothing that is written afterwards is missed.
        let end = tenant.end_of_feed();
        let task = tenant.tokio().spawn(async move {
            let told = async {
                let end = end.await?.cursor;
                let mut feed = changes.cursor(end).stream();
                while let Some(item) = feed.try_next().await? {
                    if catch_unwind(AssertUnwindSafe(|| listener(item))).is_err() {
                        tracing::warn!(tenant = for_task.name(), "a listener broke down; it is told of what follows");
                    }
                }
                Ok::<(), Error>(())
            };
            if let Err(error) = told.await {
                tracing::warn!(tenant = for_task.name(), %error, "a subscription ended");
            }
        });
        Self { task }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Transform<T> = Box<dyn Fn(&str, &str) -> T + Send>;
type Intercept = Box<dyn FnMut(&Change) -> bool + Send>;

/// Choices for a [`Mirror`]. Made by [`Session::mirror`].
#[must_use = "nothing is read before `start`"]
pub struct MirrorBuilder<T> {
    session: Session,
    transform: Transform<T>,
    intercept: Intercept,
}

impl<T> MirrorBuilder<T> {
    /// Keeps what this makes of a message, whose id and JSON text it is given, instead of its JSON text.
    pub fn transform<U>(self, transform: impl Fn(&str, &str) -> U + Send + 'static) -> MirrorBuilder<U> {
        MirrorBuilder { session: self.session, transform: Box::new(transform), intercept: self.intercept }
    }

    /// Is asked of every event first; where it answers true, the list is left as it is.
    pub fn intercept(mut self, intercept: impl FnMut(&Change) -> bool + Send + 'static) -> Self {
        self.intercept = Box::new(intercept);
        self
    }

    /// Reads the path to the present leaf and follows the session from there.
    pub async fn start(self) -> Result<Mirror<T>> {
        let Self { session, transform, intercept } = self;
        let cursor = session.tenant().end_of_feed().await?.cursor;
        let mut mirror = Mirror {
            feed: session.tenant().changes().session(session.id().to_owned()).cursor(cursor).stream(),
            session,
            transform,
            intercept,
            ids: Vec::new(),
            messages: Vec::new(),
        };
        mirror.load().await?;
        Ok(mirror)
    }
}

/// A list of the messages of a session that stays in step with it.
///
/// It begins with the path to the present leaf, as history shows it. An appended message goes to its end, an updated one
/// is replaced in place, deleted ones go, and `clear` empties it. Other events change nothing. Where events were missed,
/// the path is read anew.
pub struct Mirror<T = String> {
    session: Session,
    feed: Feed,
    transform: Transform<T>,
    intercept: Intercept,
    ids: Vec<String>,
    messages: Vec<T>,
}

impl<T> Mirror<T> {
    /// The messages, as of the last event that was applied.
    pub fn messages(&self) -> &[T] {
        &self.messages
    }

    /// The ids of the messages, in the same order.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Waits for the next event of the session, applies it, and gives it. May be dropped while it waits: no event is lost.
    pub async fn next(&mut self) -> Result<FeedItem> {
        let feed = &mut self.feed;
        let item = poll_fn(|context| Pin::new(&mut *feed).poll_next(context)).await;
        let item =
            item.unwrap_or_else(|| Err(Error::new(ErrorKind::Other, "the feed has ended: start a new mirror")))?;
        match &item {
            FeedItem::Reset(_) => self.load().await?,
            FeedItem::Event(change) => {
                if !(self.intercept)(change) {
                    self.apply(change);
                }
            }
        }
        Ok(item)
    }

    fn apply(&mut self, change: &Change) {
        match change.kind {
            EventKind::Appended | EventKind::Updated => {
                let (Some(id), Some(json)) = (change.ids.first(), &change.message) else { return };
                let place = self.ids.iter().position(|known| known == id);
                match place {
                    Some(place) => self.messages[place] = (self.transform)(id, json),
                    None if change.kind == EventKind::Appended => self.push(id.clone(), json),
                    None => {}
                }
            }
            EventKind::Deleted => {
                let gone = |id: &String| change.ids.contains(id);
                let kept: Vec<bool> = self.ids.iter().map(|id| !gone(id)).collect();
                let mut keep = kept.iter();
                self.messages.retain(|_| keep.next().copied().unwrap_or(true));
                self.ids.retain(|id| !gone(id));
            }
            EventKind::Cleared => {
                self.ids.clear();
                self.messages.clear();
            }
            EventKind::Compacted
            | EventKind::CompactionChanged
            | EventKind::Imported
            | EventKind::ContextChanged
            | EventKind::SessionChanged => {}
        }
    }

    fn push(&mut self, id: String, json: &str) {
        self.messages.push((self.transform)(&id, json));
        self.ids.push(id);
    }

    async fn load(&mut self) -> Result<()> {
        let mut history = self.session.history();
        self.ids.clear();
        self.messages.clear();
        while let Some(message) = history.try_next().await? {
            self.push(message.id, &message.json);
        }
        Ok(())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mirror<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirror").field("session", &self.session).field("ids", &self.ids).finish_non_exhaustive()
    }
}
