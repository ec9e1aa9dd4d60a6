//! Calls with options: a builder each, which `.await` turns into the call.

use std::future::IntoFuture;
use std::sync::Arc;

use crate::call::{Access, Call};
use crate::compactor::Compactor;
use crate::error::{Error, Result};
use crate::session::{Session, WeakSession};
use crate::types::{
    AppendOptions, AppendResult, BranchPoint, ChainResult, Compaction, CompactionPlan, DeleteMode, DeleteResult,
    ExpectedLeaf, HistoryView, MediaMode, MediaRange, Message, MessagePage, NodePage, Parent, ReadOptions,
    RecentHistory, RecentOptions, RowStatsPage, Source, SummaryDetails, UpsertResult,
};

/// A builder that becomes a [`Call`] by `.await`, and the `into_future` that makes the call.
macro_rules! operation {
    (
        $(#[$doc:meta])*
        $name:ident -> $answer:ty { $($field:ident: $type:ty,)* }
        call($self:ident) $body:block
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "nothing is called before `.await`"]
        pub struct $name {
            session: Session,
            $($field: $type,)*
        }

        impl IntoFuture for $name {
            type Output = Result<$answer>;
            type IntoFuture = Call<$answer>;

            fn into_future($self) -> Call<$answer> $body
        }
    };
}

/// How a path is shown: the setters that several builders have, given where they keep it.
macro_rules! view_setters {
    ($($place:ident).+) => {
        /// Whether summaries are shown in place of what they cover (true unless said otherwise).
        pub fn overlays(mut self, overlays: bool) -> Self {
            self.$($place).+.overlays = overlays;
            self
        }

        /// Where inline media goes.
        pub fn media(mut self, media: MediaMode) -> Self {
            self.$($place).+.media = media;
            self
        }

        /// The path's last message, instead of the present leaf. The id of a summary stands for its place.
        pub fn leaf(mut self, id: impl Into<String>) -> Self {
            self.$($place).+.leaf_id = Some(id.into());
            self
        }
    };
}

/// Pages: the setters that several builders have.
macro_rules! page_setters {
    () => {
        /// Goes on where the page with this cursor ended; none: from the beginning.
        pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
            self.cursor = cursor.into();
            self
        }

        /// How many at most in this page: 1 to 1,000; none: 100.
        pub fn limit(mut self, limit: impl Into<Option<u32>>) -> Self {
            self.limit = limit.into();
            self
        }
    };
}

pub(crate) use page_setters;

operation! {
    /// See [`Session::append_message`].
    AppendMessage -> AppendResult { message: Result<String, Error>, options: AppendOptions, }
    call(self) {
        let Self { session, message, options } = self;
        let message = match message {
            Ok(message) => message,
            Err(error) => return Call::refused(error),
        };
        let access = Access::Write(|result: &AppendResult| result.inserted);
        let due = Due::of(&session);
        session.call_with(session.label("append-message").carrying(message.len()), access, move |guest, store, session| {
            let answer = guest.call_append_message(store, session, &message, &options)?;
            due.report(answer.as_ref().is_ok_and(|result| result.compaction_due));
            Ok(answer)
        })
    }
}

operation! {
    /// See [`Session::append_messages`].
    AppendMessages -> ChainResult { messages: Result<Vec<String>, Error>, options: AppendOptions, }
    call(self) {
        let Self { session, messages, options } = self;
        let messages = match messages {
            Ok(messages) => messages,
            Err(error) => return Call::refused(error),
        };
        let access = Access::Write(|result: &ChainResult| result.items.iter().any(|item| item.inserted));
        let due = Due::of(&session);
        let bytes = messages.iter().map(String::len).sum();
        session.call_with(session.label("append-messages").carrying(bytes), access, move |guest, store, session| {
            let answer = guest.call_append_messages(store, session, &messages, &options)?;
            due.report(answer.as_ref().is_ok_and(|result| result.compaction_due));
            Ok(answer)
        })
    }
}

/// Who is told that an append found a compaction due. It keeps no root open.
struct Due {
    compactor: Arc<Compactor>,
    session: WeakSession,
}

impl Due {
    fn of(session: &Session) -> Self {
        Self { compactor: Arc::clone(session.compactor()), session: session.downgrade() }
    }

