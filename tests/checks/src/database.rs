//! Database files that are damaged: typed errors, an end to every call, and a check that can be trusted.

use std::cell::RefCell;

use talktree_engine::{Error, Kind};

use crate::bytes::Choices;
use crate::damage::damage;
use crate::scratch::{Scratch, open};
use crate::{reads, seed, writes};

/// Damages the file of a small store as the bytes say, and does everything with it that can be done.
///
/// - Every call ends, with an answer or an error of a kind that says what is wrong: damage is `corrupt`, never `other`.
/// - A file that `check` calls sound is read whole: no call finds damage in it.
/// - A file that is refused as none of ours stays as it is, byte for byte.
pub fn database(data: &[u8]) {
    let mut choices = Choices::new(data);
    let last = choices.byte();
    let damage = damage(seed::file(), &mut choices);
    let mut scratch = Scratch::with(&damage.file);
    damage.change_rows(&scratch.file());
    let before = std::fs::read(scratch.file()).unwrap();

    let report = scratch.store.check();
    let sound = matches!(&report, Ok(report) if report.sound);
    let refused = RefCell::new(false);
    let judge = |name: &str, error: &Error| {
        typed(name, error);
        *refused.borrow_mut() |= matches!(error.kind, Kind::NotAStore | Kind::SchemaTooNew);
        // Numbers that are used up are told as if the disk were full.
        let damage = matches!(error.kind, Kind::Corrupt | Kind::StorageFull);
        assert!(!sound || !damage, "{name} finds damage where `check` found none: {error}");
    };
    if let Err(error) = &report {
        judge("check", error);
    }
    reads::everything(&mut scratch.store, &seed::SESSIONS, judge);
    writes::everything(&mut scratch.store, last, judge);
    let Scratch { directory, store } = scratch;
    drop(store);
    if *refused.borrow() && before.len() >= 100 {
        let after = std::fs::read(directory.path().join(talktree_engine::FILE_NAME)).unwrap();
        assert!(before == after, "a file that was refused has changed");
    }
    // What was written there can be opened, or refused, again.
    let mut again = open(directory.path());
    for answer in [again.check().map(drop), again.stats().map(drop)] {
        if let Err(error) = answer {
            typed("again", &error);
        }
    }
}

/// Whether an error says what is wrong with a store that is damaged: nothing else is wrong here.
fn typed(name: &str, error: &Error) {
    let wrong =
        matches!(error.kind, Kind::Other | Kind::Busy | Kind::ReadOnly | Kind::NotConfigured | Kind::InvalidMessage);
    assert!(!wrong, "{name} on a damaged store: {:?}: {error}", error.kind);
}
