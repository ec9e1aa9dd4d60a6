//! The component that was built last, `target/talktree/sessions.wasm`: it is what the WIT describes, and nothing more.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    composition::{CONTEXT, STORE, SUMMARIZER, TYPES, consumer, provider},
    dummy::{Sides, plugged, sides},
};

/// The component's bytes. The host cannot be built without it either, so it is never left out.
fn component() -> Vec<u8> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("talktree").join("sessions.wasm");
    fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask guest`", file.display()))
}

#[test]
fn the_built_component_exports_what_the_world_says_and_nothing_else() {
    let exports = sides(&component()).exports;
    let exports: BTreeSet<_> = exports.into_iter().filter(|name| name != TYPES).collect();
    assert_eq!(exports, BTreeSet::from([CONTEXT, STORE].map(str::to_owned)));
}

#[test]
fn the_built_component_needs_the_summarizer_and_wasi_of_one_version() {
    let imports = sides(&component()).imports;
    let (wasi, own): (Vec<_>, Vec<_>) = imports.into_iter().partition(|name| name.starts_with("wasi:"));
    assert!(own.contains(&SUMMARIZER.to_owned()), "{own:?}");
    assert!(own.iter().all(|name| [SUMMARIZER, TYPES].contains(&name.as_str())), "{own:?}");
    let versions: BTreeSet<_> = wasi.iter().filter_map(|name| name.split('@').nth(1)).collect();
    assert_eq!(versions.len(), 1, "{wasi:?}");
    assert!(versions.iter().all(|version| version.starts_with("0.2.")), "{versions:?}");
}

#[test]
fn the_built_component_asks_for_no_network() {
    let imports = sides(&component()).imports;
    assert!(imports.iter().any(|name| name.starts_with("wasi:filesystem/")), "files are what it lives on: {imports:?}");
    let network = |name: &&String| ["wasi:sockets/", "wasi:http/"].iter().any(|prefix| name.starts_with(prefix));
    assert_eq!(imports.iter().find(network), None);
}

#[test]
fn the_built_component_fits_what_the_wit_says_of_both_its_sides() {
    let sessions = plugged(&component(), &provider()).unwrap();
    assert!(!sides(&sessions).imports.contains(&SUMMARIZER.to_owned()));
    let whole = plugged(&consumer(), &sessions).unwrap();
    let Sides { imports, exports } = sides(&whole);
    assert!(imports.iter().all(|name| name == TYPES || name.starts_with("wasi:")), "{imports:?}");
    assert_eq!(exports, ["run"]);
}