    fn report(&self, due: bool) {
        if due {
            self.compactor.due(&self.session);
        }
    }
}

/// The setters of the two appends.
macro_rules! append_setters {
    ($name:ident, $message:ident: $type:ty) => {
        impl $name {
            pub(crate) fn new(session: Session, $message: Result<$type>) -> Self {
                Self { session, $message, options: AppendOptions::default() }
            }

            /// What it hangs under: a message's id, or one of [`Parent`]; by default the present leaf.
            pub fn parent(mut self, parent: impl Into<Parent>) -> Self {
                self.options.parent = parent.into();
                self
            }

            /// On whose word: from a client, reserved metadata keys are left out. By default the server's.
            pub fn source(mut self, source: Source) -> Self {
                self.options.source = source;
                self
            }

            /// The present leaf that the writer has seen, as an id or one of [`ExpectedLeaf`]: if it is another one by
            /// now, nothing is written and the error is `leaf-moved`. Not looked at when the message is stored already.
            pub fn expected_leaf(mut self, leaf: impl Into<ExpectedLeaf>) -> Self {
                self.options.expected_leaf = leaf.into();
                self
            }

            /// All options at once.
            pub fn options(mut self, options: AppendOptions) -> Self {
                self.options = options;
                self
            }
        }
    };
}

append_setters!(AppendMessage, message: String);
append_setters!(AppendMessages, messages: Vec<String>);

operation! {
    /// See [`Session::update_message`].
    UpdateMessage -> Option<String> { message: Result<String, Error>, source: Source, }
    call(self) {
        let Self { session, message, source } = self;
        let message = match message {
            Ok(message) => message,
            Err(error) => return Call::refused(error),
        };
        let label = session.label("update-message").carrying(message.len());
        session.call_with(label, Access::Write(Option::is_some), move |guest, store, session| {
            guest.call_update_message(store, session, &message, source)
        })
    }
}

impl UpdateMessage {
    pub(crate) fn new(session: Session, message: Result<String>) -> Self {
        Self { session, message, source: Source::Server }
    }

    /// On whose word: on a client's, reserved metadata keys are kept as they are stored. By default the server's.
    pub fn source(mut self, source: Source) -> Self {
        self.source = source;
        self
    }
}

operation! {
    /// See [`Session::upsert_message`].
    UpsertMessage -> UpsertResult { message: Result<String, Error>, parent: Parent, source: Source, }
    call(self) {
        let Self { session, message, parent, source } = self;
        let message = match message {
            Ok(message) => message,
            Err(error) => return Call::refused(error),
        };
        // On a tenant without messages nothing can be updated: success is an insert.
        let label = session.label("upsert-message").carrying(message.len());
        session.call_with(label, Access::Write(|_| true), move |guest, store, session| {
            guest.call_upsert_message(store, session, &message, &parent, source)
        })
    }
}

impl UpsertMessage {
    pub(crate) fn new(session: Session, message: Result<String>) -> Self {
        Self { session, message, parent: Parent::Latest, source: Source::Server }
    }

    /// What it hangs under if it is appended: a message's id, or one of [`Parent`]; by default the present leaf.
    pub fn parent(mut self, parent: impl Into<Parent>) -> Self {
        self.parent = parent.into();
        self
    }

    /// On whose word, as of an append or an update. By default the server's.
    pub fn source(mut self, source: Source) -> Self {
        self.source = source;
        self
    }
}

operation! {
    /// See [`Session::delete_messages`].
    DeleteMessages -> DeleteResult { ids: Vec<String>, mode: DeleteMode, dry_run: bool, }
    call(self) {
        let Self { session, ids, mode, dry_run } = self;
        // A dry run of a tenant that was never written is a read of it.
        let access =
            if dry_run { Access::Read } else { Access::Write(|result: &DeleteResult| result.deleted > 0) };
        session.call("delete-messages", access, move |guest, store, session| {
            guest.call_delete_messages(store, session, &ids, mode, dry_run)
        })
    }
}

impl DeleteMessages {
    pub(crate) fn new(session: Session, ids: Vec<String>) -> Self {
        Self { session, ids, mode: DeleteMode::Splice, dry_run: false }
    }

    /// What becomes of the messages below: by default they move up to the nearest ancestor that stays.
    pub fn mode(mut self, mode: DeleteMode) -> Self {
        self.mode = mode;
        self
    }

