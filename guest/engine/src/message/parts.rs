//! The parts of a message: what the members say that decide how a part is counted, paired and shown.
//!
//! Members may come in any order, so a part is understood at its end. Of members that are there twice the last one
//! counts, as in JavaScript.

use super::calls::{Call, CallKind};
use super::json::{Event, Fault, Raw, Reader};

/// A reader that stands inside the `parts` of a message; none if there are none.
pub(super) fn open(text: &str) -> Result<Option<Reader<'_>>, Fault> {
    let mut reader = Reader::new(text);
    if reader.pull()? != Some(Event::ObjectStart) {
        return Ok(None);
    }
    while let Some(key) = reader.next_key()? {
        if !key.is("parts") {
            reader.skip_value()?;
        } else if reader.pull()? == Some(Event::ArrayStart) {
            return Ok(Some(reader));
        } else {
            return Ok(None);
        }
    }
    Ok(None)
}

/// The members of a part that mean something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// `type`
    Type,
    /// `text`
    Text,
    /// `state`
    State,
    /// `toolCallId`, `tool_call_id`, `tool_use_id`, `id`: which of the four, the first one that is there counts.
    Id(usize),
    /// `toolName`, `tool_name`, `name`
    Name,
    /// `mediaType`, `media_type`, `mimeType`, `mime`
    MediaType,
    /// `url`
    Url,
    /// `output`
    Output,
    /// `errorText`
    ErrorText,
    /// Says something to providers or the interface and is no content.
    Aside,
    /// Content of any other name.
    Other,
}

impl Field {
    /// Which member a key names.
    pub(super) fn of(key: &Raw<'_>) -> Self {
        let unescaped;
        let name = if key.has_escapes() {
            unescaped = key.unescape();
            unescaped.as_ref()
        } else {
            key.as_written()
        };
        match name {
            "type" => Self::Type,
            "text" => Self::Text,
            "state" => Self::State,
            "toolCallId" => Self::Id(0),
            "tool_call_id" => Self::Id(1),
            "tool_use_id" => Self::Id(2),
            "id" => Self::Id(3),
            "toolName" | "tool_name" | "name" => Self::Name,
            "mediaType" | "media_type" | "mimeType" | "mime" => Self::MediaType,
            "url" => Self::Url,
            "output" => Self::Output,
            "errorText" => Self::ErrorText,
            "providerMetadata"
            | "callProviderMetadata"
            | "resultProviderMetadata"
            | "toolMetadata"
            | "providerOptions"
            | "providerExecuted"
            | "providerReference"
            | "preliminary"
            | "approval"
            | "cache_control"
            | "inputEncoding"
            | "signature"
            | "textSignature"
            | "thinkingSignature"
            | "thoughtSignature" => Self::Aside,
            _ => Self::Other,
        }
    }
}

/// How a part takes part in tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A call by its type.
    Call,
    /// A result by its type.
    Result,
    /// A part of the AI SDK's interface, which is given its output in place.
    Both,
}

/// What is known of a part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part<'a> {
    kind: Option<Raw<'a>>,
    state: Option<Raw<'a>>,
    ids: [Option<Event<'a>>; 4],
    name: Option<Raw<'a>>,
    media_type: Option<Raw<'a>>,
    /// Where the part is, if it says so.
    pub(super) url: Option<Raw<'a>>,
    output: Option<Event<'a>>,
    error: Option<Event<'a>>,
}

impl<'a> Part<'a> {
    /// Takes note of a member by the first event of its value.
    pub(super) fn note(&mut self, field: Field, first: Event<'a>) {
        let string = match first {
            Event::String(raw) => Some(raw),
            _ => None,
        };
        match field {
            Field::Type => self.kind = string,
            Field::State => self.state = string,
            Field::Id(index) => {
                if let Some(slot) = self.ids.get_mut(index) {
                    *slot = Some(first);
                }
            }
            Field::Name => self.name = string,
            Field::MediaType => self.media_type = string,
            Field::Url => self.url = string,
            Field::Output => self.output = Some(first),
            Field::ErrorText => self.error = Some(first),
            Field::Text | Field::Aside | Field::Other => {}
        }
    }

