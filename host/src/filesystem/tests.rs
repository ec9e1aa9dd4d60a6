//! What a sandbox can do to its directory, and what not, whatever is in the sandbox.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;

use tempfile::TempDir;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types::{
    DescriptorFlags, HostDescriptor as _, OpenFlags, PathFlags,
};
use wasmtime_wasi::{FsPerms, WasiCtx};

use super::*;

/// A directory as a sandbox has it.
struct Sandboxed {
    root: TempDir,
    wasi: WasiCtx,
    table: ResourceTable,
    files: Files,
    directory: u32,
}

impl Sandboxed {
    fn new(quota: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("inside")).unwrap();
        std::fs::write(root.path().join("secret"), "not for tenants").unwrap();
        let inside = root.path().join("inside");
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(true).preopened_dir(&inside, "/data", FsPerms::ReadWrite).unwrap();
        let files = Files::new(&inside, Some(quota), Usage::default(), None).unwrap();
        let (wasi, table) = (wasi.build(), ResourceTable::new());
        let mut made = Self { root, wasi, table, files, directory: 0 };
        made.directory = made.view().wasi.get_directories().unwrap()[0].0.rep();
        made
    }

    fn inside(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join("inside").join(name)
    }

    fn view(&mut self) -> FilesView<'_> {
        FilesView::new(self.wasi.filesystem(), &mut self.table, &mut self.files)
    }

    fn directory(&self) -> Resource<Descriptor> {
        Resource::new_borrow(self.directory)
    }

    fn open(&mut self, name: &str) -> FsResult<Resource<Descriptor>> {
        let directory = self.directory();
        let access = DescriptorFlags::READ | DescriptorFlags::WRITE;
        self.view().open_at(directory, PathFlags::SYMLINK_FOLLOW, name.to_owned(), OpenFlags::CREATE, access)
    }
}

fn borrow(file: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(file.rep())
}

/// The error that the sandbox sees.
fn seen<T>(answer: FsResult<T>) -> ErrorCode {
    match answer {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error.downcast().unwrap(),
    }
}

#[test]
fn only_plain_names_in_the_directory_itself_lead_anywhere() {
    let mut sandboxed = Sandboxed::new(1 << 20);
    std::fs::create_dir(sandboxed.inside("below")).unwrap();
    for name in ["../secret", "/etc/passwd", "..", ".", "", "below/x", "a\\b", "a\0b", "c:x"] {
        assert_eq!(seen(sandboxed.open(name)), ErrorCode::NotPermitted, "{name:?}");
        let directory = sandboxed.directory();
        assert_eq!(seen(sandboxed.view().unlink_file_at(directory, name.to_owned())), ErrorCode::NotPermitted);
        let (from, to) = (sandboxed.directory(), sandboxed.directory());
        assert_eq!(seen(sandboxed.view().rename_at(from, name.to_owned(), to, "x".into())), ErrorCode::NotPermitted);
    }
    assert_eq!(seen(sandboxed.open("below")), ErrorCode::NotPermitted, "a directory is no file");
    assert_eq!(std::fs::read_to_string(sandboxed.root.path().join("secret")).unwrap(), "not for tenants");
}

