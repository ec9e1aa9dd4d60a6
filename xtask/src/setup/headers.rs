//! C headers of WASI: Debian's wasi-libc, unpacked into the cache, or instructions.

use anyhow::Result;

use super::{debian, manual};
use crate::toolchain::own_wasi_libc;

/// What `install` does.
pub(super) fn plan() -> String {
    if debian::is_debian() {
        let place = own_wasi_libc().map_or_else(|error| error.to_string(), |dir| dir.display().to_string());
        format!("unpack Debian's wasi-libc (of {}) into {place}", debian::BACKPORTS)
    } else {
        "say how to install wasi-sdk".to_owned()
    }
}

/// Unpacks the package, or says what to type.
pub(super) fn install() -> Result<()> {
    if !debian::is_debian() {
        return Err(manual::wasi_sdk("The C headers of WASI are not here.").into());
    }
    debian::unpack(debian::BACKPORTS, "wasi-libc", None, &own_wasi_libc()?)
        .map_err(|error| manual::wasi_sdk(&format!("Debian's wasi-libc could not be fetched: {error:#}")).into())
}
