//! The interface `store`: each call is one call of the engine, on the one store of this instance.

use talktree_engine as engine;

use super::bindings::exports::talktree::sessions::store::Guest;
use super::instance::{Answer, on_store};
use super::{Component, summarizer, wit};

/// Compacts within the append, where the session is configured so and the host allows it. The append is written
/// already: whatever comes of this changes nothing about its answer but that no compaction is due any more.
fn compacted_inline(session: &str) -> bool {
    let compacted: Answer<bool> = on_store(|store| {
        if !store.place().settings().inline_compaction || store.auto_compact(session)? != engine::AutoCompact::Inline {
            return Ok(false);
        }
        Ok(store.compact(session, None, summarizer::summarize).is_ok())
    });
    compacted.unwrap_or(false)
}

impl Guest for Component {
    fn append_message(session: String, message: String, options: wit::AppendOptions) -> Answer<wit::AppendResult> {
        let mut result: wit::AppendResult =
            on_store(|store| store.append_message(&session, &message, &options.into()))?;
        result.compaction_due = result.compaction_due && !compacted_inline(&session);
        Ok(result)
    }

    fn append_messages(
        session: String,
        messages: Vec<String>,
        options: wit::AppendOptions,
    ) -> Answer<wit::ChainResult> {
        let mut result: wit::ChainResult =
            on_store(|store| store.append_messages(&session, &messages, &options.into()))?;
        result.compaction_due = result.compaction_due && !compacted_inline(&session);
        Ok(result)
    }

    fn update_message(session: String, message: String, source: wit::Source) -> Answer<Option<String>> {
        on_store(|store| store.update_message(&session, &message, source.into()))
    }

    fn upsert_message(
        session: String,
        message: String,
        parent: wit::Parent,
        source: wit::Source,
    ) -> Answer<wit::UpsertResult> {
        on_store(|store| store.upsert_message(&session, &message, &parent.into(), source.into()))
    }

    fn import_message(session: String, message: String, parent_id: Option<String>, created_at: i64) -> Answer<bool> {
        on_store(|store| store.import_message(&session, &engine::ImportItem { message, parent_id, created_at }))
    }

    fn import_messages(session: String, items: Vec<wit::ImportItem>) -> Answer<Vec<bool>> {
        let items: Vec<engine::ImportItem> = items.into_iter().map(Into::into).collect();
        on_store(|store| store.import_messages(&session, &items))
    }

    fn delete_messages(
        session: String,
        ids: Vec<String>,
        mode: wit::DeleteMode,
        dry_run: bool,
    ) -> Answer<wit::DeleteResult> {
        on_store(|store| store.delete_messages(&session, &ids, mode.into(), dry_run))
    }

    fn clear_messages(session: String) -> Answer<u32> {
        on_store(|store| store.clear_messages(&session))
    }

    fn set_leaf(session: String, id: Option<String>) -> Answer<Option<String>> {
        on_store(|store| store.set_leaf(&session, id.as_deref()))
    }

    fn get_message(session: String, id: String, media: wit::MediaMode) -> Answer<Option<wit::Message>> {
        on_store(|store| store.get_message(&session, &id, media.into()).map(|found| found.map(Into::into)))
    }

    fn get_latest_leaf(session: String, media: wit::MediaMode) -> Answer<Option<wit::Message>> {
        on_store(|store| store.get_latest_leaf(&session, media.into()).map(|found| found.map(Into::into)))
    }

    fn get_media(session: String, id: String, index: u32, offset: u64, length: Option<u64>) -> Answer<wit::MediaRange> {
        on_store(|store| store.get_media(&session, &id, index, offset, length))
    }

