//! The components that users get: what the compiler made, with documentation and metadata inside, and the standalone one.

mod describe;
mod dist;
mod plug;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    components,
    guest::{self, component},
    project::{target_dir, write_if_changed},
};

pub(crate) use describe::{About, described};
pub(crate) use dist::dist;
pub(crate) use plug::plugged;

/// What `sessions.wasm` says about itself.
pub(crate) const SESSIONS: About = About {
    name: "talktree-sessions",
    description: "Durable conversation storage for LLM agents; imports a summarizer",
    languages: &["Rust", "C"],
};

/// What `sessions-standalone.wasm` says about itself.
const STANDALONE: About = About {
    name: "talktree-sessions-standalone",
    description: "Durable conversation storage for LLM agents, with an extractive summarizer inside",
    languages: &["Rust", "C"],
};

/// Where the standalone component is kept.
pub(crate) fn standalone() -> Result<PathBuf> {
    Ok(target_dir()?.join("talktree/sessions-standalone.wasm"))
}

/// `cargo xtask standalone`: the component with the extractive summarizer plugged in, for hosts that offer none.
pub(crate) fn build_standalone() -> Result<()> {
    guest::build()?;
    let summarizer = components::build("extractive-summarizer")?;
    let read = |path: PathBuf| fs::read(&path).with_context(|| format!("read {}", path.display()));
    let whole = plugged(&read(component()?)?, &read(summarizer)?)?;
    keep(&standalone()?, &STANDALONE.add_to(&whole)?)
}

/// Writes a component where others take it from, and says whether it is another one than before.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = if write_if_changed(path, bytes)? { "new" } else { "unchanged" };
    println!("{} ({} KiB, {what})", path.display(), bytes.len() / 1024);
    Ok(())
}
