//! The interface `context`: blocks, prompt and tools, and the conversions of their records.

use talktree_engine as engine;

use super::Component;
use super::bindings::exports::talktree::sessions::context as wit;
use super::instance::{Answer, on_store};

impl wit::Guest for Component {
    fn define_block(session: String, label: String, definition: wit::BlockDefinition) -> Answer<wit::Block> {
        on_store(|store| store.define_block(&session, &label, &definition.into()))
    }

    fn remove_block(session: String, label: String) -> Answer<bool> {
        on_store(|store| store.remove_block(&session, &label))
    }

    fn get_block(session: String, label: String) -> Answer<wit::Block> {
        on_store(|store| store.get_block(&session, &label))
    }

    fn list_blocks(session: String) -> Answer<Vec<wit::Block>> {
        on_store(|store| {
            let blocks = store.list_blocks(&session)?;
            Ok(blocks.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn write_block(session: String, label: String, write: wit::BlockWrite) -> Answer<wit::Block> {
        on_store(|store| store.write_block(&session, &label, &write.into()))
    }

    fn block_history(session: String, label: String) -> Answer<Vec<wit::BlockVersion>> {
        on_store(|store| {
            let versions = store.block_history(&session, &label)?;
            Ok(versions.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn restore_block(session: String, label: String, version: u32) -> Answer<wit::Block> {
        on_store(|store| store.restore_block(&session, &label, version))
    }

    fn system_prompt(session: String) -> Answer<String> {
        on_store(|store| store.system_prompt(&session))
    }

    fn refresh_system_prompt(session: String) -> Answer<String> {
        on_store(|store| store.refresh_system_prompt(&session))
    }

    fn reminder(session: String) -> Answer<Option<String>> {
        on_store(|store| store.reminder(&session))
    }

    fn tools(session: String) -> Answer<Vec<wit::Tool>> {
        on_store(|store| {
            let tools = store.tools(&session)?;
            Ok(tools.into_iter().map(Into::into).collect::<Vec<_>>())
        })
    }

    fn call_tool(session: String, name: String, input: String) -> Answer<wit::ToolAnswer> {
        on_store(|store| store.call_tool(&session, &name, &input))
    }
}

impl From<wit::BlockDefinition> for engine::BlockDefinition {
    fn from(definition: wit::BlockDefinition) -> Self {
        let wit::BlockDefinition { description, max_tokens, kind, scope, when_changed, content } = definition;
        let kind = match kind {
            wit::BlockKind::ReadOnly => engine::BlockKind::ReadOnly,
            wit::BlockKind::Writable => engine::BlockKind::Writable,
            wit::BlockKind::Searchable => engine::BlockKind::Searchable,
            wit::BlockKind::Loadable => engine::BlockKind::Loadable,
        };
        let scope = match scope {
            wit::BlockScope::Session => engine::BlockScope::Session,
            wit::BlockScope::Store => engine::BlockScope::Store,
        };
        let when_changed = match when_changed {
            wit::WhenChanged::Wait => engine::WhenChanged::Wait,
            wit::WhenChanged::Remind => engine::WhenChanged::Remind,
        };
        Self { description, max_tokens, kind, scope, when_changed, content }
    }
}

impl From<wit::BlockWrite> for engine::BlockWrite {
    fn from(write: wit::BlockWrite) -> Self {
        let wit::BlockWrite { content, action, key, title, version } = write;
        let action = match action {
            wit::WriteAction::Replace => engine::WriteAction::Replace,
            wit::WriteAction::Append => engine::WriteAction::Append,
        };
        Self { content, action, key, title, version }
    }
}

impl From<engine::BlockEntry> for wit::BlockEntry {
    fn from(entry: engine::BlockEntry) -> Self {
        let engine::BlockEntry { key, title, tokens, loaded } = entry;
        Self { key, title, tokens, loaded }
    }
}

impl From<engine::Block> for wit::Block {
    fn from(block: engine::Block) -> Self {
        let engine::Block {
            label,
            description,
            kind,
            scope,
            when_changed,
            content,
            entries,
            tokens,
            max_tokens,
            version,
        } = block;
        let kind = match kind {
            engine::BlockKind::ReadOnly => wit::BlockKind::ReadOnly,
            engine::BlockKind::Writable => wit::BlockKind::Writable,
            engine::BlockKind::Searchable => wit::BlockKind::Searchable,
            engine::BlockKind::Loadable => wit::BlockKind::Loadable,
        };
        let scope = match scope {
            engine::BlockScope::Session => wit::BlockScope::Session,
            engine::BlockScope::Store => wit::BlockScope::Store,
        };
        let when_changed = match when_changed {
            engine::WhenChanged::Wait => wit::WhenChanged::Wait,
            engine::WhenChanged::Remind => wit::WhenChanged::Remind,
        };
        let entries = entries.into_iter().map(Into::into).collect();
        Self { label, description, kind, scope, when_changed, content, entries, tokens, max_tokens, version }
    }
}

impl From<engine::BlockVersion> for wit::BlockVersion {
    fn from(version: engine::BlockVersion) -> Self {
        let engine::BlockVersion { version, content, created_at } = version;
        Self { version, content, created_at }
    }
}

impl From<engine::Tool> for wit::Tool {
    fn from(tool: engine::Tool) -> Self {
        let engine::Tool { name, description, input_schema } = tool;
        Self { name, description, input_schema }
    }
}

impl From<engine::ToolAnswer> for wit::ToolAnswer {
    fn from(answer: engine::ToolAnswer) -> Self {
        let engine::ToolAnswer { content, is_error } = answer;
        Self { content, is_error }
    }
}
