//! Memory blocks of a session, its system prompt, the tools of its model, and who gives blocks their content.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::timeout;

use crate::bindings::exports::talktree::sessions::context as wit;
use crate::call::{Access, Call};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;

pub use wit::{
    Block, BlockDefinition, BlockEntry, BlockKind, BlockScope, BlockVersion, Tool, ToolAnswer, WhenChanged, WriteAction,
};

/// A writable block of the session, without a limit, empty.
impl Default for BlockDefinition {
    fn default() -> Self {
        Self {
            description: None,
            max_tokens: None,
            kind: BlockKind::Writable,
            scope: BlockScope::Session,
            when_changed: WhenChanged::Wait,
            content: None,
        }
    }
}

/// The content of a block that is on its way. None: the block stays as it is.
pub type Providing<'a> = Pin<Box<dyn Future<Output = Result<Option<String>>> + Send + 'a>>;

/// Gives a block its content: asked when a session's prompt is made for the first time and at each refresh of it.
///
/// Given to [`Builder::context_provider`](crate::Builder::context_provider) for a label; a session has to declare the
/// block, of kind [`BlockKind::ReadOnly`] or [`BlockKind::Writable`]. What it answers is written as the block's newest
/// version, if it is another content than the present one. Where it fails, the prompt is not made, and the call answers
/// with its error; where it takes longer than a call may ([`Builder::call_timeout`](crate::Builder::call_timeout)), with
/// `timed-out`. Other calls do not wait for it.
pub trait ContextProvider: Send + Sync + 'static {
    /// The content for the block of this session.
    fn content<'a>(&'a self, session: &'a Session, block: &'a Block) -> Providing<'a>;
}

/// Any closure over the session that answers with a future is a provider.
impl<F, A> ContextProvider for F
where
    F: Fn(Session, Block) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Option<String>>> + Send + 'static,
{
    fn content<'a>(&'a self, session: &'a Session, block: &'a Block) -> Providing<'a> {
        Box::pin(self(session.clone(), block.clone()))
    }
}

/// Content for blocks, by label.
#[derive(Clone, Default)]
pub(crate) struct Providers(HashMap<String, Arc<dyn ContextProvider>>);

impl Providers {
    pub(crate) fn insert(&mut self, label: String, provider: impl ContextProvider) {
        self.0.insert(label, Arc::new(provider));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The tool that searches past messages.
const SESSION_SEARCH: &str = "session_search";

/// Which blocks are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// Those that never had any content: the prompt is made for the first time.
    Unwritten,
    All,
}

impl Session {
    /// Declares a block. Declaring one again changes its description, limit and `when_changed`, never its content, so
    /// that an agent may declare its blocks at every start. Errors: `invalid-argument` for a bad label, and for another
    /// kind or scope than the block has; `over-limit`.
    pub fn define_block(&self, label: &str, definition: BlockDefinition) -> Call<Block> {
        let label = label.to_owned();
        self.call_context("define-block", Access::Write(|_| true), move |guest, store, session| {
            guest.call_define_block(store, session, &label, &definition)
        })
    }

    /// Removes a block with its versions. Answers whether there was one.
    pub fn remove_block(&self, label: &str) -> Call<bool> {
        let label = label.to_owned();
        self.call_context("remove-block", Access::Write(|removed| *removed), move |guest, store, session| {
            guest.call_remove_block(store, session, &label)
        })
    }

    /// One block. Errors: `unknown-block`.
    pub fn get_block(&self, label: &str) -> Call<Block> {
        let label = label.to_owned();
        self.call_context("get-block", Access::Read, move |guest, store, session| {
            guest.call_get_block(store, session, &label)
        })
    }

    /// The blocks that the session sees, in the order of declaration.
    pub fn list_blocks(&self) -> Call<Vec<Block>> {
        self.call_context("list-blocks", Access::Read, |guest, store, session| guest.call_list_blocks(store, session))
    }

    /// Writes a block, of any kind; by default the content takes the place of what is there. Errors: `unknown-block`,
    /// `version-mismatch`, `over-limit`, `invalid-argument` for a key or title where the kind has no entries.
    pub fn write_block(&self, label: &str, content: impl Into<String>) -> WriteBlock {
        let write = wit::BlockWrite {
            content: content.into(),
            action: WriteAction::Replace,
            key: None,
            title: None,
            version: None,
        };
        WriteBlock { session: self.clone(), label: label.to_owned(), write }
    }

    /// What a block held, newest version first: the last 20. Errors: `unknown-block`.
    pub fn block_history(&self, label: &str) -> Call<Vec<BlockVersion>> {
        let label = label.to_owned();
        self.call_context("block-history", Access::Read, move |guest, store, session| {
            guest.call_block_history(store, session, &label)
        })
    }

    /// Makes what a block held at a version its newest version. Errors: `unknown-block`, `invalid-argument` for a
    /// version that is not kept, `over-limit`.
    pub fn restore_block(&self, label: &str, version: u32) -> Call<Block> {
        let label = label.to_owned();
        self.call_context("restore-block", Access::Write(|_| true), move |guest, store, session| {
            guest.call_restore_block(store, session, &label, version)
        })
    }