    fn get_history(session: String, view: wit::HistoryView) -> Answer<Vec<wit::Message>> {
        on_store(|store| {
            let messages = store.get_history(&session, &view.into())?;
            Ok(messages.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn read_history(session: String, options: wit::ReadOptions, cursor: Option<String>) -> Answer<wit::MessagePage> {
        on_store(|store| store.read_history(&session, &options.into(), cursor.as_deref()))
    }

    fn get_recent_history(session: String, options: wit::RecentOptions) -> Answer<wit::RecentHistory> {
        on_store(|store| store.get_recent_history(&session, &options.into()))
    }

    fn get_history_row_stats(
        session: String,
        leaf_id: Option<String>,
        cursor: Option<String>,
        limit: Option<u32>,
    ) -> Answer<wit::RowStatsPage> {
        on_store(|store| store.get_history_row_stats(&session, leaf_id.as_deref(), cursor.as_deref(), limit))
    }

    fn get_branches(
        session: String,
        point: wit::BranchPoint,
        cursor: Option<String>,
        limit: Option<u32>,
    ) -> Answer<wit::MessagePage> {
        on_store(|store| store.get_branches(&session, &point.into(), cursor.as_deref(), limit))
    }

    fn list_messages(session: String, cursor: Option<String>, limit: Option<u32>) -> Answer<wit::NodePage> {
        on_store(|store| store.list_messages(&session, cursor.as_deref(), limit))
    }

    fn configure(scope: wit::ConfigScope, changes: wit::ConfigurationChange) -> Answer<wit::Configuration> {
        on_store(|store| store.configure(&scope.into(), &changes.into()))
    }

    fn prepare_compaction(session: String, leaf_id: Option<String>) -> Answer<Option<wit::CompactionPlan>> {
        on_store(|store| store.prepare_compaction(&session, leaf_id.as_deref()).map(|plan| plan.map(Into::into)))
    }

    fn commit_compaction(
        session: String,
        token: String,
        summary: String,
        details: wit::SummaryDetails,
    ) -> Answer<wit::Compaction> {
        let wit::SummaryDetails { truncated, input_tokens, output_tokens } = details;
        let summary = engine::Summary { text: summary, truncated, input_tokens, output_tokens };
        on_store(|store| store.commit_compaction(&session, &token, &summary))
    }

    fn abandon_compaction(session: String, token: String) -> Answer<()> {
        on_store(|store| store.abandon_compaction(&session, &token))
    }

    fn compact(session: String, leaf_id: Option<String>) -> Answer<Option<wit::Compaction>> {
        on_store(|store| {
            store.compact(&session, leaf_id.as_deref(), summarizer::summarize).map(|made| made.map(Into::into))
        })
    }

    fn add_compaction(session: String, summary: String, first_id: String, last_id: String) -> Answer<wit::Compaction> {
        on_store(|store| store.add_compaction(&session, &summary, &first_id, &last_id))
    }

    fn get_compactions(session: String) -> Answer<Vec<wit::Compaction>> {
        on_store(|store| {
            let compactions = store.get_compactions(&session)?;
            Ok(compactions.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn remove_compaction(session: String, id: String) -> Answer<bool> {
        on_store(|store| store.remove_compaction(&session, &id))
    }

    fn update_index() -> Answer<bool> {
        on_store(engine::Store::update_index)
    }

    fn search(query: String, options: wit::SearchOptions) -> Answer<wit::SearchPage> {
        on_store(|store| store.search(&query, &options.into()))
    }

    fn list_sessions(cursor: Option<String>, limit: Option<u32>) -> Answer<wit::SessionPage> {
        on_store(|store| store.list_sessions(cursor.as_deref(), limit))
    }

    fn session_info(session: String) -> Answer<wit::SessionEntry> {
        on_store(|store| store.session_info(&session))
    }

    fn set_title(session: String, title: Option<String>, automatic: bool) -> Answer<wit::SessionEntry> {
        on_store(|store| store.set_title(&session, title.as_deref(), automatic))
    }

    fn delete_session(session: String) -> Answer<u32> {
        on_store(|store| store.delete_session(&session))
    }

    fn fork_session(session: String, leaf_id: Option<String>, new_session: String) -> Answer<u32> {
        on_store(|store| store.fork_session(&session, leaf_id.as_deref(), &new_session))
    }

    fn changes(options: wit::ChangeOptions) -> Answer<wit::ChangePage> {
        on_store(|store| store.changes(&options.into()))
    }

    fn export_lines(session: Option<String>, cursor: Option<String>, max_bytes: Option<u64>) -> Answer<wit::LinePage> {
        on_store(|store| store.export_lines(session.as_deref(), cursor.as_deref(), max_bytes))
    }

    fn import_lines(session: Option<String>, lines: String) -> Answer<Vec<wit::LinesReport>> {
        on_store(|store| {
            let reports = store.import_lines(session.as_deref(), &lines)?;
            Ok(reports.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn snapshot(cursor: Option<String>, max_bytes: Option<u64>) -> Answer<wit::SnapshotPiece> {
        on_store(|store| store.snapshot(cursor.as_deref(), max_bytes))
    }

    fn vacuum() -> Answer<wit::VacuumReport> {
        on_store(engine::Store::vacuum)
    }

    fn stats() -> Answer<wit::StoreStats> {
        on_store(engine::Store::stats)
    }

    fn check() -> Answer<wit::CheckReport> {
        on_store(engine::Store::check)
    }

    fn close() -> Answer<()> {
        on_store(engine::Store::close)
    }
}
