//! The component in its sandbox, through the library that runs it.

use std::path::Path;
use std::sync::LazyLock;

use talktree::{ErrorKind, Session, Talktree, Tenant};
use talktree_engine as engine;
use talktree_engine::{
    AppendOptions, AppendResult, BranchPoint, ChainResult, CheckReport, ConfigScope, Configuration,
    ConfigurationChange, DeleteMode, DeleteResult, HistoryView, ImportItem, Kind, MediaMode, MediaRange, Message, Node,
    Page, Parent, ReadOptions, RecentHistory, RecentOptions, RowStats, Source, StoreStats, UpsertResult,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::subject::{Answer, Stop, Subject, temporary};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads can be started"));

/// The tenant that is used.
const TENANT: &str = "a/Tenant:1";

/// A tenant of its own, below a root of its own.
pub struct Component {
    root: TempDir,
    talktree: Talktree,
}

impl Component {
    /// An empty tenant, in memory where there is a file system in memory.
    ///
    /// # Errors
    /// When there is no place for temporary files, or the component cannot be loaded.
    pub fn new() -> std::io::Result<Self> {
        let root = temporary()?;
        let talktree = open(root.path()).map_err(std::io::Error::other)?;
        Ok(Self { root, talktree })
    }

    fn tenant(&self) -> Tenant {
        self.talktree.tenant(TENANT).expect("the name of a tenant")
    }

    fn session(&self, id: &str) -> Session {
        self.tenant().session(id)
    }
}

fn open(root: &Path) -> talktree::Result<Talktree> {
    // What is tested here is what a store says, not how it lasts.
    // Random configurations must not have the host compact by itself: the model has no summaries.
    let builder = Talktree::builder(root).durability(talktree::Durability::Normal).no_summarizer();
    RUNTIME.block_on(builder.open())
}

fn answer<T>(call: impl IntoFuture<Output = talktree::Result<T>>) -> Answer<T> {
    RUNTIME.block_on(call.into_future()).map_err(|error| (kind(error.kind()), error.to_string()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl Subject for Component {
    fn append_message(&mut self, session: &str, message: &str, options: &AppendOptions) -> Answer<AppendResult> {
        let call = self.session(session).append_message(message).options(append_options(options));
        let talktree::AppendResult { inserted, conflict, message, compaction_due } = answer(call)?;
        Ok(AppendResult { inserted, conflict, message, compaction_due })
    }

    fn append_messages(&mut self, session: &str, messages: &[String], options: &AppendOptions) -> Answer<ChainResult> {
        let call = self.session(session).append_messages(messages.iter().map(String::as_str));
        let talktree::ChainResult { items, compaction_due } = answer(call.options(append_options(options)))?;
        let item = |talktree::ChainItem { id, inserted, conflict }| engine::ChainItem { id, inserted, conflict };
        Ok(ChainResult { items: items.into_iter().map(item).collect(), compaction_due })
    }

    fn update_message(&mut self, session: &str, message: &str, by: Source) -> Answer<Option<String>> {
        answer(self.session(session).update_message(message).source(source(by)))
    }

    fn upsert_message(&mut self, session: &str, message: &str, under: &Parent, by: Source) -> Answer<UpsertResult> {
        let call = self.session(session).upsert_message(message).parent(parent(under)).source(source(by));
        let talktree::UpsertResult { inserted, message } = answer(call)?;
        Ok(UpsertResult { inserted, message })
    }

    fn import_message(&mut self, session: &str, item: &ImportItem) -> Answer<bool> {
        let ImportItem { message, parent_id, created_at } = item;
        answer(self.session(session).import_message(message.as_str(), parent_id.as_deref(), *created_at))
    }

    fn import_messages(&mut self, session: &str, items: &[ImportItem]) -> Answer<Vec<bool>> {
        let item = |ImportItem { message, parent_id, created_at }: &ImportItem| talktree::ImportItem {
            message: message.clone(),
            parent_id: parent_id.clone(),
            created_at: *created_at,
        };
        answer(self.session(session).import_messages(items.iter().map(item).collect()))
    }

    fn delete_messages(
        &mut self,
        session: &str,
        ids: &[String],
        mode: DeleteMode,
        dry_run: bool,
    ) -> Answer<DeleteResult> {
        let mode = match mode {
            DeleteMode::Splice => talktree::DeleteMode::Splice,
            DeleteMode::Subtree => talktree::DeleteMode::Subtree,
        };
        let call = self.session(session).delete_messages(ids.iter().cloned()).mode(mode).dry_run(dry_run);
        let talktree::DeleteResult { deleted, summaries } = answer(call)?;
        Ok(DeleteResult { deleted, summaries })
    }

    fn clear_messages(&mut self, session: &str) -> Answer<u32> {
        answer(self.session(session).clear_messages())
    }

    fn set_leaf(&mut self, session: &str, id: Option<&str>) -> Answer<Option<String>> {
        answer(self.session(session).set_leaf(id))
    }

    fn get_message(&mut self, session: &str, id: &str, media: MediaMode) -> Answer<Option<Message>> {
        Ok(answer(self.session(session).get_message(id).media(mode(media)))?.map(message))
    }

    fn get_latest_leaf(&mut self, session: &str, media: MediaMode) -> Answer<Option<Message>> {
        Ok(answer(self.session(session).get_latest_leaf().media(mode(media)))?.map(message))
    }

    fn get_history(&mut self, session: &str, shown: &HistoryView) -> Answer<Vec<Message>> {
        let messages = answer(self.session(session).get_history().view(view(shown)))?;
        Ok(messages.into_iter().map(message).collect())
    }

    fn read_history(&mut self, session: &str, options: &ReadOptions, cursor: Option<&str>) -> Answer<Page<Message>> {
        let ReadOptions { view: shown, batch_size, max_batch_bytes } = options;
        let options =
            talktree::ReadOptions { view: view(shown), batch_size: *batch_size, max_batch_bytes: *max_batch_bytes };
        let call = self.session(session).read_history().options(options).cursor(cursor.map(str::to_owned));
        answer(call).map(message_page)
    }

    fn get_recent_history(&mut self, session: &str, options: &RecentOptions) -> Answer<RecentHistory> {
        let RecentOptions { max_bytes, leaf_id, overlays, media } = options;
        let options = talktree::RecentOptions {
            max_bytes: *max_bytes,
            leaf_id: leaf_id.clone(),
            overlays: *overlays,
            media: mode(*media),
        };
        let call = self.session(session).get_recent_history(0).options(options);
        let talktree::RecentHistory { messages, truncated, total_content_bytes } = answer(call)?;
        Ok(RecentHistory { messages: messages.into_iter().map(message).collect(), truncated, total_content_bytes })
    }

    fn get_history_row_stats(
        &mut self,
        session: &str,
        leaf_id: Option<&str>,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<RowStats>> {
        let mut call = self.session(session).get_history_row_stats().cursor(cursor.map(str::to_owned)).limit(limit);
        if let Some(leaf_id) = leaf_id {
            call = call.leaf(leaf_id);
        }
        let talktree::RowStatsPage { rows, cursor } = answer(call)?;
        let row = |row: talktree::RowStats| RowStats {
            id: row.id,
            role: row.role,
            parent_id: row.parent_id,
            seq: row.seq,
            created_at: row.created_at,
            bytes: row.bytes,
            token_estimate: row.token_estimate,
        };
        Ok(Page { items: rows.into_iter().map(row).collect(), cursor })
    }

    fn get_branches(
        &mut self,
        session: &str,
        point: &BranchPoint,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<Message>> {
        let point = match point {
            BranchPoint::Root => talktree::BranchPoint::Root,
            BranchPoint::Id(id) => talktree::BranchPoint::Id(id.clone()),
        };
        let call = self.session(session).get_branches(point).cursor(cursor.map(str::to_owned)).limit(limit);
        answer(call).map(message_page)
    }

    fn list_messages(&mut self, session: &str, cursor: Option<&str>, limit: Option<u32>) -> Answer<Page<Node>> {
        let call = self.session(session).list_messages().cursor(cursor.map(str::to_owned)).limit(limit);
        let talktree::NodePage { nodes, cursor } = answer(call)?;
        let node = |node: talktree::Node| Node {
            id: node.id,
            parent_id: node.parent_id,
            role: node.role,
            seq: node.seq,
            children: node.children,
            preview: node.preview,
        };
        Ok(Page { items: nodes.into_iter().map(node).collect(), cursor })
    }

    fn configure(&mut self, scope: &ConfigScope, changes: &ConfigurationChange) -> Answer<Configuration> {
        let changes = change(changes);
        let found = answer(match scope {
            ConfigScope::Store => self.tenant().configure(changes),
            ConfigScope::Session(id) => self.session(id).configure(changes),
        })?;
        Ok(Configuration {
            compact_after: found.compact_after,
            keep_recent_tokens: found.keep_recent_tokens,
            protect_head: found.protect_head,
            min_tail: found.min_tail,
            max_prompt_tokens: found.max_prompt_tokens,
            token_factor: found.token_factor,
            auto_compact: match found.auto_compact {
                talktree::AutoCompact::Host => engine::AutoCompact::Host,
                talktree::AutoCompact::Inline => engine::AutoCompact::Inline,
                talktree::AutoCompact::Off => engine::AutoCompact::Off,
            },
            reserved_metadata_keys: found.reserved_metadata_keys,
        })
    }

    fn get_media(
        &mut self,
        session: &str,
        id: &str,
        index: u32,
        offset: u64,
        length: Option<u64>,
    ) -> Answer<MediaRange> {
        let call = self.session(session).get_media(id, index).offset(offset).length(length);
        let talktree::MediaRange { data, media_type, bytes, hash } = answer(call)?;
        Ok(MediaRange { data, media_type, bytes, hash })
    }

    fn stats(&mut self) -> Answer<StoreStats> {
        let stats = answer(self.tenant().stats())?;
        let large = |large: talktree::LargeMessage| engine::LargeMessage {
            session_id: large.session_id,
            id: large.id,
            bytes: large.bytes,
        };
        Ok(StoreStats {
            messages: stats.messages,
            sessions: stats.sessions,
            bytes: engine::StoreBytes {
                file: stats.bytes.file,
                messages: stats.bytes.messages,
                media_bytes: stats.bytes.media_bytes,
                index: stats.bytes.index,
                free: stats.bytes.free,
            },
            largest: stats.largest.into_iter().map(large).collect(),
            schema_version: stats.schema_version,
        })
    }

    fn check(&mut self) -> Answer<CheckReport> {
        let talktree::CheckReport { sound, problems } = answer(self.tenant().check())?;
        Ok(CheckReport { sound, problems })
    }

    fn restart(&mut self, stop: Stop) {
        match stop {
            Stop::Closed => answer(self.tenant().close()).expect("a sound store can be closed"),
            Stop::Dropped => {
                RUNTIME.block_on(self.talktree.close()).expect("a sound store can be closed");
                self.talktree = open(self.root.path()).expect("the root is there");
            }
            Stop::Killed => {
                let root = temporary().expect("a place for temporary files");
                copy(self.root.path(), root.path()).expect("files can be copied");
                self.talktree = open(root.path()).expect("the root is there");
                self.root = root;
            }
        }
    }
}

fn append_options(options: &AppendOptions) -> talktree::AppendOptions {
    talktree::AppendOptions {
        parent: parent(&options.parent),
        source: source(options.source),
        expected_leaf: match &options.expected_leaf {
            engine::ExpectedLeaf::Any => talktree::ExpectedLeaf::Any,
            engine::ExpectedLeaf::Empty => talktree::ExpectedLeaf::Empty,
            engine::ExpectedLeaf::Id(id) => talktree::ExpectedLeaf::Id(id.clone()),
        },
    }
}

fn parent(parent: &Parent) -> talktree::Parent {
    match parent {
        Parent::Latest => talktree::Parent::Latest,
        Parent::Root => talktree::Parent::Root,
        Parent::Id(id) => talktree::Parent::Id(id.clone()),
    }
}

fn source(source: Source) -> talktree::Source {
    match source {
        Source::Server => talktree::Source::Server,
        Source::Client => talktree::Source::Client,
    }
}

fn mode(mode: MediaMode) -> talktree::MediaMode {
    match mode {
        MediaMode::Inline => talktree::MediaMode::Inline,
        MediaMode::Reference => talktree::MediaMode::Reference,
    }
}

fn view(view: &HistoryView) -> talktree::HistoryView {
    let HistoryView { leaf_id, newest_first, overlays, media } = view;
    talktree::HistoryView {
        leaf_id: leaf_id.clone(),
        newest_first: *newest_first,
        overlays: *overlays,
        media: mode(*media),
    }
}

fn message(message: talktree::Message) -> Message {
    let reference = |reference: talktree::MediaReference| engine::MediaReference {
        index: reference.index,
        pointer: reference.pointer,
        hash: reference.hash,
        media_type: reference.media_type,
        bytes: reference.bytes,
    };
    Message {
        id: message.id,
        role: message.role,
        parent_id: message.parent_id,
        seq: message.seq,
        created_at: message.created_at,
        bytes: message.bytes,
        token_estimate: message.token_estimate,
        json: message.json,
        media: message.media.into_iter().map(reference).collect(),
    }
}

fn message_page(page: talktree::MessagePage) -> Page<Message> {
    Page { items: page.messages.into_iter().map(message).collect(), cursor: page.cursor }
}

fn change(change: &ConfigurationChange) -> talktree::ConfigurationChange {
    use engine::Setting::{Keep, Reset, Value};
    use talktree::{AutoCompactSetting, FactorSetting, KeysSetting, NumberSetting};
    let number = |setting: &engine::Setting<u32>| match setting {
        Keep => NumberSetting::Keep,
        Reset => NumberSetting::Reset,
        Value(number) => NumberSetting::Value(*number),
    };
    talktree::ConfigurationChange {
        compact_after: number(&change.compact_after),
        keep_recent_tokens: number(&change.keep_recent_tokens),
        protect_head: number(&change.protect_head),
        min_tail: number(&change.min_tail),
        max_prompt_tokens: number(&change.max_prompt_tokens),
        token_factor: match change.token_factor {
            Keep => FactorSetting::Keep,
            Reset => FactorSetting::Reset,
            Value(factor) => FactorSetting::Value(factor),
        },
        auto_compact: match change.auto_compact {
            Keep => AutoCompactSetting::Keep,
            Reset => AutoCompactSetting::Reset,
            Value(engine::AutoCompact::Host) => AutoCompactSetting::Value(talktree::AutoCompact::Host),
            Value(engine::AutoCompact::Inline) => AutoCompactSetting::Value(talktree::AutoCompact::Inline),
            Value(engine::AutoCompact::Off) => AutoCompactSetting::Value(talktree::AutoCompact::Off),
        },
        reserved_metadata_keys: match &change.reserved_metadata_keys {
            Keep => KeysSetting::Keep,
            Reset => KeysSetting::Reset,
            Value(keys) => KeysSetting::Value(keys.clone()),
        },
    }
}

fn kind(kind: ErrorKind) -> Kind {
    match kind {
        ErrorKind::InvalidMessage => Kind::InvalidMessage,
        ErrorKind::InvalidArgument => Kind::InvalidArgument,
        ErrorKind::InvalidRange => Kind::InvalidRange,
        ErrorKind::UnknownParent => Kind::UnknownParent,
        ErrorKind::UnknownMessage => Kind::UnknownMessage,
        ErrorKind::UnknownSession => Kind::UnknownSession,
        ErrorKind::UnknownBlock => Kind::UnknownBlock,
        ErrorKind::LeafMoved => Kind::LeafMoved,
        ErrorKind::VersionMismatch => Kind::VersionMismatch,
        ErrorKind::PlanOutdated => Kind::PlanOutdated,
        ErrorKind::NoProgress => Kind::NoProgress,
        ErrorKind::StaleCursor => Kind::StaleCursor,
        ErrorKind::OverLimit => Kind::OverLimit,
        ErrorKind::SummarizerFailed => Kind::SummarizerFailed,
        ErrorKind::NotConfigured => Kind::NotConfigured,
        ErrorKind::Busy => Kind::Busy,
        ErrorKind::StorageFull => Kind::StorageFull,
        ErrorKind::ReadOnly => Kind::ReadOnly,
        ErrorKind::SchemaTooNew => Kind::SchemaTooNew,
        ErrorKind::NotAStore => Kind::NotAStore,
        ErrorKind::Corrupt => Kind::Corrupt,
        // What only a host can tell is nothing that a model expects.
        _ => Kind::Other,
    }
}
