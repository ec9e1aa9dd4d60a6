//! The runtime's side: what a plugin is, how plugins are found, and one turn of an agent. Nothing here knows Talktree.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use serde_json::{Value, json};

/// What a plugin answers, some time.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// A tool as the model is told of it.
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON Schema.
    pub(crate) input_schema: String,
}

/// What brings tools. Tools may change from turn to turn, so they are asked for each time.
pub(crate) trait ToolProvider: Send + Sync {
    fn tools(&self) -> Answer<'_, Vec<Tool>>;

    /// Carries out a call. The arguments are JSON text, the answer is text for the model.
    fn call<'a>(&'a self, tool: &'a str, arguments: &'a str) -> Answer<'a, String>;

    /// Text for the system prompt.
    fn instructions(&self) -> Answer<'_, String> {
        Box::pin(async { Ok(String::new()) })
    }

    /// Where messages are kept, if this plugin keeps them.
    fn history(&self) -> Option<&dyn History> {
        None
    }

    /// The runtime ends.
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// What keeps messages.
pub(crate) trait History: Send + Sync {
    /// Keeps a message. One with the same id takes its place.
    fn put(&self, message: Value) -> Answer<'_, ()>;

    /// What the model is to read.
    fn read(&self) -> Answer<'_, Vec<Value>>;

    /// Snippets of messages that hold these words.
    fn search<'a>(&'a self, words: &'a str) -> Answer<'a, Vec<String>>;
}

/// Makes a plugin of the options in its manifest.
pub(crate) type Factory = fn(Value) -> Answer<'static, Box<dyn ToolProvider>>;

/// The plugins by name. A tool is called `<plugin>__<tool>`, so that none takes another's name.
pub(crate) struct Registry(BTreeMap<String, Box<dyn ToolProvider>>);

impl Registry {
    /// Mounts what the manifests in a directory name: `{"plugin": "talktree", "options": {...}}`.
    pub(crate) async fn discover(directory: &Path, known: &[(&str, Factory)]) -> Result<Self, String> {
        let mut plugins = BTreeMap::new();
        for entry in fs::read_dir(directory).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let mut manifest: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let name = manifest["plugin"].as_str().unwrap_or_default().to_owned();
            let (_, make) = known.iter().find(|(known, _)| *known == name).ok_or(format!("no plugin {name:?}"))?;
            plugins.insert(name, make(manifest["options"].take()).await?);
        }
        Ok(Self(plugins))
    }

    /// The names of what is mounted.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// All tools, for the model.
    pub(crate) async fn tools(&self) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        for (plugin, provider) in &self.0 {
            for Tool { name, description, input_schema } in provider.tools().await? {
                let schema: Value = serde_json::from_str(&input_schema).map_err(|error| error.to_string())?;
                let name = format!("{plugin}__{name}");
                all.push(json!({"name": name, "description": description, "input_schema": schema}));
            }
        }
        Ok(all)
    }

    /// Carries out a model's call of a tool. What goes wrong is an answer, too: the model can do better.
    pub(crate) async fn call(&self, name: &str, arguments: &str) -> String {
        let found = name.split_once("__").and_then(|(plugin, tool)| Some((self.0.get(plugin)?, tool)));
        match found {
            Some((provider, tool)) => {
                provider.call(tool, arguments).await.unwrap_or_else(|error| format!("Error: {error}"))
            }
            None => format!("Error: there is no tool {name:?}"),
        }
    }

    /// The system prompt: what all plugins say.
    pub(crate) async fn instructions(&self) -> Result<String, String> {
        let mut parts = Vec::new();
        for provider in self.0.values() {
            parts.push(provider.instructions().await?);
        }
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("\n\n"))
    }

    /// Who keeps messages.
    pub(crate) fn history(&self) -> Result<&dyn History, String> {
        self.0.values().find_map(|provider| provider.history()).ok_or("no plugin keeps messages".to_owned())
    }

    pub(crate) async fn close(&self) -> Result<(), String> {
        for provider in self.0.values() {
            provider.close().await?;
        }
        Ok(())
    }
}

/// What a model answers: text, or calls of tools.
pub(crate) trait Model {
    fn answer(&mut self, system: &str, tools: &[Value], messages: &[Value]) -> Value;
}

/// One turn: the user's message, the model's calls of tools, its answer. Each step is kept before the model is asked again.
pub(crate) async fn turn(registry: &Registry, model: &mut impl Model, id: &str, text: &str) -> Result<String, String> {
    let history = registry.history()?;
    let part = json!({"type": "text", "text": text});
    history.put(json!({"id": format!("{id}-user"), "role": "user", "parts": [part]})).await?;
    let mut parts = Vec::new();
    loop {
        let (system, tools) = (registry.instructions().await?, registry.tools().await?);
        let mut answer = model.answer(&system, &tools, &history.read().await?);
        let text = answer["text"].as_str().map(str::to_owned);
        parts.push(match (&text, answer["tool"].as_str()) {
            (None, Some(tool)) => {
                let output = registry.call(tool, &answer["input"].to_string()).await;
                println!("  calls {tool}: {}", output.lines().next().unwrap_or_default());
                let (kind, call) = (format!("tool-{tool}"), format!("{id}-{}", parts.len()));
                json!({"type": kind, "toolCallId": call, "input": answer["input"].take(), "output": output})
            }
            _ => json!({"type": "text", "text": text}),
        });
        history.put(json!({"id": format!("{id}-agent"), "role": "assistant", "parts": parts})).await?;
        if let Some(text) = text {
            return Ok(text);
        }
    }
}
