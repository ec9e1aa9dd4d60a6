//! The way in: a root directory with all its tenants.

use std::fmt;
use std::future::IntoFuture;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::access::Tenants;
use crate::cache_dir;
use crate::call::{Call, blocking};
use crate::compactor::LAST_CALLS;
use crate::context::ContextProvider;
use crate::directory;
use crate::error::{Error, ErrorKind, Result};
use crate::file_work::FileWork;
use crate::hooks::{MakeHooks, SandboxHooks};
use crate::metrics::Metrics;
use crate::runtime::Runtime;
use crate::scheduler::Scheduler;
use crate::settings::{CacheChoice, ChosenSummarizer, Durability, MIN_DISK_QUOTA, MIN_HANDLES, MIN_TRANSFER, Settings};
use crate::summarizer::Summarizer;
use crate::tenant::Tenant;
use crate::tenant_name::TenantName;

/// Tenants per page, unless it is said otherwise, and at most.
const DEFAULT_PAGE: u32 = 100;
const MAX_PAGE: u32 = 1_000;

/// Bytes of all reserved metadata keys together: every sandbox is given them.
const MAX_KEYS_BYTES: usize = 64 * 1024;

/// What the cursors of [`Talktree::list_tenants`] begin with.
const CURSOR_MARK: &str = "after:";

/// All tenants below one root directory.
///
/// A cheap handle: clone it, send it to other tasks. Each tenant that is used gets a sandbox and a thread of its own;
/// they end when it is idle. When the last handle goes (tenants and sessions are handles too), accepted calls are
/// still carried out and the stores are closed, for which the drop waits up to five seconds; [`close`](Self::close)
/// does so without blocking the task.
#[derive(Clone)]
pub struct Talktree {
    scheduler: Arc<Scheduler>,
}

impl Talktree {
    /// Opens the tenants below this directory, with the defaults of [`builder`](Self::builder).
    ///
    /// # Errors
    ///
    /// As of [`Builder::open`].
    pub async fn open(root: impl AsRef<Path>) -> Result<Self> {
        Self::builder(root).open().await
    }

    /// Choices and limits for the tenants below this directory.
    pub fn builder(root: impl AsRef<Path>) -> Builder {
        Builder { root: root.as_ref().to_owned(), settings: Settings::default() }
    }

    /// The root directory, as an absolute path.
    pub fn root(&self) -> &Path {
        self.scheduler.root()
    }

    /// A tenant. Its name is any text of 1 to 512 bytes; nothing is created before its first write.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for a name that is empty or too long.
    pub fn tenant(&self, name: impl AsRef<str>) -> Result<Tenant> {
        Ok(Tenant::new(Arc::clone(&self.scheduler), TenantName::new(name.as_ref())?))
    }

    /// The names of the tenants that were ever written, in byte order, in pages. Errors: `stale-cursor` for a cursor
    /// that is not one of this call's, `invalid-argument` for a limit out of range.
    pub fn list_tenants(&self) -> ListTenants {
        let (root, file_work) = (self.scheduler.root().clone(), Arc::clone(self.scheduler.file_work()));
        ListTenants { root, file_work, among: None, cursor: None, limit: None }
    }

    /// Accepts no more calls, carries out those that were accepted, closes all stores and ends all threads. Compactions
    /// that were asked for have ten seconds left; others end at once.
    ///
    /// # Errors
    ///
    /// `busy` if not even the thread that waits for this can be started.
    pub async fn close(&self) -> Result<()> {
        self.scheduler.shut_down().await
    }

    /// How many tenants have a thread at this moment, or wait for one.
    pub fn live_tenants(&self) -> usize {
        self.scheduler.live_tenants()
    }

    /// Bytes on the disk that the tenants with a sandbox take at this moment, temporary files and all.
    pub fn live_disk_bytes(&self) -> u64 {
        self.scheduler.disk_bytes()
    }