    /// Answers the same and changes nothing.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

operation! {
    /// See [`Session::get_message`].
    GetMessage -> Option<Message> { id: String, media: MediaMode, }
    call(self) {
        let Self { session, id, media } = self;
        session.call("get-message", Access::Read, move |guest, store, session| {
            guest.call_get_message(store, session, &id, media)
        })
    }
}

impl GetMessage {
    pub(crate) fn new(session: Session, id: String) -> Self {
        Self { session, id, media: MediaMode::Inline }
    }

    /// Where inline media goes.
    pub fn media(mut self, media: MediaMode) -> Self {
        self.media = media;
        self
    }
}

operation! {
    /// See [`Session::get_latest_leaf`].
    GetLatestLeaf -> Option<Message> { media: MediaMode, }
    call(self) {
        let Self { session, media } = self;
        session.call("get-latest-leaf", Access::Read, move |guest, store, session| {
            guest.call_get_latest_leaf(store, session, media)
        })
    }
}

impl GetLatestLeaf {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, media: MediaMode::Inline }
    }

    /// Where inline media goes.
    pub fn media(mut self, media: MediaMode) -> Self {
        self.media = media;
        self
    }
}

operation! {
    /// See [`Session::get_media`].
    GetMedia -> MediaRange { id: String, index: u32, offset: u64, length: Option<u64>, }
    call(self) {
        let Self { session, id, index, offset, length } = self;
        session.call("get-media", Access::Read, move |guest, store, session| {
            guest.call_get_media(store, session, &id, index, offset, length)
        })
    }
}

impl GetMedia {
    pub(crate) fn new(session: Session, id: String, index: u32) -> Self {
        Self { session, id, index, offset: 0, length: None }
    }

    /// Begins at this byte of the payload.
    pub fn offset(mut self, bytes: u64) -> Self {
        self.offset = bytes;
        self
    }

    /// So many bytes, at most 16 MiB; none: to the end, or 16 MiB.
    pub fn length(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.length = bytes.into();
        self
    }
}

operation! {
    /// See [`Session::read_history`].
    ReadHistory -> MessagePage { options: ReadOptions, cursor: Option<String>, }
    call(self) {
        let Self { session, options, cursor } = self;
        session.call("read-history", Access::Read, move |guest, store, session| {
            guest.call_read_history(store, session, &options, cursor.as_deref())
        })
    }
}

impl ReadHistory {
    pub(crate) fn new(session: Session) -> Self {
        let options = ReadOptions { view: HistoryView::default(), batch_size: None, max_batch_bytes: None };
        Self { session, options, cursor: None }
    }

    view_setters!(options.view);

    /// From the leaf to the root: the exact reverse.
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.options.view.newest_first = newest_first;
        self
    }

    /// Messages in this page: 1 to 1,000; none: 50.
    pub fn batch_size(mut self, messages: impl Into<Option<u32>>) -> Self {
        self.options.batch_size = messages.into();
        self
    }

    /// Bytes in this page; none: 4 MiB. One message above it stands alone.
    pub fn max_batch_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.options.max_batch_bytes = bytes.into();
        self
    }

    /// Goes on where the page with this cursor ended; none: from the beginning.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.cursor = cursor.into();
        self
    }

    /// All options but the cursor at once.
    pub fn options(mut self, options: ReadOptions) -> Self {
        self.options = options;
        self
    }
}

operation! {
    /// See [`Session::get_history`].
    GetHistory -> Vec<Message> { view: HistoryView, }
    call(self) {
        let Self { session, view } = self;
        session.call("get-history", Access::Read, move |guest, store, session| {
            guest.call_get_history(store, session, &view)
        })
    }
}

impl GetHistory {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, view: HistoryView::default() }
    }

    view_setters!(view);

    /// From the leaf to the root: the exact reverse.
    pub fn newest_first(mut self, newest_first: bool) -> Self {
        self.view.newest_first = newest_first;
        self
    }

    /// Which path, and how it is shown, all at once.
    pub fn view(mut self, view: HistoryView) -> Self {
        self.view = view;
        self
    }
}

operation! {
    /// See [`Session::get_recent_history`].
    GetRecentHistory -> RecentHistory { options: RecentOptions, }
    call(self) {
        let Self { session, options } = self;
        session.call("get-recent-history", Access::Read, move |guest, store, session| {
            guest.call_get_recent_history(store, session, &options)
        })
    }
}

