//! What the engine answers, as callers get it.

use talktree_engine as engine;

use super::wit;

/// Converts all of a list.
pub(super) fn each<A: Into<B>, B>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(Into::into).collect()
}

impl From<engine::MediaReference> for wit::MediaReference {
    fn from(reference: engine::MediaReference) -> Self {
        let engine::MediaReference { index, pointer, hash, media_type, bytes } = reference;
        Self { index, pointer, hash, media_type, bytes }
    }
}

impl From<engine::Message> for wit::Message {
    fn from(message: engine::Message) -> Self {
        let engine::Message { id, role, parent_id, seq, created_at, bytes, token_estimate, json, media } = message;
        Self { id, role, parent_id, seq, created_at, bytes, token_estimate, json, media: each(media) }
    }
}

impl From<engine::Page<engine::Message>> for wit::MessagePage {
    fn from(page: engine::Page<engine::Message>) -> Self {
        Self { messages: each(page.items), cursor: page.cursor }
    }
}

impl From<engine::AppendResult> for wit::AppendResult {
    fn from(result: engine::AppendResult) -> Self {
        let engine::AppendResult { inserted, conflict, message, compaction_due } = result;
        Self { inserted, conflict, message, compaction_due }
    }
}

impl From<engine::ChainItem> for wit::ChainItem {
    fn from(item: engine::ChainItem) -> Self {
        let engine::ChainItem { id, inserted, conflict } = item;
        Self { id, inserted, conflict }
    }
}

impl From<engine::ChainResult> for wit::ChainResult {
    fn from(result: engine::ChainResult) -> Self {
        let engine::ChainResult { items, compaction_due } = result;
        Self { items: each(items), compaction_due }
    }
}

impl From<engine::UpsertResult> for wit::UpsertResult {
    fn from(result: engine::UpsertResult) -> Self {
        let engine::UpsertResult { inserted, message } = result;
        Self { inserted, message }
    }
}

impl From<engine::DeleteResult> for wit::DeleteResult {
    fn from(result: engine::DeleteResult) -> Self {
        let engine::DeleteResult { deleted, summaries } = result;
        Self { deleted, summaries }
    }
}

impl From<engine::MediaRange> for wit::MediaRange {
    fn from(range: engine::MediaRange) -> Self {
        let engine::MediaRange { data, media_type, bytes, hash } = range;
        Self { data, media_type, bytes, hash }
    }
}

impl From<engine::RecentHistory> for wit::RecentHistory {
    fn from(history: engine::RecentHistory) -> Self {
        let engine::RecentHistory { messages, truncated, total_content_bytes } = history;
        Self { messages: each(messages), truncated, total_content_bytes }
    }
}

impl From<engine::RowStats> for wit::RowStats {
    fn from(stats: engine::RowStats) -> Self {
        let engine::RowStats { id, role, parent_id, seq, created_at, bytes, token_estimate } = stats;
        Self { id, role, parent_id, seq, created_at, bytes, token_estimate }
    }
}

impl From<engine::Page<engine::RowStats>> for wit::RowStatsPage {
    fn from(page: engine::Page<engine::RowStats>) -> Self {
        Self { rows: each(page.items), cursor: page.cursor }
    }
}

impl From<engine::Node> for wit::Node {
    fn from(node: engine::Node) -> Self {
        let engine::Node { id, parent_id, role, seq, children, preview } = node;
        Self { id, parent_id, role, seq, children, preview }
    }
}

impl From<engine::Page<engine::Node>> for wit::NodePage {
    fn from(page: engine::Page<engine::Node>) -> Self {
        Self { nodes: each(page.items), cursor: page.cursor }
    }
}

impl From<engine::Configuration> for wit::Configuration {
    fn from(configuration: engine::Configuration) -> Self {
        let engine::Configuration {
            compact_after,
            keep_recent_tokens,
            protect_head,
            min_tail,
            max_prompt_tokens,
            token_factor,
            auto_compact,
            reserved_metadata_keys,
        } = configuration;
        let auto_compact = match auto_compact {
            engine::AutoCompact::Host => wit::AutoCompact::Host,
            engine::AutoCompact::Inline => wit::AutoCompact::Inline,
            engine::AutoCompact::Off => wit::AutoCompact::Off,
        };
        Self {
            compact_after,
            keep_recent_tokens,
            protect_head,
            min_tail,
            max_prompt_tokens,
            token_factor,
            auto_compact,
            reserved_metadata_keys,
        }
    }
}

impl From<engine::StoreBytes> for wit::StoreBytes {
    fn from(stored: engine::StoreBytes) -> Self {
        let engine::StoreBytes { file, messages, media_bytes, index, free } = stored;
        Self { file, messages, media_bytes, index, free }
    }
}

impl From<engine::LargeMessage> for wit::LargeMessage {
    fn from(message: engine::LargeMessage) -> Self {
        let engine::LargeMessage { session_id, id, bytes } = message;
        Self { session_id, id, bytes }
    }
}

impl From<engine::StoreStats> for wit::StoreStats {
    fn from(stats: engine::StoreStats) -> Self {
        let engine::StoreStats { messages, sessions, bytes, largest, schema_version } = stats;
        Self { messages, sessions, bytes: bytes.into(), largest: each(largest), schema_version }
    }
}

impl From<engine::CheckReport> for wit::CheckReport {
    fn from(report: engine::CheckReport) -> Self {
        let engine::CheckReport { sound, problems } = report;
        Self { sound, problems }
    }
}

impl From<engine::Compaction> for wit::Compaction {
    fn from(compaction: engine::Compaction) -> Self {
        let engine::Compaction {
            id,
            summary,
            first_id,
            last_id,
            count,
            created_at,
            replaced_by,
            input_tokens,
            output_tokens,
        } = compaction;
        Self { id, summary, first_id, last_id, count, created_at, replaced_by, input_tokens, output_tokens }
    }
}

impl From<engine::CompactionPlan> for wit::CompactionPlan {
    fn from(plan: engine::CompactionPlan) -> Self {
        let engine::CompactionPlan { token, prompt, max_tokens, first_id, last_id, count, tokens_before, tokens_after } =
            plan;
        Self { token, prompt, max_tokens, first_id, last_id, count, tokens_before, tokens_after }
    }
}
