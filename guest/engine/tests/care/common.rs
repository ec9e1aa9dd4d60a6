//! What these tests share.

use std::path::Path;

use talktree_engine::{AppendOptions, Directory, Options, Store};

/// A store in a directory.
pub(crate) fn open(directory: &Path) -> Store<Directory> {
    Store::new(Directory::new(directory), Options::default())
}

/// A message of one text part.
pub(crate) fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// Appends messages `m<from>` to `m<to - 1>` to the default session, each with this text.
pub(crate) fn append(store: &mut Store<Directory>, numbers: std::ops::Range<usize>, text: &str) {
    for number in numbers {
        let message = message(&format!("m{number}"), text);
        assert!(store.append_message("", &message, &AppendOptions::default()).unwrap().inserted);
    }
}

/// The names of all files in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