    /// The system prompt, made of the blocks. The first call stores it; it then comes back byte for byte until it is
    /// refreshed, so that the model provider's cache of it holds.
    pub fn system_prompt(&self) -> Call<String> {
        if self.tenant().providers().is_empty() {
            return self.frozen_prompt();
        }
        let session = self.clone();
        self.tenant().follow(async move {
            session.ask_providers(Ask::Unwritten).await?;
            session.frozen_prompt().await
        })
    }

    /// Makes the system prompt anew, stores it and answers it.
    pub fn refresh_system_prompt(&self) -> Call<String> {
        if self.tenant().providers().is_empty() {
            return self.fresh_prompt();
        }
        let session = self.clone();
        self.tenant().follow(async move {
            session.ask_providers(Ask::All).await?;
            session.fresh_prompt().await
        })
    }

    fn frozen_prompt(&self) -> Call<String> {
        let written = Access::Write(|prompt: &String| !prompt.is_empty());
        self.call_context("system-prompt", written, |guest, store, session| guest.call_system_prompt(store, session))
    }

    fn fresh_prompt(&self) -> Call<String> {
        let written = Access::Write(|prompt: &String| !prompt.is_empty());
        self.call_context("refresh-system-prompt", written, |guest, store, session| {
            guest.call_refresh_system_prompt(store, session)
        })
    }

    /// Writes what the providers say into their blocks.
    async fn ask_providers(&self, ask: Ask) -> Result<()> {
        for block in self.list_blocks().await? {
            if ask == Ask::Unwritten && block.version > 0 {
                continue;
            }
            let Some(provider) = self.tenant().providers().0.get(&block.label).cloned() else { continue };
            let limit = self.tenant().call_timeout();
            let content = timeout(limit, provider.content(self, &block)).await.map_err(|_| {
                let sentence =
                    "the provider of this block has not answered in the time of a call; the prompt was not made";
                Error::new(ErrorKind::TimedOut, sentence).with_subject(&block.label)
            })?;
            match content? {
                Some(content) if content != block.content => {
                    self.write_block(&block.label, content).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The blocks to be reminded of that have changed since the prompt was frozen, as text for the model. None: there
    /// are none.
    pub fn reminder(&self) -> Call<Option<String>> {
        self.call_context("reminder", Access::Read, |guest, store, session| guest.call_reminder(store, session))
    }

    /// The tools that the blocks need, and the search of past messages. Their schemas are JSON Schema as the tool
    /// formats of OpenAI, Anthropic and MCP take it.
    pub fn tools(&self) -> Call<Vec<Tool>> {
        self.call_context("tools", Access::Read, |guest, store, session| guest.call_tools(store, session))
    }

    /// Carries out a tool call of a model, whose arguments are JSON text. What a model may get wrong is an answer, never
    /// an error.
    pub fn call_tool(&self, name: &str, arguments: &str) -> Call<ToolAnswer> {
        let [name, arguments] = [name, arguments].map(str::to_owned);
        if name == SESSION_SEARCH {
            let session = self.id().to_owned();
            return self.tenant().with_index(self.label("call-tool"), move |sessions, store| {
                sessions.talktree_sessions_context().call_call_tool(store, &session, &name, &arguments)
            });
        }
        // A tenant that was never written has no blocks, so that no tool can write anything there.
        self.call_context("call-tool", Access::Write(|_| false), move |guest, store, session| {
            guest.call_call_tool(store, session, &name, &arguments)
        })
    }
}

/// See [`Session::write_block`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct WriteBlock {
    session: Session,
    label: String,
    write: wit::BlockWrite,
}

impl WriteBlock {
    /// What to do with what is there.
    pub fn action(mut self, action: WriteAction) -> Self {
        self.write.action = action;
        self
    }

    /// Of a searchable or loadable block: which entry; none: a new one with a key of the store's making. Empty content
    /// in place of an entry removes it.
    pub fn key(mut self, key: impl Into<Option<String>>) -> Self {
        self.write.key = key.into();
        self
    }

    /// Of a searchable or loadable block: what the entry is about.
    pub fn title(mut self, title: impl Into<Option<String>>) -> Self {
        self.write.title = title.into();
        self
    }

    /// The version that the writer has seen: if it is another one by now, nothing is written and the error is
    /// `version-mismatch`.
    pub fn version(mut self, version: impl Into<Option<u32>>) -> Self {
        self.write.version = version.into();
        self
    }
}

impl IntoFuture for WriteBlock {
    type Output = Result<Block>;
    type IntoFuture = Call<Block>;

    fn into_future(self) -> Call<Block> {
        let Self { session, label, write } = self;
        let named = session.label("write-block").carrying(write.content.len());
        session.call_context_with(named, Access::Write(|_| true), move |guest, store, session| {
            guest.call_write_block(store, session, &label, &write)
        })
    }
}
