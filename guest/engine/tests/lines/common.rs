//! What these tests share.

use talktree_engine::{AppendOptions, Directory, Durability, LinesReport, Options, Parent, Store};

pub(crate) type Tree = Store<Directory>;

pub(crate) fn store() -> (tempfile::TempDir, Tree) {
    let directory = tempfile::tempdir().unwrap();
    // The disk is not what is tested here.
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let store = Store::new(Directory::new(directory.path()), options);
    (directory, store)
}

/// A message of one text part.
pub(crate) fn message(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#)
}

/// Appends under the present leaf.
pub(crate) fn append(store: &mut Tree, session: &str, id: &str) {
    assert!(store.append_message(session, &message(id, "hello"), &AppendOptions::default()).unwrap().inserted);
}

/// Appends under another message.
pub(crate) fn append_under(store: &mut Tree, id: &str, parent: &str) {
    let options = AppendOptions { parent: Parent::Id(parent.to_owned()), ..AppendOptions::default() };
    assert!(store.append_message("", &message(id, "hello"), &options).unwrap().inserted);
}

/// The export of a store that was never written.
pub(crate) const NOTHING: &str = "{\"type\":\"talktree\",\"version\":1}\n{\"type\":\"end\"}\n";

/// All pages of an export.
pub(crate) fn pages(store: &mut Tree, session: Option<&str>, max_bytes: u64) -> Vec<String> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = store.export_lines(session, cursor.as_deref(), Some(max_bytes)).unwrap();
        assert!(!page.lines.is_empty() && page.lines.ends_with('\n'));
        let alone = page.lines.lines().count() == 1 || page.lines == NOTHING;
        assert!(page.lines.len() as u64 <= max_bytes || alone, "{}", page.lines);
        pages.push(page.lines);
        cursor = page.cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

/// An export as one text.
pub(crate) fn exported(store: &mut Tree, session: Option<&str>) -> String {
    pages(store, session, 1 << 20).concat()
}

/// Imports pages, none of whose lines may fail.
pub(crate) fn import_all(store: &mut Tree, session: Option<&str>, pages: &[String]) {
    for page in pages {
        for report in store.import_lines(session, page).unwrap() {
            assert!(report.failed.is_empty(), "{report:?}\n{page}");
        }
    }
}

/// What failed, as line and words.
pub(crate) fn failures(reports: &[LinesReport]) -> Vec<(Option<&str>, u32, &str)> {
    reports
        .iter()
        .flat_map(|report| {
            report.failed.iter().map(|failure| (report.session_id.as_deref(), failure.line, failure.why.as_str()))
        })
        .collect()
}
