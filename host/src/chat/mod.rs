//! An agent over Talktree: it answers messages with any model, and everything it needs to know is in the store.
//!
//! A client sends the user's last message and nothing else. The agent appends it, reads the history (summaries in place of
//! old stretches), asks the model, carries out the tools that the model calls, and writes the answer back. Each step is
//! stored before the model is asked again, so a crash loses no call of a tool; an answer that is broken off, because the
//! client went away or the model failed, is kept and marked with `"partial": true` in its metadata.
//!
//! The agent has two memory blocks: `memory`, which is part of the prompt, and `notes`, which the model searches. It writes
//! both through the tool `set_context`, and finds notes through `search_context`.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use talktree::{Talktree, chat::{Agent, Happening, Prompt, Spec}};
//!
//! let talktree = Talktree::open("data").await?;
//! let session = talktree.tenant("easy:test1")?.session("");
//! let agent = Agent::new("scripted".parse::<Spec>()?.build()?);
//! let mut turn = agent.answer(session, Prompt::text("My name is Ada.")?).await?;
//! while let Some(happening) = turn.next().await {
//!     if let Happening::Text { text, .. } = happening {
//!         print!("{text}");
//!     }
//! }
//! # Ok(()) }
//! ```

mod agent;
mod answer;
mod anthropic;
mod model;
mod openai;
mod scripted;
mod server;
mod spec;

pub use agent::{Agent, Happening, Prompt, Turn};
pub use anthropic::AnthropicModel;
pub use model::{Answering, Model, ModelError, Piece, Question};
pub use openai::OpenAiModel;
pub use scripted::Scripted;
pub use spec::Spec;
