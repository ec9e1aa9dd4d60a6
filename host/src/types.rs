//! The contract's records, and their defaults.
//!
//! They are generated from `wit/`, so that their fields and the words on them are those of the contract.

pub use crate::bindings::talktree::sessions::types::{
    AppendOptions, AppendResult, AutoCompact, AutoCompactSetting, BranchPoint, ChainItem, ChainResult, Change,
    ChangeOptions, ChangePage, CheckReport, Compaction, CompactionPlan, ConfigScope, Configuration,
    ConfigurationChange, DeleteMode, DeleteResult, EventKind, ExpectedLeaf, FactorSetting, HistoryView, ImportItem,
    KeysSetting, LargeMessage, LineFailure, LinePage, LinesReport, MediaMode, MediaRange, MediaReference, Message,
    MessagePage, Node, NodePage, NumberSetting, Parent, ReadOptions, RecentHistory, RecentOptions, RowStats,
    RowStatsPage, SearchFields, SearchOptions, SearchPage, SearchResult, SessionEntry, SessionPage, SnapshotPiece,
    Source, StoreBytes, StoreStats, SummaryDetails, UpsertResult, VacuumReport,
};

/// Under the present leaf, on the server's word, whatever the leaf is.
impl Default for AppendOptions {
    fn default() -> Self {
        Self { parent: Parent::Latest, source: Source::Server, expected_leaf: ExpectedLeaf::Any }
    }
}

/// The path to the present leaf from its root, with summaries in place of what they cover and media inline.
impl Default for HistoryView {
    fn default() -> Self {
        Self { leaf_id: None, newest_first: false, overlays: true, media: MediaMode::Inline }
    }
}

/// A whole summary, of which nothing else is known.
impl Default for SummaryDetails {
    fn default() -> Self {
        Self { truncated: false, input_tokens: None, output_tokens: None }
    }
}

/// Changes nothing.
impl Default for ConfigurationChange {
    fn default() -> Self {
        Self {
            compact_after: NumberSetting::Keep,
            keep_recent_tokens: NumberSetting::Keep,
            protect_head: NumberSetting::Keep,
            min_tail: NumberSetting::Keep,
            max_prompt_tokens: NumberSetting::Keep,
            token_factor: FactorSetting::Keep,
            auto_compact: AutoCompactSetting::Keep,
            reserved_metadata_keys: KeysSetting::Keep,
        }
    }
}

/// Where a new message hangs: `None` is a new root.
impl From<Option<String>> for Parent {
    fn from(id: Option<String>) -> Self {
        id.map_or(Parent::Root, Parent::Id)
    }
}

/// What a writer expects: `None` is an empty session.
impl From<Option<String>> for ExpectedLeaf {
    fn from(id: Option<String>) -> Self {
        id.map_or(ExpectedLeaf::Empty, ExpectedLeaf::Id)
    }
}

/// Whose children: `None` is the roots.
impl From<Option<String>> for BranchPoint {
    fn from(id: Option<String>) -> Self {
        id.map_or(BranchPoint::Root, BranchPoint::Id)
    }
}

/// The three places that can be given as the id of a message.
macro_rules! from_id {
    ($($place:ident)*) => {
        $(
            impl From<&str> for $place {
                fn from(id: &str) -> Self {
                    $place::Id(id.to_owned())
                }
            }

            impl From<String> for $place {
                fn from(id: String) -> Self {
                    $place::Id(id)
                }
            }
        )*
    };
}

from_id!(Parent ExpectedLeaf BranchPoint);
