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
//!   returns, whatever `synchronous` says (the module `file`).
//! - Temporary files live in the same directory, begin with [`TEMPORARY_PREFIX`], and are deleted when they are closed.
//!
//! # How SQLite is compiled for it
//!
//! By the C flags of the wasm target (`CFLAGS_wasm32_wasip2`), so that the native SQLite stays as it is:
//!
//! - `-DSQLITE_OS_OTHER=1`, without which nothing links: `sqlite3_os_init` is then the one of this crate, there is no
//!   unix VFS, and no symbol of `wasi-emulated-*` is needed.
//! - Of use, not needed (measured together: the component is a tenth smaller and a few percent faster):
//!   `-DSQLITE_DEFAULT_MEMSTATUS=0` (nobody reads SQLite's own counts of memory; the host limits it),
//!   `-DSQLITE_LIKE_DOESNT_MATCH_BLOBS`, `-DSQLITE_OMIT_SHARED_CACHE`, `-DSQLITE_OMIT_DEPRECATED`,
//!   `-DSQLITE_MAX_MMAP_SIZE=0` (there is no mapping), `-DSQLITE_DQS=0` (a misspelt column is an error, not a text), and
//!   `-U` of what `libsqlite3-sys` turns on and the store does not use: `SQLITE_ENABLE_FTS3`,
//!   `SQLITE_ENABLE_FTS3_PARENTHESIS`, `SQLITE_ENABLE_RTREE`, `SQLITE_SOUNDEX`, `SQLITE_ENABLE_LOAD_EXTENSION`,
//!   `SQLITE_ENABLE_API_ARMOR`.
//! - `SQLITE_TEMP_STORE` stays 1, its default: a sort or a vacuum that outgrows SQLite's cache goes to a file.
#![deny(missing_docs)]

mod ahead;
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
