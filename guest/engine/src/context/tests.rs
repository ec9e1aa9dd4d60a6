//! What only the rest of the engine uses: carrying blocks to another store, and deleting those of a session.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use rusqlite::Connection;

use super::STORE;
use super::carry::{CarriedBlock, CarriedEntry};
use super::prompt::Frozen;
use crate::append::now;
use crate::{
    BlockDefinition, BlockKind, BlockScope, BlockWrite, Directory, FILE_NAME, Kind, Options, Result, Store, WhenChanged,
};

fn store() -> (tempfile::TempDir, Store<Directory>) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(Directory::new(directory.path()), Options::default());
    (directory, store)
}

fn define(store: &mut Store<Directory>, label: &str, kind: BlockKind, scope: BlockScope) {
    let definition = BlockDefinition {
        kind,
        scope,
        description: Some(format!("About {label}")),
        max_tokens: Some(100),
        when_changed: WhenChanged::Remind,
        content: None,
    };
    store.define_block("s", label, &definition).unwrap();
}

fn write(store: &mut Store<Directory>, label: &str, key: Option<&str>, content: &str) {
    let key = key.map(str::to_owned);
    let write = BlockWrite { key, content: content.to_owned(), ..BlockWrite::default() };
    store.write_block("s", label, &write).unwrap();
}

