//! Search where nothing can be written.

use talktree_engine::SearchOptions;

use super::common::{everything, ids_with, page, say, store};
use super::read_only_place::read_only;

#[test]
fn a_store_that_can_only_be_read_is_searched_with_and_without_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = store(directory.path());
    for number in 0..40 {
        let text = if number % 3 == 0 { "running 部署窗口 café" } else { "other words" };
        say(&mut written, if number % 2 == 0 { "" } else { "s" }, &format!("m{number}"), &format!("{text} {number}"));
    }
    written.add_compaction("", "gist 部署", "m2", "m4").unwrap();
    written.close().unwrap();
    let queries = ["run", "部", "\"窗口 cafe\"", "runn*", "gist", "other 7", "nothing", "部署 12"];
    let options = [
        SearchOptions { limit: Some(1000), ..SearchOptions::default() },
        everything(),
        SearchOptions { session: Some("s".to_owned()), ..everything() },
        SearchOptions { role: Some("assistant".to_owned()), ..everything() },
    ];
    let scanned: Vec<Vec<String>> = queries
        .iter()
        .flat_map(|query| options.iter().map(|options| ids_with(&mut read_only(directory.path()), query, options)))
        .collect();
    let mut indexed = Vec::new();
    for query in queries {
        for options in &options {
            indexed.push(ids_with(&mut written, query, options));
        }
    }
    assert_eq!(scanned, indexed);
    assert!(indexed.iter().filter(|ids| !ids.is_empty()).count() > 10);
    // With an index that lacks something, and with one that lacks nothing.
    say(&mut written, "", "late", "running late");
    written.close().unwrap();
    assert_eq!(ids_with(&mut read_only(directory.path()), "late", &options[0]), ["late"]);
    assert_eq!(ids_with(&mut written, "late", &options[0]), ["late"]);
    written.close().unwrap();
    let best = page(&mut read_only(directory.path()), "running late", &options[0]).items;
    assert_eq!((best[0].id.as_str(), best[0].snippet.as_str()), ("late", "[running] [late]"));
    // The scores of a scan are those of an index.
    let pages = SearchOptions { limit: Some(5), ..SearchOptions::default() };
    let first = page(&mut read_only(directory.path()), "run", &pages);
    let second = page(&mut written, "run", &SearchOptions { cursor: first.cursor.clone(), ..pages });
    assert!(first.items.iter().all(|item| second.items.iter().all(|other| other.id != item.id)));
    assert_eq!(second.items.len(), 5);
}
