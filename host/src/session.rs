//! One conversation of a tenant: a handle with the calls of the contract.

use std::sync::Arc;

use wasmtime::Store;

use crate::bindings::exports::talktree::sessions::context::Guest as ContextInterface;
use crate::bindings::exports::talktree::sessions::store::Guest as StoreInterface;
use crate::bindings::talktree::sessions::types as wit;
use crate::call::{Access, Call, Label};
use crate::compactor::Compactor;
use crate::error::{Error, ErrorKind, Result};
use crate::history::History;
use crate::message::IntoMessage;
use crate::operations::{
    AppendMessage, AppendMessages, CommitCompaction, Compact, DeleteMessages, GetBranches, GetHistory,
    GetHistoryRowStats, GetLatestLeaf, GetMedia, GetMessage, GetRecentHistory, ListMessages, PrepareCompaction,
    ReadHistory, UpdateMessage, UpsertMessage,
};
use crate::sandbox::Guest;
use crate::tenant::{Tenant, WeakTenant};
use crate::types::{BranchPoint, Compaction, ConfigScope, Configuration, ConfigurationChange, ImportItem};

/// One conversation: a tree of messages.
///
/// Made by [`Tenant::session`](crate::Tenant::session). A cheap handle: clone it, send it to other tasks. Making one
/// creates nothing; a session comes into being with its first write, and until then reads answer as of an empty one.
///
/// Methods that take nothing but their arguments put the call into the tenant's queue at once and give a [`Call`];
/// those with options give a builder, which `.await` (or `into_future`) puts there. Calls of one tenant are carried
/// out in that order, one at a time; tenants run side by side.
#[derive(Clone, Debug)]
pub struct Session {
    tenant: Tenant,
    id: Arc<str>,
}