    /// Automatic compactions end, those that were asked for have ten seconds left. Calls are accepted as before.
    pub(crate) fn end_compactions(&self) {
        self.scheduler.compactor().wind_down(LAST_CALLS);
    }
}

impl fmt::Debug for Talktree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talktree").field("root", self.scheduler.root()).finish_non_exhaustive()
    }
}

/// Choices and limits, made before a root is opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct Builder {
    root: PathBuf,
    settings: Settings,
}

impl Builder {
    /// What an acknowledged write survives; [`Durability::Full`] by default.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Bytes of memory that one tenant's sandbox may have; 512 MiB by default.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.settings.memory_limit = bytes;
        self
    }

    /// Bytes on the disk that one tenant's database may have, at least 1 MiB; 8 GiB by default, none: as much as there is.
    /// What would need more is refused as `storage-full`: nothing of it is written, and everything that is stored can be
    /// read and searched. What was deleted makes room at once. Calls that delete may use a reserve beyond the quota of a
    /// sixteenth, at least 16 MiB. The log, and temporary copies (a snapshot, a vacuum), come on top: a few MiB as a rule,
    /// while the store is cleared, written anew or copied as much as the database.
    pub fn disk_quota(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.settings.disk_quota = bytes.into();
        self
    }

    /// How many files, directories and the like one sandbox may have open, at least 16; 256 by default. One that wants
    /// more breaks down: `crashed`.
    pub fn handle_limit(mut self, handles: usize) -> Self {
        self.settings.handle_limit = handles;
        self
    }

    /// Bytes that one sandbox may hand over to the host in a call, as arguments or as an answer, at least 1 MiB; 256 MiB by
    /// default. One that wants more breaks down: `crashed`. The host holds that much beside the sandbox's own memory.
    pub fn transfer_limit(mut self, bytes: usize) -> Self {
        self.settings.transfer_limit = bytes;
        self
    }

    /// How long one call may run, the time in its queue not counted; 30 seconds by default. It is kept to about 10 ms, also
    /// while the sandbox waits for the host.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.settings.call_timeout = timeout;
        self
    }

    /// How long a tenant's sandbox lives without calls; 10 minutes by default.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle_timeout = timeout;
        self
    }

    /// How many tenants may have a sandbox and a thread at the same time, at least 1; 256 by default. When more are
    /// called, the idle ones used least lately are closed, and the calls of the others wait for that. Where none is idle
    /// they take turns of about 50 ms, and one call at least.
    pub fn max_live_tenants(mut self, tenants: usize) -> Self {
        self.settings.max_live_tenants = tenants.max(1);
        self
    }

    /// How many calls of one tenant may wait, at least 1; 1,024 by default. More are refused as `busy`.
    pub fn max_waiting_calls(mut self, calls: usize) -> Self {
        self.settings.max_waiting_calls = calls.max(1);
        self
    }

    /// How many calls of all tenants together may wait, at least 1; 16,384 by default. More are refused as `busy`, those of
    /// a tenant from the moment on when it has as many waiting as there is room left for all.
    pub fn max_waiting_calls_in_all(mut self, calls: usize) -> Self {
        self.settings.max_waiting_calls_in_all = calls.max(1);
        self
    }

    /// Where compiled code is kept between runs, which saves seconds at every start: by default in the user's cache
    /// directory. It must belong to this user, and nobody else may be able to write there, since what lies in it is
    /// run as machine code.
    ///
    /// The component is compiled once in a process: only the first [`open`](Self::open) looks there.
    pub fn cache_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.settings.cache = CacheChoice::Directory(directory.into());
        self
    }

    /// Keeps no compiled code.
    pub fn no_cache(mut self) -> Self {
        self.settings.cache = CacheChoice::Off;
        self
    }

    /// Keys of a message's top-level `metadata` that clients cannot write, in every tenant, beside those that a
    /// tenant's configuration names. None of them may be empty or hold a comma.
    pub fn reserved_metadata_keys(mut self, keys: impl IntoIterator<Item: Into<String>>) -> Self {
        self.settings.reserved_metadata_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Gives the block of this label its content, in every session that declares it: see [`ContextProvider`].
    ///
    /// ```no_run
    /// # async fn example() -> talktree::Result<()> {
    /// use talktree::{Block, BlockDefinition, BlockKind, Session, Talktree};
    ///
    /// let talktree = Talktree::builder("data")
    ///     .context_provider("soul", |session: Session, _block: Block| async move {
    ///         Ok(Some(format!("You work for {}.", session.tenant().name())))
    ///     })
    ///     .open()
    ///     .await?;
    /// let session = talktree.tenant("easy")?.session("");
    /// let soul = BlockDefinition { kind: BlockKind::ReadOnly, ..BlockDefinition::default() };
    /// session.define_block("soul", soul).await?;
    /// assert!(session.system_prompt().await?.contains("You work for easy."));
    /// # Ok(())
    /// # }
    /// ```
    pub fn context_provider(mut self, label: impl Into<String>, provider: impl ContextProvider) -> Self {
        self.settings.providers.insert(label.into(), provider);
        self
    }

    /// Who writes summaries; [`Extractive`](crate::summarizer::Extractive) by default, which needs no model.
    pub fn summarizer(mut self, summarizer: impl Summarizer) -> Self {
        self.settings.summarizer = Some(ChosenSummarizer(Arc::new(summarizer)));
        self
    }

    /// Nobody writes summaries: nothing is compacted by itself, and `compact` fails.
    pub fn no_summarizer(mut self) -> Self {
        self.settings.summarizer = None;
        self
    }

    /// How long one summary may take, with all attempts at it; 120 seconds by default.
    pub fn summarizer_timeout(mut self, timeout: Duration) -> Self {
        self.settings.summarizer_timeout = timeout;
        self
    }

    /// How many summaries may be waited for at the same time, at least 1; 4 by default, and half of them (rounded up) for
    /// one tenant. More compactions wait.
    pub fn max_compactions(mut self, compactions: usize) -> Self {
        self.settings.max_compactions = compactions.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// Shows everything that sandboxes do to their files and their memory to hooks that this makes for each sandbox, by the
    /// name of its tenant: see [`hooks`](crate::hooks). For tests; none by default.
    pub fn sandbox_hooks(mut self, make: impl Fn(&str) -> Box<dyn SandboxHooks> + Send + Sync + 'static) -> Self {
        self.settings.hooks = MakeHooks::new(make);
        self
    }

    /// Tells this one of every call that has ended, beside those that are told already.
    pub fn metrics(mut self, metrics: impl Metrics) -> Self {
        self.settings.metrics = self.settings.metrics.with(metrics);
        self
    }

    /// Opens the root. If the directory is missing but its parent is there, it is made at the first write.
    ///
    /// # Errors
    ///
    /// `not-configured` if there can be no such directory, `invalid-argument` for a reserved metadata key that is empty
    /// or holds a comma, and for a limit below its least value, `forbidden` for a chosen cache directory that is not safe,
    /// `other` if the component cannot be loaded.
    pub async fn open(self) -> Result<Talktree> {
        // Compiling takes seconds where there is no cache.
        blocking(move || {
            check_keys(&self.settings.reserved_metadata_keys)?;
            check_limits(&self.settings)?;
            let root = find_root(&self.root)?;
            let cache = cache_dir::choose(&self.settings.cache)?;
            let runtime = Runtime::shared(cache.as_deref())?;
            Ok(Talktree { scheduler: Arc::new(Scheduler::new(runtime, self.settings, root)) })
        })
        .await
    }
}

fn check_limits(settings: &Settings) -> Result<()> {
    let limits = [
        ("disk_quota", settings.disk_quota.unwrap_or(u64::MAX), MIN_DISK_QUOTA),
        ("handle_limit", settings.handle_limit as u64, MIN_HANDLES as u64),
        ("transfer_limit", settings.transfer_limit as u64, MIN_TRANSFER as u64),
    ];
    match limits.into_iter().find(|(_, limit, least)| limit < least) {
        None => Ok(()),
        Some((name, limit, least)) => {
            let sentence = format!("{name} is {limit}, which is too little to work with: at least {least}");
            Err(Error::new(ErrorKind::InvalidArgument, sentence).with_subject(name).with_numbers(limit, least))
        }
    }
}

fn check_keys(keys: &[String]) -> Result<()> {
    if keys.iter().map(String::len).sum::<usize>() > MAX_KEYS_BYTES {
        let sentence = format!("reserved metadata keys may have {MAX_KEYS_BYTES} bytes together");
        return Err(Error::new(ErrorKind::InvalidArgument, sentence).with_subject("reserved_metadata_keys"));
    }
    match keys.iter().find(|key| key.is_empty() || key.contains([',', '\0'])) {
        None => Ok(()),
        Some(key) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("a reserved metadata key must not be empty or hold a comma: {key:?}"),
        )
        .with_subject("reserved_metadata_keys")),
    }
}

