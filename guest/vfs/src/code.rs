//! How errors of the host become result codes of SQLite: here and nowhere else.

use std::ffi::c_int;

use rusqlite::ffi;
use wasip2::filesystem::types::ErrorCode;

/// A result code of SQLite that is not `SQLITE_OK`.
pub(crate) type Code = c_int;

/// Whether the host says that the thing cannot be written, rather than that writing failed.
pub(crate) fn is_read_only(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::ReadOnly | ErrorCode::NotPermitted | ErrorCode::Access)
}

/// A write, a truncation or a sync failed; `otherwise` says which.
pub(crate) fn of_write(error: ErrorCode, otherwise: Code) -> Code {
    match error {
        ErrorCode::InsufficientSpace | ErrorCode::Quota | ErrorCode::FileTooLarge => ffi::SQLITE_FULL,
        ErrorCode::InsufficientMemory => ffi::SQLITE_IOERR_NOMEM,
        error if is_read_only(error) => ffi::SQLITE_READONLY,
        _ => otherwise,
    }
}

/// A read failed.
pub(crate) fn of_read(error: ErrorCode) -> Code {
    match error {
        ErrorCode::InsufficientMemory => ffi::SQLITE_IOERR_NOMEM,
        _ => ffi::SQLITE_IOERR_READ,
    }
}

/// A file could not be opened.
pub(crate) fn of_open(error: ErrorCode) -> Code {
    match error {
        ErrorCode::InsufficientSpace | ErrorCode::Quota => ffi::SQLITE_FULL,
        ErrorCode::InsufficientMemory => ffi::SQLITE_IOERR_NOMEM,
        ErrorCode::IsDirectory => ffi::SQLITE_CANTOPEN_ISDIR,
        _ => ffi::SQLITE_CANTOPEN,
    }
}

/// Whether a directory's sync failed, or there is just no such thing on this host: Windows cannot open a directory for
/// it (`access`), Node's shim answers `invalid` for a preopened one, others have no such call. Only a real failure of
/// the disk counts.
pub(crate) fn is_failed_directory_sync(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::Io | ErrorCode::InsufficientSpace | ErrorCode::Quota | ErrorCode::InsufficientMemory)
}
