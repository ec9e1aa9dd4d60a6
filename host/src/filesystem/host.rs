//! `wasi:filesystem/types`, on top of wasmtime's.

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types as wasi;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, IoError, ReaddirIterator};

use super::{FilesView, Named};
use crate::hooks::{Fault, FileOperation, Verdict};

use wasi::HostDescriptor as _;

/// What the hooks call a directory's own entry.
const DIRECTORY: &str = ".";

fn code(fault: Fault) -> ErrorCode {
    match fault {
        Fault::Io => ErrorCode::Io,
        Fault::NoRoom => ErrorCode::InsufficientSpace,
        Fault::Quota => ErrorCode::Quota,
        Fault::ReadOnly => ErrorCode::ReadOnly,
        Fault::Interrupted => ErrorCode::Interrupted,
    }
}

/// What the component does not need.
fn unsupported<T>() -> FsResult<T> {
    Err(ErrorCode::Unsupported.into())
}

/// Whether this names something in the directory itself.
fn check_name(name: &str) -> FsResult<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', ':', '\0']) {
        return Err(ErrorCode::NotPermitted.into());
    }
    Ok(())
}

impl FilesView<'_> {
    /// Lets an operation happen, if the hooks agree, and tells them what came of it. `length` says how much that is.
    fn pass<T>(
        &mut self,
        operation: &FileOperation<'_>,
        happen: impl FnOnce(&mut Self, Option<usize>) -> FsResult<T>,
        length: impl FnOnce(&T) -> u64,
    ) -> FsResult<T> {
        let most = match self.files.before(operation) {
            Verdict::Proceed => None,
            Verdict::Shorten(most) => Some(most),
            Verdict::Fail(fault) => {
                self.files.after(operation, None);
                return Err(code(fault).into());
            }
        };
        let outcome = happen(self, most);
        self.files.after(operation, outcome.as_ref().ok().map(length));
        outcome
    }

    /// An open file; an error for a directory.
    fn named(&self, fd: &Resource<Descriptor>, otherwise: ErrorCode) -> FsResult<Named> {
        self.files.open.get(&fd.rep()).cloned().ok_or_else(|| otherwise.into())
    }

    /// What the hooks are told about a descriptor that is looked at.
    fn look<T>(&mut self, fd: &Resource<Descriptor>, happen: impl FnOnce(&mut Self) -> FsResult<T>) -> FsResult<T> {
        let named = self.files.open.get(&fd.rep()).cloned();
        let name = named.as_ref().map_or(DIRECTORY, |named| &named.name);
        self.pass(&FileOperation::Look { name }, |view, _| happen(view), |_| 0)
    }

    fn look_at<T>(&mut self, name: &str, happen: impl FnOnce(&mut Self) -> FsResult<T>) -> FsResult<T> {
        check_name(name)?;
        self.pass(&FileOperation::Look { name }, |view, _| happen(view), |_| 0)
    }

    /// Opens a plain file, and answers how long it is.
    fn open(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
        how: wasi::OpenFlags,
        access: wasi::DescriptorFlags,
    ) -> FsResult<(Resource<Descriptor>, u64)> {
        let directory = Resource::new_borrow(fd.rep());
        // A pipe would be waited for, and a link lead elsewhere. What is missing may be made.
        if let Ok(found) = self.wasi.stat_at(directory, wasi::PathFlags::empty(), path.clone())
            && found.type_ != wasi::DescriptorType::RegularFile
        {
            return Err(ErrorCode::NotPermitted.into());
        }
        let opened = self.wasi.open_at(fd, wasi::PathFlags::empty(), path, how, access)?;
        let borrowed = Resource::new_borrow(opened.rep());
        match self.wasi.stat(borrowed) {
            Ok(found) if found.type_ == wasi::DescriptorType::RegularFile => Ok((opened, found.size)),
            other => {
                self.wasi.drop(opened).map_err(FsError::trap)?;
                Err(other.err().unwrap_or_else(|| ErrorCode::NotPermitted.into()))
            }
        }
    }

    fn sync_either(
        &mut self,
        fd: Resource<Descriptor>,
        happen: impl FnOnce(&mut Self, Resource<Descriptor>) -> FsResult<()>,
    ) -> FsResult<()> {
        let named = self.files.open.get(&fd.rep()).cloned();
        let operation = match &named {
            Some(named) => FileOperation::Sync { file: named.file() },
            None => FileOperation::SyncDirectory,
        };
        self.pass(&operation, |view, _| happen(view, fd), |()| 0)
    }
}

