//! The component in a host that knows nothing of the runner: a bare WASI, marks instead of a lock, and a summarizer that
//! answers, errs or traps.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Config, Engine, Result, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

use bindings::Sessions;
use bindings::talktree::sessions::summarizer::{Host, SummarizeError, Summary, SummaryRequest};
use bindings::talktree::sessions::types::{
    AppendOptions, AppendResult, Error, ExpectedLeaf, HistoryView, MediaMode, Parent, Source,
};

/// What wasmtime makes of the contract.
pub mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated")]
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "sessions",
        imports: { default: trappable },
    });
}

/// What the summarizer does.
#[derive(Debug, Clone, Copy)]
pub enum Model {
    /// It answers.
    Says(&'static str),
    /// It is told to come later.
    Fails,
    /// It takes the instance with it.
    Traps,
}

/// What an instance has around it.
#[allow(missing_debug_implementations, reason = "a WASI context has none")]
pub struct Surroundings {
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
    fn summarize(&mut self, request: SummaryRequest) -> Result<std::result::Result<Summary, SummarizeError>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push(request.prompt);
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

/// The compiled component, and what it is linked with.
#[allow(missing_debug_implementations, reason = "a linker has none")]
pub struct RawHost {
    engine: Engine,
    component: Component,
    linker: Linker<Surroundings>,
}

impl RawHost {
    /// Compiles the component in this file.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(component: &Path) -> Result<Self> {
        let engine = Engine::new(&Config::new())?;
        let component = Component::from_file(&engine, component)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
        bindings::talktree::sessions::summarizer::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state)?;
        Ok(Self { engine, component, linker })
    }

    /// An instance over a directory, with these variables of the environment.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn instance(&self, directory: &Path, environment: &[(&str, &str)], model: Model) -> Result<Instance> {
        self.start(directory, FsPerms::ReadWrite, environment, model)
    }

    /// An instance over a directory that it can only read.
    ///
    /// # Errors
    /// As above.
    pub fn reader(&self, directory: &Path, environment: &[(&str, &str)]) -> Result<Instance> {
        self.start(directory, FsPerms::ReadOnly, environment, Model::Fails)
    }

    fn start(
        &self,
        directory: &Path,
        permissions: FsPerms,
        environment: &[(&str, &str)],
        model: Model,
    ) -> Result<Instance> {
        let mut wasi = WasiCtx::builder();
        wasi.allow_blocking_current_thread(true).envs(environment);
        wasi.preopened_dir(directory, "/data", permissions)?;
        let prompts = Arc::new(Mutex::new(Vec::new()));
        let state =
            Surroundings { wasi: wasi.build(), table: ResourceTable::new(), model, prompts: Arc::clone(&prompts) };
        let mut store = Store::new(&self.engine, state);
        let sessions = Sessions::instantiate(&mut store, &self.component, &self.linker)?;
        Ok(Instance { store, sessions, prompts })
    }
}

/// An instance of the component, as any host would run it.
#[allow(missing_debug_implementations, reason = "a store of wasmtime has none")]
pub struct Instance {
    /// For calls that are not among the methods.
    pub store: Store<Surroundings>,
    /// What the component exports.
    pub sessions: Sessions,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl Instance {
    /// Appends a message behind the newest.
    ///
    /// # Errors
    /// The outer one is a trap, the inner one what the component answers.
    pub fn append(&mut self, message: &str) -> Result<std::result::Result<AppendResult, Error>> {
        let options =
            AppendOptions { parent: Parent::Latest, source: Source::Server, expected_leaf: ExpectedLeaf::Any };
        self.sessions.talktree_sessions_store().call_append_message(&mut self.store, "", message, &options)
    }

    /// The ids of the messages on the path, with or without summaries in place of what they stand for.
    ///
    /// # Errors
    /// As above.
    pub fn ids(&mut self, overlays: bool) -> Result<std::result::Result<Vec<String>, Error>> {
        let view = HistoryView { leaf_id: None, newest_first: false, overlays, media: MediaMode::Inline };
        let found = self.sessions.talktree_sessions_store().call_get_history(&mut self.store, "", &view)?;
        Ok(found.map(|messages| messages.into_iter().map(|message| message.id).collect()))
    }

    /// Writes the log back and lets go of the store.
    ///
    /// # Errors
    /// As above.
    pub fn close(&mut self) -> Result<std::result::Result<(), Error>> {
        self.sessions.talktree_sessions_store().call_close(&mut self.store)
    }

    /// What the summarizer was asked.
    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An error of wasmtime as one of `anyhow`, which does not know it.
pub fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow::Error::msg(format!("{error:#}"))
}
