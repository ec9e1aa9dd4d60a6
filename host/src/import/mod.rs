//! Importing conversations from the files of other programs: whole trees, message by message, in constant memory.
//!
//! [`run`] reads an [`Input`] twice. The first reading finds the records and how they hang together: ids, parents and
//! places are kept, content is not. The second takes the messages, parents before children, makes an AI SDK `UIMessage`
//! of each where it is not one already, and hands them in batches to a [`Sink`], usually a tenant of the store. What is
//! damaged costs itself and nothing else: it is in the [`Report`], with its place, and what hung below it hangs below
//! the nearest message above it. Messages that are in the store already are skipped, so an import may be repeated, or
//! go on after an interruption.
//!
//! [`find`] looks for transcripts in directories and in the archives that other programs hand out.
//!
//! Each [`Format`] of another program is a file of its own that says how it is recognised, where its records are, and what message a
//! record becomes.
//!
//! ```
//! use talktree::import::{Input, Memory, Options, run};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let transcript = r#"[{"id":"m1","role":"user","parts":[{"type":"text","text":"Hello"}]}]"#;
//! let input = Input::bytes("chat.json", transcript)?;
//! let mut store = Memory::default();
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let report = run(input, &mut store, Options::default()).await?;
//! assert_eq!(report.imported(), 1);
//! assert_eq!(store.messages("")[0].id, "m1");
//! # Ok::<(), talktree::import::ImportError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```

mod ai_sdk;
mod blocks;
mod chains;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod conversations;
mod format;
mod input;
pub(crate) mod json;
mod lines;
mod memory;
mod openai;
mod outline;
mod own;
mod parts;
mod pi;
mod plan;
mod report;
mod run;
mod source;
mod store;
mod time;
mod walker;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod roundtrip;

pub use format::Format;
pub use input::{Input, Phase, Progress, ProgressFn};
pub use memory::{Memory, Stored};
pub use plan::Record;
pub use report::{Problem, Problems, Report, SessionReport};
pub use run::{ImportError, LinesTaken, Options, Outcome, Sink, Stop, run};
pub use source::{Found, Source, find};
