//! Talktree as a plugin: tools, instructions and history of one session.

use futures::TryStreamExt as _;
use serde_json::Value;
use talktree::{BlockDefinition, BlockKind, Session, Talktree};

use crate::runtime::{Answer, History, Tool, ToolProvider};

pub(crate) struct TalktreePlugin {
    talktree: Talktree,
    session: Session,
}

/// Makes it of `{"root": ..., "tenant": ..., "session": ...}`. The model is confined to that session: nothing that it
/// says reaches another one.
pub(crate) fn make(options: Value) -> Answer<'static, Box<dyn ToolProvider>> {
    Box::pin(async move {
        let text = |name: &str| options[name].as_str().ok_or(format!("the option {name:?} is missing"));
        let plugin = TalktreePlugin::open(text("root")?, text("tenant")?, text("session")?).await;
        plugin.map(|plugin| Box::new(plugin) as Box<dyn ToolProvider>).map_err(|error| error.to_string())
    })
}

impl TalktreePlugin {
    async fn open(root: &str, tenant: &str, session: &str) -> talktree::Result<Self> {
        let talktree = Talktree::open(root).await?;
        let session = talktree.tenant(tenant)?.session(session);
        // Declaring a block again changes nothing of what is in it.
        let content = Some("You are terse.".to_owned());
        let soul = BlockDefinition { kind: BlockKind::ReadOnly, content, ..Default::default() };
        session.define_block("soul", soul).await?;
        session.define_block("memory", BlockDefinition { max_tokens: Some(500), ..Default::default() }).await?;
        Ok(Self { talktree, session })
    }
}

/// Errors are sentences for a person, and good enough for a model.
fn said<T>(answer: talktree::Result<T>) -> Result<T, String> {
    answer.map_err(|error| error.to_string())
}

impl ToolProvider for TalktreePlugin {
    fn tools(&self) -> Answer<'_, Vec<Tool>> {
        Box::pin(async move {
            let tools = said(self.session.tools().await)?.into_iter();
            let tool = |tool: talktree::Tool| Tool {
                name: tool.name,
                description: tool.description,
                input_schema: tool.input_schema,
            };
            Ok(tools.map(tool).collect())
        })
    }

    fn call<'a>(&'a self, tool: &'a str, arguments: &'a str) -> Answer<'a, String> {
        Box::pin(async move { said(self.session.call_tool(tool, arguments).await).map(|answer| answer.content) })
    }

    fn instructions(&self) -> Answer<'_, String> {
        Box::pin(async move { said(self.session.system_prompt().await) })
    }

    fn history(&self) -> Option<&dyn History> {
        Some(self)
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move { said(self.talktree.close().await) })
    }
}

impl History for TalktreePlugin {
    fn put(&self, message: Value) -> Answer<'_, ()> {
        Box::pin(async move { said(self.session.upsert_message(message.to_string()).await).map(drop) })
    }

    fn read(&self) -> Answer<'_, Vec<Value>> {
        Box::pin(async move {
            let messages: Vec<_> = said(self.session.history().try_collect().await)?;
            Ok(messages.iter().filter_map(|message| serde_json::from_str(&message.json).ok()).collect())
        })
    }

    fn search<'a>(&'a self, words: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(async move {
            let found = said(self.session.search(words).await)?.results;
            Ok(found.into_iter().map(|result| format!("{}: {}", result.id, result.snippet)).collect())
        })
    }
}
