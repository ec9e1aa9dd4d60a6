//! The standard library of the guest's target: by rustup, else built from Debian's copy of its sources.
//!
//! Where rustup has no such target to give (an offline mirror, a toolchain that is not from rustup), Debian's `rust-src`
//! of the very same version is built with cargo's own `build-std` into a sysroot of ours in the cache, beside the
//! start files and the C library of wasi-libc. The toolchain itself is not touched.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::{debian, headers, manual};
use crate::{
    process::{cargo, on_path, run},
    project::{cache_dir, unfinished},
    toolchain::{Rustc, TARGET, find_headers, own_wasi_libc, target_libs},
};

/// What `install` does.
pub(super) fn plan() -> String {
    let rustup = on_path("rustup").map(|_| format!("fetch it with `rustup target add {TARGET}`"));
    let debian = debian::is_debian().then(|| "build it from Debian's rust-src".to_owned());
    match (rustup, debian) {
        (Some(rustup), Some(debian)) => format!("{rustup}, or where that is refused {debian}"),
        (rustup, debian) => rustup.or(debian).unwrap_or_else(|| "say how to install it".to_owned()),
    }
}

/// Installs it, one way or the other.
pub(super) fn install() -> Result<()> {
    if on_path("rustup").is_some() {
        match run(Command::new("rustup").args(["target", "add", TARGET]).stdin(Stdio::null())) {
            Ok(()) => return Ok(()),
            Err(error) if debian::is_debian() => eprintln!("setup: {error}; going to build it from source"),
            Err(error) => {
                return Err(manual::rust_target(&format!("rustup could not add the target: {error:#}")).into());
            }
        }
    } else if !debian::is_debian() {
        return Err(
            manual::rust_target("The standard library of the guest's target is not here, nor is rustup.").into()
        );
    }
    from_source()
        .map_err(|error| manual::rust_target(&format!("The standard library could not be built: {error:#}")).into())
}

/// Builds the standard library from Debian's sources.
fn from_source() -> Result<()> {
    let rustc = Rustc::get()?;
    if find_headers()?.is_none_or(|dir| !dir.starts_with(own_wasi_libc().unwrap_or_default())) {
        eprintln!("setup: going to {}", headers::plan());
        headers::install()?;
    }
    let sources = cache_dir()?.join(format!("rust-src-{}", rustc.release));
    let library = sources.join(format!("usr/src/rustc-{}/library", rustc.release));
    if !library.is_dir() {
        debian::unpack(debian::BACKPORTS, "rust-src", Some(&format!("{}+", rustc.release)), &sources)?;
    }
    let own = rustc.own_sysroot()?;
    let part = unfinished(&own);
    let built = build(&library, &part.join("seed")).and_then(|libs| assemble(&libs, &part, &own));
    // Intermediate files, and once there is a library of this version, its sources.
    fs::remove_dir_all(&part).ok();
    if built.is_ok() {
        fs::remove_dir_all(&sources).ok();
    }
    built
}

/// Has cargo build the standard library for an empty crate; answers the directory of the libraries.
fn build(library: &Path, seed: &Path) -> Result<PathBuf> {
    fs::create_dir_all(seed.join("src")).with_context(|| format!("create {}", seed.display()))?;
    let manifest = "[package]\nname = \"seed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(seed.join("Cargo.toml"), manifest)?;
    fs::write(seed.join("src/lib.rs"), "")?;
    let target_dir = seed.join("target");
    run(cargo()
        .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET])
        .current_dir(seed)
        .env("CARGO_TARGET_DIR", &target_dir)
        // build-std is not stable; this lets a stable toolchain have it, as for its own build.
        .env("RUSTC_BOOTSTRAP", "1")
        // Where cargo looks for the sources when they are not with the toolchain.
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", library)
        .env_remove("RUSTFLAGS")
        // The guest is optimised across crates, the standard library included.
        .env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Cembed-bitcode=yes"))?;
    Ok(target_dir.join(TARGET).join("release/deps"))
}

/// Puts the libraries and the start files together as a sysroot.
fn assemble(libs: &Path, part: &Path, own: &Path) -> Result<()> {
    let sysroot = part.join("sysroot");
    let into = target_libs(&sysroot);
    let start = into.join("self-contained");
    fs::create_dir_all(&start)?;
    for entry in fs::read_dir(libs)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("lib") && name.ends_with(".rlib") && !name.starts_with("libseed-") {
            fs::copy(entry.path(), into.join(name))?;
        }
    }
    let wasi_libc = own_wasi_libc()?.join("usr/lib").join(TARGET);
    for file in ["crt1-command.o", "crt1-reactor.o", "libc.a"] {
        fs::copy(wasi_libc.join(file), start.join(file)).with_context(|| format!("copy {file} of wasi-libc"))?;
    }
    if own.exists() {
        fs::remove_dir_all(own)?;
    }
    fs::rename(&sysroot, own).with_context(|| format!("rename to {}", own.display()))
}
