//! The feed of a tenant: what happened in its store, in pages, by waiting, or as a stream without an end.

use std::collections::VecDeque;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;
use tokio::time::{Instant, timeout_at};

use crate::call::{Access, Call};
use crate::error::Result;
use crate::tenant::Tenant;
use crate::types::{Change, ChangeOptions, ChangePage, EventKind};

/// How long one call of a stream waits for an event before it asks again.
const STREAM_PATIENCE: Duration = Duration::from_secs(3600);

/// A cursor that no feed has given: what answers it says where the present end is.
pub(crate) const PRESENT_END: &str = "end";

impl Tenant {
    /// Where the feed ends now: the cursor of the answer. What happens after this call comes behind it.
    pub fn end_of_feed(&self) -> Call<ChangePage> {
        self.changes().cursor(PRESENT_END.to_owned()).limit(1).into_future()
    }

    /// What happened in the tenant's store, in order and without gaps, in pages.
    ///
    /// A page with `reset` says that the cursor was of no use and that events may have been missed: read what is needed
    /// anew, and go on from the page's cursor, which is the present end.
    pub fn changes(&self) -> Changes {
        let options = ChangeOptions { cursor: None, limit: None, session: None, kinds: Vec::new() };
        Changes { tenant: self.clone(), options, wait: Duration::ZERO }
    }
}

/// See [`Tenant::changes`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct Changes {
    tenant: Tenant,
    options: ChangeOptions,
    wait: Duration,
}

impl Changes {
    /// Only what came after the event with this cursor; none: all that is kept.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.options.cursor = cursor.into();
        self
    }

    /// Events in this page: 1 to 1,000; none: 100.
    pub fn limit(mut self, events: impl Into<Option<u32>>) -> Self {
        self.options.limit = events.into();
        self
    }

    /// Only of this session.
    pub fn session(mut self, id: impl Into<Option<String>>) -> Self {
        self.options.session = id.into();
        self
    }

    /// Only of these kinds; none named: of all. Filters change no cursor.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = EventKind>) -> Self {
        self.options.kinds = kinds.into_iter().collect();
        self
    }

    /// Waits so long for an event where there is none yet.
    pub fn wait(mut self, patience: Duration) -> Self {
        self.wait = patience;
        self
    }

    /// The events one after the other, from the cursor on, without an end.
    pub fn stream(self) -> Feed {
        Feed { changes: self.wait(STREAM_PATIENCE), page: VecDeque::new(), next: None, over: false }
    }

    fn page(&self) -> Call<ChangePage> {
        let options = self.options.clone();
        self.tenant.enqueue(self.tenant.label("changes"), Access::Read, move |guest, store| {
            guest.call_changes(store, &options)
        })
    }
}

impl IntoFuture for Changes {
    type Output = Result<ChangePage>;
    type IntoFuture = Call<ChangePage>;

    fn into_future(mut self) -> Call<ChangePage> {
        if self.wait.is_zero() {
            return self.page();
        }
        // Before the first look, so that nothing that happens after it is missed.
        let mut written = self.tenant.watch();
        let first = self.page();
        let tenant = self.tenant.clone();
        tenant.follow(async move {
            let until = Instant::now().checked_add(self.wait);
            let mut page = first.await?;
            loop {
                if !page.events.is_empty() || page.reset {
                    return Ok(page);
                }
                // A page without an event of the kinds asked for may end before the present end.
                let at_the_end = self.options.cursor.as_deref() == Some(page.cursor.as_str());
                if at_the_end {
                    let waited = async { written.changed().await.is_ok() };
                    let goes_on = match until {
                        Some(until) => timeout_at(until, waited).await.unwrap_or(false),
                        None => waited.await,
                    };
                    if !goes_on {
                        return Ok(page);
                    }
                }
                self.options.cursor = Some(page.cursor);
                page = self.page().await?;
            }
        })
    }
}

/// What a [`Feed`] gives.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are events; boxing each would cost more")]
pub enum FeedItem {
    /// Something happened.
    Event(Change),
    /// Events were missed: read what is needed anew. What follows came after the present end, whose cursor this is.
    Reset(String),
}

/// The events of a tenant as a stream without an end. Made by [`Changes::stream`].
///
/// It ends after its first error.
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct Feed {
    changes: Changes,
    page: VecDeque<Change>,
    next: Option<Call<ChangePage>>,
    over: bool,
}

impl Stream for Feed {
    type Item = Result<FeedItem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.page.pop_front() {
                return Poll::Ready(Some(Ok(FeedItem::Event(event))));
            }
            if self.over {
                return Poll::Ready(None);
            }
            let changes = self.changes.clone();
            let call = self.next.get_or_insert_with(|| changes.into_future());
            let page = ready!(Pin::new(call).poll(context));
            self.next = None;
            match page {
                Ok(page) => {
                    self.changes.options.cursor = Some(page.cursor.clone());
                    self.page = page.events.into();
                    if page.reset {
                        return Poll::Ready(Some(Ok(FeedItem::Reset(page.cursor))));
                    }
                }
                Err(error) => {
                    self.over = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}
