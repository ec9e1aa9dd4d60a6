//! The crates as they are published. `talktree` then carries the contract and the component inside, so that a project
//! which adds it needs neither a compiler for WebAssembly nor anything of this workspace.
//!
//! Cargo packs what lies in a package's own directory, and here both lie elsewhere. So the packages are put together in
//! the target directory first, as a workspace of their own: nothing is left behind in the checkout.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    guest,
    process::{cargo, read, run},
    project::{metadata, root, target_dir},
};

/// The published packages, each with its directory: first those that the next ones need.
const PACKAGES: [(&str, &str); 2] = [("talktree-extractive", "guest/extractive"), ("talktree", "host")];

/// What of a package's directory is copied. Its integration tests need the checkout.
const PARTS: [&str; 7] = ["Cargo.toml", "build.rs", "src", "page", "examples", "README.md", "wit"];

/// `cargo xtask package`: packs the crates, ready for `cargo publish`, and answers where the archives are.
pub(crate) fn pack() -> Result<Vec<PathBuf>> {
    guest::build()?;
    let stage = put_together()?;
    let mut pack = cargo();
    pack.current_dir(&stage).args(["package", "--no-verify", "--allow-dirty", "--target-dir"]).arg(target_dir()?);
    for (name, _) in PACKAGES {
        pack.args(["--package", name]);
    }
    run(&mut pack)?;
    let archives: Vec<_> = PACKAGES.iter().map(|(name, _)| archive(name)).collect::<Result<_>>()?;
    for archive in &archives {
        println!("{} ({} KiB)", archive.display(), fs::metadata(archive)?.len() / 1024);
    }
    Ok(archives)
}

/// Where cargo puts the archive of a package.
fn archive(name: &str) -> Result<PathBuf> {
    Ok(target_dir()?.join("package").join(format!("{name}-{}.crate", version()?)))
}

/// The version of all packages of the workspace.
pub(crate) fn version() -> Result<String> {
    let packages = metadata()?["packages"].as_array().context("`cargo metadata` names no packages")?;
    let ours = packages.iter().find(|package| package["name"] == "talktree").context("no package named talktree")?;
    Ok(ours["version"].as_str().context("the package has no version")?.to_owned())
}

/// Makes the workspace of what is published.
fn put_together() -> Result<PathBuf> {
    let stage = target_dir()?.join("talktree/publish");
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("remove {}", stage.display()))?;
    }
    fs::create_dir_all(&stage).with_context(|| format!("create {}", stage.display()))?;
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let members: Vec<_> = PACKAGES.iter().map(|(_, dir)| *dir).collect();
    fs::write(stage.join("Cargo.toml"), manifest_of(&manifest, &members)?)?;
    fs::copy(root().join("Cargo.lock"), stage.join("Cargo.lock"))?;
    for (_, dir) in PACKAGES {
        let (from, to) = (root().join(dir), stage.join(dir));
        for part in PARTS.iter().filter(|part| from.join(part).exists()) {
            copy(&from.join(part), &to.join(part))?;
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&root().join(licence), &to.join(licence))?;
        }
    }
    let host = stage.join("host");
    copy(&root().join("CHANGELOG.md"), &host.join("CHANGELOG.md"))?;
    copy(&root().join("wit"), &host.join("wit"))?;
    copy(&guest::component()?, &host.join("sessions.wasm"))?;
    let bindings = host.join("src/bindings.rs");
    let text = fs::read_to_string(&bindings)?;
    fs::write(&bindings, with_own_contract(&text).with_context(|| format!("{}", bindings.display()))?)?;
    Ok(stage)
}

