//! `cargo xtask binary`: the program for a kind of machine, in an archive to hand out.
//!
//! Built here for Linux on x86-64 and arm64, and for whatever this machine is. Other kinds are built on themselves, by the
//! same command: docs/releasing.md.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    guest,
    host::native,
    process::{on_path, read, run},
    project::{root, target_dir},
    published::version,
    setup::{ByHand, debian},
    toolchain::Rustc,
};

/// Linux on arm64, which is built on other kinds of machines, too.
const ARM64: &str = "aarch64-unknown-linux-gnu";

/// The C compiler for it, of Debian's package `gcc-aarch64-linux-gnu`. It links, and compiles the C in ring and zstd.
const ARM64_GCC: &str = "aarch64-linux-gnu-gcc";

/// What goes into the archive beside the program.
const PAPERS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// `cargo xtask binary`.
pub(crate) fn command(target: Option<&str>, try_it: bool) -> Result<()> {
    build(target)?;
    if try_it {
        anyhow::ensure!(target == Some(ARM64), "only the program for {ARM64} can be tried by emulation");
        try_arm64()?;
    }
    Ok(())
}

/// Builds the program for a target, by default this machine's own, and packs it. Answers where the archive is.
pub(crate) fn build(target: Option<&str>) -> Result<PathBuf> {
    guest::build()?;
    let own = Rustc::get()?.host.clone();
    let target = target.unwrap_or(&own);
    let mut build = native(&["build"]);
    build.args(["--bin", "talktree", "--locked"]);
    let mut dir = target_dir()?;
    if target == own {
        // With the examples, as everywhere: otherwise wasmtime would be compiled once more.
        build.arg("--examples");
    } else {
        prepare(target)?;
        build.args(["--target", target]).envs(environment(target));
        dir.push(target);
    }
    run(&mut build)?;
    let ending = if target.contains("windows") { ".exe" } else { "" };
    pack(&dir.join("release").join(format!("talktree{ending}")), target)
}

/// The compilers that another kind of machine needs, by the variables that cargo and the `cc` crate read.
fn environment(target: &str) -> Vec<(String, &'static str)> {
    if target != ARM64 {
        return Vec::new();
    }
    let name = target.replace('-', "_");
    vec![
        (format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()), ARM64_GCC),
        (format!("CC_{name}"), ARM64_GCC),
        (format!("AR_{name}"), "aarch64-linux-gnu-ar"),
    ]
}

/// Installs what another kind of machine needs, where this one can.
fn prepare(target: &str) -> Result<()> {
    let installed = read(Command::new("rustup").args(["target", "list", "--installed"])).unwrap_or_default();
    if !installed.lines().any(|line| line == target) {
        eprintln!("going to fetch Rust's standard library for {target} (with rustup, once)");
        run(Command::new("rustup").args(["target", "add", target]))?;
    }
    if target == ARM64 && on_path(ARM64_GCC).is_none() {
        if !(debian::is_debian() && debian::is_root()?) {
            return Err(ByHand(format!("no {ARM64_GCC}: install it (Debian: gcc-aarch64-linux-gnu)")).into());
        }
        eprintln!("going to install gcc-aarch64-linux-gnu (with apt, once)");
        run(Command::new("apt-get").args(["install", "-y", "-qq", "gcc-aarch64-linux-gnu"]))?;
    }
    Ok(())
}

/// Puts the program and its papers into `target/talktree/talktree-VERSION-TARGET.tar.gz`.
fn pack(program: &Path, target: &str) -> Result<PathBuf> {
    let name = format!("talktree-{}-{target}", version()?);
    let kept = target_dir()?.join("talktree");
    let dir = kept.join(&name);
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("remove {}", dir.display()))?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    for paper in PAPERS {
        fs::copy(root().join(paper), dir.join(paper)).with_context(|| format!("copy {paper}"))?;
    }
    let inside = dir.join(program.file_name().context("the program has a name")?);
    fs::copy(program, &inside).with_context(|| format!("copy {}", program.display()))?;
    let archive = kept.join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&kept).arg(&name))?;
    println!("{} ({} KiB)", archive.display(), fs::metadata(&archive)?.len() / 1024);
    Ok(archive)
}

/// Runs the program for Linux on arm64 on this machine, by emulation: it appends, is ended, and reads back.
fn try_arm64() -> Result<()> {
    let found = || on_path("qemu-aarch64-static").or_else(|| on_path("qemu-aarch64"));
    if found().is_none() && debian::is_debian() && debian::is_root()? {
        eprintln!("going to install qemu-user-static (with apt, once)");
        run(Command::new("apt-get").args(["install", "-y", "-qq", "qemu-user-static"]))?;
    }
    let emulator =
        found().ok_or_else(|| ByHand("no qemu-aarch64-static: install it (Debian: qemu-user-static)".to_owned()))?;
    let program = target_dir()?.join(ARM64).join("release/talktree");
    let store = env::temp_dir().join(format!("talktree-arm64-{}", std::process::id()));
    let libraries = Path::new("/usr/aarch64-linux-gnu");
    let talktree = |arguments: &[&str]| {
        let mut command = Command::new(&emulator);
        command.arg("-L").arg(libraries).arg(&program).args(arguments);
        command
    };
    let file = store.join("transcript.jsonl");
    fs::create_dir_all(&store)?;
    let done = (|| {
        fs::copy(root().join("tests/transcripts/pi/tree/input.jsonl"), &file)?;
        let data = store.join("data");
        let (data, file) = (data.display().to_string(), file.display().to_string());
        run(&mut talktree(&["import", "--root", &data, "--tenant", "easy", "--session", "old", &file]))?;
        let found = read(&mut talktree(&["search", "--root", &data, "--tenant", "easy", "led nowhere"]))?;
        anyhow::ensure!(found.contains("nowhere"), "the search found nothing: {found}");
        Ok(())
    })();
    fs::remove_dir_all(&store).ok();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_kind_of_machine_is_told_its_linker_and_its_c_compiler() {
        let names: Vec<_> = environment(ARM64).into_iter().map(|(name, _)| name).collect();
        let expected = [
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "CC_aarch64_unknown_linux_gnu",
            "AR_aarch64_unknown_linux_gnu",
        ];
        assert_eq!(names, expected);
    }
}
