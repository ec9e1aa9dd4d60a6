//! Compaction through the import, as a composed component does it: `compact`, and the automatic mode `inline`.
//!
//! The component runs in a host of its own here, with a summarizer that answers, errs or traps.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use bindings::Sessions;
use bindings::talktree::sessions::summarizer::{Host, SummarizeError, Summary, SummaryRequest};
use bindings::talktree::sessions::types::{
    AppendOptions, AppendResult, ExpectedLeaf, HistoryView, MediaMode, Parent, Source,
};

mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "sessions",
        imports: { default: trappable },
    });
}

/// What the summarizer does.
#[derive(Debug, Clone)]
enum Model {
    Says(&'static str),
    Fails,
    Traps,
}

struct Surroundings {
    wasi: WasiCtx,
    table: ResourceTable,
    model: Model,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl WasiView for Surroundings {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Host for Surroundings {
    fn summarize(&mut self, request: SummaryRequest) -> wasmtime::Result<Result<Summary, SummarizeError>> {
        self.prompts.lock().unwrap().push(request.prompt);
        match self.model {
            Model::Says(text) => Ok(Ok(Summary {
                text: text.to_owned(),
                truncated: false,
                input_tokens: Some(900),
                output_tokens: Some(9),
            })),
            Model::Fails => Ok(Err(SummarizeError::RateLimited("later".to_owned()))),
            Model::Traps => Err(wasmtime::Error::msg("the model broke down")),
        }
    }
}

/// The component over a directory, as any host would run it: with marks, without the runner.
struct Instance {
    store: Store<Surroundings>,
    sessions: Sessions,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl Instance {
    fn open(directory: &Path, model: Model) -> Self {
        let engine = Engine::new(&Config::new()).unwrap();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("talktree").join("sessions.wasm");
        let component = Component::from_file(&engine, file).unwrap();
        let mut linker = Linker::<Surroundings>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        bindings::talktree::sessions::summarizer::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).unwrap();
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(true);
        wasi.preopened_dir(directory, "/data", FsPerms::ReadWrite).unwrap();
        let prompts = Arc::new(Mutex::new(Vec::new()));
        let state =
            Surroundings { wasi: wasi.build(), table: ResourceTable::new(), model, prompts: Arc::clone(&prompts) };
        let mut store = Store::new(&engine, state);
        let sessions = Sessions::instantiate(&mut store, &component, &linker).unwrap();
        Self { store, sessions, prompts }
    }

    fn configure(&mut self, inline: bool) {
        use bindings::talktree::sessions::types as wit;
        let keep = wit::NumberSetting::Keep;
        let change = wit::ConfigurationChange {
            compact_after: wit::NumberSetting::Value(1500),
            keep_recent_tokens: wit::NumberSetting::Value(400),
            protect_head: keep,
            min_tail: keep,
            max_prompt_tokens: keep,
            token_factor: wit::FactorSetting::Keep,
            auto_compact: if inline {
                wit::AutoCompactSetting::Value(wit::AutoCompact::Inline)
            } else {
                wit::AutoCompactSetting::Keep
            },
            reserved_metadata_keys: wit::KeysSetting::Keep,
        };
        let guest = self.sessions.talktree_sessions_store();
        guest.call_configure(&mut self.store, &wit::ConfigScope::Session(String::new()), &change).unwrap().unwrap();
    }

    fn append(&mut self, number: usize) -> wasmtime::Result<AppendResult> {
        let text = "The staging server listens on port 8443. ".repeat(20);
        let message = format!(r#"{{"id":"m{number}","role":"user","parts":[{{"type":"text","text":"{text}"}}]}}"#);
        let options =
            AppendOptions { parent: Parent::Latest, source: Source::Server, expected_leaf: ExpectedLeaf::Any };
        let guest = self.sessions.talktree_sessions_store();
        Ok(guest.call_append_message(&mut self.store, "", &message, &options)?.unwrap())
    }

    fn shown(&mut self, overlays: bool) -> Vec<String> {
        let view = HistoryView { leaf_id: None, newest_first: false, overlays, media: MediaMode::Inline };
        let guest = self.sessions.talktree_sessions_store();
        let messages = guest.call_get_history(&mut self.store, "", &view).unwrap().unwrap();
        messages.into_iter().map(|message| message.id).collect()
    }
}

#[test]
fn inline_compaction_keeps_the_path_within_its_threshold_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = Instance::open(directory.path(), Model::Says("The port is 8443."));
    instance.configure(true);
    for number in 0..40 {
        let result = instance.append(number).unwrap();
        assert!(result.inserted && !result.compaction_due, "message {number}");
    }
    let shown = instance.shown(true);
    assert!(shown.len() < 15 && shown.iter().any(|id| id.starts_with("compaction_")), "{shown:?}");
    assert_eq!(instance.shown(false).len(), 40);
    let prompts = instance.prompts.lock().unwrap();
    assert!(prompts.len() > 1 && prompts.last().unwrap().contains("The port is 8443."), "{} prompts", prompts.len());
}

#[test]
fn a_failing_summarizer_changes_nothing_and_fails_no_append() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = Instance::open(directory.path(), Model::Fails);
    instance.configure(true);
    for number in 0..12 {
        assert!(instance.append(number).unwrap().inserted);
    }
    assert_eq!(instance.shown(true).len(), 12);
    let asked = instance.prompts.lock().unwrap().len();
    assert!(asked > 0 && asked < 8, "asked {asked} times: it waits until the path has grown");
    let guest = instance.sessions.talktree_sessions_store();
    let error = guest.call_compact(&mut instance.store, "", None).unwrap().unwrap_err();
    assert!(matches!(error, bindings::talktree::sessions::types::Error::SummarizerFailed(_)), "{error:?}");
}

#[test]
fn a_summarizer_that_traps_takes_no_acknowledged_message_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut instance = Instance::open(directory.path(), Model::Traps);
    instance.configure(true);
    let mut appended = 0;
    while instance.append(appended).is_ok() {
        appended += 1;
        assert!(appended < 40, "no compaction was tried");
    }
    drop(instance);
    // The append came before the trap; the next instance takes the turn that nobody has ended.
    let mut instance = Instance::open(directory.path(), Model::Says("Fine."));
    assert_eq!(instance.shown(true).len(), appended + 1);
    let guest = instance.sessions.talktree_sessions_store();
    let compaction = guest.call_compact(&mut instance.store, "", None).unwrap().unwrap().unwrap();
    assert_eq!((compaction.input_tokens, compaction.output_tokens), (Some(900), Some(9)));
    assert!(guest.call_check(&mut instance.store).unwrap().unwrap().sound);
}
