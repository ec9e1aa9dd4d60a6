//! A C compiler for wasm32: Debian's clang, or instructions.

use anyhow::Result;

use super::{debian, manual};
/// Compiler and archiver. Bookworm and everything newer has them.
const PACKAGES: [&str; 2] = ["clang-19", "llvm-19"];

/// What `install` does.
pub(super) fn plan() -> String {
    if debian::is_debian() {
        format!("install {} from Debian with apt-get", PACKAGES.join(" and "))
    } else {
        "say how to install wasi-sdk".to_owned()
    }
}

/// Installs Debian's clang, or says what to type.
pub(super) fn install() -> Result<()> {
    if !debian::is_debian() {
        return Err(manual::wasi_sdk("There is no clang here that knows wasm32.").into());
    }
    if !debian::is_root()? {
        let command = format!("apt-get install -y --no-install-recommends {}", PACKAGES.join(" "));
        return Err(manual::as_root("Installing a C compiler takes root rights:", &command).into());
    }
    debian::install(&PACKAGES)
        .map_err(|error| manual::wasi_sdk(&format!("Debian's clang could not be installed: {error:#}")).into())
}