fn find_root(root: &Path) -> Result<PathBuf> {
    let refuse = |why: &str| {
        Error::new(ErrorKind::NotConfigured, format!("the root directory {}: {why}", root.display()))
            .with_subject("root")
    };
    let absolute = std::path::absolute(root).map_err(|error| refuse(&error.to_string()))?;
    match absolute.metadata() {
        Ok(found) if found.is_dir() => absolute.canonicalize().map_err(|error| refuse(&error.to_string())),
        Ok(_) => Err(refuse("it is not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match absolute.parent() {
            Some(parent) if parent.is_dir() => Ok(absolute),
            _ => Err(refuse("neither it nor the directory above it is there: make that first")),
        },
        Err(error) => Err(refuse(&error.to_string())),
    }
}

/// See [`Talktree::list_tenants`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct ListTenants {
    root: PathBuf,
    file_work: Arc<FileWork>,
    among: Option<Arc<Tenants>>,
    cursor: Option<String>,
    limit: Option<u32>,
}

/// A page of tenants. No cursor: it is the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantPage {
    /// Their names, in byte order.
    pub tenants: Vec<String>,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

impl ListTenants {
    /// Only those among these tenants.
    pub fn among(mut self, tenants: &Arc<Tenants>) -> Self {
        self.among = Some(Arc::clone(tenants)).filter(|tenants| !tenants.is_all());
        self
    }