impl Session {
    pub(crate) fn new(tenant: Tenant, id: Arc<str>) -> Self {
        Self { tenant, id }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tenant that it belongs to.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Appends one message, by default under the present leaf.
    ///
    /// The id is looked up first: a stored one answers `inserted: false` whatever else is asked, so that a retry is
    /// safe. Errors: `invalid-message`, `unknown-parent`, `leaf-moved`.
    pub fn append_message(&self, message: impl IntoMessage) -> AppendMessage {
        AppendMessage::new(self.clone(), message.into_message())
    }

    /// Appends a chain of messages, each answering the one before: all or none.
    ///
    /// A message that is stored already becomes the parent of the next. Errors as of
    /// [`append_message`](Self::append_message).
    pub fn append_messages(&self, messages: impl IntoIterator<Item: IntoMessage>) -> AppendMessages {
        AppendMessages::new(self.clone(), messages.into_iter().map(IntoMessage::into_message).collect())
    }

    /// Replaces role and content of a message in place; parent, seq and time stay.
    ///
    /// Answers the message as stored, or none if there is no such id: nothing is ever inserted. Errors:
    /// `invalid-message`.
    pub fn update_message(&self, message: impl IntoMessage) -> UpdateMessage {
        UpdateMessage::new(self.clone(), message.into_message())
    }

    /// Updates the message if it is there (the parent is ignored), else appends it. Errors: `invalid-message`,
    /// `unknown-parent`.
    pub fn upsert_message(&self, message: impl IntoMessage) -> UpsertMessage {
        UpsertMessage::new(self.clone(), message.into_message())
    }

    /// Stores a message from elsewhere verbatim, with its parent (none: a root) and its time in ms since 1970 UTC.
    ///
    /// Answers whether it was inserted; a stored id is left as it is. Errors: `invalid-message`, `unknown-parent`.
    pub fn import_message(&self, message: impl IntoMessage, parent_id: Option<&str>, created_at: i64) -> Call<bool> {
        let message = match message.into_message() {
            Ok(message) => message,
            Err(error) => return Call::refused(error),
        };
        let parent_id = parent_id.map(str::to_owned);
        let label = self.label("import-message").carrying(message.len());
        self.call_with(label, Access::Write(|inserted| *inserted), move |guest, store, session| {
            guest.call_import_message(store, session, &message, parent_id.as_deref(), created_at)
        })
    }

    /// Stores messages from elsewhere verbatim, in order and in one transaction: all or none, at most 10,000 a call.
    ///
    /// Answers for each whether it was inserted; a parent may be a message of the same call that stands before it.
    /// Errors: `invalid-message`, `unknown-parent`.
    pub fn import_messages(&self, items: Vec<ImportItem>) -> Call<Vec<bool>> {
        let access = Access::Write(|inserted: &Vec<bool>| inserted.contains(&true));
        let label = self.label("import-messages").carrying(items.iter().map(|item| item.message.len()).sum());
        self.call_with(label, access, move |guest, store, session| guest.call_import_messages(store, session, &items))
    }

    /// Deletes messages; unknown ids are ignored. By default their children move to the nearest ancestor that stays.
    pub fn delete_messages(&self, ids: impl IntoIterator<Item: Into<String>>) -> DeleteMessages {
        DeleteMessages::new(self.clone(), ids.into_iter().map(Into::into).collect())
    }

    /// Deletes all messages of the session; its configuration stays. Answers how many.
    pub fn clear_messages(&self) -> Call<u32> {
        self.call("clear-messages", Access::Write(|deleted| *deleted > 0), |guest, store, session| {
            guest.call_clear_messages(store, session)
        })
    }

    /// Chooses the present leaf, for reads and for the next append or import, which ends the choice. None: the message
    /// with the greatest seq again. Answers the present leaf. Errors: `unknown-message`.
    pub fn set_leaf(&self, id: Option<&str>) -> Call<Option<String>> {
        let id = id.map(str::to_owned);
        self.call("set-leaf", Access::Write(Option::is_some), move |guest, store, session| {
            guest.call_set_leaf(store, session, id.as_deref())
        })
    }

    /// One message, or none.
    pub fn get_message(&self, id: &str) -> GetMessage {
        GetMessage::new(self.clone(), id.to_owned())
    }

    /// The present leaf, or none in an empty session.
    pub fn get_latest_leaf(&self) -> GetLatestLeaf {
        GetLatestLeaf::new(self.clone())
    }

    /// The raw bytes of one payload of a message, counted from 0, as [`MediaReference::index`] does: all of them, or
    /// a range. Errors: `unknown-message`, `invalid-argument` where the message has no such payload.
    ///
    /// [`MediaReference::index`]: crate::MediaReference::index
    pub fn get_media(&self, id: &str, index: u32) -> GetMedia {
        GetMedia::new(self.clone(), id.to_owned(), index)
    }

    /// A page of the path from root to leaf, or the reverse. [`history`](Self::history) follows the pages by itself.
    ///
    /// Only an empty path gives an empty page; the last page has no cursor. Errors: `unknown-message`, `stale-cursor`
    /// when a message of the path was deleted meanwhile, or when the options are not those of the first page.
    pub fn read_history(&self) -> ReadHistory {
        ReadHistory::new(self.clone())
    }

    /// The path from root to leaf, or the reverse, as a stream in constant memory, however long it is.
    pub fn history(&self) -> History {
        History::new(self.clone())
    }

    /// The whole path at once, for short sessions: at most 64 MiB, above that `over-limit`. Errors: `unknown-message`.
    pub fn get_history(&self) -> GetHistory {
        GetHistory::new(self.clone())
    }

    /// The longest run of the newest messages that fits into this many bytes. Errors: `unknown-message`.
    pub fn get_recent_history(&self, max_bytes: u64) -> GetRecentHistory {
        GetRecentHistory::new(self.clone(), max_bytes)
    }

    /// Sizes and token estimates along the raw path, without content, in pages. Errors: `unknown-message`,
    /// `stale-cursor`.
    pub fn get_history_row_stats(&self) -> GetHistoryRowStats {
        GetHistoryRowStats::new(self.clone())
    }

    /// The answers to a message, or the roots ([`BranchPoint::Root`]), by seq, in pages. Errors: `unknown-message`,
    /// `stale-cursor`.
    pub fn get_branches(&self, point: impl Into<BranchPoint>) -> GetBranches {
        GetBranches::new(self.clone(), point.into())
    }

    /// Every message of the tree by seq, in pages. Errors: `stale-cursor`.
    pub fn list_messages(&self) -> ListMessages {
        ListMessages::new(self.clone())
    }

    /// Changes the configuration of this session, and answers what is in force. With nothing to change it only
    /// answers. Errors: `invalid-argument`.
    pub fn configure(&self, changes: ConfigurationChange) -> Call<Configuration> {
        self.tenant.configure_scope(ConfigScope::Session(self.id.to_string()), changes)
    }

    /// Compacts the path to the present leaf, step by step, until nothing of it is left to cover: the middle between its
    /// first messages and its newest ones is replaced, on reading, by a summary of the host's
    /// [`summarizer`](crate::summarizer). Answers the last compaction that was made, or none.
    ///
    /// Calls of the tenant go on meanwhile. One that runs in this session is waited for first. Errors:
    /// `unknown-message`, `summarizer-failed`, `no-progress`, `plan-outdated`.
    pub fn compact(&self) -> Compact {
        Compact::new(self.clone())
    }

    /// Prepares a compaction, whatever the size of the path: what would be covered, and the prompt for a summary of it.
    /// None: there is nothing to compact. Errors: `unknown-message`.
    pub fn prepare_compaction(&self) -> PrepareCompaction {
        PrepareCompaction::new(self.clone())
    }

    /// Puts a summary in the place of what a plan covers. The token stays good when the store is opened again. Errors:
    /// `plan-outdated`, and `no-progress` for a summary that is blank, cut off, or not smaller than what it replaces.
    pub fn commit_compaction(&self, token: impl Into<String>, summary: impl Into<String>) -> CommitCompaction {
        CommitCompaction::new(self.clone(), token.into(), summary.into())
    }

    /// Says that no summary came for a plan: automatic attempts wait until the path has grown by a quarter of its
    /// threshold. For an outdated plan nothing happens.
    pub fn abandon_compaction(&self, token: &str) -> Call<()> {
        let token = token.to_owned();
        self.call("abandon-compaction", Access::Write(|()| false), move |guest, store, session| {
            guest.call_abandon_compaction(store, session, &token)
        })
    }

    /// Puts a summary of one's own in the place of the messages from one to another on reading. Errors:
    /// `invalid-argument` for a blank summary, `invalid-range` for ids that are not on one path in that order, and for
    /// a run that parts a tool call from its result or covers one that is open.
    pub fn add_compaction(&self, summary: &str, first_id: &str, last_id: &str) -> Call<Compaction> {
        let [summary, first_id, last_id] = [summary, first_id, last_id].map(str::to_owned);
        self.call("add-compaction", Access::Write(|_| true), move |guest, store, session| {
            guest.call_add_compaction(store, session, &summary, &first_id, &last_id)
        })
    }

    /// All compactions of the session, oldest first, replaced ones too.
    pub fn get_compactions(&self) -> Call<Vec<Compaction>> {
        self.call("get-compactions", Access::Read, |guest, store, session| guest.call_get_compactions(store, session))
    }

    /// Removes a compaction: what it replaced shows again, else the originals. Answers whether there was one of that id.
    pub fn remove_compaction(&self, id: &str) -> Call<bool> {
        let id = id.to_owned();
        self.call("remove-compaction", Access::Write(|removed| *removed), move |guest, store, session| {
            guest.call_remove_compaction(store, session, &id)
        })
    }

    pub(crate) fn compactor(&self) -> &Arc<Compactor> {
        self.tenant.compactor()
    }

    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession { tenant: self.tenant.downgrade(), id: Arc::clone(&self.id) }
    }

