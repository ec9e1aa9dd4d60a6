//! A SQLite VFS over `wasi:filesystem` descriptors.
//!
//! SQLite's own unix VFS reaches files through wasi-libc, which goes through streams for what is one call of the host
//! here, and it locks with a directory that a killed instance leaves behind. This one is made for one case: **one
//! connection that has its database for itself**, in WAL mode with `locking_mode=EXCLUSIVE`, in the one directory that
//! the host has opened for the component.
//!
//! - Names are plain file names inside that directory ([`Folder`]); anything with a separator is refused.
//! - There are no locks: who may use the directory is settled elsewhere, and told to the VFS by [`set_guard`] and
//!   [`outdate`].
//! - There is no shared memory and no memory mapping: the index of the log lives on SQLite's heap.
//! - What a transaction writes to the log goes to the host in one call, and is with the host before its commit
//!   returns, whatever `synchronous` says ([`file`]).
//! - Temporary files live in the same directory, begin with [`TEMPORARY_PREFIX`], and are deleted when they are closed.
//!
//! SQLite must be compiled with `-DSQLITE_OS_OTHER=1` for the wasm target: then `sqlite3_os_init` is the one of this
//! crate, and no symbol of `wasi-emulated-*` is needed.
#![deny(missing_docs)]

mod code;
pub mod file;
mod folder;
mod held;
mod log;
mod methods;
mod system;
mod turn;

pub use folder::{Entry, Folder, FolderError, TEMPORARY_PREFIX, folder};
pub use system::register;
pub use turn::{Guard, outdate, set_guard};
pub use wasip2::filesystem::types::ErrorCode;
