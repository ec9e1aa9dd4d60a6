//! What these tests share.

use talktree_engine::{AppendOptions, Directory, Durability, Error, Kind, Options, Parent, Result, Store};

pub(crate) type Opened = Store<Directory>;

/// A store in a directory of its own, for which the disk does not matter.
pub(crate) fn store() -> (tempfile::TempDir, Opened) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Store::new(Directory::new(directory.path()), options);
    (directory, store)
}

pub(crate) fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

pub(crate) fn append(store: &mut Opened, session: &str, id: &str) {
    assert!(store.append_message(session, &message(id, id), &AppendOptions::default()).unwrap().inserted);
}

pub(crate) fn append_under(store: &mut Opened, session: &str, id: &str, parent: &str) {
    let options = AppendOptions { parent: Parent::Id(parent.to_owned()), ..AppendOptions::default() };
    assert!(store.append_message(session, &message(id, id), &options).unwrap().inserted);
}

#[track_caller]
pub(crate) fn kind<T: std::fmt::Debug>(answer: Result<T, Error>) -> Kind {
    answer.unwrap_err().kind
}

/// Nothing contradicts itself.
#[track_caller]
pub(crate) fn assert_sound(store: &mut Opened) {
    assert_eq!(store.check().unwrap().problems, Vec::<String>::new());
}