    /// Goes on where the page with this cursor ended; none: from the beginning.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.cursor = cursor.into();
        self
    }

    /// How many at most in this page: 1 to 1,000; none: 100.
    pub fn limit(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.limit = limit.into();
        self
    }

    fn read(self) -> Result<TenantPage> {
        let limit = self.limit.unwrap_or(DEFAULT_PAGE);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("limit is 1 to {MAX_PAGE}, this is {limit}"))
                .with_subject("limit")
                .with_numbers(limit.into(), MAX_PAGE.into()));
        }
        let after = match &self.cursor {
            None => None,
            Some(cursor) => Some(cursor.strip_prefix(CURSOR_MARK).ok_or_else(|| {
                Error::new(ErrorKind::StaleCursor, "this is no cursor of a list of tenants: begin again without one")
                    .with_subject("cursor")
            })?),
        };
        let (tenants, more) = directory::list(&self.root, self.among.as_deref(), after, limit as usize)?;
        let cursor = tenants.last().filter(|_| more).map(|last| format!("{CURSOR_MARK}{last}"));
        Ok(TenantPage { tenants, cursor })
    }
}

impl IntoFuture for ListTenants {
    type Output = Result<TenantPage>;
    type IntoFuture = Call<TenantPage>;

    fn into_future(self) -> Call<TenantPage> {
        Arc::clone(&self.file_work).run(move || self.read())
    }
}