    /// The type, as it is written; empty if there is none.
    pub(super) fn kind(&self) -> &'a str {
        self.kind.map_or("", |raw| raw.as_written())
    }

    /// The media type, as it is written; empty if there is none.
    pub(super) fn media_type(&self) -> &'a str {
        self.media_type.map_or("", |raw| raw.as_written())
    }

    /// Whether the part stands for a file, an image among them.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.kind(), "file" | "reasoning-file" | "document" | "audio" | "input_file") || self.is_image()
    }

    /// Whether the part stands for an image by its type.
    pub(super) fn is_image(&self) -> bool {
        matches!(self.kind(), "image" | "image_url" | "input_image")
    }

    /// Whether the interface shows the part and no model is given it.
    pub(super) fn is_for_show(&self) -> bool {
        matches!(self.kind(), "step-start" | "source-url" | "source-document")
    }

    /// How the part takes part in tool calls, if it does.
    pub(super) fn role(&self) -> Option<Role> {
        let kind = self.kind();
        match kind {
            // The name of a tool may be `call`: then the part gets its output in place like any other.
            "tool-call" if self.answered() => Some(Role::Both),
            "tool-call" | "tool_use" | "toolCall" => Some(Role::Call),
            "tool-result" | "tool_result" | "toolResult" => Some(Role::Result),
            "dynamic-tool" => Some(Role::Both),
            _ if kind.ends_with("_tool_use") => Some(Role::Call),
            _ if kind.ends_with("_tool_result") => Some(Role::Result),
            _ if kind.starts_with("tool-") => Some(Role::Both),
            _ => None,
        }
    }

    /// The call or result that the part is.
    pub(super) fn call(&self) -> Option<Call> {
        let kind = match self.role()? {
            Role::Call => CallKind::Call,
            Role::Result => CallKind::Result,
            Role::Both if self.answered() => CallKind::Answered,
            Role::Both => CallKind::Call,
        };
        let id = match self.ids.iter().flatten().next() {
            Some(Event::String(raw)) => raw.unescape().into_owned(),
            Some(Event::Number(number)) => (*number).to_owned(),
            _ => String::new(),
        };
        Some(Call { id, kind })
    }

    /// Whether there is an output or an error. A tool may well give `null`; but some writers have the member there from
    /// the start, so with a state from before the end `null` is none.
    fn answered(&self) -> bool {
        let there = |value: Option<Event<'_>>| match value {
            None => false,
            Some(Event::Null) => !self.state.is_some_and(|state| {
                let state = state.as_written();
                state.starts_with("input-") || state.starts_with("approval-")
            }),
            Some(_) => true,
        };
        there(self.output) || self.error.is_some_and(|error| error != Event::Null)
    }

    /// What a list shows of a part that has no text, without brackets; none for parts that are no content.
    pub(super) fn label(&self) -> Option<String> {
        let kind = self.kind.map(|raw| raw.unescape()).unwrap_or_default();
        let name = self.name.map(|raw| raw.unescape()).unwrap_or_default();
        Some(match self.role() {
            Some(role) => {
                let word = if role == Role::Result { "tool-result" } else { "tool-call" };
                let name = match kind.strip_prefix("tool-") {
                    Some(tool) if role == Role::Both => tool,
                    _ => name.as_ref(),
                };
                format!("{word} {name}").trim_end().to_owned()
            }
            None if self.is_file() => match self.media_type.map(|raw| raw.unescape()) {
                Some(media_type) if !media_type.is_empty() => media_type.into_owned(),
                _ => kind.into_owned(),
            },
            None if kind == "step-start" || kind.is_empty() => return None,
            None => kind.into_owned(),
        })
    }
}
