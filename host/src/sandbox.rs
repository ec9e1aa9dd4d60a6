//! One instance of the component, with one directory and nothing else of the machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime::component::{ResourceTable, ResourceTableError};
use wasmtime::{ResourceLimiter, Store, Trap};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::bindings::Sessions;
use crate::bindings::talktree::sessions::summarizer::{self, SummarizeError, Summary, SummaryRequest};
use crate::bindings::talktree::sessions::types as wit;
use crate::error::{Error, ErrorKind, Result};
use crate::filesystem::{Files, FilesView, Quota, Usage};
use crate::hooks::SandboxHooks;
use crate::runtime::{Runtime, ticks};
use crate::settings::Settings;
use crate::waiting::Waiting;

/// The most random bytes that a guest may ask for at once. More traps.
const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// The largest table of functions that a guest may have; the component's own has some thousands.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// The longest that a call may take: a hundred years.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The host's side of a sandbox.
pub(crate) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    files: Files,
    /// When the present call ends.
    deadline: Instant,
    /// Bytes of memory that it may have, in all.
    memory_limit: usize,
    memory: usize,
}

impl Guest {
    /// What implements the interface of its files.
    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView::new(self.wasi.filesystem(), &mut self.table, &mut self.files)
    }

    /// What implements the interface of waiting.
    pub(crate) fn waiting(&mut self) -> Waiting<'_> {
        Waiting { table: &mut self.table, deadline: self.deadline }
    }

    /// What the tenant takes on the disk, and what it may.
    pub(crate) fn quota(&self) -> &Quota {
        self.files.quota()
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.memory.saturating_add(desired.saturating_sub(current));
        let allowed = grown <= self.memory_limit && self.files.memory_growing(self.memory, grown);
        if allowed {
            self.memory = grown;
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl summarizer::Host for Guest {
    fn summarize(&mut self, _request: SummaryRequest) -> Result<Summary, SummarizeError> {
        // Never asked: the host's own compaction is used, so that no call of the guest waits for a model.
        Err(SummarizeError::Unavailable("this host compacts beside its calls".to_owned()))
    }
}

/// One instance of the component over one directory.
///
/// After a trap or a time-out an instance cannot be entered again: [`is_broken`](Self::is_broken) says so, and the
/// sandbox has to be dropped.
pub(crate) struct Sandbox {
    store: Store<Guest>,
    instance: Sessions,
    runtime: Arc<Runtime>,
    call_timeout: Duration,
    ticks: u64,
    broken: bool,
}

/// Where a sandbox has its files.
pub(crate) struct Place<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) permissions: FsPerms,
    /// Sums up what all tenants take.
    pub(crate) usage: Usage,
    pub(crate) hooks: Option<Box<dyn SandboxHooks>>,
}

impl Sandbox {
    /// Makes an instance that sees this directory as `/data`.
    pub(crate) fn open(runtime: &Arc<Runtime>, settings: &Settings, place: Place<'_>) -> Result<Self> {
        let Place { directory, permissions, usage, hooks } = place;
        // No clock goes further than that.
        let call_timeout = settings.call_timeout.min(MAX_CALL_TIMEOUT);
        let files = Files::new(directory, settings.disk_quota, usage, hooks)
            .map_err(|error| Error::from_io(&error, directory))?;
        let mut wasi = WasiCtx::builder();
        // Before the directory: a preopened directory keeps the setting that it was opened with.
        wasi.allow_blocking_current_thread(true)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .max_random_size(MAX_RANDOM_BYTES)
            .env("TALKTREE_LOCKING", "host")
            .env("TALKTREE_DURABILITY", settings.durability.as_str())
            // The host compacts beside the appends instead: see `compactor`.
            .env("TALKTREE_INLINE_COMPACTION", "off")
            .env("TALKTREE_RESERVED_METADATA_KEYS", settings.reserved_metadata_keys.join(","));
        if let Some(quota) = settings.disk_quota {
            wasi.env("TALKTREE_MAX_FILE_BYTES", quota.to_string());
        }
        wasi.preopened_dir(directory, "/data", permissions).map_err(|error| {
            Error::new(ErrorKind::Other, format!("the directory {} cannot be opened: {error}", directory.display()))
        })?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(settings.handle_limit);
        let guest = Guest {
            wasi: wasi.build(),
            table,
            files,
            deadline: Instant::now() + call_timeout,
            memory_limit: settings.memory_limit,
            memory: 0,
        };
        let mut store = Store::new(runtime.engine(), guest);
        store.limiter(|guest| guest);
        store.set_hostcall_fuel(settings.transfer_limit);
        store.set_max_component_handles(settings.handle_limit);
        let ticks = ticks(call_timeout);
        store.set_epoch_deadline(ticks);
        let ticking = runtime.ticking();
        let instance = runtime.instantiate(&mut store).map_err(|error| unmade(&error, settings.memory_limit));
        drop(ticking);
        let runtime = Arc::clone(runtime);
        Ok(Self { store, instance: instance?, runtime, call_timeout, ticks, broken: false })
    }

    /// Calls a function of the guest, within the time limit.
    pub(crate) fn call<T>(
        &mut self,
        function: impl FnOnce(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>>,
    ) -> Result<T> {
        // Broken until it returns: a panic on the way leaves it so.
        self.broken = true;
        self.store.set_epoch_deadline(self.ticks);
        self.store.data_mut().deadline = Instant::now() + self.call_timeout;
        let ticking = self.runtime.ticking();
        let answer = function(&self.instance, &mut self.store);
        drop(ticking);
        match answer {
            Ok(answer) => {
                self.broken = false;
                Ok(answer?)
            }
            Err(error) => Err(broken(&error)),
        }
    }

    /// Bytes of memory that it has: it grows with what is asked of it, and never shrinks.
    pub(crate) fn memory(&self) -> usize {
        self.store.data().memory
    }

    /// It cannot be called any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Lets the guest write its log back and let go of its files.
    pub(crate) fn close(mut self) -> Result<()> {
        self.call(|sessions, store| sessions.talktree_sessions_store().call_close(store))
    }
}

/// What a trap, or a failure of the runtime, means to the caller.
fn broken(error: &wasmtime::Error) -> Error {
    // The trap's own sentence, never what the guest was working on.
    tracing::debug!(error = format!("{error:#}"), "the sandbox broke down");
    let unknown = "whether it was carried out is unknown: retry with the same message id";
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => {
            Error::new(ErrorKind::TimedOut, format!("the call took longer than its limit and was ended; {unknown}"))
        }
        Some(trap) => {
            Error::new(ErrorKind::Crashed, format!("the sandbox broke down in this call ({trap}); {unknown}"))
        }
        None if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) => Error::new(
            ErrorKind::Crashed,
            format!("the sandbox wanted to have more open than its limit of handles allows, and was ended; {unknown}"),
        ),
        None => Error::new(ErrorKind::Crashed, format!("the sandbox broke down in this call ({error}); {unknown}")),
    }
}

/// What it means to the caller that there is no sandbox.
fn unmade(error: &wasmtime::Error, memory_limit: usize) -> Error {
    let sentence =
        format!("no sandbox could be made within {memory_limit} bytes of memory ({error}); nothing was written");
    Error::new(ErrorKind::Crashed, sentence)
}
