//! The place of the component's store: the one directory that the host has opened.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use talktree_engine::{Error, FILE_NAME, Kind, Place, Result};
use talktree_vfs::{Entry, ErrorCode, Folder, TEMPORARY_PREFIX, folder};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::types::Descriptor;
use wasip2::random::random::get_random_u64;

use super::marks::{Marks, Refusal, Surroundings};
use crate::settings::{Locking, Settings};

thread_local! {
    /// Not in the place itself, since the VFS asks for them as well.
    static MARKS: RefCell<Option<Marks<Host>>> = const { RefCell::new(None) };
}

/// The directory that the host has opened: `/data`, or else the only one.
#[derive(Debug)]
pub(crate) struct Preopened {
    settings: Settings,
    /// Whether nothing can be made in it; once it could, that is not asked again.
    read_only: Option<bool>,
    /// The database and its log as they were when we last read them without a turn.
    seen: Option<[Option<Entry>; 2]>,
    /// The present turn began before there was a store, and without a mark.
    without_store: bool,
    /// The host's lock is ours, and others have been told so as well as it can be done.
    kept: bool,
}

impl Preopened {
    /// What the host has set.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The directory, with what the host has set.
    pub(crate) fn new(settings: Settings) -> Self {
        if settings.locking == Locking::Marks {
            talktree_vfs::set_guard(Some(|writing| {
                MARKS.with_borrow_mut(|marks| marks.as_mut().is_some_and(|marks| marks.may(writing)))
            }));
        }
        Self { settings, read_only: None, seen: None, without_store: false, kept: false }
    }

    /// With the host's lock in hand: keeps out those who have none, from the first call on that finds a store or makes it.
    fn keep(&mut self, folder: &Rc<Folder>, write: bool) -> Result<()> {
        if self.kept || !(write || look(folder, FILE_NAME)?.is_some_and(|entry| entry.size > 0)) {
            return Ok(());
        }
        let mut marks = Marks::locked(Host { folder: Rc::clone(folder) }, get_random_u64());
        match marks.keep(self.settings.busy_timeout) {
            Ok(()) => MARKS.set(Some(marks)),
            // Where nothing can be made, others can make no mark either; room is needed to make room.
            Err(Refusal::ReadOnly | Refusal::NoRoom) => {}
            Err(refusal) => return Err(error(refusal)),
        }
        self.kept = true;
        Ok(())
    }

    /// Reads without a turn. True: the files are not those that were read last.
    fn begin_unmarked(&mut self, folder: &Folder) -> Result<bool> {
        MARKS.with_borrow_mut(|marks| {
            if let Some(marks) = marks {
                marks.begin_unmarked();
            }
        });
        let now = [look(folder, FILE_NAME)?, look(folder, &format!("{FILE_NAME}-wal"))?];
        let before = self.seen.replace(now);
        Ok(before != Some(now))
    }
}

impl Place for Preopened {
    fn database(&self) -> PathBuf {
        FILE_NAME.into()
    }

    fn exists(&self) -> Result<bool> {
        if self.without_store {
            return Ok(false);
        }
        Ok(look(&*found()?, FILE_NAME)?.is_some_and(|entry| entry.size > 0))
    }

    fn read_only(&self) -> bool {
        self.read_only.unwrap_or_else(|| folder().is_ok_and(|folder| is_read_only(&folder)))
    }

    fn begin(&mut self, write: bool) -> Result<bool> {
        let folder = found()?;
        if self.read_only != Some(false) {
            self.read_only = Some(is_read_only(&folder));
        }
        if self.settings.locking == Locking::Host {
            return self.keep(&folder, write).map(|()| false);
        }
        let new = MARKS.with_borrow_mut(|marks| {
            let new = marks.is_none();
            marks.get_or_insert_with(|| Marks::new(Host { folder: Rc::clone(&folder) }, get_random_u64()));
            new
        });
        // Who reads a store that was never written leaves nothing behind, not even a mark.
        self.without_store = new && !write && !self.exists()?;
        if self.without_store {
            MARKS.set(None);
            return Ok(true);
        }
        let timeout = self.settings.busy_timeout;
        let begun = MARKS.with_borrow_mut(|marks| marks.as_mut().map_or(Ok(true), |marks| marks.begin(timeout)));
        let outdated = match begun {
            Ok(outdated) => {
                self.seen = None;
                outdated
            }
            Err(Refusal::ReadOnly | Refusal::NoRoom) if !write => self.begin_unmarked(&folder)?,
            Err(refusal) => return Err(error(refusal)),
        };
        if outdated {
            talktree_vfs::outdate();
        }
        Ok(outdated)
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.kept)
            && let Some(mut marks) = MARKS.take()
        {
            marks.release();
        }
    }

    fn end(&mut self) -> Result<()> {
        if self.settings.locking == Locking::Host {
            return Ok(());
        }
        self.without_store = false;
        MARKS.with_borrow_mut(|marks| marks.as_mut().map_or(Ok(()), Marks::end)).map_err(error)
    }

    fn sweep(&mut self) -> Result<()> {
        // What cannot be deleted takes room and does no harm: no reason to keep the store shut.
        let _ = found()?.sweep();
        Ok(())
    }

    fn file_size(&self, name: &str) -> Result<Option<u64>> {
        Ok(look(&*found()?, name)?.map(|entry| entry.size))
    }

    fn read_file(&self, name: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        found()?.read_part(name, offset, length).map_err(|error| failed(&format!("{name} cannot be read"), error))
    }

    fn rename_file(&mut self, from: &str, to: &str) -> Result<()> {
        found()?.rename(from, to).map_err(|error| failed(&format!("{from} cannot be renamed"), error))
    }

    fn remove_file(&mut self, name: &str) -> Result<()> {
        found()?.delete(name).map(drop).map_err(|error| failed(&format!("{name} cannot be removed"), error))
    }
}

