//! Compaction through the import, as a composed component does it: `compact`, and the automatic mode `inline`.
//!
//! The component runs in a host of its own here, with a summarizer that answers, errs or traps.

use std::path::Path;

use talktree_tests::raw::bindings::talktree::sessions::types::{self as wit, AppendResult};
use talktree_tests::raw::{self, Instance, Model};

use crate::host;

fn open(directory: &Path, model: Model) -> Instance {
    host().instance(directory, &[], model).unwrap()
}

fn configure(instance: &mut Instance) {
    let keep = wit::NumberSetting::Keep;
    let change = wit::ConfigurationChange {
        compact_after: wit::NumberSetting::Value(1500),
        keep_recent_tokens: wit::NumberSetting::Value(400),
        protect_head: keep,
        min_tail: keep,
        max_prompt_tokens: keep,
        token_factor: wit::FactorSetting::Keep,
        auto_compact: wit::AutoCompactSetting::Value(wit::AutoCompact::Inline),
        reserved_metadata_keys: wit::KeysSetting::Keep,
    };
    let guest = instance.sessions.talktree_sessions_store();
    guest.call_configure(&mut instance.store, &wit::ConfigScope::Session(String::new()), &change).unwrap().unwrap();
}

fn append(instance: &mut Instance, number: usize) -> wasmtime::Result<AppendResult> {
    let text = "The staging server listens on port 8443. ".repeat(20);
    let message = format!(r#"{{"id":"m{number}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#);
    Ok(instance.append(&message)?.unwrap())
}

#[test]
fn inline_compaction_keeps_the_path_within_its_threshold_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = open(directory.path(), Model::Says("The port is 8443."));
    configure(&mut instance);
    for number in 0..40 {
        let result = append(&mut instance, number).unwrap();
        assert!(result.inserted && !result.compaction_due, "message {number}");
    }
    let shown = instance.ids(true).unwrap().unwrap();
    assert!(shown.len() < 15 && shown.iter().any(|id| id.starts_with("compaction_")), "{shown:?}");
    assert_eq!(instance.ids(false).unwrap().unwrap().len(), 40);
    let prompts = instance.prompts();
    assert!(prompts.len() > 1 && prompts.last().unwrap().contains("The port is 8443."), "{} prompts", prompts.len());
}

#[test]
fn a_failing_summarizer_changes_nothing_and_fails_no_append() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = open(directory.path(), Model::Fails);
    configure(&mut instance);
    for number in 0..12 {
        assert!(append(&mut instance, number).unwrap().inserted);
    }
    assert_eq!(instance.ids(true).unwrap().unwrap().len(), 12);
    let asked = instance.prompts().len();
    assert!(asked > 0 && asked < 8, "asked {asked} times: it waits until the path has grown");
    let guest = instance.sessions.talktree_sessions_store();
    let error = guest.call_compact(&mut instance.store, "", None).unwrap().unwrap_err();
    assert!(matches!(error, raw::bindings::talktree::sessions::types::Error::SummarizerFailed(_)), "{error:?}");
}

#[test]
fn a_summarizer_that_traps_takes_no_acknowledged_message_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = open(directory.path(), Model::Traps);
    configure(&mut instance);
    let mut appended = 0;
    while append(&mut instance, appended).is_ok() {
        appended += 1;
        assert!(appended < 40, "no compaction was tried");
    }
    drop(instance);
    // The append came before the trap; the next instance takes the turn that nobody has ended.
    let mut instance = open(directory.path(), Model::Says("Fine."));
    assert_eq!(instance.ids(true).unwrap().unwrap().len(), appended + 1);
    let guest = instance.sessions.talktree_sessions_store();
    let compaction = guest.call_compact(&mut instance.store, "", None).unwrap().unwrap().unwrap();
    assert_eq!((compaction.input_tokens, compaction.output_tokens), (Some(900), Some(9)));
    assert!(guest.call_check(&mut instance.store).unwrap().unwrap().sound);
}
