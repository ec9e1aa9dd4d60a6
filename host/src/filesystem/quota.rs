//! How much room a tenant's files may take.
//!
//! The quota proper is kept by the component: SQLite is told how many pages the database may have, takes free ones first,
//! and refuses a transaction that needs more as a whole, long before it reaches the disk. That is exact, but it is a
//! promise of the sandbox about itself. What is here holds whatever is in the sandbox, and lets everything through that a
//! well-behaved one needs: by a file's growth alone, since writing over what is there, cutting, deleting and reading always
//! may be.
//!
//! - The **database** may have the quota, and the reserve that calls which make room may use.
//! - The **log** may have as much: clearing a store, or writing it anew, passes all of it through the log once. What the log
//!   holds can always be written back, since SQLite's limit on pages holds for what is committed to it.
//! - **Other files** beside the store are copies that go again: of a vacuum, a snapshot, a sort. Together they may have as
//!   much, too. The copies that migrations leave for people do not count, up to twice that.
//!
//! A tenant whose database is beyond its quota already, because that was made smaller, has what the database has instead.
//!
//! Every file of the directory is known with its length: measured when a sandbox is started, and kept from then on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hooks::{Fault, FileOperation, OpenFile, SandboxHooks, Verdict};

/// Files that a directory may have before no more are made in it.
const MAX_FILES: usize = 256;

/// The least that is kept for making room.
const MIN_RESERVE: u64 = 16 << 20;

/// What copies that migrations leave are called: this, and a number.
const KEPT_COPY: &str = "talktree.db.schema-";

/// What calls that make room may use beyond a quota: the component's own number.
fn reserve(quota: u64) -> u64 {
    (quota / 16).max(MIN_RESERVE)
}

/// What a file is to the quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Database,
    /// The write-ahead log, or a rollback journal.
    Log,
    Copy,
}

impl Role {
    fn of(name: &str) -> Self {
        match name {
            "talktree.db" => Self::Database,
            "talktree.db-wal" | "talktree.db-journal" => Self::Log,
            _ => Self::Copy,
        }
    }
}

/// A file that takes room.
#[derive(Debug)]
struct File {
    /// None: it was deleted, and is there only as long as it is open.
    name: Option<String>,
    role: Role,
    size: u64,
    /// The numbers under which it is open.
    open: Vec<u64>,
}

/// Bytes on the disk of all tenants that have a sandbox.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage(Arc<AtomicU64>);

impl Usage {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn change(&self, from: u64, to: u64) {
        // Wraps where it shrinks, and the sum is right all the same.
        self.0.fetch_add(to.wrapping_sub(from), Ordering::Relaxed);
    }
}

/// What a tenant's files take, and what they may.
#[derive(Debug)]
pub(crate) struct Quota {
    /// None: there is no limit.
    limit: Option<u64>,
    /// What files of one role may have together.
    most: u64,
    /// What copies of migrations had at the start.
    kept: u64,
    files: Vec<File>,
    usage: Usage,
    /// What of it is ours.
    counted: u64,
}

impl Quota {
    /// Measures the files of a directory.
    pub(crate) fn measure(directory: &Path, limit: Option<u64>, usage: Usage) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let size = match entry.metadata() {
                Ok(found) if found.is_file() => found.len(),
                Ok(_) => continue,
                // Deleted meanwhile, which somebody else may do to a copy.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push(File { role: Role::of(&name), name: Some(name), size, open: Vec::new() });
        }
        Ok(Self::of(files, limit, usage))
    }

    fn of(files: Vec<File>, limit: Option<u64>, usage: Usage) -> Self {
        let is_kept = |file: &&File| file.name.as_ref().is_some_and(|name| name.starts_with(KEPT_COPY));
        let kept = files.iter().filter(is_kept).map(|file| file.size).sum();
        let mut quota = Self { limit, most: u64::MAX, kept, files, usage, counted: 0 };
        if let Some(limit) = limit {
            let database = quota.size(Role::Database);
            let most = limit.saturating_add(reserve(limit));
            // Beyond that it can only be because the quota was larger.
            quota.most = if database <= most { most } else { database.saturating_add(reserve(limit)) };
        }
        quota.count();
        quota
    }

    /// What the database and its log take.
    pub(crate) fn used(&self) -> u64 {
        self.size(Role::Database) + self.size(Role::Log)
    }

    /// What they may take. None: as much as there is.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    fn size(&self, role: Role) -> u64 {
        self.files.iter().filter(|file| file.role == role).map(|file| file.size).sum()
    }

    fn count(&mut self) {
        let now = self.files.iter().map(|file| file.size).sum();
        self.usage.change(self.counted, now);
        self.counted = now;
    }

    fn is_room(&self, role: Role, growth: u64) -> bool {
        let kept = if role == Role::Copy { self.kept.min(self.most.saturating_mul(2)) } else { 0 };
        self.size(role).saturating_add(growth) <= self.most.saturating_add(kept)
    }

    fn may_have(&mut self, file: OpenFile<'_>, size: u64) -> Verdict {
        let Some(found) = self.opened(file) else { return Verdict::Proceed };
        let (role, now) = (found.role, found.size);
        if size <= now || self.is_room(role, size - now) { Verdict::Proceed } else { Verdict::Fail(Fault::Quota) }
    }

    fn opened(&mut self, file: OpenFile<'_>) -> Option<&mut File> {
        self.files.iter_mut().find(|known| known.open.contains(&file.number))
    }

    fn named(&mut self, name: &str) -> Option<&mut File> {
        self.files.iter_mut().find(|known| known.name.as_deref() == Some(name))
    }

    /// A name has gone; what it named stays while it is open.
    fn unname(&mut self, name: &str) {
        if let Some(file) = self.named(name) {
            file.name = None;
        }
        self.forget_what_has_gone();
    }

    fn forget_what_has_gone(&mut self) {
        self.files.retain(|file| file.name.is_some() || !file.open.is_empty());
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        self.usage.change(self.counted, 0);
    }
}

