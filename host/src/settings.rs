//! What can be chosen when a [`Talktree`](crate::Talktree) is opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::context::Providers;
use crate::hooks::MakeHooks;
use crate::metrics::Hooks;
use crate::summarizer::{Extractive, Summarizer};

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Power loss: every write waits for the disk.
    #[default]
    Full,
    /// The death of the process. After power loss the last writes may be missing; the store is sound.
    Normal,
}

impl Durability {
    /// Its name: `full` or `normal`.
    pub fn as_str(self) -> &'static str {
        match self {
            Durability::Full => "full",
            Durability::Normal => "normal",
        }
    }
}

/// The smallest disk quota: an empty store with its log, and some messages.
pub(crate) const MIN_DISK_QUOTA: u64 = 1 << 20;

/// The fewest handles that a sandbox works with: its directory, database, log, and some temporary files.
pub(crate) const MIN_HANDLES: usize = 16;

/// The smallest transfer limit: what the component writes to a file at once has to pass.
pub(crate) const MIN_TRANSFER: usize = 1 << 20;

/// The limits and choices that hold for all tenants of a root.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) durability: Durability,
    /// Bytes of memory that one sandbox may have.
    pub(crate) memory_limit: usize,
    /// Bytes that a tenant's database may have. None: as much as the disk has.
    pub(crate) disk_quota: Option<u64>,
    /// Files, streams and the like that one sandbox may have open.
    pub(crate) handle_limit: usize,
    /// Bytes that a sandbox may hand over to the host in one call.
    pub(crate) transfer_limit: usize,
    /// Who looks on while sandboxes use their files.
    pub(crate) hooks: MakeHooks,
    pub(crate) call_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_live_tenants: usize,
    /// Calls that may wait for one tenant.
    pub(crate) max_waiting_calls: usize,
    /// Calls that may wait for all tenants together.
    pub(crate) max_waiting_calls_in_all: usize,
    pub(crate) cache: CacheChoice,
    /// Without commas: they go to the sandboxes in one text.
    pub(crate) reserved_metadata_keys: Vec<String>,
    /// Content for blocks, by label.
    pub(crate) providers: Providers,
    /// None: nobody writes summaries.
    pub(crate) summarizer: Option<ChosenSummarizer>,
    /// How long one summary may take.
    pub(crate) summarizer_timeout: Duration,
    /// Steps of compactions that may be under way at a time.
    pub(crate) max_compactions: usize,
    /// Who is told what calls cost.
    pub(crate) metrics: Hooks,
}

/// Who writes summaries.
#[derive(Clone)]
pub(crate) struct ChosenSummarizer(pub(crate) Arc<dyn Summarizer>);

impl fmt::Debug for ChosenSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChosenSummarizer")
    }
}

/// Where compiled code is kept.
#[derive(Clone, Debug)]
pub(crate) enum CacheChoice {
    /// In the user's own cache directory, if there is a safe one.
    User,
    /// In this directory; it is an error if it is not safe.
    Directory(PathBuf),
    /// Nowhere.
    Off,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            memory_limit: 512 << 20,
            disk_quota: Some(8 << 30),
            handle_limit: 256,
            transfer_limit: 256 << 20,
            hooks: MakeHooks::default(),
            call_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(600),
            max_live_tenants: 256,
            max_waiting_calls: 1_024,
            max_waiting_calls_in_all: 16_384,
            cache: CacheChoice::User,
            reserved_metadata_keys: Vec::new(),
            providers: Providers::default(),
            summarizer: Some(ChosenSummarizer(Arc::new(Extractive))),
            summarizer_timeout: Duration::from_secs(120),
            max_compactions: 4,
            metrics: Hooks::default(),
        }
    }
}
