//! A scripted life of a store, for tests of what goes wrong in it at each moment.

use std::collections::BTreeMap;
use std::fmt::Debug;

use talktree::{DeleteMode, ErrorKind, Result, Session, Talktree, Tenant};

use crate::common::message;

/// What a store must have after its life, whatever went wrong.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// Messages by id, as they were acknowledged.
    pub(crate) there: BTreeMap<String, String>,
    /// Those of which nobody knows: a call about them has failed.
    pub(crate) unknown: BTreeMap<String, Vec<Option<String>>>,
    /// The kinds of errors that there were.
    pub(crate) errors: Vec<ErrorKind>,
}

impl Acknowledged {
    fn told<T: Debug>(&mut self, answer: Result<T>, id: &str, text: Option<&str>) {
        let text = text.map(str::to_owned);
        match answer {
            Ok(_) => {
                self.unknown.remove(id);
                match text {
                    Some(text) => self.there.insert(id.to_owned(), text),
                    None => self.there.remove(id),
                };
            }
            Err(error) => {
                self.errors.push(error.kind());
                let before = self.there.remove(id);
                let possible = self.unknown.entry(id.to_owned()).or_insert_with(|| vec![before]);
                possible.push(text);
            }
        }
    }

    fn read<T: Debug>(&mut self, answer: Result<T>) {
        if let Err(error) = answer {
            self.errors.push(error.kind());
        }
    }
}

/// Appends, updates, deletes, searches, compacts the file, closes and opens again.
pub(crate) async fn live(talktree: &Talktree) -> Acknowledged {
    let tenant = talktree.tenant("t").unwrap();
    let session = tenant.session("");
    let mut all = Acknowledged::default();
    append(&session, &mut all, "a", 100).await;
    append(&session, &mut all, "b", 30_000).await;
    append(&session, &mut all, "c", 200_000).await;
    let changed = message("a", "another text");
    // What is not there is not updated, and that is no error.
    if all.there.contains_key("a") {
        all.told(session.update_message(&changed).await, "a", Some(&changed));
    }
    all.read(session.search("banana").await);
    append(&session, &mut all, "d", 200).await;
    all.read(tenant.close().await);
    append(&session, &mut all, "e", 300).await;
    all.told(session.delete_messages(["b"]).mode(DeleteMode::Splice).await, "b", None);
    all.read(session.get_history().await);
    all.read(tenant.vacuum().await);
    append(&session, &mut all, "f", 5_000).await;
    all.read(session.search("banana").await);
    all.read(tenant.close().await);
    all
}

async fn append(session: &Session, all: &mut Acknowledged, id: &str, bytes: usize) {
    let text = message(id, &format!("banana {}", "x".repeat(bytes)));
    all.told(session.append_message(&text).await, id, Some(&text));
}

/// Whether a store has what was acknowledged, and of the rest nothing that was never said.
pub(crate) async fn check(tenant: &Tenant, all: &Acknowledged, moment: &str) {
    assert!(tenant.check().await.unwrap().sound, "{moment}");
    let found = tenant.session("").list_messages().await.unwrap().nodes;
    let mut left = all.there.clone();
    for summary in found {
        let stored = tenant.session("").get_message(&summary.id).await.unwrap().unwrap().json;
        match left.remove(&summary.id) {
            Some(text) => assert_eq!(stored, text, "{moment}"),
            None => {
                let possible = all.unknown.get(&summary.id).unwrap_or_else(|| panic!("{moment}: {}", summary.id));
                assert!(possible.contains(&Some(stored)), "{moment}: {}", summary.id);
            }
        }
    }
    assert!(left.is_empty(), "{moment}: {:?} went", left.keys());
    for (id, possible) in &all.unknown {
        let there = tenant.session("").get_message(id).await.unwrap();
        assert!(possible.contains(&there.map(|message| message.json)), "{moment}: {id}");
    }
}
