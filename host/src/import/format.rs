//! The formats, and how one is recognised.

use std::{fmt, io, str::FromStr};

use super::{
    ai_sdk::AiSdk, chatgpt::ChatGpt, claude_ai::ClaudeAi, claude_code::ClaudeCode, codex::Codex, input::Input,
    openai::OpenAi, outline::Outline, own, pi::Pi, plan::Sources, run::ImportError,
};

/// A format of transcripts. [`fmt::Display`] and [`FromStr`] go by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `ai-sdk`: AI SDK `UIMessage`s, as an array, an object with `messages`, or JSON Lines.
    AiSdk,
    /// `chatgpt`: the conversations of an export of ChatGPT.
    ChatGpt,
    /// `claude-ai`: the conversations of an export of Claude.
    ClaudeAi,
    /// `claude-code`: session files of Claude Code, JSON Lines.
    ClaudeCode,
    /// `codex`: rollout files of Codex, JSON Lines.
    Codex,
    /// `openai-messages`: messages as chat completions take them, as an array, an object with `messages`, or JSON Lines.
    OpenAiMessages,
    /// `talktree`: what `export-lines` wrote, which comes back as it was.
    Talktree,
    /// `pi`: session files of the Pi coding agent, JSON Lines of versions 1 to 3.
    Pi,
}

/// How much a file looks like one of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// It does not.
    No,
    /// Nothing speaks against it.
    Maybe,
    /// It has what no other format has.
    Sure,
}

/// What a format has to know.
pub(crate) trait Rules: Sync {
    /// Whether a file that begins with these bytes, at most 64 KiB, and has this name is one.
    fn likeness(&self, head: &[u8], name: &str) -> Likeness;

    /// Reads the input from its start and tells the outline of every session and record, damaged ones among them.
    fn survey(&self, input: &mut Input, outline: &mut Outline) -> io::Result<()>;

    /// The message that a record becomes, as JSON text; or why it becomes none.
    fn message(&self, sources: &Sources<'_>) -> Result<String, String>;
}

impl Format {
    /// All formats, the more particular first.
    pub const ALL: [Self; 8] = [
        Self::Talktree,
        Self::Pi,
        Self::ClaudeCode,
        Self::Codex,
        Self::ChatGpt,
        Self::ClaudeAi,
        Self::AiSdk,
        Self::OpenAiMessages,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AiSdk => "ai-sdk",
            Self::ChatGpt => "chatgpt",
            Self::ClaudeAi => "claude-ai",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenAiMessages => "openai-messages",
            Self::Pi => "pi",
            Self::Talktree => "talktree",
        }
    }

    /// How it becomes messages. None: the store takes it as it is.
    pub(crate) fn rules(self) -> Option<&'static dyn Rules> {
        Some(match self {
            Self::AiSdk => &AiSdk,
            Self::ChatGpt => &ChatGpt,
            Self::ClaudeAi => &ClaudeAi,
            Self::ClaudeCode => &ClaudeCode,
            Self::Codex => &Codex,
            Self::OpenAiMessages => &OpenAi,
            Self::Pi => &Pi,
            Self::Talktree => return None,
        })
    }

    fn likeness(self, head: &[u8], name: &str) -> Likeness {
        self.rules().map_or_else(|| own::likeness(head), |rules| rules.likeness(head, name))
    }

    /// The format of an input, by its first bytes and its name.
    pub fn detect(input: &mut Input) -> Result<Self, ImportError> {
        let head = input.head()?;
        Self::of_head(&head, input.name()).ok_or_else(|| ImportError::NotRecognised { name: input.name().to_owned() })
    }

    /// Whether nothing speaks against a file that begins with these bytes and has this name being of this format.
    pub(crate) fn fits(self, head: &[u8], name: &str) -> bool {
        self.likeness(head, name) > Likeness::No
    }

    /// The format of a file that begins with these bytes and has this name.
    pub(crate) fn of_head(head: &[u8], name: &str) -> Option<Self> {
        let mut best = (Likeness::No, None);
        for format in Self::ALL {
            let likeness = format.likeness(head, name);
            if likeness > best.0 {
                best = (likeness, Some(format));
            }
        }
        best.1
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ImportError;

    fn from_str(name: &str) -> Result<Self, ImportError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| ImportError::UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn detected(text: &str) -> Option<Format> {
        Format::detect(&mut Input::bytes("x", text).unwrap()).ok()
    }

    #[test]
    fn a_format_is_recognised_by_its_first_bytes() {
        let message = r#"{"id":"a","role":"user","parts":[{"type":"text","text":"session"}]}"#;
        assert_eq!(detected(&format!("[{message}]")), Some(Format::AiSdk));
        assert_eq!(detected(&format!("\u{feff}\n[\n  {message}]")), Some(Format::AiSdk));
        assert_eq!(detected(&format!("{{\"id\":\"c\",\"messages\":[{message}]}}")), Some(Format::AiSdk));
        assert_eq!(detected(&format!("{message}\n{message}\n")), Some(Format::AiSdk));
        assert_eq!(detected("[]"), Some(Format::AiSdk));
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-02T08:00:00.000Z","cwd":"/w"}"#;
        assert_eq!(detected(header), Some(Format::Pi));
        let entry =
            r#"{"type":"message","timestamp":"2026-11-02T08:00:00.000Z","message":{"role":"user","content":"x"}}"#;
        assert_eq!(detected(&format!("{{\"type\":\"sess\n{entry}\n")), Some(Format::Pi));
        assert_eq!(detected("plain words"), None);
        assert_eq!(detected("{\"a\":1}"), None);
        assert_eq!(detected("SQLite format 3\0"), None);
        assert_eq!(detected(""), None);
    }

    #[test]
    fn names_lead_back_to_formats() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert!("PI".parse::<Format>().is_err());
    }
}
