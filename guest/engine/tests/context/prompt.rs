//! The system prompt: its bytes, and that they stay.

use talktree_engine::{BlockDefinition, BlockKind};

use super::common::{entry, is_empty, kind, open, replace, say, shared, store, titled};

const RULE: &str = "══════════════════════════════════════════════";

fn described(of: BlockKind, description: &str, max_tokens: Option<u32>) -> BlockDefinition {
    BlockDefinition { description: Some(description.into()), max_tokens, ..kind(of) }
}

#[test]
fn the_prompt_has_these_bytes() {
    let (_directory, mut store) = store();
    store
        .define_block(
            "",
            "soul",
            &BlockDefinition { content: Some("You are terse.\n".into()), ..kind(BlockKind::ReadOnly) },
        )
        .unwrap();
    store.define_block("", "empty", &described(BlockKind::ReadOnly, "Nothing yet", Some(10))).unwrap();
    store.define_block("", "memory", &described(BlockKind::Writable, "Facts", Some(50))).unwrap();
    store.define_block("", "todo", &kind(BlockKind::Writable)).unwrap();
    store.define_block("", "notes", &described(BlockKind::Searchable, "What was learned", None)).unwrap();
    store.define_block("", "skills", &BlockDefinition { max_tokens: Some(8), ..kind(BlockKind::Loadable) }).unwrap();
    store.define_block("", "größe ß", &shared(BlockKind::Searchable)).unwrap();
    store.write_block("", "memory", &replace("The name is Easy")).unwrap();
    store.write_block("", "notes", &entry("a", "one")).unwrap();
    store.write_block("", "notes", &entry("b", "two")).unwrap();
    store.write_block("", "größe ß", &entry("b", "two")).unwrap();
    store.write_block("", "skills", &titled("pdf", "Reading PDF files", "Use the tool.")).unwrap();
    store.write_block("", "skills", &entry("部署", "one two")).unwrap();
    let expected = format!(
        "{RULE}\nSOUL [readonly]\n{RULE}\nYou are terse.\n\
         \n\n{RULE}\nMEMORY (Facts) [8% — 4/50 tokens] [writable]\n{RULE}\nThe name is Easy\
         \n\n{RULE}\nTODO [writable]\n{RULE}\
         \n\n{RULE}\nNOTES (What was learned) [searchable]\n{RULE}\n2 entries\
         \n\n{RULE}\nSKILLS [75% — 6/8 tokens] [loadable]\n{RULE}\npdf: Reading PDF files\n部署\
         \n\n{RULE}\nGRÖSSE SS [searchable]\n{RULE}\n1 entry"
    );
    assert_eq!(store.system_prompt("").unwrap(), expected);
    assert_eq!(RULE.chars().count(), 46);
}

#[test]
fn percentages_are_rounded() {
    let (_directory, mut store) = store();
    for (max_tokens, shown) in [(3, "33%"), (200, "1%"), (201, "0%"), (2, "50%"), (1, "100%")] {
        let label = format!("m{max_tokens}");
        store
            .define_block("", &label, &BlockDefinition { max_tokens: Some(max_tokens), ..kind(BlockKind::Writable) })
            .unwrap();
        store.write_block("", &label, &replace("one")).unwrap();
        let prompt = store.refresh_system_prompt("").unwrap();
        assert!(prompt.contains(&format!("M{max_tokens} [{shown} — 1/{max_tokens} tokens]")), "{prompt}");
    }
}

#[test]
fn a_prompt_stays_byte_for_byte_until_it_is_refreshed() {
    let (directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.write_block("", "memory", &replace("one \u{0} 部署")).unwrap();
    let prompt = store.system_prompt("").unwrap();
    store.write_block("", "memory", &replace("two")).unwrap();
    store.define_block("", "other", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(store.system_prompt("").unwrap(), prompt);
    store.remove_block("", "memory").unwrap();
    assert_eq!(store.system_prompt("").unwrap(), prompt);
    // As after a kill: nothing is closed.
    std::mem::forget(store);
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let mut store = open(copy.path());
    assert_eq!(store.system_prompt("").unwrap(), prompt);
    let fresh = store.refresh_system_prompt("").unwrap();
    assert_eq!(fresh, format!("{RULE}\nOTHER [writable]\n{RULE}"));
    store.write_block("", "other", &replace("x")).unwrap();
    store.close().unwrap();
    assert_eq!(open(copy.path()).system_prompt("").unwrap(), fresh);
}

#[test]
fn each_session_has_a_prompt_of_its_own() {
    let (_directory, mut store) = store();
    store.define_block("a", "rules", &shared(BlockKind::ReadOnly)).unwrap();
    store.write_block("a", "rules", &replace("one")).unwrap();
    let first = store.system_prompt("a").unwrap();
    store.write_block("a", "rules", &replace("two")).unwrap();
    let second = store.system_prompt("b").unwrap();
    assert_eq!((first.lines().last(), second.lines().last()), (Some("one"), Some("two")));
    store.write_block("a", "rules", &replace("three")).unwrap();
    store.refresh_system_prompt("a").unwrap();
    assert_eq!(store.system_prompt("b").unwrap(), second);
}

#[test]
fn a_prompt_with_nothing_in_it_is_frozen_too() {
    let (_directory, mut store) = store();
    store.define_block("", "soul", &kind(BlockKind::ReadOnly)).unwrap();
    assert_eq!(store.system_prompt("").unwrap(), "");
    store.write_block("", "soul", &replace("You are terse.")).unwrap();
    assert_eq!(store.system_prompt("").unwrap(), "");
    assert!(store.refresh_system_prompt("").unwrap().ends_with("You are terse."));
    // A session that was written, without blocks.
    say(&mut store, "other", "m", "hello");
    assert_eq!(store.system_prompt("other").unwrap(), "");
    store.define_block("other", "memory", &kind(BlockKind::Writable)).unwrap();
    assert_eq!(store.system_prompt("other").unwrap(), "");
}

#[test]
fn without_blocks_a_session_that_was_never_written_stays_so() {
    let (directory, mut store) = store();
    assert_eq!(
        (store.system_prompt("").unwrap(), store.refresh_system_prompt("").unwrap()),
        (String::new(), String::new())
    );
    assert!(is_empty(directory.path()));
    // So nothing is frozen, and the blocks that come show.
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    assert!(!store.system_prompt("").unwrap().is_empty());
}

#[test]
fn the_first_prompt_of_a_session_that_sees_blocks_brings_it_into_being() {
    let (_directory, mut store) = store();
    store.define_block("", "rules", &shared(BlockKind::Writable)).unwrap();
    assert_eq!(store.stats().unwrap().sessions, 0);
    store.system_prompt("s").unwrap();
    assert_eq!(store.stats().unwrap().sessions, 1);
}
