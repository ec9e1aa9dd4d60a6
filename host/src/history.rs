//! History as a stream.

use std::collections::VecDeque;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;

use crate::call::Call;
use crate::error::Result;
use crate::session::Session;
use crate::types::{HistoryView, MediaMode, Message, MessagePage, ReadOptions};

/// The messages of a path, one after the other.
///
/// Made by [`Session::history`]. It reads pages as they are asked for and holds one at a time. The stream gives
/// exactly the messages that the path had when the first was read: what is appended meanwhile is not among them. It
/// ends after its first error, which is `unknown-message` for a leaf that is not there, or `stale-cursor` when a
/// message of the path is deleted while it is read.
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct History {
    session: Session,
    options: ReadOptions,
    page: VecDeque<Message>,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// Where the page after this one begins.
    Page(Option<String>),
    Reading(Call<MessagePage>),
    Nothing,
}

impl History {
    pub(crate) fn new(session: Session) -> Self {
        let options = ReadOptions { view: HistoryView::default(), batch_size: None, max_batch_bytes: None };
        Self { session, options, page: VecDeque::new(), next: Next::Page(None) }
    }

    /// The path's last message, instead of the present leaf.
    pub fn leaf(mut self, id: impl Into<String>) -> Self {
        self.options.view.leaf_id = Some(id.into());
        self
    }

    /// From the leaf to the root: the exact reverse.
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.options.view.newest_first = newest_first;
        self
    }

    /// Whether summaries are shown in place of what they cover (true unless said otherwise).
    pub fn overlays(mut self, overlays: bool) -> Self {
        self.options.view.overlays = overlays;
        self
    }

    /// Where inline media goes.
    pub fn media(mut self, media: MediaMode) -> Self {
        self.options.view.media = media;
        self
    }

    /// Which path, and how it is shown, all at once.
    pub fn view(mut self, view: HistoryView) -> Self {
        self.options.view = view;
        self
    }

    /// Messages that are read at a time: 1 to 1,000, by default 50.
    pub fn batch_size(mut self, messages: u32) -> Self {
        self.options.batch_size = Some(messages);
        self
    }

    /// Bytes that are read at a time, by default 4 MiB. One message above it is read alone.
    pub fn max_batch_bytes(mut self, bytes: u64) -> Self {
        self.options.max_batch_bytes = Some(bytes);
        self
    }
}

impl Stream for History {
    type Item = Result<Message>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(message) = self.page.pop_front() {
                return Poll::Ready(Some(Ok(message)));
            }
            match &mut self.next {
                Next::Nothing => return Poll::Ready(None),
                Next::Page(cursor) => {
                    let cursor = cursor.take();
                    let page = self.session.read_history().options(self.options.clone()).cursor(cursor);
                    self.next = Next::Reading(page.into_future());
                }
                Next::Reading(call) => match ready!(Pin::new(call).poll(context)) {
                    Ok(page) => {
                        self.page = page.messages.into();
                        self.next = page.cursor.map_or(Next::Nothing, |cursor| Next::Page(Some(cursor)));
                    }
                    Err(error) => {
                        self.next = Next::Nothing;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
            }
        }
    }
}