/// The root manifest with other members.
fn manifest_of(manifest: &str, members: &[&str]) -> Result<String> {
    let mut lines: Vec<_> = manifest.lines().map(str::to_owned).collect();
    let at = |lines: &[String], name: &str| lines.iter().position(|line| line.starts_with(name));
    let default = at(&lines, "default-members = ").context("the root manifest names no default members")?;
    lines.remove(default);
    let all = at(&lines, "members = ").context("the root manifest names no members")?;
    lines[all] = format!("members = {members:?}");
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// The source of the bindings, which names the contract by its path, for a package with a contract of its own.
fn with_own_contract(source: &str) -> Result<String> {
    let (before, after) = source.split_once(r#"path: "../wit""#).context("the bindings are not made from ../wit")?;
    Ok(format!(r#"{before}path: "wit"{after}"#))
}

/// Copies a file or a directory with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("copy {} to {}", from.display(), to.display());
    if from.is_dir() {
        fs::create_dir_all(to).with_context(context)?;
        for entry in fs::read_dir(from).with_context(context)? {
            let entry = entry.with_context(context)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to)).with_context(context)?;
    fs::copy(from, to).map(drop).with_context(context)
}

/// A project outside the workspace that uses the published crates: what it writes.
const PROGRAM: &str = r###"//! Appends a message and reads it back.

use talktree::Talktree;

#[tokio::main]
async fn main() -> talktree::Result<()> {
    let talktree = Talktree::open("data").await?;
    let session = talktree.tenant("easy")?.session("");
    session.append_message(r##"{"id":"m1","role":"user","parts":[]}"##).await?;
    println!("{}", session.get_history().await?[0].json);
    talktree.close().await
}
"###;

/// Checks that a project which adds the packed crate compiles, with no compiler for WebAssembly on the path.
pub(crate) fn check() -> Result<()> {
    let archives = pack()?;
    let dir = target_dir()?.join("ecosystem/published");
    let project = dir.join("project");
    for old in [&project, &dir.join("crates")] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("remove {}", old.display()))?;
        }
    }
    fs::create_dir_all(project.join("src"))?;
    fs::create_dir_all(dir.join("crates"))?;
    for archive in &archives {
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(dir.join("crates")))?;
    }
    let version = version()?;
    let mut manifest = format!(
        "[package]\nname = \"uses-talktree\"\nedition = \"2024\"\n\n[dependencies]\ntalktree = \"{version}\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n[workspace]\n\n[patch.crates-io]\n"
    );
    for (name, _) in PACKAGES {
        manifest += &format!("{name} = {{ path = \"../crates/{name}-{version}\" }}\n");
    }
    fs::write(project.join("Cargo.toml"), manifest)?;
    // The versions that were tested, where the project needs them; cargo takes out the rest.
    fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock"))?;
    fs::write(project.join("src/main.rs"), PROGRAM)?;
    let path = path_without_wasm_compilers(&dir.join("programs"))?;
    run(cargo()
        .args(["check", "--release", "--target-dir"])
        .arg(dir.join("target"))
        .current_dir(&project)
        .env("PATH", path)
        .env_remove("WASI_SDK_PATH")
        .env_remove("CC_wasm32_wasip2")
        .env_remove("TALKTREE_COMPONENT"))?;
    Ok(())
}

/// A directory with links to all programs of the path but clang and its kin.
fn path_without_wasm_compilers(dir: &Path) -> Result<PathBuf> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("remove {}", dir.display()))?;
    }
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    let mut seen = BTreeSet::new();
    let path = env::var_os("PATH").unwrap_or_default();
    for entry in env::split_paths(&path).filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten() {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if ["clang", "llvm", "wasm", "lld", "rust-lld"].iter().any(|kin| text.starts_with(kin))
            || !seen.insert(name.clone())
        {
            continue;
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(entry.path(), dir.join(&name))?;
    }
    anyhow::ensure!(read(Command::new("clang").arg("--version").env("PATH", dir)).is_err(), "there is still a clang");
    Ok(dir.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn the_manifest_keeps_everything_but_the_members() {
        let manifest =
            "[workspace]\nmembers = [\"a\", \"b\"]\ndefault-members = [\"a\"]\n\n[profile.release]\nlto = false\n";
        let expected = "[workspace]\nmembers = [\"b\"]\n\n[profile.release]\nlto = false\n";
        assert_eq!(manifest_of(manifest, &["b"]).unwrap(), expected);
    }

    #[test]
    fn what_lies_beside_the_sources_of_the_host_is_packed() {
        let host = root().join("host");
        let manifest = fs::read_to_string(host.join("Cargo.toml")).unwrap();
        for entry in fs::read_dir(host).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if ["tests", "proptest-regressions"].contains(&name.as_str()) {
                continue;
            }
            assert!(PARTS.contains(&name.as_str()), "{name} is not copied");
            // Cargo takes its own manifest along, whatever is included.
            assert!(name == "Cargo.toml" || manifest.contains(&format!("\"{name}")), "{name} is not included");
        }
    }

    #[test]
    fn the_bindings_of_the_checkout_are_made_from_the_contract_beside_the_package() {
        let source = fs::read_to_string(root().join("host/src/bindings.rs")).unwrap();
        let published = with_own_contract(&source).unwrap();
        assert!(published.contains(r#"path: "wit""#) && !published.contains("../wit"), "{published}");
    }
}
