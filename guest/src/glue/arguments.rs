//! What callers pass, as the engine takes it.

use talktree_engine as engine;

use super::wit;

impl From<wit::MediaMode> for engine::MediaMode {
    fn from(mode: wit::MediaMode) -> Self {
        match mode {
            wit::MediaMode::Inline => Self::Inline,
            wit::MediaMode::Reference => Self::Reference,
        }
    }
}

impl From<wit::Source> for engine::Source {
    fn from(source: wit::Source) -> Self {
        match source {
            wit::Source::Server => Self::Server,
            wit::Source::Client => Self::Client,
        }
    }
}

impl From<wit::Parent> for engine::Parent {
    fn from(parent: wit::Parent) -> Self {
        match parent {
            wit::Parent::Latest => Self::Latest,
            wit::Parent::Root => Self::Root,
            wit::Parent::Id(id) => Self::Id(id),
        }
    }
}

impl From<wit::ExpectedLeaf> for engine::ExpectedLeaf {
    fn from(leaf: wit::ExpectedLeaf) -> Self {
        match leaf {
            wit::ExpectedLeaf::Any => Self::Any,
            wit::ExpectedLeaf::Empty => Self::Empty,
            wit::ExpectedLeaf::Id(id) => Self::Id(id),
        }
    }
}

impl From<wit::AppendOptions> for engine::AppendOptions {
    fn from(options: wit::AppendOptions) -> Self {
        let wit::AppendOptions { parent, source, expected_leaf } = options;
        Self { parent: parent.into(), source: source.into(), expected_leaf: expected_leaf.into() }
    }
}

impl From<wit::ImportItem> for engine::ImportItem {
    fn from(item: wit::ImportItem) -> Self {
        let wit::ImportItem { message, parent_id, created_at } = item;
        Self { message, parent_id, created_at }
    }
}

impl From<wit::DeleteMode> for engine::DeleteMode {
    fn from(mode: wit::DeleteMode) -> Self {
        match mode {
            wit::DeleteMode::Splice => Self::Splice,
            wit::DeleteMode::Subtree => Self::Subtree,
        }
    }
}

impl From<wit::HistoryView> for engine::HistoryView {
    fn from(view: wit::HistoryView) -> Self {
        let wit::HistoryView { leaf_id, newest_first, overlays, media } = view;
        Self { leaf_id, newest_first, overlays, media: media.into() }
    }
}

impl From<wit::ReadOptions> for engine::ReadOptions {
    fn from(options: wit::ReadOptions) -> Self {
        let wit::ReadOptions { view, batch_size, max_batch_bytes } = options;
        Self { view: view.into(), batch_size, max_batch_bytes }
    }
}

impl From<wit::RecentOptions> for engine::RecentOptions {
    fn from(options: wit::RecentOptions) -> Self {
        let wit::RecentOptions { max_bytes, leaf_id, overlays, media } = options;
        Self { max_bytes, leaf_id, overlays, media: media.into() }
    }
}

impl From<wit::BranchPoint> for engine::BranchPoint {
    fn from(point: wit::BranchPoint) -> Self {
        match point {
            wit::BranchPoint::Root => Self::Root,
            wit::BranchPoint::Id(id) => Self::Id(id),
        }
    }
}

impl From<wit::ConfigScope> for engine::ConfigScope {
    fn from(scope: wit::ConfigScope) -> Self {
        match scope {
            wit::ConfigScope::Store => Self::Store,
            wit::ConfigScope::Session(id) => Self::Session(id),
        }
    }
}

impl From<wit::NumberSetting> for engine::Setting<u32> {
    fn from(setting: wit::NumberSetting) -> Self {
        match setting {
            wit::NumberSetting::Keep => Self::Keep,
            wit::NumberSetting::Reset => Self::Reset,
            wit::NumberSetting::Value(value) => Self::Value(value),
        }
    }
}

impl From<wit::FactorSetting> for engine::Setting<f64> {
    fn from(setting: wit::FactorSetting) -> Self {
        match setting {
            wit::FactorSetting::Keep => Self::Keep,
            wit::FactorSetting::Reset => Self::Reset,
            wit::FactorSetting::Value(value) => Self::Value(value),
        }
    }
}

impl From<wit::AutoCompactSetting> for engine::Setting<engine::AutoCompact> {
    fn from(setting: wit::AutoCompactSetting) -> Self {
        match setting {
            wit::AutoCompactSetting::Keep => Self::Keep,
            wit::AutoCompactSetting::Reset => Self::Reset,
            wit::AutoCompactSetting::Value(value) => Self::Value(match value {
                wit::AutoCompact::Host => engine::AutoCompact::Host,
                wit::AutoCompact::Inline => engine::AutoCompact::Inline,
                wit::AutoCompact::Off => engine::AutoCompact::Off,
            }),
        }
    }
}

impl From<wit::KeysSetting> for engine::Setting<Vec<String>> {
    fn from(setting: wit::KeysSetting) -> Self {
        match setting {
            wit::KeysSetting::Keep => Self::Keep,
            wit::KeysSetting::Reset => Self::Reset,
            wit::KeysSetting::Value(value) => Self::Value(value),
        }
    }
}

impl From<wit::ConfigurationChange> for engine::ConfigurationChange {
    fn from(change: wit::ConfigurationChange) -> Self {
        let wit::ConfigurationChange {
            compact_after,
            keep_recent_tokens,
            protect_head,
            min_tail,
            max_prompt_tokens,
            token_factor,
            auto_compact,
            reserved_metadata_keys,
        } = change;
        Self {
            compact_after: compact_after.into(),
            keep_recent_tokens: keep_recent_tokens.into(),
            protect_head: protect_head.into(),
            min_tail: min_tail.into(),
            max_prompt_tokens: max_prompt_tokens.into(),
            token_factor: token_factor.into(),
            auto_compact: auto_compact.into(),
            reserved_metadata_keys: reserved_metadata_keys.into(),
        }
    }
}
