//! What lasts: restarts, places that can only be read, random writes against the slowest obvious model.

use proptest::prelude::*;
use talktree_engine::{BlockKind, BlockWrite, WriteAction};

use super::common::{entry, kind, open, replace, store};

#[test]
fn everything_is_there_after_a_restart() {
    let (directory, mut store) = store();
    store.define_block("", "memory", &kind(BlockKind::Writable)).unwrap();
    store.define_block("", "skills", &kind(BlockKind::Loadable)).unwrap();
    store.write_block("", "memory", &replace("one")).unwrap();
    store.write_block("", "skills", &entry("pdf", "x")).unwrap();
    store.call_tool("", "load_context", r#"{"label":"skills","key":"pdf"}"#).unwrap();
    store.system_prompt("").unwrap();
    store.write_block("", "memory", &replace("two")).unwrap();
    let before = (store.list_blocks("").unwrap(), store.block_history("", "memory").unwrap(), store.tools("").unwrap());
    store.close().unwrap();
    let mut store = open(directory.path());
    let after = (store.list_blocks("").unwrap(), store.block_history("", "memory").unwrap(), store.tools("").unwrap());
    assert_eq!(after, before);
    assert!(after.0[1].entries[0].loaded);
    assert!(store.check().unwrap().sound);
}

/// A version of the model: keys in order, with what they say.
type Version = Vec<(String, Option<String>, String)>;

#[derive(Debug, Clone)]
enum Step {
    Write(BlockWrite),
    Restore(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let text = prop::sample::select(vec!["", "one", "two words", "\n", "部署", "x\u{0}"]);
    let title = prop::sample::select(vec![None, Some(""), Some("t"), Some("u")]);
    let write = (prop::sample::select(vec!["a", "b", "c", "d"]), text, title, any::<bool>()).prop_map(
        |(key, content, title, append)| {
            Step::Write(BlockWrite {
                content: content.to_owned(),
                action: if append { WriteAction::Append } else { WriteAction::Replace },
                key: Some(key.to_owned()),
                title: title.map(str::to_owned),
                version: None,
            })
        },
    );
    prop_oneof![6 => write, 1 => (0_u32..60).prop_map(Step::Restore)]
}

/// What a write makes of a version.
fn wrote(present: &Version, write: &BlockWrite) -> Version {
    let mut next = present.clone();
    let key = write.key.clone().unwrap();
    let at = next.iter().position(|(name, _, _)| *name == key);
    let given = write.title.clone().map(|title| (!title.is_empty()).then_some(title));
    match at {
        Some(at) if write.action == WriteAction::Replace && write.content.is_empty() => drop(next.remove(at)),
        Some(at) => {
            let (_, title, content) = &mut next[at];
            if let Some(given) = given {
                *title = given;
            }
            match write.action {
                WriteAction::Replace => *content = write.content.clone(),
                WriteAction::Append if write.content.is_empty() => {}
                WriteAction::Append => {
                    if !content.is_empty() && !content.ends_with('\n') && !write.content.starts_with('\n') {
                        content.push('\n');
                    }
                    content.push_str(&write.content);
                }
            }
        }
        None if write.content.is_empty() => {}
        None => next.push((key, given.flatten(), write.content.clone())),
    }
    next
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_writes_and_restores_hold_what_the_model_says(steps in prop::collection::vec(step(), 1..60)) {
        let (_directory, mut store) = store();
        store.define_block("", "notes", &kind(BlockKind::Loadable)).unwrap();
        let mut versions: Vec<Version> = vec![Vec::new()];
        for step in steps {
            let present = versions.last().unwrap();
            let oldest = versions.len().saturating_sub(20).max(1);
            let next = match &step {
                Step::Write(write) => {
                    store.write_block("", "notes", write).unwrap();
                    wrote(present, write)
                }
                Step::Restore(version) => {
                    let restored = store.restore_block("", "notes", *version);
                    match versions.get(*version as usize) {
                        Some(kept) if *version as usize >= oldest => {
                            restored.unwrap();
                            kept.clone()
                        }
                        _ => {
                            prop_assert!(restored.is_err());
                            present.clone()
                        }
                    }
                }
            };
            if next != *present {
                versions.push(next);
            }
            let present = versions.last().unwrap();
            let block = store.get_block("", "notes").unwrap();
            prop_assert_eq!(block.version as usize, versions.len() - 1);
            let shown: Vec<_> = block.entries.iter().map(|entry| (&entry.key, &entry.title)).collect();
            let expected: Vec<_> = present.iter().map(|(key, title, _)| (key, title)).collect();
            prop_assert_eq!(shown, expected);
            let joined = |version: &Version| version.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>().join("\n\n");
            prop_assert_eq!(&block.content, &joined(present));
            prop_assert_eq!(block.tokens, block.entries.iter().map(|entry| entry.tokens).sum::<u32>());
            let history = store.block_history("", "notes").unwrap();
            prop_assert_eq!(history.len(), (versions.len() - 1).min(20));
            for kept in history {
                prop_assert_eq!(&kept.content, &joined(&versions[kept.version as usize]));
            }
        }
    }
}
