//! What calls take and give: the records of the WIT package, as plain Rust types.

mod context;
mod directory;
mod feed;
mod search;

pub use context::*;
pub use directory::*;
pub use feed::*;
pub use search::*;

/// Where inline media of a message goes on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MediaMode {
    /// Inside the JSON, exactly as it was given.
    #[default]
    Inline,
    /// Left blank in the JSON and described beside it.
    Reference,
}

/// One payload of a message that was read by reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaReference {
    /// Position among the payloads of the message, from 0.
    pub index: u32,
    /// JSON pointer to the blank member.
    pub pointer: String,
    /// BLAKE3 of the raw bytes, as 64 hexadecimal digits.
    pub hash: String,
    /// Its media type as the message gives it, or empty.
    pub media_type: String,
    /// Length of the raw bytes.
    pub bytes: u64,
}

/// A piece of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRange {
    /// The raw bytes.
    pub data: Vec<u8>,
    /// The media type as the message gives it, or empty.
    pub media_type: String,
    /// Length of the whole payload.
    pub bytes: u64,
    /// BLAKE3 of the whole payload, as 64 hexadecimal digits.
    pub hash: String,
}

/// A message as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its role.
    pub role: String,
    /// The message that it answers; none for a root.
    pub parent_id: Option<String>,
    /// Its number in the session.
    pub seq: u32,
    /// When it was written, in ms since 1970.
    pub created_at: i64,
    /// Length of `json` in bytes.
    pub bytes: u64,
    /// Estimated tokens.
    pub token_estimate: u32,
    /// The message itself.
    pub json: String,
    /// What reading by reference left out of `json`.
    pub media: Vec<MediaReference>,
}

/// A page of things, and where the next one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The things, in order.
    pub items: Vec<T>,
    /// Where the next page begins; none: this is the last one.
    pub cursor: Option<String>,
}

/// What an append hangs under.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Parent {
    /// The present leaf; in an empty session, nothing.
    #[default]
    Latest,
    /// Nothing: a new root.
    Root,
    /// The message of this id.
    Id(String),
}

/// The present leaf that an append expects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExpectedLeaf {
    /// Whatever it is.
    #[default]
    Any,
    /// None: the session must be empty.
    Empty,
    /// The message of this id.
    Id(String),
}

/// On whose word a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// The agent's own side.
    #[default]
    Server,
    /// A user's side: reserved metadata keys are out of its reach.
    Client,
}

/// How a message is appended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppendOptions {
    /// What it hangs under.
    pub parent: Parent,
    /// On whose word.
    pub source: Source,
    /// The present leaf that the writer has seen.
    pub expected_leaf: ExpectedLeaf,
}

/// What an append did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendResult {
    /// False: a message of that id was there, and nothing was written.
    pub inserted: bool,
    /// True: a message of that id was there, with another text.
    pub conflict: bool,
    /// The message as stored, where it differs from the one that was sent.
    pub message: Option<String>,
    /// A compaction can be prepared, and the path is above its threshold.
    pub compaction_due: bool,
}

/// What became of one message of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainItem {
    /// Its id.
    pub id: String,
    /// False: it was there already.
    pub inserted: bool,
    /// True: it was there with another text or under another parent.
    pub conflict: bool,
}

/// What appending a chain did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainResult {
    /// One item for each message, in order.
    pub items: Vec<ChainItem>,
    /// As in [`AppendResult`].
    pub compaction_due: bool,
}

/// What an upsert did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpsertResult {
    /// True: appended; false: it was there and now has this text.
    pub inserted: bool,
    /// The message as stored, where it differs from the one that was sent.
    pub message: Option<String>,
}

/// One message to be stored as it was elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportItem {
    /// The message.
    pub message: String,
    /// Its parent; none: a root.
    pub parent_id: Option<String>,
    /// Its time, in ms since 1970.
    pub created_at: i64,
}

/// How messages are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeleteMode {
    /// Children move to the nearest ancestor that stays.
    #[default]
    Splice,
    /// Everything below goes too.
    Subtree,
}

/// What a delete did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteResult {
    /// How many messages.
    pub deleted: u32,
    /// Ids of the compactions that covered some of them.
    pub summaries: Vec<String>,
}

/// Which path, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryView {
    /// Its last message; none: the present leaf.
    pub leaf_id: Option<String>,
    /// From the leaf to the root.
    pub newest_first: bool,
    /// Show summaries in place of what they cover.
    pub overlays: bool,
    /// Where inline media goes.
    pub media: MediaMode,
}

impl Default for HistoryView {
    fn default() -> Self {
        Self { leaf_id: None, newest_first: false, overlays: true, media: MediaMode::Inline }
    }
}

/// How history is read in pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// Which path, and how it is shown.
    pub view: HistoryView,
    /// Messages per page: 1 to 1,000, by default 50.
    pub batch_size: Option<u32>,
    /// Bytes per page, by default 4 MiB.
    pub max_batch_bytes: Option<u64>,
}

/// How the newest part of a path is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentOptions {
    /// How many bytes of messages fit.
    pub max_bytes: u64,
    /// The path's last message; none: the present leaf.
    pub leaf_id: Option<String>,
    /// Show summaries in place of what they cover.
    pub overlays: bool,
    /// Where inline media goes.
    pub media: MediaMode,
}

/// The newest part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentHistory {
    /// In path order.
    pub messages: Vec<Message>,
    /// Older ones were left out.
    pub truncated: bool,
    /// Bytes of the whole path, as it would be read.
    pub total_content_bytes: u64,
}

