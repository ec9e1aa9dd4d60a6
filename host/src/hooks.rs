//! What sandboxes do to their files and their memory, seen and steered from outside.
//!
//! Everything that a sandbox asks of its directory passes through [`SandboxHooks`]: each may be looked at, cut short or
//! refused before it happens, and its outcome is told afterwards. The disk quota is made of this, and so are tests of
//! faults: the n-th write fails, a sync is lost, no more memory is given. Nothing in the component knows of it.
//!
//! ```no_run
//! use talktree::Talktree;
//! use talktree::hooks::{Fault, FileOperation, SandboxHooks, Verdict};
//!
//! /// A disk that gives up after so many writes.
//! struct Worn(u32);
//!
//! impl SandboxHooks for Worn {
//!     fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
//!         if !matches!(operation, FileOperation::Write { .. }) {
//!             return Verdict::Proceed;
//!         }
//!         match self.0.checked_sub(1) {
//!             Some(left) => {
//!                 self.0 = left;
//!                 Verdict::Proceed
//!             }
//!             None => Verdict::Fail(Fault::Io),
//!         }
//!     }
//! }
//!
//! # async fn example() -> talktree::Result<()> {
//! let talktree = Talktree::builder("data").sandbox_hooks(|_tenant| Box::new(Worn(100))).open().await?;
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;

/// A file that is open. Its number is its own in the life of a sandbox, its name that of its opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFile<'a> {
    /// Tells it from all others that this sandbox has opened.
    pub number: u64,
    /// The name in the tenant's directory under which it was opened.
    pub name: &'a str,
}

/// One thing that a sandbox asks of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOperation<'a> {
    /// A file is opened.
    Open {
        /// What it will be, where this succeeds.
        file: OpenFile<'a>,
        /// It is made where it is missing.
        create: bool,
        /// What is in it goes.
        truncate: bool,
    },
    /// Some bytes are read.
    Read {
        /// From this file.
        file: OpenFile<'a>,
        /// Where they begin.
        offset: u64,
        /// How many are wanted.
        length: u64,
    },
    /// Some bytes are written.
    Write {
        /// Into this file.
        file: OpenFile<'a>,
        /// Where they begin.
        offset: u64,
        /// All of them, or more than are written in the end.
        bytes: &'a [u8],
    },
    /// A file is cut or extended.
    SetSize {
        /// This file.
        file: OpenFile<'a>,
        /// Its new length.
        size: u64,
    },
    /// What was written into a file is made durable.
    Sync {
        /// This file.
        file: OpenFile<'a>,
    },
    /// The entries of the directory are made durable.
    SyncDirectory,
    /// An open file is let go of. That cannot fail.
    Close {
        /// This file.
        file: OpenFile<'a>,
    },
    /// A file gets another name; what had that name goes.
    Rename {
        /// Its name.
        from: &'a str,
        /// Its new name.
        to: &'a str,
    },
    /// A name goes, and the file with it when nobody has it open.
    Unlink {
        /// The name.
        name: &'a str,
    },
    /// The length and the times of a file are asked for.
    Look {
        /// Its name.
        name: &'a str,
    },
    /// All names in the directory are asked for.
    List,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It happens.
    Proceed,
    /// Of a read or a write no more than so many bytes happen; another operation happens.
    Shorten(usize),
    /// It does not happen; the sandbox is told why.
    Fail(Fault),
}

/// What a sandbox is told of an operation that does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The disk failed.
    Io,
    /// There is no room on the disk.
    NoRoom,
    /// There is room, but not for this tenant.
    Quota,
    /// It cannot be written.
    ReadOnly,
    /// Something came in between: it may be tried again.
    Interrupted,
}

/// Looks on, and steers, while one sandbox lives. All methods are called on the tenant's thread, while it waits.
pub trait SandboxHooks: Send + 'static {
    /// Decides about an operation before it happens.
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        let _ = operation;
        Verdict::Proceed
    }

    /// Learns what came of an operation: none, it failed; of a read or a write how many bytes; of opening, the length of the
    /// file; of others nothing that counts.
    fn after(&mut self, operation: &FileOperation<'_>, done: Option<u64>) {
        let _ = (operation, done);
    }

    /// Decides whether the sandbox gets more memory: from so many bytes in all to so many. The limit holds besides.
    fn memory_growing(&mut self, from: usize, to: usize) -> bool {
        let _ = (from, to);
        true
    }
}

/// Makes the hooks of a sandbox of the tenant of this name.
type Make = dyn Fn(&str) -> Box<dyn SandboxHooks> + Send + Sync;

/// Makes hooks for every sandbox that is started, where anybody asked for them.
#[derive(Clone, Default)]
pub(crate) struct MakeHooks(Option<Arc<Make>>);

impl MakeHooks {
    pub(crate) fn new(make: impl Fn(&str) -> Box<dyn SandboxHooks> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(make)))
    }

    pub(crate) fn make(&self, tenant: &str) -> Option<Box<dyn SandboxHooks>> {
        self.0.as_ref().map(|make| make(tenant))
    }
}

impl fmt::Debug for MakeHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "MakeHooks(..)" } else { "MakeHooks(none)" })
    }
}
