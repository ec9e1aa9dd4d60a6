//! A runtime that loads its tools dynamically, with Talktree as one of its plugins: where the seam is.
//!
//! [`runtime`] knows a trait for what brings tools, and mounts what it finds in a directory of manifests. Talktree is
//! mounted beside another plugin; it brings tools for the agent's memory and for search, its instructions, and the
//! history that the runtime keeps. The model is a script, so that this runs without a key.
//!
//! `cargo run --release -p talktree --example plugins`
//!
//! What it says is compared with `output.txt` in every run of the tests.

mod dice_plugin;
mod runtime;
mod talktree_plugin;

use std::fs;

use runtime::{Factory, Model, Registry, turn};
use serde_json::{Value, json};

/// The plugins that this runtime was built with; which are mounted, manifests say.
const KNOWN: &[(&str, Factory)] = &[("dice", dice_plugin::make), ("talktree", talktree_plugin::make)];

/// A model that answers what it was told to, in order.
struct Script(Vec<Value>);

impl Model for Script {
    fn answer(&mut self, _system: &str, tools: &[Value], messages: &[Value]) -> Value {
        println!("  reads {} tools, {} messages", tools.len(), messages.len());
        self.0.remove(0)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let manifests = place.path().join("plugins");
    fs::create_dir(&manifests)?;
    let options = json!({"root": place.path().join("data"), "tenant": "easy", "session": "game"});
    fs::write(manifests.join("memory.json"), json!({"plugin": "talktree", "options": options}).to_string())?;
    fs::write(manifests.join("dice.json"), json!({"plugin": "dice", "options": {"sides": 6}}).to_string())?;

    let registry = Registry::discover(&manifests, KNOWN).await?;
    println!("mounted: {}", registry.names().join(", "));
    for tool in registry.tools().await? {
        println!("tool: {}", tool["name"]);
    }

    let fact = json!({"label": "memory", "content": "The player is called Kim.", "action": "append"});
    let mut model = Script(vec![
        json!({"tool": "talktree__set_context", "input": fact}),
        json!({"text": "Welcome, Kim."}),
        json!({"tool": "dice__roll", "input": {"times": 3}}),
        json!({"tool": "dice__roll", "input": {}}),
        json!({"text": "You rolled 1, 6 and 5."}),
    ]);
    for (id, text) in [("t1", "I am Kim."), ("t2", "Roll three dice.")] {
        println!("user: {text}");
        println!("agent: {}", turn(&registry, &mut model, id, text).await?);
    }

    println!("found: {:?}", registry.history()?.search("rolled").await?);
    registry.close().await?;

    // The next run finds everything.
    let registry = Registry::discover(&manifests, KNOWN).await?;
    println!("kept: {} messages", registry.history()?.read().await?.len());
    registry.close().await?;
    Ok(())
}