    /// Puts a call of the guest's interface for blocks into the tenant's queue.
    pub(crate) fn call_context<T, F>(&self, operation: &'static str, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&ContextInterface, &mut Store<Guest>, &str) -> wasmtime::Result<Result<T, wit::Error>>
            + Send
            + 'static,
    {
        self.call_context_with(self.label(operation), access, function)
    }

    /// The same for one that brings content.
    pub(crate) fn call_context_with<T, F>(&self, label: Label, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&ContextInterface, &mut Store<Guest>, &str) -> wasmtime::Result<Result<T, wit::Error>>
            + Send
            + 'static,
    {
        let session = Arc::clone(&self.id);
        self.tenant.enqueue_any(label, access, move |sessions, store| {
            function(sessions.talktree_sessions_context(), store, &session)
        })
    }

    pub(crate) fn label(&self, operation: &'static str) -> Label {
        let span = tracing::debug_span!("call", tenant = self.tenant.name(), session = &*self.id, operation);
        Label::new(span, operation)
    }

    /// Puts a call of the guest into the tenant's queue.
    pub(crate) fn call<T, F>(&self, operation: &'static str, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&StoreInterface, &mut Store<Guest>, &str) -> wasmtime::Result<Result<T, wit::Error>> + Send + 'static,
    {
        self.call_with(self.label(operation), access, function)
    }

    /// The same for a call that brings content.
    pub(crate) fn call_with<T, F>(&self, label: Label, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&StoreInterface, &mut Store<Guest>, &str) -> wasmtime::Result<Result<T, wit::Error>> + Send + 'static,
    {
        let session = Arc::clone(&self.id);
        self.tenant.enqueue(label, access, move |guest, store| function(guest, store, &session))
    }
}

/// A session, for what must not keep its root open.
#[derive(Clone)]
pub(crate) struct WeakSession {
    tenant: WeakTenant,
    id: Arc<str>,
}

impl WeakSession {
    /// The tenant's name and the session's id.
    pub(crate) fn place(&self) -> (String, Arc<str>) {
        (self.tenant.name().to_owned(), Arc::clone(&self.id))
    }

    /// Makes a call, if the root is still there. The root is kept only while the call is put into the queue.
    pub(crate) fn call<T>(&self, make: impl FnOnce(&Session) -> Call<T>) -> Result<Call<T>> {
        let gone = || Error::new(ErrorKind::Other, "this Talktree was closed: open it again");
        let tenant = self.tenant.upgrade().ok_or_else(gone)?;
        Ok(make(&Session { tenant, id: Arc::clone(&self.id) }))
    }
}