impl SandboxHooks for Quota {
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        match *operation {
            FileOperation::Write { file, offset, bytes } => {
                self.may_have(file, offset.saturating_add(bytes.len() as u64))
            }
            FileOperation::SetSize { file, size } => self.may_have(file, size),
            FileOperation::Open { file, create: true, .. }
                if self.files.len() >= MAX_FILES && self.named(file.name).is_none() =>
            {
                Verdict::Fail(Fault::Quota)
            }
            _ => Verdict::Proceed,
        }
    }

    fn after(&mut self, operation: &FileOperation<'_>, done: Option<u64>) {
        let Some(done) = done else { return };
        match *operation {
            FileOperation::Write { file, offset, .. } => {
                let Some(known) = self.opened(file) else { return };
                let end = offset.saturating_add(done);
                if done == 0 || end <= known.size {
                    return;
                }
                known.size = end;
            }
            FileOperation::SetSize { file, size } => {
                let Some(known) = self.opened(file) else { return };
                known.size = size;
            }
            FileOperation::Open { file, .. } => match self.named(file.name) {
                Some(known) => {
                    known.size = done;
                    known.open.push(file.number);
                }
                None => self.files.push(File {
                    name: Some(file.name.to_owned()),
                    role: Role::of(file.name),
                    size: done,
                    open: vec![file.number],
                }),
            },
            FileOperation::Close { file } => {
                if let Some(known) = self.opened(file) {
                    known.open.retain(|number| *number != file.number);
                }
                self.forget_what_has_gone();
            }
            FileOperation::Rename { from, to } if from != to => {
                self.unname(to);
                if let Some(known) = self.named(from) {
                    known.name = Some(to.to_owned());
                    known.role = Role::of(to);
                }
            }
            FileOperation::Unlink { name } => self.unname(name),
            _ => return,
        }
        self.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: u64 = 100 << 20;
    const RESERVE: u64 = MIN_RESERVE;

    fn quota(database: u64, log: u64) -> Quota {
        let file =
            |name: &str, size| File { name: Some(name.to_owned()), role: Role::of(name), size, open: Vec::new() };
        let mut quota =
            Quota::of(vec![file("talktree.db", database), file("talktree.db-wal", log)], Some(QUOTA), Usage::default());
        open(&mut quota, 1, "talktree.db", database);
        open(&mut quota, 2, "talktree.db-wal", log);
        quota
    }

    fn file(number: u64) -> OpenFile<'static> {
        OpenFile { number, name: "" }
    }

    fn open(quota: &mut Quota, number: u64, name: &str, size: u64) {
        let operation = FileOperation::Open { file: OpenFile { number, name }, create: true, truncate: false };
        assert_eq!(quota.before(&operation), Verdict::Proceed);
        quota.after(&operation, Some(size));
    }

    /// Whether a file could be made so long; then it is.
    fn grows(quota: &mut Quota, number: u64, size: u64) -> bool {
        let operation = FileOperation::SetSize { file: file(number), size };
        let grows = quota.before(&operation) == Verdict::Proceed;
        if grows {
            quota.after(&operation, Some(0));
        }
        grows
    }

    #[test]
    fn each_kind_of_file_may_have_the_quota_and_the_reserve() {
        let mut quota = quota(0, 0);
        open(&mut quota, 3, "talktree.tmp-1", 0);
        for number in 1..=3 {
            assert!(grows(&mut quota, number, QUOTA + RESERVE));
            assert!(!grows(&mut quota, number, QUOTA + RESERVE + 1));
            assert!(grows(&mut quota, number, 0), "cutting gives back");
            assert!(grows(&mut quota, number, QUOTA + RESERVE));
        }
        assert_eq!(quota.used(), 2 * (QUOTA + RESERVE));
    }

    #[test]
    fn writing_over_what_is_there_is_no_growth() {
        let mut quota = quota(0, QUOTA + RESERVE);
        let over = FileOperation::Write { file: file(2), offset: 1000, bytes: &[0; 4000] };
        assert_eq!(quota.before(&over), Verdict::Proceed);
        quota.after(&over, Some(4000));
        let beyond = FileOperation::Write { file: file(2), offset: QUOTA + RESERVE - 3999, bytes: &[0; 4000] };
        assert_eq!(quota.before(&beyond), Verdict::Fail(Fault::Quota));
        assert_eq!(quota.used(), QUOTA + RESERVE);
    }

    #[test]
    fn a_store_beyond_its_quota_can_be_made_small() {
        let mut quota = quota(3 * QUOTA, 0);
        open(&mut quota, 3, "talktree.tmp-1", 0);
        for number in 1..=3 {
            assert!(grows(&mut quota, number, 3 * QUOTA + RESERVE));
            assert!(!grows(&mut quota, number, 3 * QUOTA + RESERVE + 1));
        }
    }

    #[test]
    fn copies_that_migrations_left_take_no_room_of_others() {
        let file =
            |name: &str, size| File { name: Some(name.to_owned()), role: Role::of(name), size, open: Vec::new() };
        let mut quota = Quota::of(vec![file("talktree.db.schema-1", 500 << 20)], Some(QUOTA), Usage::default());
        open(&mut quota, 3, "talktree.tmp-1", 0);
        assert!(!grows(&mut quota, 3, QUOTA + RESERVE), "more than twice what there may be");
        quota.after(&FileOperation::Unlink { name: "talktree.db.schema-1" }, Some(0));
        assert!(grows(&mut quota, 3, QUOTA + RESERVE));
    }

    #[test]
    fn what_is_deleted_counts_until_it_is_closed() {
        let mut quota = quota(QUOTA, 0);
        open(&mut quota, 3, "talktree.tmp-1", 0);
        assert!(grows(&mut quota, 3, QUOTA + RESERVE));
        quota.after(&FileOperation::Unlink { name: "talktree.tmp-1" }, Some(0));
        open(&mut quota, 4, "talktree.tmp-1", 0);
        assert!(!grows(&mut quota, 4, 1));
        quota.after(&FileOperation::Close { file: file(3) }, Some(0));
        assert!(grows(&mut quota, 4, 1));
    }

    #[test]
    fn what_is_renamed_counts_as_what_it_becomes_and_what_it_replaces_goes() {
        let mut quota = quota(1000, 0);
        open(&mut quota, 3, "talktree.tmp-1", 5000);
        quota.after(&FileOperation::Close { file: file(1) }, Some(0));
        quota.after(&FileOperation::Rename { from: "talktree.tmp-1", to: "talktree.db" }, Some(0));
        assert_eq!(quota.used(), 5000);
    }

    #[test]
    fn there_is_an_end_to_the_number_of_files() {
        let mut quota = quota(0, 0);
        for number in 3..=MAX_FILES as u64 {
            open(&mut quota, number, &format!("x{number}"), 0);
        }
        let file = OpenFile { number: 9999, name: "y" };
        let another = FileOperation::Open { file, create: true, truncate: false };
        assert_eq!(quota.before(&another), Verdict::Fail(Fault::Quota));
        assert_eq!(quota.before(&FileOperation::Open { file, create: false, truncate: false }), Verdict::Proceed);
    }

    #[test]
    fn the_sum_over_all_tenants_follows_each_of_them() {
        let usage = Usage::default();
        let mut first = Quota::of(Vec::new(), None, usage.clone());
        let mut second = Quota::of(Vec::new(), None, usage.clone());
        open(&mut first, 1, "talktree.db", 0);
        open(&mut second, 1, "talktree.db", 0);
        assert!(grows(&mut first, 1, 100) && grows(&mut second, 1, 50) && grows(&mut first, 1, 10));
        assert_eq!(usage.bytes(), 60);
        drop(first);
        assert_eq!(usage.bytes(), 50);
    }
}
