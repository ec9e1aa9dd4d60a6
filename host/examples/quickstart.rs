//! A conversation with a branch, read back as a stream: `cargo run --example quickstart [DIRECTORY]`.
//!
//! Without a directory it uses a temporary one. Run twice on the same directory it stores nothing twice.

use futures::TryStreamExt;
use serde_json::json;
use talktree::{Json, Talktree};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let root = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);

    let talktree = Talktree::open(&root).await?;
    let session = talktree.tenant("easy:test1")?.session("");

    session.append_message(message("q1", "user", "Which port does the staging server use?")).await?;
    session.append_message(message("a1", "assistant", "8080.")).parent("q1").await?;
    // A second answer to the same question: the first stays, on a branch of its own.
    let answer =
        session.append_message(message("a2", "assistant", "8443, since the move to TLS.")).parent("q1").await?;
    println!("{}", if answer.inserted { "stored" } else { "stored before: a retry changes nothing" });

    println!("answers to q1:");
    for branch in session.get_branches("q1").await?.messages {
        println!("  {} (message {} of the session)", branch.id, branch.seq);
    }

    println!("the conversation, along its newest branch:");
    let mut history = session.history();
    while let Some(message) = history.try_next().await? {
        println!("  {}: {}", message.role, message.json);
    }

    talktree.close().await?;
    Ok(())
}

fn message(id: &str, role: &str, text: &str) -> Json<serde_json::Value> {
    Json(json!({ "id": id, "role": role, "parts": [{ "type": "text", "text": text }] }))
}