impl GetRecentHistory {
    pub(crate) fn new(session: Session, max_bytes: u64) -> Self {
        let options = RecentOptions { max_bytes, leaf_id: None, overlays: true, media: MediaMode::Inline };
        Self { session, options }
    }

    view_setters!(options);

    /// All options at once, the number of bytes too.
    pub fn options(mut self, options: RecentOptions) -> Self {
        self.options = options;
        self
    }
}

operation! {
    /// See [`Session::get_history_row_stats`].
    GetHistoryRowStats -> RowStatsPage { leaf_id: Option<String>, cursor: Option<String>, limit: Option<u32>, }
    call(self) {
        let Self { session, leaf_id, cursor, limit } = self;
        session.call("get-history-row-stats", Access::Read, move |guest, store, session| {
            guest.call_get_history_row_stats(store, session, leaf_id.as_deref(), cursor.as_deref(), limit)
        })
    }
}

impl GetHistoryRowStats {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, leaf_id: None, cursor: None, limit: None }
    }

    /// The path's last message, instead of the present leaf.
    pub fn leaf(mut self, id: impl Into<String>) -> Self {
        self.leaf_id = Some(id.into());
        self
    }

    page_setters!();
}

operation! {
    /// See [`Session::get_branches`].
    GetBranches -> MessagePage { point: BranchPoint, cursor: Option<String>, limit: Option<u32>, }
    call(self) {
        let Self { session, point, cursor, limit } = self;
        session.call("get-branches", Access::Read, move |guest, store, session| {
            guest.call_get_branches(store, session, &point, cursor.as_deref(), limit)
        })
    }
}

impl GetBranches {
    pub(crate) fn new(session: Session, point: BranchPoint) -> Self {
        Self { session, point, cursor: None, limit: None }
    }

    page_setters!();
}

operation! {
    /// See [`Session::list_messages`].
    ListMessages -> NodePage { cursor: Option<String>, limit: Option<u32>, }
    call(self) {
        let Self { session, cursor, limit } = self;
        session.call("list-messages", Access::Read, move |guest, store, session| {
            guest.call_list_messages(store, session, cursor.as_deref(), limit)
        })
    }
}

impl ListMessages {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, cursor: None, limit: None }
    }

    page_setters!();
}

operation! {
    /// See [`Session::compact`].
    Compact -> Option<Compaction> { leaf_id: Option<String>, }
    call(self) {
        let Self { session, leaf_id } = self;
        session.compactor().compact(&session, leaf_id)
    }
}

operation! {
    /// See [`Session::prepare_compaction`].
    PrepareCompaction -> Option<CompactionPlan> { leaf_id: Option<String>, }
    call(self) {
        let Self { session, leaf_id } = self;
        session.call("prepare-compaction", Access::Read, move |guest, store, session| {
            guest.call_prepare_compaction(store, session, leaf_id.as_deref())
        })
    }
}

/// The setters of the two that begin a compaction.
macro_rules! compaction_setters {
    ($name:ident) => {
        impl $name {
            pub(crate) fn new(session: Session) -> Self {
                Self { session, leaf_id: None }
            }

            /// The path's last message, instead of the present leaf.
            pub fn leaf(mut self, id: impl Into<String>) -> Self {
                self.leaf_id = Some(id.into());
                self
            }
        }
    };
}

compaction_setters!(Compact);
compaction_setters!(PrepareCompaction);

operation! {
    /// See [`Session::commit_compaction`].
    CommitCompaction -> Compaction { token: String, summary: String, details: SummaryDetails, }
    call(self) {
        let Self { session, token, summary, details } = self;
        let label = session.label("commit-compaction").carrying(summary.len());
        session.call_with(label, Access::Write(|_| true), move |guest, store, session| {
            guest.call_commit_compaction(store, session, &token, &summary, details)
        })
    }
}

impl CommitCompaction {
    pub(crate) fn new(session: Session, token: String, summary: String) -> Self {
        Self { session, token, summary, details: SummaryDetails::default() }
    }

    /// What the model's provider said of the summary.
    pub fn details(mut self, details: SummaryDetails) -> Self {
        self.details = details;
        self
    }
}
