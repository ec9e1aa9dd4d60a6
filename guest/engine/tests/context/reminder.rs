//! The reminder: which changes it tells, and when it is silent.

use talktree_engine::{BlockDefinition, BlockKind, BlockScope, WhenChanged};

use super::common::{Memory, entry, kind, open, reminding, replace, store};

fn written(store: &mut Memory, label: &str, content: &str) {
    store.write_block("", label, &replace(content)).unwrap();
}

#[test]
fn a_changed_block_is_told_whole_until_the_prompt_is_refreshed() {
    let (directory, mut store) = store();
    store.define_block("", "memory", &reminding(BlockKind::Writable)).unwrap();
    store.define_block("", "quiet", &kind(BlockKind::Writable)).unwrap();
    written(&mut store, "memory", "one");
    assert_eq!(store.reminder("").unwrap(), None, "nothing was frozen");
    store.system_prompt("").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
    written(&mut store, "quiet", "x");
    assert_eq!(store.reminder("").unwrap(), None, "a block that waits");
    written(&mut store, "memory", "two");
    let reminder = store.reminder("").unwrap().unwrap();
    let rule = "═".repeat(46);
    assert_eq!(
        reminder,
        format!(
            "These blocks have changed since the system prompt was written. What follows takes the place of what it \
             says:\n\n{rule}\nMEMORY [writable]\n{rule}\ntwo"
        )
    );
    store.close().unwrap();
    let mut store = open(directory.path());
    assert_eq!(store.reminder("").unwrap().unwrap(), reminder, "restarts do not matter, nor does having told it");
    store.refresh_system_prompt("").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
}

#[test]
fn shrinking_emptying_whitespace_and_headers_count_and_coming_back_does_not() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &reminding(BlockKind::Writable)).unwrap();
    written(&mut store, "memory", "one two");
    store.system_prompt("").unwrap();
    for content in ["one", "", "one two ", "one two\n", "One two"] {
        written(&mut store, "memory", content);
        let reminder = store.reminder("").unwrap();
        assert!(reminder.is_some_and(|text| text.ends_with(content)), "{content:?}");
    }
    written(&mut store, "memory", "one two");
    assert_eq!(store.reminder("").unwrap(), None);
    store
        .define_block(
            "",
            "memory",
            &BlockDefinition { description: Some("Facts".into()), ..reminding(BlockKind::Writable) },
        )
        .unwrap();
    assert!(store.reminder("").unwrap().is_some_and(|text| text.contains("MEMORY (Facts)")));
}

#[test]
fn a_text_that_is_part_of_another_blocks_is_no_excuse() {
    let (_directory, mut store) = store();
    store.define_block("", "a", &reminding(BlockKind::Writable)).unwrap();
    store.define_block("", "b", &kind(BlockKind::Writable)).unwrap();
    let rule = "═".repeat(46);
    written(&mut store, "b", &format!("{rule}\nA [writable]\n{rule}\nnew"));
    store.system_prompt("").unwrap();
    written(&mut store, "a", "new");
    assert!(store.reminder("").unwrap().is_some(), "the prompt holds these bytes, but as what b says");
}

#[test]
fn read_only_blocks_that_come_and_go_are_told() {
    let (_directory, mut store) = store();
    store.define_block("", "soul", &reminding(BlockKind::ReadOnly)).unwrap();
    store.system_prompt("").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
    written(&mut store, "soul", "Be kind.");
    assert!(store.reminder("").unwrap().is_some_and(|text| text.ends_with("Be kind.")));
    store.refresh_system_prompt("").unwrap();
    written(&mut store, "soul", "");
    let rule = "═".repeat(46);
    assert!(store.reminder("").unwrap().is_some_and(|text| text.ends_with(&format!("SOUL [readonly]\n{rule}"))));
}

#[test]
fn new_and_removed_blocks_are_told() {
    let (_directory, mut store) = store();
    store.define_block("", "old", &reminding(BlockKind::Writable)).unwrap();
    store.define_block("", "waits", &kind(BlockKind::Writable)).unwrap();
    store.system_prompt("").unwrap();
    store.define_block("", "new", &reminding(BlockKind::Writable)).unwrap();
    assert!(store.reminder("").unwrap().is_some_and(|text| text.contains("NEW [writable]") && !text.contains("OLD")));
    store.remove_block("", "new").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
    store.remove_block("", "waits").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
    store.remove_block("", "old").unwrap();
    assert!(store.reminder("").unwrap().is_some_and(|text| text.contains("OLD has been removed.")));
    store.refresh_system_prompt("").unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
}

#[test]
fn a_block_of_the_store_is_told_to_each_session_that_has_not_seen_the_change() {
    let (_directory, mut store) = store();
    let definition = BlockDefinition { scope: BlockScope::Store, ..reminding(BlockKind::Writable) };
    store.define_block("", "rules", &definition).unwrap();
    store.system_prompt("a").unwrap();
    store.write_block("b", "rules", &replace("new")).unwrap();
    store.system_prompt("b").unwrap();
    assert!(store.reminder("a").unwrap().is_some());
    assert_eq!(store.reminder("b").unwrap(), None);
    assert_eq!(store.reminder("c").unwrap(), None);
}

#[test]
fn of_entries_it_tells_what_the_prompt_would_show() {
    let (_directory, mut store) = store();
    store.define_block("", "notes", &reminding(BlockKind::Searchable)).unwrap();
    store.define_block("", "skills", &reminding(BlockKind::Loadable)).unwrap();
    store.write_block("", "notes", &entry("a", "one")).unwrap();
    store.system_prompt("").unwrap();
    store.write_block("", "notes", &entry("a", "two")).unwrap();
    assert_eq!(store.reminder("").unwrap(), None, "the prompt does not show what entries say");
    store.write_block("", "notes", &entry("b", "two")).unwrap();
    store.write_block("", "skills", &entry("pdf", "x")).unwrap();
    let reminder = store.reminder("").unwrap().unwrap();
    assert!(reminder.contains("\n2 entries\n") && reminder.ends_with("\npdf"), "{reminder}");
}

#[test]
fn a_block_that_waited_when_the_prompt_was_frozen_is_compared_with_what_was_frozen() {
    let (_directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    written(&mut store, "memory", "one");
    store.system_prompt("").unwrap();
    store
        .define_block("", "memory", &BlockDefinition { when_changed: WhenChanged::Remind, ..kind(BlockKind::Writable) })
        .unwrap();
    assert_eq!(store.reminder("").unwrap(), None);
    written(&mut store, "memory", "two");
    assert!(store.reminder("").unwrap().is_some());
}
