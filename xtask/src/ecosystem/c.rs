//! A program in C that keeps its notes in the store, composed with the component: docs/bindings/c.md.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{
    Environment,
    environments::place,
    page::{Scene, run_page},
    programs::{cargo_program, no_shell, standalone, wac, wasmtime, write_script},
};
use crate::{
    process::quoted,
    setup,
    test::Outcome,
    toolchain::{CCompiler, Rustc},
};

/// Runs the commands of the page.
pub(super) fn run() -> Result<Outcome> {
    if let Some(reason) = no_shell() {
        return Ok(Outcome::Skipped(reason));
    }
    let Some(compiler) = compiler()? else {
        return Ok(Outcome::Skipped("skipped: the C compiler is neither a wasi-sdk's nor a clang with headers"));
    };
    let wasmtime = match wasmtime()? {
        Environment::Ready(dir) => dir,
        Environment::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let generator = cargo_program("wit-bindgen-cli", "0.63.0", &["--no-default-features", "--features", "c"])?;
    let programs = vec![compiler, generator, wac()?, wasmtime];
    run_page("c", &Scene { files: vec![standalone()?], programs, ..Scene::default() })?;
    Ok(Outcome::Passed)
}

/// A directory with `wasm32-wasip2-clang`, as a wasi-sdk has it. Where the compiler is another clang, that is a script
/// which names its headers and libraries, and the linker of components that comes with Rust.
fn compiler() -> Result<Option<PathBuf>> {
    let tools = setup::toolchain()?;
    let clang = match &tools.compiler {
        CCompiler::Sdk(sdk) => return Ok(Some(sdk.join("bin"))),
        CCompiler::Clang { clang, .. } => clang,
        CCompiler::Named(_) => return Ok(None),
    };
    // <sysroot>/include/wasm32-wasip2; the libraries are in <sysroot>/lib/wasm32-wasip2.
    let Some(sysroot) = tools.headers.as_deref().and_then(Path::parent).and_then(Path::parent) else { return Ok(None) };
    let rustc = Rustc::get()?;
    let linkers = rustc.sysroot.join("lib/rustlib").join(&rustc.host).join("bin");
    anyhow::ensure!(
        linkers.join("wasm-component-ld").is_file(),
        "Rust's linker of components is not in {}",
        linkers.display()
    );
    let path = [linkers.clone(), linkers.join("gcc-ld")].map(quoted).join(":");
    let sysroot = quoted(format!("--sysroot={}", sysroot.display()));
    // Without the compiler's own library of arithmetic, which is a package of its own, and not needed on this machine.
    let line = format!(
        "PATH={path}:$PATH exec {} --target=wasm32-wasip2 {sysroot} -nodefaultlibs \"$@\" -lc\n",
        quoted(clang)
    );
    let bin = place("c-compiler")?;
    std::fs::create_dir_all(&bin).with_context(|| format!("create {}", bin.display()))?;
    write_script(&bin.join("wasm32-wasip2-clang"), &line)?;
    Ok(Some(bin))
}
