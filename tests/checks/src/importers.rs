//! Files of other programs: an import of whatever it is given ends, and says what became of all of it.

use std::collections::BTreeSet;

use tokio::runtime::{Builder, Runtime};

use crate::bytes::Choices;
use crate::error::ErrorKind;
use crate::import::{Format, ImportError, Input, Memory, Options, Report, Sink, run};
use crate::scratch::{Scratch, open};
use crate::seed;
use crate::tenant::Tenant;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
}

/// Takes the bytes as a file of one of the formats, or of none that is named.
///
/// - The import ends with a report; the only thing that is refused as a whole is a file that is recognised as nothing.
/// - Parents come before their children, ids are unique, and the leaf that is chosen is there.
/// - A second import stores nothing, and reports the same failures.
/// - Into a store it brings as many messages as it says, and the store is sound.
pub fn importers(data: &[u8]) {
    let mut choices = Choices::new(data);
    let number = usize::from(choices.byte()) % (Format::ALL.len() + 1);
    let format = Format::ALL.get(number).copied();
    let into_store = choices.byte() % 2 == 1 || format == Some(Format::Talktree);
    let file = choices.take(usize::MAX);
    if into_store {
        let scratch = Scratch::with(seed::nothing());
        let mut tenant = Tenant::new(open(scratch.directory.path()));
        let Some(first) = import(format, file, &mut tenant) else { return };
        sound(&tenant, &first);
        let again = import(format, file, &mut tenant).unwrap();
        assert_eq!(again.imported(), 0, "a second import has stored something");
        sound(&tenant, &first);
    } else {
        let mut memory = Memory::default();
        let Some(first) = import(format, file, &mut memory) else { return };
        in_order(&first, &memory);
        let again = import(format, file, &mut memory).unwrap();
        let skipped = first.imported() + first.skipped();
        assert_eq!((again.imported(), again.skipped()), (0, skipped), "a second import does not meet the first");
        assert_eq!(again.failures(), first.failures());
    }
}

fn import(format: Option<Format>, file: &[u8], sink: &mut impl Sink) -> Option<Report> {
    let options = Options { format, now: Some(1), ..Options::default() };
    let input = Input::bytes("input", file).unwrap();
    match RUNTIME.with(|runtime| runtime.block_on(run(input, sink, options))) {
        Ok(report) => Some(report),
        Err(ImportError::NotRecognised { .. }) if format.is_none() => None,
        Err(error) => panic!("the import into a sound store fails: {error}"),
    }
}

fn in_order(report: &Report, memory: &Memory) {
    for session in &report.sessions {
        let mut seen = BTreeSet::new();
        for stored in memory.messages(&session.id) {
            assert!(
                stored.parent_id.as_ref().is_none_or(|parent| seen.contains(parent.as_str())),
                "parents come first"
            );
            assert!(seen.insert(stored.id.as_str()), "ids are unique");
        }
        if session.leaf_chosen {
            assert!(seen.contains(session.leaf.as_deref().unwrap()), "the leaf that was chosen is not there");
        }
    }
}

fn sound(tenant: &Tenant, first: &Report) {
    let mut store = tenant.store();
    let checked = store.check().unwrap();
    assert!(checked.sound, "{checked:?}");
    match first.stopped_by {
        None => {
            let messages = store.stats().unwrap().messages;
            assert_eq!(messages, first.imported(), "the report tells of other messages than are there");
        }
        // Lines of a version that there is not, or none of an export at all.
        Some(kind) => assert!(matches!(kind, ErrorKind::InvalidArgument), "the store has ended the import: {first:?}"),
    }
}
