//! Whose turn it is: what the surroundings tell the VFS about other instances.
//!
//! A file that was opened before somebody else may have written is *outdated*: SQLite's cache and its index of the log
//! describe a file that is no more. Even closing such a connection would harm, since SQLite copies the log into the
//! database on closing. So every operation on an outdated file fails, and its connection can be dropped safely.

use std::cell::Cell;

thread_local! {
    static EPOCH: Cell<u64> = const { Cell::new(0) };
    static GUARD: Cell<Option<Guard>> = const { Cell::new(None) };
}

/// Outdates every file that is open now: others may have written to the directory.
pub fn outdate() {
    EPOCH.set(EPOCH.get() + 1);
}

/// Answers whether the turn is still ours, and lets us read, or write where that is asked. It must not use the VFS.
pub type Guard = fn(writing: bool) -> bool;

/// Sets what is asked before the database or its log is read or written. None: nobody else can have the directory.
pub fn set_guard(guard: Option<Guard>) {
    GUARD.set(guard);
}

/// The present epoch, which a file remembers when it is opened.
pub(crate) fn epoch() -> u64 {
    EPOCH.get()
}

/// Whether a file of this epoch may be read now, or written.
pub(crate) fn held(epoch: u64, writing: bool) -> bool {
    epoch == EPOCH.get() && GUARD.get().is_none_or(|guard| guard(writing))
}
