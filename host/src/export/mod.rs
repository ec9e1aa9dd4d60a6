//! Exporting one path of a conversation for other programs and for people.
//!
//! [`export`] reads the path from its root to a leaf page by page and writes each message as it comes, so that memory
//! does not grow with the conversation. Each [`Format`] is a file of its own.
//!
//! An export for other programs holds what they can hold and no more: branches beside the path, ids and times (in
//! `openai-messages`) are left out.

mod ai_sdk;
mod markdown;
mod openai;
mod part;

pub(crate) use openai::messages as openai_messages;
pub(crate) use part::{Answer, Call, Input, Part, output_text, take};

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

use futures::StreamExt as _;

use crate::{Error, MediaMode, Message, Session};

/// A format to export to. [`fmt::Display`] and [`FromStr`] go by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `ai-sdk`: an array of AI SDK `UIMessage`s, each as it is stored.
    AiSdk,
    /// `openai-messages`: an array of messages as chat completions take them.
    OpenAiMessages,
    /// `markdown`: to be read by people. Media is named and left out.
    Markdown,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::AiSdk, Self::OpenAiMessages, Self::Markdown];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AiSdk => "ai-sdk",
            Self::OpenAiMessages => "openai-messages",
            Self::Markdown => "markdown",
        }
    }

    fn rules(self) -> &'static dyn Rules {
        match self {
            Self::AiSdk => &ai_sdk::AiSdk,
            Self::OpenAiMessages => &openai::OpenAi,
            Self::Markdown => &markdown::Markdown,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ExportError;

    fn from_str(name: &str) -> Result<Self, ExportError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| ExportError::UnknownFormat { name: name.to_owned() })
    }
}

/// Which path, and what of it.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The path's last message; none: the present leaf.
    pub leaf: Option<String>,
    /// Summaries stand in the place of what they cover, as a model is shown the path. Otherwise everything is there.
    pub summaries: bool,
}

/// Why an export ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The path cannot be read: `unknown-message` for a leaf that is not there, and whatever else a reading may meet.
    #[error(transparent)]
    Store(#[from] Error),
    /// The export cannot be written.
    #[error("the export cannot be written: {0}")]
    Io(#[from] io::Error),
    /// There is no format of this name.
    #[error("{name:?} is no format: {}", Format::ALL.map(Format::name).join(", "))]
    UnknownFormat {
        /// The name.
        name: String,
    },
}

/// How a format writes a path.
trait Rules: Sync {
    /// Whether media is wanted with its bytes.
    fn media(&self) -> MediaMode {
        MediaMode::Inline
    }

    /// What stands before the first message.
    fn begin(&self) -> &'static str;

    /// What stands between two messages.
    fn between(&self) -> &'static str;

    /// What stands behind the last message.
    fn end(&self) -> &'static str;

    /// A message: nothing, or one or several pieces with `between` between them.
    fn message(&self, message: &Message) -> Vec<String>;
}

/// Writes a path of a session. Answers how many messages it has.
///
/// # Errors
///
/// [`ExportError::Store`] and [`ExportError::Io`]. What was written until then is no whole export.
pub async fn export<W: Write>(
    session: &Session,
    format: Format,
    options: &Options,
    out: &mut W,
) -> Result<u64, ExportError> {
    let rules = format.rules();
    let mut history = session.history().overlays(options.summaries).media(rules.media());
    if let Some(leaf) = &options.leaf {
        history = history.leaf(leaf);
    }
    let mut count = 0;
    let mut any = false;
    // Before the first page nothing is written: a leaf that is not there leaves nothing behind.
    while let Some(message) = history.next().await {
        let message = message?;
        for piece in rules.message(&message) {
            out.write_all(if any { rules.between() } else { rules.begin() }.as_bytes())?;
            out.write_all(piece.as_bytes())?;
            any = true;
        }
        count += 1;
    }
    if !any {
        out.write_all(rules.begin().as_bytes())?;
    }
    out.write_all(rules.end().as_bytes())?;
    out.flush()?;
    Ok(count)
}
