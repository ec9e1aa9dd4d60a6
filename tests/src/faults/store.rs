//! A store that is spoken to in JSON-RPC, in this process.

use std::{
    fmt,
    io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _, pipe},
    path::Path,
    sync::LazyLock,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use talktree::{Builder, Durability, Talktree, rpc};
use tokio::{runtime::Runtime, task::JoinHandle};

use super::life::Step;

/// The tenant that lives.
pub(super) const TENANT: &str = "t";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads can be started"));

/// What a call was answered with that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind of the error.
    pub kind: String,
    /// The sentence.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

/// A root that is open, with one tenant.
#[derive(Debug)]
pub struct Store {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    serving: JoinHandle<std::io::Result<()>>,
    talktree: Talktree,
}

impl Store {
    /// Opens a root, with choices of the caller's.
    ///
    /// # Errors
    /// When the root cannot be opened.
    pub fn open(root: &Path, durability: Durability, choose: impl FnOnce(Builder) -> Builder) -> Result<Self> {
        let builder = choose(Talktree::builder(root).durability(durability).no_summarizer());
        let talktree = RUNTIME.block_on(builder.open())?;
        let (input, to) = pipe()?;
        let (from, output) = pipe()?;
        let serving = RUNTIME.spawn(rpc::serve(
            talktree.clone(),
            input,
            output,
            rpc::DEFAULT_MAX_REQUEST,
            std::future::pending(),
        ));
        Ok(Self { input: Some(to), output: BufReader::new(from), serving, talktree })
    }

    /// Makes a call, with the tenant's name added to its params.
    ///
    /// # Errors
    /// The outer one: there is no answer. The inner one is an answer.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Result<Value, Failure>> {
        let input = self.input.as_mut().context("the store is closed")?;
        writeln!(input, "{}", request(method, params))?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        answer(&line)
    }

    /// Makes a call that must succeed.
    ///
    /// # Errors
    /// It does not.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        match self.call(method, params)? {
            Ok(result) => Ok(result),
            Err(failure) => bail!("{method}: {failure}"),
        }
    }

    /// Does one step of a life.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub fn perform(&mut self, step: &Step) -> Result<Result<(), Failure>> {
        step.perform(|method, params| self.call(method, params))
    }

    /// Closes it.
    ///
    /// # Errors
    /// It could not be closed.
    pub fn close(mut self) -> Result<()> {
        drop(self.input.take());
        RUNTIME.block_on(async {
            self.serving.await??;
            self.talktree.close().await?;
            Ok(())
        })
    }
}

/// A request on a line.
pub(super) fn request(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["tenant"] = json!(TENANT);
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// What a line answers.
pub(super) fn answer(line: &str) -> Result<Result<Value, Failure>> {
    let mut answer: Value = serde_json::from_str(line).with_context(|| format!("no answer: {line:?}"))?;
    if answer["error"].is_null() {
        return Ok(Ok(answer["result"].take()));
    }
    let error = &answer["error"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Err(Failure { kind: text(&error["data"]["kind"]), message: text(&error["message"]) }))
}
