//! One tenant: a handle to its queue.

use std::fmt;
use std::future::Future;
use std::io::Read;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::watch;
use wasmtime::Store;

use crate::bindings::Sessions;
use crate::bindings::exports::talktree::sessions::store::Guest as StoreInterface;
use crate::bindings::talktree::sessions::types as wit;
use crate::call::{Access, Call, Job, Label};
use crate::compactor::Compactor;
use crate::context::Providers;
use crate::directory::TenantDirectory;
use crate::error::Result;
use crate::sandbox::Guest;
use crate::scheduler::Scheduler;
use crate::session::Session;
use crate::tenant_name::TenantName;
use crate::types::{
    AutoCompactSetting, CheckReport, ConfigScope, Configuration, ConfigurationChange, FactorSetting, KeysSetting,
    NumberSetting, StoreStats,
};

/// What a tenant takes on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUse {
    /// Bytes of its database and its log.
    pub bytes: u64,
    /// Bytes that they may have. None: as much as there is.
    pub quota: Option<u64>,
}

/// One tenant: a directory of its own, a sandbox of its own, any number of sessions.
///
/// Made by [`Talktree::tenant`](crate::Talktree::tenant). A cheap handle: clone it, send it to other tasks. Making one
/// creates nothing; a tenant comes into being with its first write, and until then reads answer as of an empty one.
#[derive(Clone)]
pub struct Tenant {
    scheduler: Arc<Scheduler>,
    name: TenantName,
}

