//! What a stream of requests has beside its answers: subscriptions to feeds, and an end.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::TryStreamExt as _;
use tokio::{sync::mpsc, task::AbortHandle};
use tokio_util::sync::CancellationToken;

use super::{failure::Failure, json::Object, methods, pipeline::Answer, service::Reply};
use crate::{Feed, FeedItem};

/// Subscriptions that one stream of requests may have.
const MAX_SUBSCRIPTIONS: usize = 1_000;

/// One stream of requests.
pub(crate) struct Connection {
    /// From then on whatever waits for an event is answered as it is.
    ending: CancellationToken,
    out: mpsc::Sender<Option<Answer>>,
    subscriptions: Mutex<Subscriptions>,
}

#[derive(Default)]
struct Subscriptions {
    last: u64,
    /// None: it has not begun.
    open: HashMap<u64, Option<AbortHandle>>,
}

/// A feed that was subscribed to, and begins when that has been answered.
pub(crate) struct Subscription {
    number: u64,
    feed: Feed,
}

impl Connection {
    /// One whose answers and events go out here, and that ends with this token at the latest.
    pub(super) fn new(out: mpsc::Sender<Option<Answer>>, ending: &CancellationToken) -> Self {
        Self { ending: ending.child_token(), out, subscriptions: Mutex::default() }
    }

    /// Cancelled when nothing may wait any longer.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Nothing waits any longer, and no more events go out.
    pub(super) fn end(&self) {
        self.ending.cancel();
        for task in self.lock().open.drain().filter_map(|(_, task)| task) {
            task.abort();
        }
    }

    /// A subscription to a feed, and its number.
    pub(super) fn subscribe(&self, feed: Feed) -> Result<(u64, Subscription), Failure> {
        let mut subscriptions = self.lock();
        if subscriptions.open.len() >= MAX_SUBSCRIPTIONS {
            let sentence = format!("there are {MAX_SUBSCRIPTIONS} subscriptions already: end some with unsubscribe");
            let limit = MAX_SUBSCRIPTIONS as u64;
            return Err(Failure::store("over-limit", &sentence, None, Some(limit), Some(limit)));
        }
        subscriptions.last += 1;
        let number = subscriptions.last;
        subscriptions.open.insert(number, None);
        Ok((number, Subscription { number, feed }))
    }

    /// Ends a subscription. False: there was none of that number.
    pub(super) fn unsubscribe(&self, number: u64) -> bool {
        match self.lock().open.remove(&number) {
            Some(Some(task)) => {
                task.abort();
                true
            }
            Some(None) => true,
            None => false,
        }
    }

    /// Ends a subscription that has not begun.
    pub(super) fn forget(&self, subscription: &Subscription) {
        self.lock().open.remove(&subscription.number);
    }

    /// Begins to send the events of a subscription, unless that has ended meanwhile.
    pub(super) fn begin(&self, subscription: Subscription) {
        let number = subscription.number;
        let mut subscriptions = self.lock();
        if self.ending.is_cancelled() {
            return;
        }
        if let Some(task) = subscriptions.open.get_mut(&number) {
            *task = Some(tokio::spawn(send_events(subscription, self.out.clone())).abort_handle());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends events until the feed fails or nobody takes them any more. A slow reader holds it up, and nothing else.
async fn send_events(subscription: Subscription, out: mpsc::Sender<Option<Answer>>) {
    let Subscription { number, mut feed } = subscription;
    loop {
        let item = feed.try_next().await;
        let mut params = Object::new();
        params.number("subscription", number);
        let over = match item {
            Ok(Some(FeedItem::Event(change))) => {
                params.json("event", &methods::event(&change));
                false
            }
            Ok(Some(FeedItem::Reset(cursor))) => {
                params.flag("reset", true).text("cursor", &cursor);
                false
            }
            Ok(None) => return,
            Err(error) => {
                params.json("error", &Failure::from(error).json());
                true
            }
        };
        let note = Answer { reply: Reply::notification("event", params.finish()), share: None };
        if out.send(Some(note)).await.is_err() || over {
            return;
        }
    }
}
