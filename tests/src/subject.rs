//! A store under test, whatever it runs in.

use std::path::PathBuf;

use talktree_engine::{
    AppendOptions, AppendResult, BranchPoint, ChainResult, CheckReport, ConfigScope, Configuration,
    ConfigurationChange, DeleteMode, DeleteResult, Directory, Durability, FILE_NAME, HistoryView, ImportItem, Kind,
    MediaMode, MediaRange, Message, Node, Options, Page, Parent, ReadOptions, RecentHistory, RecentOptions, RowStats,
    Source, Store, StoreStats, UpsertResult,
};
use tempfile::TempDir;

/// What a call answers: of an error, the case of the contract and its sentence.
pub type Answer<T> = Result<T, (Kind, String)>;

/// How a store is stopped before it is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is closed: the log is written back.
    Closed,
    /// It is dropped.
    Dropped,
    /// It dies: what is on the disk is all there is.
    Killed,
}

/// The operations of the contract, in the types of the engine.
#[expect(missing_docs, reason = "named and documented in the contract")]
pub trait Subject {
    fn append_message(&mut self, session: &str, message: &str, options: &AppendOptions) -> Answer<AppendResult>;
    fn append_messages(&mut self, session: &str, messages: &[String], options: &AppendOptions) -> Answer<ChainResult>;
    fn update_message(&mut self, session: &str, message: &str, source: Source) -> Answer<Option<String>>;
    fn upsert_message(&mut self, session: &str, message: &str, parent: &Parent, source: Source)
    -> Answer<UpsertResult>;
    fn import_message(&mut self, session: &str, item: &ImportItem) -> Answer<bool>;
    fn import_messages(&mut self, session: &str, items: &[ImportItem]) -> Answer<Vec<bool>>;
    fn delete_messages(
        &mut self,
        session: &str,
        ids: &[String],
        mode: DeleteMode,
        dry_run: bool,
    ) -> Answer<DeleteResult>;
    fn clear_messages(&mut self, session: &str) -> Answer<u32>;
    fn set_leaf(&mut self, session: &str, id: Option<&str>) -> Answer<Option<String>>;
    fn get_message(&mut self, session: &str, id: &str, media: MediaMode) -> Answer<Option<Message>>;
    fn get_latest_leaf(&mut self, session: &str, media: MediaMode) -> Answer<Option<Message>>;
    fn get_history(&mut self, session: &str, view: &HistoryView) -> Answer<Vec<Message>>;
    fn read_history(&mut self, session: &str, options: &ReadOptions, cursor: Option<&str>) -> Answer<Page<Message>>;
    fn get_recent_history(&mut self, session: &str, options: &RecentOptions) -> Answer<RecentHistory>;
    fn get_history_row_stats(
        &mut self,
        session: &str,
        leaf_id: Option<&str>,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<RowStats>>;
    fn get_branches(
        &mut self,
        session: &str,
        point: &BranchPoint,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Answer<Page<Message>>;
    fn list_messages(&mut self, session: &str, cursor: Option<&str>, limit: Option<u32>) -> Answer<Page<Node>>;
    fn configure(&mut self, scope: &ConfigScope, change: &ConfigurationChange) -> Answer<Configuration>;
    fn get_media(
        &mut self,
        session: &str,
        id: &str,
        index: u32,
        offset: u64,
        length: Option<u64>,
    ) -> Answer<MediaRange>;
    fn stats(&mut self) -> Answer<StoreStats>;
    fn check(&mut self) -> Answer<CheckReport>;
    /// Stops the store, and opens it again.
    fn restart(&mut self, stop: Stop);
}

/// The engine by itself, in a directory of its own.
pub struct Native {
    directory: TempDir,
    store: Store<Directory>,
    durability: Durability,
}

impl Native {
    /// An empty store.
    ///
    /// # Errors
    /// When there is no place for temporary files.
    pub fn new(durability: Durability) -> std::io::Result<Self> {
        let directory = temporary()?;
        let store = open(&directory, durability);
        Ok(Self { directory, store, durability })
    }

    /// The database file.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join(FILE_NAME)
    }

    /// The files as they are now, in another directory: what a process that dies here leaves behind.
    fn copy(&self) -> std::io::Result<TempDir> {
        let copy = temporary()?;
        for entry in std::fs::read_dir(self.directory.path())? {
            let entry = entry?;
            std::fs::copy(entry.path(), copy.path().join(entry.file_name()))?;
        }
        Ok(copy)
    }
}

/// A directory in memory where there is one: what is tested here is what a store says, not how it lasts.
pub(crate) fn temporary() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn open(directory: &TempDir, durability: Durability) -> Store<Directory> {
    Store::new(Directory::new(directory.path()), Options { durability, ..Options::default() })
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&mut self, $($argument: $type),*) -> Answer<$answer> {
            self.store.$name($($argument),*).map_err(|error| (error.kind, error.message))
        })*
    };
}

impl Subject for Native {
    forward! {
        append_message(session: &str, message: &str, options: &AppendOptions) -> AppendResult;
        append_messages(session: &str, messages: &[String], options: &AppendOptions) -> ChainResult;
        update_message(session: &str, message: &str, source: Source) -> Option<String>;
        upsert_message(session: &str, message: &str, parent: &Parent, source: Source) -> UpsertResult;
        import_message(session: &str, item: &ImportItem) -> bool;
        import_messages(session: &str, items: &[ImportItem]) -> Vec<bool>;
        delete_messages(session: &str, ids: &[String], mode: DeleteMode, dry_run: bool) -> DeleteResult;
        clear_messages(session: &str) -> u32;
        set_leaf(session: &str, id: Option<&str>) -> Option<String>;
        get_message(session: &str, id: &str, media: MediaMode) -> Option<Message>;
        get_latest_leaf(session: &str, media: MediaMode) -> Option<Message>;
        get_history(session: &str, view: &HistoryView) -> Vec<Message>;
        read_history(session: &str, options: &ReadOptions, cursor: Option<&str>) -> Page<Message>;
        get_recent_history(session: &str, options: &RecentOptions) -> RecentHistory;
        get_history_row_stats(session: &str, leaf_id: Option<&str>, cursor: Option<&str>, limit: Option<u32>)
            -> Page<RowStats>;
        get_branches(session: &str, point: &BranchPoint, cursor: Option<&str>, limit: Option<u32>) -> Page<Message>;
        list_messages(session: &str, cursor: Option<&str>, limit: Option<u32>) -> Page<Node>;
        configure(scope: &ConfigScope, change: &ConfigurationChange) -> Configuration;
        get_media(session: &str, id: &str, index: u32, offset: u64, length: Option<u64>) -> MediaRange;
        stats() -> StoreStats;
        check() -> CheckReport;
    }

    fn restart(&mut self, stop: Stop) {
        match stop {
            Stop::Closed => self.store.close().expect("a sound store can be closed"),
            Stop::Dropped => {}
            Stop::Killed => self.directory = self.copy().expect("files can be copied"),
        }
        self.store = open(&self.directory, self.durability);
    }
}
