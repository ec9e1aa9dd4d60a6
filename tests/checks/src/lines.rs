//! Lines of exports: whatever comes in, the store is sound and its own export is taken back whole.

use std::cell::RefCell;

use talktree_engine::{Directory, Error, Kind, LinesReport, Store};

use crate::bytes::Choices;
use crate::scratch::Scratch;
use crate::{reads, seed, writes};

/// Takes the bytes as lines of an export, all at once or in two calls, into the sessions that they name or into one.
///
/// - Lines are taken or reported, each with its number; the call fails only for lines of several sessions that were to
///   go to one, or for a version that is not known.
/// - The store is sound afterwards, and everything in it can be read and written.
/// - An import of its export is the original: it exports the same bytes. A second one changes nothing.
pub fn lines(data: &[u8]) {
    let mut choices = Choices::new(data);
    let flags = choices.byte();
    let session = (flags & 1 != 0).then_some("here");
    let text = choices.text();
    let mut scratch = Scratch::with(seed::nothing());
    let store = &mut scratch.store;
    let middle = text.len() / 2;
    let half = text.get(middle..).and_then(|rest| rest.find('\n')).map(|at| middle + at + 1).filter(|_| flags & 2 != 0);
    let (first, second) = text.split_at(half.unwrap_or(text.len()));
    take(store, session, first);
    take(store, session, second);
    sound(store);
    let judge = RefCell::new(|name: &str, error: &Error| {
        let unknown = matches!(error.kind, Kind::UnknownSession | Kind::UnknownMessage | Kind::UnknownBlock);
        assert!(unknown, "{name} after an import: {:?}: {error}", error.kind);
    });
    reads::everything(store, &["here"], |name, error| judge.borrow_mut()(name, error));

    let exported = export(store);
    let mut copy = Scratch::with(seed::nothing());
    for page in &exported {
        let failed: Vec<_> = take(&mut copy.store, None, page).into_iter().flat_map(|report| report.failed).collect();
        assert!(failed.is_empty(), "the store's own lines are not taken back: {failed:?}\n{page}");
    }
    sound(&mut copy.store);
    let again = export(&mut copy.store);
    assert_eq!(again.concat(), exported.concat(), "an export of an import of an export");
    for page in &exported {
        take(&mut copy.store, None, page);
    }
    assert_eq!(export(&mut copy.store).concat(), exported.concat(), "a second import has changed something");
    if flags & 4 != 0 {
        writes::everything(&mut copy.store, flags >> 3, |name, error| {
            let typed = !matches!(error.kind, Kind::Other | Kind::Corrupt | Kind::StaleCursor | Kind::Busy);
            assert!(typed, "{name} after an import: {:?}: {error}", error.kind);
        });
        sound(&mut copy.store);
    }
}

fn take(store: &mut Store<Directory>, session: Option<&str>, text: &str) -> Vec<LinesReport> {
    match store.import_lines(session, text) {
        Ok(reports) => {
            let count = text.split('\n').count();
            let failed = reports.iter().flat_map(|report| &report.failed);
            assert!(failed.into_iter().all(|failure| (1..=count).contains(&(failure.line as usize))), "{reports:?}");
            reports
        }
        Err(error) => {
            let expected = matches!(error.kind, Kind::InvalidArgument | Kind::SchemaTooNew | Kind::OverLimit);
            assert!(expected, "{:?}: {error}", error.kind);
            Vec::new()
        }
    }
}

fn export(store: &mut Store<Directory>) -> Vec<String> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.export_lines(None, cursor.as_deref(), Some(2000)).unwrap();
        assert!(page.lines.ends_with('\n'));
        pages.push(page.lines);
        cursor = page.cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

fn sound(store: &mut Store<Directory>) {
    let report = store.check().unwrap();
    assert!(report.sound, "{report:?}");
}
