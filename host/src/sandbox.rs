//! One instance of the component, with one directory and nothing else of the machine.

use std::path::Path;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Store, Trap};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use crate::bindings::Sessions;
use crate::bindings::talktree::sessions::summarizer::{self, SummarizeError, Summary, SummaryRequest};
use crate::bindings::talktree::sessions::types as wit;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::{Runtime, ticks};
use crate::settings::Settings;

/// The most random bytes that a guest may ask for at once. More traps.
const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// The largest table of functions that a guest may have; the component's own has some thousands.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// The host's side of a sandbox.
pub(crate) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Limits,
}

/// What a guest may have, and what it has by now.
struct Limits {
    /// Bytes of memory, in all.
    memory_limit: usize,
    memory: usize,
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let grown = self.memory.saturating_add(desired.saturating_sub(current));
        let allowed = grown <= self.memory_limit;
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
    ticks: u64,
    broken: bool,
}

impl Sandbox {
    /// Makes an instance that sees this directory as `/data`.
    pub(crate) fn open(
        runtime: &Arc<Runtime>,
        settings: &Settings,
        directory: &Path,
        permissions: FsPerms,
    ) -> Result<Self> {
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
        wasi.preopened_dir(directory, "/data", permissions).map_err(|error| {
            Error::new(ErrorKind::Other, format!("the directory {} cannot be opened: {error}", directory.display()))
        })?;
        let limits = Limits { memory_limit: settings.memory_limit, memory: 0 };
        let guest = Guest { wasi: wasi.build(), table: ResourceTable::new(), limits };
        let mut store = Store::new(runtime.engine(), guest);
        store.limiter(|guest| &mut guest.limits);
        // What a guest hands over in one call cannot be more than it can hold.
        store.set_hostcall_fuel(settings.memory_limit);
        let ticks = ticks(settings.call_timeout);
        store.set_epoch_deadline(ticks);
        let ticking = runtime.ticking();
        let instance = runtime.instantiate(&mut store).map_err(|error| unmade(&error, settings.memory_limit));
        drop(ticking);
        Ok(Self { store, instance: instance?, runtime: Arc::clone(runtime), ticks, broken: false })
    }

    /// Calls a function of the guest, within the time limit.
    pub(crate) fn call<T>(
        &mut self,
        function: impl FnOnce(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>>,
    ) -> Result<T> {
        // Broken until it returns: a panic on the way leaves it so.
        self.broken = true;
        self.store.set_epoch_deadline(self.ticks);
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
        self.store.data().limits.memory
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
        None => Error::new(ErrorKind::Crashed, format!("the sandbox broke down in this call ({error}); {unknown}")),
    }
}

/// What it means to the caller that there is no sandbox.
fn unmade(error: &wasmtime::Error, memory_limit: usize) -> Error {
    let sentence =
        format!("no sandbox could be made within {memory_limit} bytes of memory ({error}); nothing was written");
    Error::new(ErrorKind::Crashed, sentence)
}