impl Tenant {
    pub(crate) fn new(scheduler: Arc<Scheduler>, name: TenantName) -> Self {
        Self { scheduler, name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// A session of this tenant; `""` is the default one. Ids are opaque, at most 1,024 bytes.
    pub fn session(&self, id: impl AsRef<str>) -> Session {
        Session::new(self.clone(), Arc::from(id.as_ref()))
    }

    /// Changes the defaults of all the tenant's sessions, and answers what is in force. With nothing to change it only
    /// answers. Errors: `invalid-argument`.
    pub fn configure(&self, changes: ConfigurationChange) -> Call<Configuration> {
        self.configure_scope(ConfigScope::Store, changes)
    }

    /// What fills the tenant's store. Reads counters, not messages.
    pub fn stats(&self) -> Call<StoreStats> {
        self.enqueue(self.label("stats"), Access::Read, |guest, store| guest.call_stats(store))
    }

    /// What the tenant takes on the disk, and what it may. Reads nothing.
    pub fn disk(&self) -> Call<DiskUse> {
        self.enqueue_any(self.label("disk"), Access::Read, |_, store| {
            let quota = store.data().quota();
            Ok(Ok(DiskUse { bytes: quota.used(), quota: quota.limit() }))
        })
    }

    /// Looks for damage in the tenant's file: reads all of it.
    pub fn check(&self) -> Call<CheckReport> {
        self.enqueue(self.label("check"), Access::Read, |guest, store| guest.call_check(store))
    }

    /// Writes the tenant's log back, ends its sandbox and lets go of its lock, after the calls that were made before.
    /// The next call starts it again.
    pub fn close(&self) -> Call<()> {
        self.scheduler.close_tenant(&self.name, self.label("close"))
    }

    /// Whether the tenant was ever written, and not deleted since. Looks at its directory, and opens nothing.
    pub fn is_written(&self) -> Call<bool> {
        let (root, name) = (self.scheduler.root().clone(), self.name.clone());
        self.scheduler.file_work().run(move || TenantDirectory::is_written(&root, &name))
    }

    /// When the tenant's store was last changed on the disk, by this process or another; none where it was never written.
    /// Looks at its directory, and opens nothing: so others are not kept out by who only waits for them.
    pub fn last_change(&self) -> Call<Option<SystemTime>> {
        let (root, name) = (self.scheduler.root().clone(), self.name.clone());
        self.scheduler.file_work().run(move || TenantDirectory::last_change(&root, &name))
    }

    /// Deletes the tenant, with all its sessions and every file of its directory, after the calls that were made before.
    /// Errors: `unknown-tenant`, `busy` where another process has it open.
    pub fn delete(&self) -> Call<()> {
        self.scheduler.delete_tenant(&self.name, self.label("delete-tenant"))
    }

    /// Makes the tenant of a snapshot, the bytes of [`snapshot`](Self::snapshot) in order. Errors: `invalid-argument`
    /// where the tenant has a store already, `not-a-store` and `corrupt` for bytes that are no sound store: then nothing
    /// stays.
    pub fn restore(&self, snapshot: impl Read + Send + 'static) -> Call<()> {
        self.scheduler.restore_tenant(&self.name, self.label("restore"), Box::new(snapshot))
    }

    /// Compacts beside the calls.
    pub(crate) fn compactor(&self) -> &Arc<Compactor> {
        self.scheduler.compactor()
    }

    pub(crate) fn downgrade(&self) -> WeakTenant {
        WeakTenant { scheduler: Arc::downgrade(&self.scheduler), name: self.name.clone() }
    }

    pub(crate) fn configure_scope(&self, scope: ConfigScope, changes: ConfigurationChange) -> Call<Configuration> {
        let access = if changes_nothing(&changes) { Access::Read } else { Access::Write(|_: &Configuration| true) };
        let session = match &scope {
            ConfigScope::Store => None,
            ConfigScope::Session(id) => Some(id.clone()),
        };
        let span = tracing::debug_span!("call", tenant = self.name(), session, operation = "configure");
        self.enqueue(Label::new(span, "configure"), access, move |guest, store| {
            guest.call_configure(store, &scope, &changes)
        })
    }

    pub(crate) fn enqueue<T, F>(&self, label: Label, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&StoreInterface, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>> + Send + 'static,
    {
        self.enqueue_any(label, access, move |sessions, store| function(sessions.talktree_sessions_store(), store))
    }

    /// Puts a call of any of the component's interfaces into the queue.
    pub(crate) fn enqueue_any<T, F>(&self, label: Label, access: Access<T>, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: FnOnce(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>> + Send + 'static,
    {
        let report = label.report(self.scheduler.hooks(), &self.name);
        let (job, call) = Job::new(label.span, report, access, function);
        self.scheduler.enqueue(&self.name, job);
        call
    }

    /// Follows up on calls with other calls, on the host's own threads; its calls begin in the order of these.
    pub(crate) fn follow<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Call<T> {
        let (answer, call) = Call::pair();
        self.tokio().spawn(async move { answer.send(work.await) });
        call
    }

    /// The host's own threads.
    pub(crate) fn tokio(&self) -> &Handle {
        self.scheduler.tokio()
    }

    /// Tells when the tenant may have been written.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.scheduler.watch(&self.name)
    }

    /// How long a call may take, and what it asks of the host.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.scheduler.call_timeout()
    }

    /// Content for blocks, by label.
    pub(crate) fn providers(&self) -> &Providers {
        self.scheduler.providers()
    }

    pub(crate) fn label(&self, operation: &'static str) -> Label {
        Label::new(tracing::debug_span!("call", tenant = self.name(), operation), operation)
    }
}

/// A tenant, for what must not keep its root open.
#[derive(Clone)]
pub(crate) struct WeakTenant {
    scheduler: Weak<Scheduler>,
    name: TenantName,
}

impl WeakTenant {
    pub(crate) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// None: its root was closed, and the last handle has gone.
    pub(crate) fn upgrade(&self) -> Option<Tenant> {
        let scheduler = self.scheduler.upgrade()?;
        Some(Tenant { scheduler, name: self.name.clone() })
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tenant").field(&self.name()).finish()
    }
}

fn changes_nothing(changes: &ConfigurationChange) -> bool {
    let numbers = [
        &changes.compact_after,
        &changes.keep_recent_tokens,
        &changes.protect_head,
        &changes.min_tail,
        &changes.max_prompt_tokens,
    ];
    numbers.into_iter().all(|setting| matches!(setting, NumberSetting::Keep))
        && matches!(changes.token_factor, FactorSetting::Keep)
        && matches!(changes.auto_compact, AutoCompactSetting::Keep)
        && matches!(changes.reserved_metadata_keys, KeysSetting::Keep)
}
