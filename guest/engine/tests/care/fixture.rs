//! Stores that earlier versions wrote, kept as files in `tests/fixtures`, and how the next one is made.

use std::path::{Path, PathBuf};

use talktree_engine::{
    AppendOptions, ConfigScope, ConfigurationChange, DeleteMode, Directory, FILE_NAME, ImportItem, Options, Parent,
    Place, SCHEMA_VERSION, Setting, Source, Store,
};

use super::reads::everything;

/// The sessions of a fixture.
pub(crate) const SESSIONS: [&str; 3] = ["", "other 🌳", "cleared"];

/// Where fixtures are.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Puts into a store something of everything that it can hold.
pub(crate) fn fill<P: Place>(store: &mut Store<P>) {
    let text = |id: &str, role: &str, text: &str| {
        format!(r#"{{"id":"{id}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#)
    };
    let under = |parent: &str| AppendOptions { parent: Parent::Id(parent.to_owned()), ..AppendOptions::default() };
    for number in 0..12 {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let message = text(&format!("m{number}"), role, &"Rain fell on the roof, 雨が降った. ".repeat(3));
        store.append_message("", &message, &AppendOptions::default()).unwrap();
    }
    store.append_message("", &text("b1", "user", "another branch"), &under("m3")).unwrap();
    store.append_message("", &text("b2", "assistant", "and on"), &AppendOptions::default()).unwrap();
    let image = "iVBORw0KGgo=".replace('=', "A").repeat(170);
    let media = format!(
        r#"{{"id":"media","role":"user","parts":[{{"type":"file","mediaType":"image/png","url":"data:image/png;base64,{image}"}}]}}"#
    );
    store.append_message("", &media, &under("b1")).unwrap();
    store.append_message("", &media.replace(r#""media""#, r#""media again""#), &AppendOptions::default()).unwrap();
    store.add_compaction("", "They spoke of rain.", "m1", "m5").unwrap();
    store.add_compaction("", "They spoke of rain, and of more rain.", "m1", "m7").unwrap();
    store.add_compaction("", "A branch.", "b1", "b2").unwrap();
    let gone = ["m6".to_owned(), "m7".to_owned(), "b2".to_owned()];
    store.delete_messages("", &gone, DeleteMode::Splice, false).unwrap();
    store.set_leaf("", Some("m9")).unwrap();

    let large = text("large", "user", &"Every word of this is kept. ".repeat(4800));
    let import = |message: String, parent_id: Option<&str>, created_at| ImportItem {
        message,
        parent_id: parent_id.map(str::to_owned),
        created_at,
    };
    store.import_message("other 🌳", &import(large, None, 1_000)).unwrap();
    let odd = r#"{"id":"odd","role":"user","parts":[],"n":[18446744073709551616,1.0,1e3],"s":"\u0000\ud83d\/"}"#;
    store.import_message("other 🌳", &import(odd.to_owned(), Some("large"), -5)).unwrap();
    store.append_message("other 🌳", &text("last", "user", "short"), &AppendOptions::default()).unwrap();
    store.append_message("other 🌳", &text("gone", "user", "the greatest seq"), &AppendOptions::default()).unwrap();
    store.update_message("other 🌳", &text("odd", "tool", "corrected"), Source::Server).unwrap();
    store.delete_messages("other 🌳", &["gone".to_owned()], DeleteMode::Subtree, false).unwrap();

    store.append_message("cleared", &text("c", "user", "gone"), &AppendOptions::default()).unwrap();
    store.clear_messages("cleared").unwrap();

    let change = ConfigurationChange {
        compact_after: Setting::Value(90_000),
        reserved_metadata_keys: Setting::Value(vec!["trusted".to_owned(), "ключ".to_owned()]),
        ..ConfigurationChange::default()
    };
    store.configure(&ConfigScope::Store, &change).unwrap();
    let change = ConfigurationChange { token_factor: Setting::Value(1.25), ..ConfigurationChange::default() };
    store.configure(&ConfigScope::Session("other 🌳".to_owned()), &change).unwrap();
}

/// The fixture of the present schema: one file, closed, and what a store of it answers. With `TALKTREE_FIXTURES` it is
/// written there, which is to be done once before the schema changes.
#[test]
fn a_closed_store_is_one_file_that_can_be_kept_as_a_fixture() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::new(Directory::new(directory.path()), Options::default());
    fill(&mut store);
    let answers = everything(&mut store, &SESSIONS);
    store.close().unwrap();
    let kept = tempfile::tempdir().unwrap();
    std::fs::copy(directory.path().join(FILE_NAME), kept.path().join(FILE_NAME)).unwrap();
    let mut again = Store::new(Directory::new(kept.path()), Options::default());
    assert_eq!(everything(&mut again, &SESSIONS), answers);
    if let Some(fixtures) = std::env::var_os("TALKTREE_FIXTURES") {
        let name = Path::new(&fixtures).join(format!("schema-{SCHEMA_VERSION}"));
        std::fs::copy(directory.path().join(FILE_NAME), name.with_extension("db")).unwrap();
        std::fs::write(name.with_extension("txt"), answers).unwrap();
    }
}
