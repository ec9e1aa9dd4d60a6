//! What a tenant's thread does: it keeps the tenant's sandbox and carries out one call after the other.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use tempfile::TempDir;
use wasmtime_wasi::FsPerms;

use crate::call::{Job, Need, Work};
use crate::directory::TenantDirectory;
use crate::error::{Error, ErrorKind, Result};
use crate::sandbox::{Place, Sandbox};
use crate::scheduler::Shared;
use crate::tenant_name::TenantName;

/// A sandbox that has grown beyond this many bytes is replaced after the call: memory of a guest never shrinks, and one
/// large message should not cost its size for as long as the tenant is used.
const KEPT_MEMORY: usize = 64 << 20;

/// One tenant, as long as a thread serves it.
pub(crate) struct Worker<'a> {
    shared: &'a Shared,
    name: TenantName,
    open: Option<OpenTenant>,
}

/// A tenant with its sandbox. The order matters: the lock goes when the sandbox has gone.
struct OpenTenant {
    sandbox: Sandbox,
    directory: TenantDirectory,
}

/// The sandbox over an empty directory that answers the reads of tenants that were never written.
pub(crate) struct EmptySandbox {
    sandbox: Sandbox,
    _directory: TempDir,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared, name: TenantName) -> Self {
        Self { shared, name, open: None }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Carries out one call and answers it. A sandbox that breaks down in it is thrown away.
    pub(crate) fn carry_out(&mut self, job: Job) {
        let Job { span, need, mut work } = job;
        let _span = span.entered();
        work.begin();
        let served = catch_unwind(AssertUnwindSafe(|| self.serve(need, &mut *work)));
        if self.open.as_ref().is_some_and(|open| open.sandbox.is_broken()) {
            tracing::warn!("the sandbox broke down and was thrown away");
            self.shared.settings.metrics.sandbox_lost(&self.name);
            self.open = None;
        }
        if need == Need::Birth {
            // Whatever came of it: a call that broke down may have written too.
            self.shared.watchers.written(&self.name);
        }
        match served {
            Ok(Ok(())) => work.answer(),
            Ok(Err(error)) => work.refuse(error),
            Err(_) => {
                let sentence = "the host broke down in this call; whether it was carried out is unknown: retry with the \
                                same message id";
                work.refuse(Error::new(ErrorKind::Crashed, sentence));
            }
        }
        self.shed_memory();
    }

    /// Replaces a sandbox that has grown large. The tenant stays locked.
    fn shed_memory(&mut self) {
        let Some(open) = self.open.take_if(|open| open.sandbox.memory() > KEPT_MEMORY) else { return };
        let OpenTenant { sandbox, directory } = open;
        tracing::debug!(bytes = sandbox.memory(), "a sandbox that has grown large is replaced");
        if let Err(error) = sandbox.close() {
            tracing::warn!(%error, "the store was not closed cleanly; nothing is lost");
        }
        // Without a new one the next call tries again, from the beginning.
        if let Ok(sandbox) = self.sandbox(&directory) {
            self.open = Some(OpenTenant { sandbox, directory });
        }
    }

    /// Lets go of the tenant: its log is written back, its sandbox ends, its lock is free.
    pub(crate) fn close(&mut self) -> Result<()> {
        match self.open.take() {
            Some(open) => open.close(),
            None => Ok(()),
        }
    }

    /// Deletes the tenant with all that is in its directory.
    pub(crate) fn delete(&mut self) -> Result<()> {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "a store that is deleted was not closed cleanly");
        }
        if !TenantDirectory::is_written(&self.shared.root, &self.name)? {
            return Err(self.unknown());
        }
        let deleted = TenantDirectory::open(&self.shared.root, &self.name)?.delete();
        self.shared.watchers.written(&self.name);
        deleted
    }

    /// Makes a tenant of a snapshot. One that is there already is left alone.
    pub(crate) fn restore(&mut self, snapshot: &mut dyn Read) -> Result<()> {
        if TenantDirectory::is_written(&self.shared.root, &self.name)? {
            let sentence = "this tenant has a store already: delete it first, or restore under another name";
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).with_subject(self.name.as_str()));
        }
        let directory = TenantDirectory::create(&self.shared.root, &self.name)?;
        let restored = directory.fill(snapshot, self.shared.settings.disk_quota).and_then(|()| {
            if !TenantDirectory::is_written(&self.shared.root, &self.name)? {
                return Err(Error::new(ErrorKind::NotAStore, "the snapshot is empty"));
            }
            let mut sandbox = self.sandbox(&directory)?;
            let report = sandbox.call(|sessions, store| sessions.talktree_sessions_store().call_check(store))?;
            if !report.sound {
                let found = report.problems.join("; ");
                return Err(Error::new(ErrorKind::Corrupt, format!("the snapshot is damaged: {found}")));
            }
            sandbox.close()
        });
        match restored {
            Ok(()) => self.shared.watchers.written(&self.name),
            Err(_) => directory.empty(),
        }
        restored
    }

    fn unknown(&self) -> Error {
        Error::new(ErrorKind::UnknownTenant, "there is no tenant of this name: it was never written, or deleted")
            .with_subject(self.name.as_str())
    }

    fn serve(&mut self, need: Need, work: &mut dyn Work) -> Result<()> {
        if self.open.is_none() && TenantDirectory::is_written(&self.shared.root, &self.name)? {
            let directory = TenantDirectory::open(&self.shared.root, &self.name)?;
            let sandbox = self.sandbox(&directory)?;
            self.open = Some(OpenTenant { sandbox, directory });
        }
        match &mut self.open {
            Some(open) => {
                work.run(&mut open.sandbox);
                Ok(())
            }
            None => match need {
                Need::Birth => self.serve_first_write(work),
                Need::Nothing => self.serve_from_nothing(work),
                Need::Tenant => Err(self.unknown()),
            },
        }
    }

    /// The tenant comes into being with this call, or nothing of it stays.
    fn serve_first_write(&mut self, work: &mut dyn Work) -> Result<()> {
        let directory = TenantDirectory::create(&self.shared.root, &self.name)?;
        let sandbox = match self.sandbox(&directory) {
            Ok(sandbox) => sandbox,
            Err(error) => {
                directory.discard();
                return Err(error);
            }
        };
        let mut open = OpenTenant { sandbox, directory };
        if work.run(&mut open.sandbox) {
            self.open = Some(open);
            return Ok(());
        }
        let OpenTenant { sandbox, directory } = open;
        if sandbox.is_broken() {
            self.shared.settings.metrics.sandbox_lost(&self.name);
        }
        drop(sandbox);
        directory.discard();
        Ok(())
    }

    /// Answers as of an empty tenant, and creates nothing in the root.
    fn serve_from_nothing(&self, work: &mut dyn Work) -> Result<()> {
        // Taken out while it is used: a read that takes long holds up no other tenant's.
        let spare = self.spare().take();
        let mut ready = match spare {
            Some(ready) => ready,
            None => EmptySandbox::open(self.shared)?,
        };
        work.run(&mut ready.sandbox);
        if !ready.sandbox.is_broken() && ready.sandbox.memory() <= KEPT_MEMORY {
            let other = self.spare().replace(ready);
            drop(other);
        }
        Ok(())
    }

    fn spare(&self) -> MutexGuard<'_, Option<EmptySandbox>> {
        self.shared.empty.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sandbox(&self, directory: &TenantDirectory) -> Result<Sandbox> {
        let permissions = if directory.is_read_only() { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        let place = Place {
            directory: directory.path(),
            permissions,
            usage: self.shared.usage.clone(),
            hooks: self.shared.settings.hooks.make(self.name.as_str()),
        };
        let begun = Instant::now();
        let sandbox = Sandbox::open(&self.shared.runtime, &self.shared.settings, place)?;
        self.shared.settings.metrics.sandbox_opened(&self.name, begun.elapsed());
        Ok(sandbox)
    }
}

impl OpenTenant {
    fn close(self) -> Result<()> {
        let Self { sandbox, directory } = self;
        let closed = sandbox.close();
        // The lock is let go of when the guest has let go of its files.
        drop(directory);
        closed
    }
}

impl EmptySandbox {
    fn open(shared: &Shared) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("talktree-empty-").tempdir().map_err(|error| {
            Error::new(ErrorKind::Other, format!("no temporary directory can be made: {error}; set TMPDIR"))
        })?;
        let place = Place {
            directory: directory.path(),
            permissions: FsPerms::ReadOnly,
            usage: shared.usage.clone(),
            hooks: None,
        };
        let sandbox = Sandbox::open(&shared.runtime, &shared.settings, place)?;
        Ok(Self { sandbox, _directory: directory })
    }
}
