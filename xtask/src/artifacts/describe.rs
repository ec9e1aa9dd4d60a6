//! What a component says about itself: the contract with its documentation, licence, version, and what it was made with.
//!
//! `wasm-tools component wit` shows the first, `wasm-tools metadata show` the others.

use std::{borrow::Cow, fs};

use anyhow::{Context, Result};
use serde_json::json;
use wasm_encoder::{ComponentSection, CustomSection};
use wasm_metadata::{AddMetadata, AddMetadataField, Description, Licenses, Version};

use crate::{project::root, toolchain::Rustc};

/// The files of the contract, in the order in which they are read best.
const CONTRACT: [&str; 5] = ["world.wit", "store.wit", "context.wit", "summarizer.wit", "types.wit"];

/// What differs from component to component.
pub(crate) struct About {
    /// Its name.
    pub(crate) name: &'static str,
    /// One sentence.
    pub(crate) description: &'static str,
    /// What it was written in.
    pub(crate) languages: &'static [&'static str],
}

impl About {
    /// The component with this and with what all of ours have in common.
    pub(crate) fn add_to(&self, component: &[u8]) -> Result<Vec<u8>> {
        let rustc = Rustc::get()?;
        let mut all = AddMetadata::default();
        all.name = AddMetadataField::Set(self.name.to_owned());
        all.description = AddMetadataField::Set(Description::new(self.description));
        all.licenses = AddMetadataField::Set(Licenses::new(&package("license")?)?);
        all.version = AddMetadataField::Set(Version::new(package("version")?));
        all.language = self
            .languages
            .iter()
            .map(|&language| {
                (language.to_owned(), if language == "Rust" { rustc.release.clone() } else { String::new() })
            })
            .collect();
        all.processed_by = vec![("rustc".to_owned(), rustc.build.clone())];
        all.to_wasm(component).with_context(|| format!("metadata of {}", self.name))
    }
}

/// A component of ours with the documentation of its contract inside.
///
/// A component has no place for the documentation of the interfaces that it exports, only for that of its own world. So the
/// contract stands there as it was written. No other component inside may have the same section: decoders take one.
pub(crate) fn described(component: &[u8]) -> Result<Vec<u8>> {
    let docs = json!({ "worlds": { "root": { "docs": contract()? } } }).to_string();
    // The first byte is the version of the format.
    let data = [&[1], docs.as_bytes()].concat();
    let mut described = component.to_vec();
    CustomSection { name: Cow::Borrowed("package-docs"), data: Cow::Owned(data) }.append_to_component(&mut described);
    Ok(described)
}

/// The contract as one text, without what says only since when something is there.
fn contract() -> Result<String> {
    let mut text = "What this component is, in the words of its WIT files.\n".to_owned();
    for name in CONTRACT {
        let file = root().join("wit").join(name);
        let wit = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        for line in wit.lines().filter(|line| !is_noise(line)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}

fn is_noise(line: &str) -> bool {
    line.trim_start().starts_with("@since(") || line.starts_with("package ")
}

/// A field of the workspace's packages, which have it from the root manifest.
fn package(field: &str) -> Result<String> {
    let packages = crate::project::metadata()?["packages"].as_array().context("`cargo metadata` names no packages")?;
    let ours = packages.iter().find(|package| package["name"] == "talktree").context("no package named talktree")?;
    Ok(ours[field].as_str().with_context(|| format!("the package has no {field}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn every_file_of_the_contract_is_inside() {
        let mut files: Vec<_> =
            fs::read_dir(root().join("wit")).unwrap().flatten().filter(|entry| entry.path().is_file()).collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        let mut known = CONTRACT;
        known.sort_unstable();
        assert_eq!(files.iter().map(std::fs::DirEntry::file_name).collect::<Vec<_>>(), known);
        let text = contract().unwrap();
        for part in ["interface store {", "append-message: func(", "interface summarizer {", "/// Asks the model."] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("@since"), "{text}");
    }
}