#[test]
fn nothing_but_plain_files_can_be_made() {
    let mut sandboxed = Sandboxed::new(1 << 20);
    let directory = sandboxed.directory();
    assert_eq!(seen(sandboxed.view().create_directory_at(directory, "d".into())), ErrorCode::Unsupported);
    let directory = sandboxed.directory();
    assert_eq!(seen(sandboxed.view().symlink_at(directory, "../secret".into(), "l".into())), ErrorCode::Unsupported);
    let file = sandboxed.open("f").unwrap();
    let (from, to) = (sandboxed.directory(), sandboxed.directory());
    let linked = sandboxed.view().link_at(from, PathFlags::empty(), "f".into(), to, "g".into());
    assert_eq!(seen(linked), ErrorCode::Unsupported);
    // Streams would go past the quota.
    assert_eq!(seen(sandboxed.view().write_via_stream(borrow(&file), 0)), ErrorCode::Unsupported);
    assert_eq!(seen(sandboxed.view().append_via_stream(borrow(&file))), ErrorCode::Unsupported);
    let names: Vec<_> = std::fs::read_dir(sandboxed.inside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_that_somebody_has_put_there_are_not_opened() {
    let mut sandboxed = Sandboxed::new(1 << 20);
    std::os::unix::fs::symlink("../secret", sandboxed.inside("talktree.db")).unwrap();
    std::os::unix::fs::symlink("other", sandboxed.inside("talktree.db-wal")).unwrap();
    assert_eq!(seen(sandboxed.open("talktree.db")), ErrorCode::NotPermitted);
    assert_eq!(seen(sandboxed.open("talktree.db-wal")), ErrorCode::NotPermitted);
    let made = std::process::Command::new("mkfifo").arg(sandboxed.inside("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(seen(sandboxed.open("pipe")), ErrorCode::NotPermitted);
    }
}

#[test]
fn what_is_written_cut_renamed_and_deleted_is_counted_as_it_is() {
    let mut sandboxed = Sandboxed::new(1 << 20);
    let on_disk = |sandboxed: &Sandboxed, name: &str| std::fs::metadata(sandboxed.inside(name)).unwrap().len();
    let log = sandboxed.open("talktree.db-wal").unwrap();
    assert_eq!(sandboxed.view().write(borrow(&log), vec![1; 5000], 1000).unwrap(), 5000);
    sandboxed.view().write(borrow(&log), vec![2; 100], 0).unwrap();
    assert_eq!((sandboxed.files.quota().used(), on_disk(&sandboxed, "talktree.db-wal")), (6000, 6000));
    // The quota, and the least reserve.
    assert_eq!(seen(sandboxed.view().write(borrow(&log), vec![1; 17 << 20], 6000)), ErrorCode::Quota);
    assert_eq!(seen(sandboxed.view().set_size(borrow(&log), 1 << 30)), ErrorCode::Quota);
    assert_eq!((sandboxed.files.quota().used(), on_disk(&sandboxed, "talktree.db-wal")), (6000, 6000));
    sandboxed.view().set_size(borrow(&log), 10).unwrap();
    assert_eq!(sandboxed.files.quota().used(), 10);
    let (from, to) = (sandboxed.directory(), sandboxed.directory());
    sandboxed.view().rename_at(from, "talktree.db-wal".into(), to, "x".into()).unwrap();
    assert_eq!(sandboxed.files.quota().used(), 0);
    sandboxed.view().drop(log).unwrap();
    let directory = sandboxed.directory();
    sandboxed.view().unlink_file_at(directory, "x".into()).unwrap();
    assert!(!sandboxed.inside("x").exists());
}

#[test]
fn a_sandbox_that_opens_more_than_it_may_is_ended() {
    let mut sandboxed = Sandboxed::new(1 << 20);
    sandboxed.table.set_max_capacity(10);
    let ended = loop {
        match sandboxed.open("f") {
            Ok(_) => assert!(sandboxed.files.open.len() < 10),
            Err(error) => break error.downcast().unwrap_err(),
        }
    };
    assert!(matches!(ended.downcast_ref(), Some(ResourceTableError::Full)), "{ended}");
}

#[test]
fn what_is_there_already_is_measured() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("talktree.db"), [0; 300]).unwrap();
    std::fs::write(root.path().join("talktree.db-wal"), [0; 50]).unwrap();
    std::fs::write(root.path().join("talktree.db.schema-1"), [0; 1000]).unwrap();
    std::fs::create_dir(root.path().join("directory")).unwrap();
    let usage = Usage::default();
    let files = |path: &Path| Files::new(path, None, usage.clone(), None).unwrap();
    let measured = files(root.path());
    assert_eq!(measured.quota().used(), 350);
    assert_eq!(usage.bytes(), 1350);
    drop(measured);
    assert_eq!(usage.bytes(), 0);
}