/// A store with blocks of both scopes that were written more often than versions are kept.
fn filled() -> (tempfile::TempDir, Store<Directory>) {
    let (directory, mut store) = store();
    define(&mut store, "memory", BlockKind::Writable, BlockScope::Session);
    define(&mut store, "rules", BlockKind::ReadOnly, BlockScope::Store);
    define(&mut store, "skills", BlockKind::Loadable, BlockScope::Session);
    define(&mut store, "never", BlockKind::Searchable, BlockScope::Session);
    for number in 0..25 {
        write(&mut store, "memory", None, &format!("text {number} \u{0} 部署"));
        write(&mut store, "skills", Some(["a", "b", "c"][number % 3]), &format!("text {number}"));
    }
    write(&mut store, "memory", None, "");
    write(&mut store, "skills", Some("b"), "");
    write(&mut store, "rules", None, "be kind");
    store.restore_block("s", "skills", 10).unwrap();
    store.call_tool("s", "load_context", r#"{"label":"skills","key":"a"}"#).unwrap();
    store.system_prompt("s").unwrap();
    write(&mut store, "memory", None, "later");
    (directory, store)
}

/// All that an export carries of the context of a session and of the store.
#[derive(Debug, PartialEq)]
struct Carried {
    shared: Vec<CarriedBlock>,
    own: Vec<CarriedBlock>,
    loaded: Vec<(String, String)>,
    frozen: Option<Frozen>,
}

fn carry(store: &mut Store<Directory>) -> Carried {
    store
        .read(|tx| {
            let key = tx.session("s")?.unwrap().key;
            let blocks = |owner| -> Result<Vec<CarriedBlock>> {
                let labels = tx.carried_labels(owner)?;
                labels.iter().map(|label| Ok(tx.carry_block(owner, label)?.unwrap())).collect()
            };
            Ok(Carried {
                shared: blocks(STORE)?,
                own: blocks(key)?,
                loaded: tx.carry_loaded(key)?,
                frozen: tx.frozen(key)?,
            })
        })
        .unwrap()
}

fn take(store: &mut Store<Directory>, carried: &Carried) -> Vec<bool> {
    store
        .write(|tx| {
            let key = tx.ensure_session("s", now())?.key;
            let mut taken = Vec::new();
            for block in &carried.own {
                taken.push(tx.take_block(key, block)?);
            }
            for block in &carried.shared {
                taken.push(tx.take_block(STORE, block)?);
            }
            for (label, name) in &carried.loaded {
                taken.push(tx.take_loaded(key, label, name)?);
            }
            taken.push(tx.take_frozen(key, carried.frozen.as_ref().unwrap())?);
            Ok(taken)
        })
        .unwrap()
}

#[test]
fn what_is_carried_to_another_store_is_the_same_there() {
    let (_directory, mut from) = filled();
    let (_other, mut to) = store();
    let carried = carry(&mut from);
    assert_eq!((carried.shared.len(), carried.own.len(), carried.loaded.len()), (1, 3, 1));
    assert!(take(&mut to, &carried).iter().all(|&taken| taken));
    assert_eq!(carry(&mut to), carried);
    assert_eq!(to.list_blocks("s").unwrap(), from.list_blocks("s").unwrap());
    for label in ["memory", "rules", "skills", "never"] {
        assert_eq!(to.block_history("s", label).unwrap(), from.block_history("s", label).unwrap());
    }
    assert_eq!(to.system_prompt("s").unwrap(), from.system_prompt("s").unwrap());
    assert_eq!(to.reminder("s").unwrap(), from.reminder("s").unwrap());
    assert!(from.reminder("s").unwrap().is_some());
    // Both go on alike.
    for store in [&mut from, &mut to] {
        store.restore_block("s", "skills", 12).unwrap();
        write(store, "skills", Some("d"), "new");
        define(store, "last", BlockKind::Writable, BlockScope::Session);
    }
    assert_eq!(to.list_blocks("s").unwrap(), from.list_blocks("s").unwrap());
}

#[test]
fn what_is_there_already_stays_as_it_is() {
    let (_directory, mut store) = filled();
    let before = carry(&mut store);
    write(&mut store, "rules", None, "changed since");
    let changed = carry(&mut store);
    assert!(take(&mut store, &before).iter().all(|&taken| !taken));
    assert_eq!(carry(&mut store), changed);
}

#[test]
fn a_label_is_not_taken_beside_one_that_would_hide_it() {
    let (_directory, mut from) = filled();
    let carried = carry(&mut from);
    let (_other, mut to) = store();
    define(&mut to, "memory", BlockKind::Writable, BlockScope::Store);
    define(&mut to, "rules", BlockKind::Writable, BlockScope::Session);
    let refused = |answer: Result<bool>| assert_eq!(answer.unwrap_err().kind, Kind::InvalidArgument);
    refused(to.write(|tx| tx.take_block(1, &carried.own[0])));
    refused(to.write(|tx| tx.take_block(STORE, &carried.shared[0])));
}

#[test]
fn what_no_sequence_of_writes_leaves_behind_is_not_taken() {
    let (_directory, mut store) = store();
    define(&mut store, "there", BlockKind::Writable, BlockScope::Session);
    let entry = |born, died, place, name: &str| CarriedEntry {
        born,
        died,
        place,
        name: name.to_owned(),
        title: None,
        content: "x".to_owned(),
    };
    let block = CarriedBlock {
        declared: 1,
        label: "notes".to_owned(),
        description: None,
        kind: BlockKind::Searchable,
        when_changed: WhenChanged::Wait,
        max_tokens: None,
        version: 3,
        versions: vec![(2, 5), (3, 5)],
        entries: vec![entry(1, Some(3), 1, "a"), entry(2, None, 2, "b"), entry(3, None, 1, "a")],
    };
    let text = CarriedBlock { kind: BlockKind::Writable, entries: vec![entry(3, None, 3, "")], ..block.clone() };
    let changed = |from: &CarriedBlock, change: &dyn Fn(&mut CarriedBlock)| {
        let mut block = from.clone();
        change(&mut block);
        block
    };
    let bad = [
        changed(&block, &|block| block.label = "a\nb".into()),
        changed(&block, &|block| block.description = Some("a\nb".into())),
        changed(&block, &|block| block.max_tokens = Some(0)),
        changed(&block, &|block| block.declared = 0),
        changed(&block, &|block| block.declared = i64::MAX),
        changed(&block, &|block| (block.version, block.versions) = (u32::MAX, vec![(u32::MAX, 5)])),
        changed(&block, &|block| block.version = 4),
        changed(&block, &|block| block.versions = vec![(3, 5), (3, 5)]),
        changed(&block, &|block| block.versions = vec![(0, 5), (3, 5)]),
        changed(&block, &|block| block.versions = vec![(3, i64::MAX)]),
        changed(&block, &|block| block.versions.clear()),
        changed(&block, &|block| {
            (block.version, block.versions) = (30, (1..=30).map(|version| (version, 5)).collect())
        }),
        changed(&block, &|block| block.entries[0].died = Some(1)),
        changed(&block, &|block| block.entries[0].died = Some(2)),
        changed(&block, &|block| block.entries[0].died = None),
        changed(&block, &|block| block.entries[1].died = Some(5)),
        changed(&block, &|block| block.entries[1].born = 0),
        changed(&block, &|block| block.entries[1].place = 0),
        changed(&block, &|block| block.entries[1].place = 1),
        changed(&block, &|block| block.entries[1].place = 3),
        changed(&block, &|block| block.entries[1].name.clear()),
        changed(&block, &|block| block.entries[1].name = "a".into()),
        changed(&block, &|block| block.entries[1].title = Some("a\nb".into())),
        changed(&block, &|block| block.entries[1].content.clear()),
        changed(&block, &|block| block.entries[1].content = "x".repeat(1024 * 1024)),
        changed(&text, &|block| block.entries[0].name = "a".into()),
        changed(&text, &|block| block.entries[0].title = Some("a".into())),
    ];
    for (number, bad) in bad.iter().enumerate() {
        let refused = store.write(|tx| tx.take_block(1, bad));
        assert_eq!(refused.map_err(|error| error.kind), Err(Kind::InvalidArgument), "{number}: {bad:?}");
    }
    assert_eq!(store.list_blocks("s").unwrap().len(), 1);
    for good in [&block, &CarriedBlock { label: "text".into(), ..text }] {
        assert!(store.write(|tx| tx.take_block(1, good)).unwrap());
    }
    let frozen = Frozen { text: "abc".into(), sections: "2 0 x\n".into() };
    assert_eq!(store.write(|tx| tx.take_frozen(1, &frozen)).unwrap_err().kind, Kind::InvalidArgument);
    assert!(!store.write(|tx| tx.take_loaded(1, "notes", "b")).unwrap(), "nothing of it can be loaded");
}

/// Rows of the tables of this module.
fn rows(directory: &Path) -> Vec<i64> {
    let connection = Connection::open(directory.join(FILE_NAME)).unwrap();
    ["block", "block_version", "block_entry", "loaded", "prompt"]
        .iter()
        .map(|table| connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap())
        .collect()
}

#[test]
fn deleting_the_context_of_a_session_leaves_what_the_store_has() {
    let (directory, mut store) = filled();
    store.system_prompt("other").unwrap();
    store
        .write(|tx| {
            let key = tx.session("s")?.unwrap().key;
            tx.delete_context(key)
        })
        .unwrap();
    assert_eq!(store.list_blocks("s").unwrap().len(), 1);
    store.close().unwrap();
    assert_eq!(rows(directory.path()), [1, 1, 1, 0, 1]);
}

#[test]
fn removing_a_block_leaves_no_row_of_it() {
    let (directory, mut store) = filled();
    for label in ["memory", "skills", "never", "rules"] {
        assert!(store.remove_block("s", label).unwrap());
    }
    store.close().unwrap();
    assert_eq!(rows(directory.path()), [0, 0, 0, 0, 1]);
}
