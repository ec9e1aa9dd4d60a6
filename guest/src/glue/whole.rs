//! Records about the store as a whole: search, directory, feed, export and care.

use talktree_engine as engine;

use super::answers::each;
use super::wit;

impl From<wit::SearchOptions> for engine::SearchOptions {
    fn from(options: wit::SearchOptions) -> Self {
        let wit::SearchOptions { session, limit, cursor, role, after, before, fields } = options;
        let has = |field| fields & field == field;
        let fields = engine::SearchFields {
            text: has(wit::SearchFields::TEXT),
            tools: has(wit::SearchFields::TOOLS),
            reasoning: has(wit::SearchFields::REASONING),
            summaries: has(wit::SearchFields::SUMMARIES),
        };
        Self { session, limit, cursor, role, after, before, fields }
    }
}

impl From<engine::SearchResult> for wit::SearchResult {
    fn from(result: engine::SearchResult) -> Self {
        let engine::SearchResult { session_id, id, role, seq, content, content_truncated, snippet, score } = result;
        Self { session_id, id, role, seq, content, content_truncated, snippet, score }
    }
}

impl From<engine::Page<engine::SearchResult>> for wit::SearchPage {
    fn from(page: engine::Page<engine::SearchResult>) -> Self {
        Self { results: each(page.items), cursor: page.cursor }
    }
}

impl From<engine::SessionEntry> for wit::SessionEntry {
    fn from(entry: engine::SessionEntry) -> Self {
        let engine::SessionEntry {
            id,
            title,
            title_automatic,
            created_at,
            last_activity_at,
            messages,
            tokens,
            leaf_id,
        } = entry;
        Self { id, title, title_automatic, created_at, last_activity_at, messages, tokens, leaf_id }
    }
}

impl From<engine::Page<engine::SessionEntry>> for wit::SessionPage {
    fn from(page: engine::Page<engine::SessionEntry>) -> Self {
        Self { sessions: each(page.items), cursor: page.cursor }
    }
}

/// The two names of each kind of event.
macro_rules! event_kinds {
    ($($kind:ident)*) => {
        impl From<wit::EventKind> for engine::EventKind {
            fn from(kind: wit::EventKind) -> Self {
                match kind {
                    $(wit::EventKind::$kind => Self::$kind,)*
                }
            }
        }

        impl From<engine::EventKind> for wit::EventKind {
            fn from(kind: engine::EventKind) -> Self {
                match kind {
                    $(engine::EventKind::$kind => Self::$kind,)*
                }
            }
        }
    };
}

event_kinds!(Appended Updated Deleted Cleared Compacted CompactionChanged Imported ContextChanged SessionChanged);

impl From<wit::ChangeOptions> for engine::ChangeOptions {
    fn from(options: wit::ChangeOptions) -> Self {
        let wit::ChangeOptions { cursor, limit, session, kinds } = options;
        Self { cursor, limit, session, kinds: each(kinds) }
    }
}

impl From<engine::Change> for wit::Change {
    fn from(change: engine::Change) -> Self {
        let engine::Change { cursor, kind, session_id, ids, parent_id, message, compaction } = change;
        Self { cursor, kind: kind.into(), session_id, ids, parent_id, message, compaction: compaction.map(Into::into) }
    }
}

impl From<engine::ChangePage> for wit::ChangePage {
    fn from(page: engine::ChangePage) -> Self {
        let engine::ChangePage { events, cursor, reset } = page;
        Self { events: each(events), cursor, reset }
    }
}

impl From<engine::LinePage> for wit::LinePage {
    fn from(page: engine::LinePage) -> Self {
        let engine::LinePage { lines, cursor } = page;
        Self { lines, cursor }
    }
}

impl From<engine::LineFailure> for wit::LineFailure {
    fn from(failure: engine::LineFailure) -> Self {
        let engine::LineFailure { line, why } = failure;
        Self { line, why }
    }
}

impl From<engine::LinesReport> for wit::LinesReport {
    fn from(report: engine::LinesReport) -> Self {
        let engine::LinesReport { session_id, imported, skipped, failed } = report;
        Self { session_id, imported, skipped, failed: each(failed) }
    }
}

impl From<engine::SnapshotPiece> for wit::SnapshotPiece {
    fn from(piece: engine::SnapshotPiece) -> Self {
        let engine::SnapshotPiece { data, bytes, cursor } = piece;
        Self { data, bytes, cursor }
    }
}

impl From<engine::VacuumReport> for wit::VacuumReport {
    fn from(report: engine::VacuumReport) -> Self {
        let engine::VacuumReport { before, after } = report;
        Self { before, after }
    }
}