impl wasi::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<wasi::ErrorCode> {
        wasi::Host::convert_error_code(&mut self.wasi, error)
    }

    fn filesystem_error_code(&mut self, error: Resource<IoError>) -> wasmtime::Result<Option<wasi::ErrorCode>> {
        wasi::Host::filesystem_error_code(&mut self.wasi, error)
    }
}

impl wasi::HostDescriptor for FilesView<'_> {
    fn read(&mut self, fd: Resource<Descriptor>, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let named = self.named(&fd, ErrorCode::BadDescriptor)?;
        let operation = FileOperation::Read { file: named.file(), offset, length };
        let read = |view: &mut Self, most: Option<usize>| {
            view.wasi.read(fd, most.map_or(length, |most| length.min(most as u64)), offset)
        };
        self.pass(&operation, read, |(bytes, _)| bytes.len() as u64)
    }

    fn write(&mut self, fd: Resource<Descriptor>, mut bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        let named = self.named(&fd, ErrorCode::BadDescriptor)?;
        let operation = FileOperation::Write { file: named.file(), offset, bytes: &bytes };
        let most = match self.files.before(&operation) {
            Verdict::Proceed => bytes.len(),
            Verdict::Shorten(most) => most.min(bytes.len()),
            Verdict::Fail(fault) => {
                self.files.after(&operation, None);
                return Err(code(fault).into());
            }
        };
        // wasmtime takes the bytes, so the hooks see a copy where they want to know what was written.
        let shown = self.files.hooks.is_some().then(|| bytes.clone());
        bytes.truncate(most);
        let outcome = self.wasi.write(fd, bytes, offset);
        let operation =
            FileOperation::Write { file: named.file(), offset, bytes: shown.as_deref().unwrap_or_default() };
        self.files.after(&operation, outcome.as_ref().ok().copied());
        outcome
    }

    fn set_size(&mut self, fd: Resource<Descriptor>, size: u64) -> FsResult<()> {
        let named = self.named(&fd, ErrorCode::BadDescriptor)?;
        let operation = FileOperation::SetSize { file: named.file(), size };
        self.pass(&operation, |view, _| view.wasi.set_size(fd, size), |()| 0)
    }

    fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.sync_either(fd, |view, fd| view.wasi.sync_data(fd))
    }

    fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.sync_either(fd, |view, fd| view.wasi.sync(fd))
    }

    fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        _path_flags: wasi::PathFlags,
        path: String,
        how: wasi::OpenFlags,
        access: wasi::DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        check_name(&path)?;
        let named = Named { number: self.files.opened, name: path.as_str().into() };
        self.files.opened += 1;
        let operation = FileOperation::Open {
            file: named.file(),
            create: how.contains(wasi::OpenFlags::CREATE),
            truncate: how.contains(wasi::OpenFlags::TRUNCATE),
        };
        let (opened, _) = self.pass(&operation, |view, _| view.open(fd, path, how, access), |(_, size)| *size)?;
        self.files.open.insert(opened.rep(), named);
        Ok(opened)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        let closed = self.files.open.remove(&fd.rep());
        self.wasi.drop(fd)?;
        if let Some(named) = closed {
            self.files.after(&FileOperation::Close { file: named.file() }, Some(0));
        }
        Ok(())
    }

    fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        from: String,
        new_fd: Resource<Descriptor>,
        to: String,
    ) -> FsResult<()> {
        check_name(&from)?;
        check_name(&to)?;
        let operation = FileOperation::Rename { from: &from, to: &to };
        let (old, new) = (from.clone(), to.clone());
        self.pass(&operation, |view, _| view.wasi.rename_at(fd, old, new_fd, new), |()| 0)
    }

    fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        check_name(&path)?;
        let name = path.clone();
        self.pass(&FileOperation::Unlink { name: &name }, |view, _| view.wasi.unlink_file_at(fd, path), |()| 0)
    }

    fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<ReaddirIterator>> {
        self.pass(&FileOperation::List, |view, _| view.wasi.read_directory(fd), |_| 0)
    }

    fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<wasi::DescriptorStat> {
        let borrowed = Resource::new_borrow(fd.rep());
        self.look(&fd, |view| view.wasi.stat(borrowed))
    }

    fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        _path_flags: wasi::PathFlags,
        path: String,
    ) -> FsResult<wasi::DescriptorStat> {
        let name = path.clone();
        self.look_at(&name, |view| view.wasi.stat_at(fd, wasi::PathFlags::empty(), path))
    }

    fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<wasi::MetadataHashValue> {
        let borrowed = Resource::new_borrow(fd.rep());
        self.look(&fd, |view| view.wasi.metadata_hash(borrowed))
    }

    fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        _path_flags: wasi::PathFlags,
        path: String,
    ) -> FsResult<wasi::MetadataHashValue> {
        let name = path.clone();
        self.look_at(&name, |view| view.wasi.metadata_hash_at(fd, wasi::PathFlags::empty(), path))
    }

    // What the host knows of a descriptor without looking at the disk.

    fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<wasi::DescriptorFlags> {
        self.wasi.get_flags(fd)
    }

    fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<wasi::DescriptorType> {
        self.wasi.get_type(fd)
    }

    fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        self.wasi.is_same_object(a, b)
    }

    // What is not there.

    fn advise(&mut self, _fd: Resource<Descriptor>, _offset: u64, _length: u64, _advice: wasi::Advice) -> FsResult<()> {
        unsupported()
    }

    fn set_times(
        &mut self,
        _fd: Resource<Descriptor>,
        _accessed: wasi::NewTimestamp,
        _modified: wasi::NewTimestamp,
    ) -> FsResult<()> {
        unsupported()
    }

    fn set_times_at(
        &mut self,
        _fd: Resource<Descriptor>,
        _path_flags: wasi::PathFlags,
        _path: String,
        _accessed: wasi::NewTimestamp,
        _modified: wasi::NewTimestamp,
    ) -> FsResult<()> {
        unsupported()
    }

    fn create_directory_at(&mut self, _fd: Resource<Descriptor>, _path: String) -> FsResult<()> {
        unsupported()
    }

    fn remove_directory_at(&mut self, _fd: Resource<Descriptor>, _path: String) -> FsResult<()> {
        unsupported()
    }

    fn link_at(
        &mut self,
        _fd: Resource<Descriptor>,
        _path_flags: wasi::PathFlags,
        _path: String,
        _new_fd: Resource<Descriptor>,
        _new_path: String,
    ) -> FsResult<()> {
        unsupported()
    }

    fn symlink_at(&mut self, _fd: Resource<Descriptor>, _from: String, _to: String) -> FsResult<()> {
        unsupported()
    }

    fn readlink_at(&mut self, _fd: Resource<Descriptor>, _path: String) -> FsResult<String> {
        unsupported()
    }

    fn read_via_stream(&mut self, _fd: Resource<Descriptor>, _offset: u64) -> FsResult<Resource<DynInputStream>> {
        unsupported()
    }

    fn write_via_stream(&mut self, _fd: Resource<Descriptor>, _offset: u64) -> FsResult<Resource<DynOutputStream>> {
        unsupported()
    }

    fn append_via_stream(&mut self, _fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        unsupported()
    }
}

impl wasi::HostDirectoryEntryStream for FilesView<'_> {
    fn read_directory_entry(&mut self, stream: Resource<ReaddirIterator>) -> FsResult<Option<wasi::DirectoryEntry>> {
        wasi::HostDirectoryEntryStream::read_directory_entry(&mut self.wasi, stream)
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        wasi::HostDirectoryEntryStream::drop(&mut self.wasi, stream)
    }
}