/// One message of a path, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowStats {
    /// Its id.
    pub id: String,
    /// Its role.
    pub role: String,
    /// The message that it answers.
    pub parent_id: Option<String>,
    /// Its number in the session.
    pub seq: u32,
    /// When it was written, in ms since 1970.
    pub created_at: i64,
    /// Length of its JSON text.
    pub bytes: u64,
    /// Estimated tokens.
    pub token_estimate: u32,
}

/// Whose children are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchPoint {
    /// The roots of the session.
    Root,
    /// The answers to the message of this id.
    Id(String),
}

/// One message of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: String,
    /// The message that it answers.
    pub parent_id: Option<String>,
    /// Its role.
    pub role: String,
    /// Its number in the session.
    pub seq: u32,
    /// How many messages answer it.
    pub children: u32,
    /// The first 120 characters of its text.
    pub preview: String,
}

/// What a configuration is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigScope {
    /// The defaults of all sessions.
    Store,
    /// One session.
    Session(String),
}

/// When a path above its threshold is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoCompact {
    /// By the host, beside the appends.
    #[default]
    Host,
    /// By the component after an append.
    Inline,
    /// Never by itself.
    Off,
}

/// The configuration in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Tokens of the path from which a compaction is due; none: never.
    pub compact_after: Option<u32>,
    /// Estimated tokens of the tail that is kept.
    pub keep_recent_tokens: u32,
    /// Messages at the root that are kept.
    pub protect_head: u32,
    /// Messages at the leaf that are kept at least.
    pub min_tail: u32,
    /// Size of the largest prompt for a summary, in tokens.
    pub max_prompt_tokens: u32,
    /// Real tokens per estimated one.
    pub token_factor: f64,
    /// When.
    pub auto_compact: AutoCompact,
    /// Keys of the top-level `metadata` that clients cannot write.
    pub reserved_metadata_keys: Vec<String>,
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Setting<T> {
    /// As it is.
    #[default]
    Keep,
    /// Back to what the store, or else the product, gives.
    Reset,
    /// This value.
    Value(T),
}

/// What to change of a configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigurationChange {
    /// Tokens; reset: never.
    pub compact_after: Setting<u32>,
    /// Tokens.
    pub keep_recent_tokens: Setting<u32>,
    /// Messages.
    pub protect_head: Setting<u32>,
    /// Messages.
    pub min_tail: Setting<u32>,
    /// Tokens.
    pub max_prompt_tokens: Setting<u32>,
    /// Real tokens per estimated one.
    pub token_factor: Setting<f64>,
    /// When.
    pub auto_compact: Setting<AutoCompact>,
    /// Keys of the top-level `metadata`.
    pub reserved_metadata_keys: Setting<Vec<String>>,
}

/// A summary that stands for a run of messages on reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Unique in the store.
    pub id: String,
    /// The summary.
    pub summary: String,
    /// The first message that it covers.
    pub first_id: String,
    /// The last message that it covers.
    pub last_id: String,
    /// How many it covers.
    pub count: u32,
    /// When it was made, in ms since 1970.
    pub created_at: i64,
    /// The compaction that stands in its place now.
    pub replaced_by: Option<String>,
    /// Tokens of the prompt, as the model's provider counted.
    pub input_tokens: Option<u32>,
    /// Tokens of the summary, as the model's provider counted.
    pub output_tokens: Option<u32>,
}

/// A compaction that was prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// For `commit_compaction`.
    pub token: String,
    /// What to ask the model.
    pub prompt: String,
    /// The answer should not be longer than this many tokens.
    pub max_tokens: u32,
    /// The first message that would be covered.
    pub first_id: String,
    /// The last message that would be covered.
    pub last_id: String,
    /// How many would be covered.
    pub count: u32,
    /// Estimated tokens of the path now.
    pub tokens_before: u32,
    /// Estimated tokens of the path afterwards.
    pub tokens_after: u32,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// The whole prompt.
    pub prompt: String,
    /// The answer should not be longer than this many tokens.
    pub max_tokens: u32,
}

/// What a model answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The text.
    pub text: String,
    /// The model stopped because of the length.
    pub truncated: bool,
    /// Tokens of the prompt, as the model's provider counts.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer, as the model's provider counts.
    pub output_tokens: Option<u32>,
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummarizeError {
    /// There is no model, or it cannot be reached.
    #[error("the model cannot be reached: {0}")]
    Unavailable(String),
    /// Too many requests.
    #[error("too many requests: {0}")]
    RateLimited(String),
    /// The prompt does not fit the model.
    #[error("the prompt is too long: {0}")]
    TooLong(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// What fills the file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreBytes {
    /// The database file, without its log.
    pub file: u64,
    /// JSON text of messages, without payloads.
    pub messages: u64,
    /// Raw length of the distinct payloads.
    pub media_bytes: u64,
    /// The search index.
    pub index: u64,
    /// Free pages inside the file.
    pub free: u64,
}

/// One large message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeMessage {
    /// Its session.
    pub session_id: String,
    /// Its id.
    pub id: String,
    /// Length of its JSON text, media inline.
    pub bytes: u64,
}

/// The store in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStats {
    /// Messages in all sessions.
    pub messages: u64,
    /// Sessions.
    pub sessions: u64,
    /// What fills the file.
    pub bytes: StoreBytes,
    /// The largest messages, at most ten, of those above 64 KiB.
    pub largest: Vec<LargeMessage>,
    /// Version of the file's schema.
    pub schema_version: u32,
}

/// What a check of the file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Nothing is wrong.
    pub sound: bool,
    /// What is wrong, at most 100 lines.
    pub problems: Vec<String>,
}
