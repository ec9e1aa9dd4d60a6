//! What a store asks of its disk, in order, with what was acknowledged meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use talktree::hooks::{FileOperation, SandboxHooks};

/// A file, whatever its name is at the moment.
pub(super) type Inode = usize;

/// What happened.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A name appeared, for a new file.
    Create(String, Inode),
    /// Bytes were written.
    Write(Inode, u64, Vec<u8>),
    /// A file was cut or extended.
    SetSize(Inode, u64),
    /// A file got another name.
    Rename(String, String),
    /// A name went.
    Unlink(String),
    /// A file was synced.
    Sync(Inode),
    /// The directory was synced.
    SyncDirectory,
    /// So many steps were acknowledged.
    Acknowledged(usize),
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    names: HashMap<String, Inode>,
    inodes: usize,
}

/// Writes down what happens in all lives of a sandbox.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Log>>);

impl Recorder {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hooks for one sandbox.
    pub(super) fn hooks(&self) -> Box<dyn SandboxHooks> {
        Box::new(Hooks { recorder: self.clone(), open: HashMap::new() })
    }

    /// Notes that so many steps were acknowledged.
    pub(super) fn acknowledge(&self, done: usize) {
        self.log().events.push(Event::Acknowledged(done));
    }

    /// What happened.
    pub(super) fn events(&self) -> Vec<Event> {
        self.log().events.clone()
    }
}

/// What one sandbox has open.
struct Hooks {
    recorder: Recorder,
    /// By the number of the opening.
    open: HashMap<u64, Inode>,
}

impl SandboxHooks for Hooks {
    fn after(&mut self, operation: &FileOperation<'_>, done: Option<u64>) {
        let Some(done) = done else { return };
        let mut log = self.recorder.log();
        match *operation {
            FileOperation::Open { file, truncate, .. } => {
                let inode = match log.names.get(file.name) {
                    Some(&inode) => inode,
                    None => {
                        let inode = log.inodes;
                        log.inodes += 1;
                        log.names.insert(file.name.to_owned(), inode);
                        log.events.push(Event::Create(file.name.to_owned(), inode));
                        inode
                    }
                };
                if truncate {
                    log.events.push(Event::SetSize(inode, 0));
                }
                self.open.insert(file.number, inode);
            }
            FileOperation::Write { file, offset, bytes } => {
                let Some(&inode) = self.open.get(&file.number) else { return };
                let written = bytes.get(..done as usize).unwrap_or(bytes).to_vec();
                log.events.push(Event::Write(inode, offset, written));
            }
            FileOperation::SetSize { file, size } => {
                let Some(&inode) = self.open.get(&file.number) else { return };
                log.events.push(Event::SetSize(inode, size));
            }
            FileOperation::Sync { file } => {
                let Some(&inode) = self.open.get(&file.number) else { return };
                log.events.push(Event::Sync(inode));
            }
            FileOperation::SyncDirectory => log.events.push(Event::SyncDirectory),
            FileOperation::Rename { from, to } => {
                if let Some(inode) = log.names.remove(from) {
                    log.names.insert(to.to_owned(), inode);
                    log.events.push(Event::Rename(from.to_owned(), to.to_owned()));
                }
            }
            FileOperation::Unlink { name } => {
                log.names.remove(name);
                log.events.push(Event::Unlink(name.to_owned()));
            }
            _ => {}
        }
    }
}