/// The directory, or the error that says what to do.
fn found() -> Result<Rc<Folder>> {
    folder().map_err(|error| Error::new(Kind::NotConfigured, error.to_string()))
}

fn look(folder: &Folder, name: &str) -> Result<Option<Entry>> {
    folder.look(name).map_err(|error| failed("the store's file cannot be looked at", error))
}

/// Whether nothing can be made in the directory. Only trying tells: the host may allow what the file system refuses.
fn is_read_only(folder: &Folder) -> bool {
    if !folder.may_change() {
        return true;
    }
    let name = format!("{TEMPORARY_PREFIX}{:016x}", get_random_u64());
    match folder.create_exclusively(&name) {
        Ok(_) => {
            // What stays is swept when the store is next opened.
            let _ = folder.delete(&name);
            false
        }
        Err(error) => matches!(error, ErrorCode::ReadOnly | ErrorCode::NotPermitted | ErrorCode::Access),
    }
}

fn failed(what: &str, error: ErrorCode) -> Error {
    Error::new(Kind::Other, format!("{what}: {}", error.name()))
}

fn error(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Busy(waited) => {
            let message =
                format!("another instance has been using the store for the {waited} ms that were waited; try again");
            Error::new(Kind::Busy, message)
        }
        Refusal::Kept(waited) => Error::new(
            Kind::Busy,
            format!(
                "a host with locks, such as the program talktree, has had the store for the {waited} ms that were waited; end it. If none is left, it was killed: have it open the store once more, or delete the files owner.* beside the store"
            ),
        ),
        Refusal::Lost => Error::new(
            Kind::Busy,
            "the call took so long that another instance took the store over; read again what is there, and try again",
        ),
        Refusal::ReadOnly => Error::new(Kind::ReadOnly, "the store's directory can only be read"),
        Refusal::NoRoom => Error::new(Kind::StorageFull, "there is no room left on the disk; free some and try again"),
        Refusal::Host(error) => failed("the store's directory cannot be used", error),
    }
}

/// The marks' view of the host.
struct Host {
    folder: Rc<Folder>,
}

impl Surroundings for Host {
    type Mark = Descriptor;

    fn names(&self) -> Result<Vec<String>, ErrorCode> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> Result<Descriptor, ErrorCode> {
        self.folder.create_exclusively(name)
    }

    fn write(&self, mark: &Descriptor, content: &str) -> Result<(), ErrorCode> {
        let count = mark.write(content.as_bytes(), 0)?;
        // So small a write that is cut short means that there is no room.
        if count == content.len() as u64 { Ok(()) } else { Err(ErrorCode::InsufficientSpace) }
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ErrorCode> {
        self.folder.read_small(name)
    }

    fn is_there(&self, name: &str) -> Result<bool, ErrorCode> {
        self.folder.look(name).map(|found| found.is_some())
    }

    fn delete(&self, name: &str) -> Result<(), ErrorCode> {
        self.folder.delete(name).map(drop)
    }

    fn wall(&self) -> u64 {
        let now = wall_clock::now();
        now.seconds.saturating_mul(1000).saturating_add(u64::from(now.nanoseconds / 1_000_000))
    }

    fn monotonic(&self) -> u64 {
        monotonic_clock::now() / 1_000_000
    }

    fn sleep(&self, milliseconds: u64) {
        monotonic_clock::subscribe_duration(milliseconds * 1_000_000).block();
    }
}
