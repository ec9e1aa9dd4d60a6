//! The files of a sandbox: `wasi:filesystem`, with the host between the component and the disk.
//!
//! The component gets wasmtime's implementation, but for what is between: every operation is shown to the hooks (those of
//! whoever opened the root, then the disk [quota](quota)) before it happens and after it. What the component does not need
//! is not there at all, which leaves that much less to be afraid of: there are plain files in one directory, opened by
//! their names, read and written by offset. No directories below it, no links, no streams, no times to set, and a
//! symbolic link or a device that somebody has put there is not opened.

mod host;
mod quota;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use wasmtime::component::{HasData, ResourceTable};
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};

use crate::hooks::{FileOperation, OpenFile, SandboxHooks, Verdict};

pub(crate) use quota::{Quota, Usage};

/// What is known of a sandbox's files.
pub(crate) struct Files {
    quota: Quota,
    hooks: Option<Box<dyn SandboxHooks>>,
    /// The open files by the number of their resource. Other descriptors are the directory.
    open: HashMap<u32, Named>,
    /// Files that were opened.
    opened: u64,
}

/// An open file.
#[derive(Clone, Debug)]
struct Named {
    number: u64,
    name: Arc<str>,
}

impl Named {
    fn file(&self) -> OpenFile<'_> {
        OpenFile { number: self.number, name: &self.name }
    }
}

impl Files {
    /// Measures what is in the directory.
    pub(crate) fn new(
        directory: &Path,
        limit: Option<u64>,
        usage: Usage,
        hooks: Option<Box<dyn SandboxHooks>>,
    ) -> io::Result<Self> {
        let quota = Quota::measure(directory, limit, usage)?;
        Ok(Self { quota, hooks, open: HashMap::new(), opened: 0 })
    }

    /// What the tenant takes and may take.
    pub(crate) fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Whether the hooks let a sandbox have more memory.
    pub(crate) fn memory_growing(&mut self, from: usize, to: usize) -> bool {
        self.hooks.as_mut().is_none_or(|hooks| hooks.memory_growing(from, to))
    }

    /// What becomes of an operation: the first word against it counts.
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        match self.hooks.as_mut().map_or(Verdict::Proceed, |hooks| hooks.before(operation)) {
            Verdict::Proceed => self.quota.before(operation),
            Verdict::Shorten(length) => match self.quota.before(operation) {
                Verdict::Proceed => Verdict::Shorten(length),
                refused => refused,
            },
            refused @ Verdict::Fail(_) => refused,
        }
    }

    fn after(&mut self, operation: &FileOperation<'_>, done: Option<u64>) {
        self.quota.after(operation, done);
        if let Some(hooks) = &mut self.hooks {
            hooks.after(operation, done);
        }
    }
}

/// A sandbox's files, and wasmtime's view of them: what implements the interface.
pub(crate) struct FilesView<'a> {
    wasi: WasiFilesystemCtxView<'a>,
    files: &'a mut Files,
}

impl<'a> FilesView<'a> {
    pub(crate) fn new(ctx: &'a mut WasiFilesystemCtx, table: &'a mut ResourceTable, files: &'a mut Files) -> Self {
        Self { wasi: WasiFilesystemCtxView { ctx, table }, files }
    }
}

/// Says to wasmtime what implements the interface.
pub(crate) struct TenantFiles;

impl HasData for TenantFiles {
    type Data<'a> = FilesView<'a>;
}

#[cfg(test)]
mod tests;
