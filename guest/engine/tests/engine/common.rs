//! What these tests share: stores, messages, files as bytes.

use std::collections::BTreeMap;
use std::path::Path;

use talktree_engine::{AppendOptions, Directory, Error, ImportItem, Kind, Options, Parent, Place, Result, Store};

/// A store in a directory.
pub(crate) fn store(directory: &Path) -> Store<Directory> {
    Store::new(Directory::new(directory), Options::default())
}

/// A message of one text part.
pub(crate) fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// Appends a message of about 60 bytes under the present leaf.
pub(crate) fn append<P: Place>(store: &mut Store<P>, session: &str, id: &str) {
    assert!(store.append_message(session, &message(id, "hello"), &AppendOptions::default()).unwrap().inserted);
}

/// Appends a message under another one.
pub(crate) fn append_under<P: Place>(store: &mut Store<P>, id: &str, parent: &str) -> Result<bool> {
    let options = AppendOptions { parent: Parent::Id(parent.to_owned()), ..AppendOptions::default() };
    Ok(store.append_message("", &message(id, "hello"), &options)?.inserted)
}

/// Appends a chain of `count` messages to the default session, from number `from` on.
pub(crate) fn append_many<P: Place>(store: &mut Store<P>, from: usize, count: usize) {
    for start in (from..from + count).step_by(10_000) {
        let end = (start + 10_000).min(from + count);
        let chain: Vec<String> = (start..end).map(|number| message(&format!("m{number}"), "hello")).collect();
        store.append_messages("", &chain, &AppendOptions::default()).unwrap();
    }
}

/// Imports messages with their parents, in few calls.
pub(crate) fn import_tree<P: Place>(store: &mut Store<P>, tree: impl IntoIterator<Item = (String, Option<String>)>) {
    let items: Vec<ImportItem> = tree
        .into_iter()
        .map(|(id, parent_id)| ImportItem { message: message(&id, "hello"), parent_id, created_at: 1 })
        .collect();
    for items in items.chunks(10_000) {
        store.import_messages("", items).unwrap();
    }
}

/// All files of a directory.
pub(crate) fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The case of a call that must have failed.
#[track_caller]
pub(crate) fn kind<T: std::fmt::Debug>(answer: Result<T, Error>) -> Kind {
    answer.unwrap_err().kind
}
