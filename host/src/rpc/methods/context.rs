//! Methods about memory blocks, the system prompt and the tools of a model.

use super::super::{
    failure::Failure,
    json::Object,
    params::{Params, string},
};
use crate::{Block, BlockDefinition, BlockKind, BlockScope, Session, WhenChanged, WriteAction};

type Answer = Result<String, Failure>;

/// The words for what a block is for.
const KINDS: [(&str, BlockKind); 4] = [
    ("read-only", BlockKind::ReadOnly),
    ("writable", BlockKind::Writable),
    ("searchable", BlockKind::Searchable),
    ("loadable", BlockKind::Loadable),
];

/// The words for who sees a block.
const SCOPES: [(&str, BlockScope); 2] = [("session", BlockScope::Session), ("store", BlockScope::Store)];

/// The words for what happens when a block changes.
const WHEN_CHANGED: [(&str, WhenChanged); 2] = [("wait", WhenChanged::Wait), ("remind", WhenChanged::Remind)];

/// The words for what a write does with what is there.
const ACTIONS: [(&str, WriteAction); 2] = [("replace", WriteAction::Replace), ("append", WriteAction::Append)];

fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| *word)
}

fn object(block: &Block) -> String {
    let mut answer = Object::new();
    answer
        .text("label", &block.label)
        .maybe_text("description", block.description.as_deref())
        .maybe_text("kind", word(&KINDS, &block.kind))
        .maybe_text("scope", word(&SCOPES, &block.scope))
        .maybe_text("whenChanged", word(&WHEN_CHANGED, &block.when_changed))
        .text("content", &block.content)
        .number("tokens", block.tokens)
        .maybe_number("maxTokens", block.max_tokens)
        .number("version", block.version);
    if matches!(block.kind, BlockKind::Searchable | BlockKind::Loadable) {
        answer.list("entries", &block.entries, |entry, out| {
            let mut shown = Object::new();
            shown
                .text("key", &entry.key)
                .maybe_text("title", entry.title.as_deref())
                .number("tokens", entry.tokens)
                .flag("loaded", entry.loaded);
            out.push_str(&shown.finish());
        });
    }
    answer.finish()
}

fn answer(block: &Block) -> String {
    Object::new().json("block", &object(block)).finish()
}

pub(super) async fn define(session: &Session, params: Params<'_>) -> Answer {
    let definition = BlockDefinition {
        description: params.text("description")?,
        max_tokens: params.number::<u32>("maxTokens")?,
        kind: params.choice("kind", &KINDS)?.unwrap_or(BlockKind::Writable),
        scope: params.choice("scope", &SCOPES)?.unwrap_or(BlockScope::Session),
        when_changed: params.choice("whenChanged", &WHEN_CHANGED)?.unwrap_or(WhenChanged::Wait),
        content: params.text("content")?,
    };
    Ok(answer(&session.define_block(&params.required_name("label")?, definition).await?))
}

pub(super) async fn remove(session: &Session, params: Params<'_>) -> Answer {
    let removed = session.remove_block(&params.required_name("label")?).await?;
    Ok(Object::new().flag("removed", removed).finish())
}

pub(super) async fn get(session: &Session, params: Params<'_>) -> Answer {
    Ok(answer(&session.get_block(&params.required_name("label")?).await?))
}

pub(super) async fn list(session: &Session) -> Answer {
    let blocks = session.list_blocks().await?;
    Ok(Object::new().list("blocks", &blocks, |block, out| out.push_str(&object(block))).finish())
}

pub(super) async fn write(session: &Session, params: Params<'_>) -> Answer {
    let block = session
        .write_block(&params.required_name("label")?, params.required_text("content")?)
        .action(params.choice("action", &ACTIONS)?.unwrap_or(WriteAction::Replace))
        .key(params.text("key")?)
        .title(params.text("title")?)
        .version(params.number::<u32>("version")?)
        .await?;
    Ok(answer(&block))
}

pub(super) async fn history(session: &Session, params: Params<'_>) -> Answer {
    let versions = session.block_history(&params.required_name("label")?).await?;
    Ok(Object::new()
        .list("versions", &versions, |version, out| {
            let mut held = Object::new();
            held.number("version", version.version)
                .text("content", &version.content)
                .number("createdAt", version.created_at);
            out.push_str(&held.finish());
        })
        .finish())
}

pub(super) async fn restore(session: &Session, params: Params<'_>) -> Answer {
    let label = params.required_name("label")?;
    Ok(answer(&session.restore_block(&label, params.required_number::<u32>("version")?).await?))
}

pub(super) async fn system_prompt(session: &Session) -> Answer {
    Ok(Object::new().text("prompt", &session.system_prompt().await?).finish())
}

pub(super) async fn refresh_system_prompt(session: &Session) -> Answer {
    Ok(Object::new().text("prompt", &session.refresh_system_prompt().await?).finish())
}

pub(super) async fn reminder(session: &Session) -> Answer {
    Ok(Object::new().maybe_text("text", session.reminder().await?.as_deref()).finish())
}

pub(super) async fn tools(session: &Session) -> Answer {
    let tools = session.tools().await?;
    Ok(Object::new()
        .list("tools", &tools, |tool, out| {
            let mut shown = Object::new();
            shown
                .text("name", &tool.name)
                .text("description", &tool.description)
                .json("inputSchema", &tool.input_schema);
            out.push_str(&shown.finish());
        })
        .finish())
}

pub(super) async fn call_tool(session: &Session, params: Params<'_>) -> Answer {
    let name = params.required_text("name")?;
    // Model providers give the arguments as an object, or as a string that holds one.
    let arguments = params.json_or_null("arguments")?;
    let arguments = if arguments.starts_with('"') { string("arguments", &arguments)? } else { arguments };
    let answer = session.call_tool(&name, &arguments).await?;
    Ok(Object::new().text("content", &answer.content).flag("isError", answer.is_error).finish())
}
