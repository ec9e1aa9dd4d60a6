//! Memory blocks, and the tools by which a model edits them.

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockKind {
    /// The model reads it; only the program writes it.
    ReadOnly,
    /// The model reads and writes it.
    #[default]
    Writable,
    /// Entries that the model adds and searches.
    Searchable,
    /// Entries by key that the model loads when it needs them.
    Loadable,
}

/// Who sees a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockScope {
    /// One session.
    #[default]
    Session,
    /// All sessions of the store.
    Store,
}

/// What happens when a block changes while the prompt is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenChanged {
    /// Nothing: it shows at the next refresh.
    #[default]
    Wait,
    /// The reminder gives it.
    Remind,
}

/// What a block is declared to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockDefinition {
    /// One line for the model: what belongs into it.
    pub description: Option<String>,
    /// How many tokens its content may have at most; none: any number.
    pub max_tokens: Option<u32>,
    /// What it is for.
    pub kind: BlockKind,
    /// Who sees it.
    pub scope: BlockScope,
    /// What happens when it changes.
    pub when_changed: WhenChanged,
    /// What it holds when it is new; ignored where the block exists.
    pub content: Option<String>,
}

/// One entry of a searchable or loadable block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockEntry {
    /// Its key, unique in the block.
    pub key: String,
    /// What it is about.
    pub title: Option<String>,
    /// Estimated tokens of its content.
    pub tokens: u32,
    /// The model of this session has loaded it, and not unloaded it since.
    pub loaded: bool,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its label.
    pub label: String,
    /// What belongs into it.
    pub description: Option<String>,
    /// What it is for.
    pub kind: BlockKind,
    /// Who sees it.
    pub scope: BlockScope,
    /// What happens when it changes.
    pub when_changed: WhenChanged,
    /// What it holds; of entries: one after the other, a blank line between.
    pub content: String,
    /// The entries of a searchable or loadable block, without their content.
    pub entries: Vec<BlockEntry>,
    /// Estimated tokens of the content.
    pub tokens: u32,
    /// How many it may have at most.
    pub max_tokens: Option<u32>,
    /// 0 for a block that was never written, then one more with each write.
    pub version: u32,
}

/// What a write does with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteAction {
    /// The content takes its place.
    #[default]
    Replace,
    /// The content goes behind it, on a line of its own.
    Append,
}

/// How a block is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockWrite {
    /// The text. Empty, with `Replace` and a key: the entry is removed.
    pub content: String,
    /// What to do with what is there.
    pub action: WriteAction,
    /// Of a searchable or loadable block: which entry; none: a new one with a key of the store's making.
    pub key: Option<String>,
    /// Of a searchable or loadable block: what the entry is about.
    pub title: Option<String>,
    /// The version that the writer has seen.
    pub version: Option<u32>,
}

/// What a block held at some version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockVersion {
    /// The version.
    pub version: u32,
    /// What the block held.
    pub content: String,
    /// When it was written, in ms since 1970.
    pub created_at: i64,
}

/// A tool for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub input_schema: String,
}

/// What a tool answers to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Text for the model; of an error, it begins with `Error: ` and says what is right.
    pub content: String,
    /// The model got something wrong.
    pub is_error: bool,
}
