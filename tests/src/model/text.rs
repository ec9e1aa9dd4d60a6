//! Messages as the tests make them: what they say in fields, and the JSON text that comes of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use talktree_engine::MediaReference;

/// A message that is valid, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its id, not empty.
    pub id: String,
    /// Its role, not empty.
    pub role: String,
    /// Its parts.
    pub parts: Vec<Part>,
    /// Its top-level `metadata`.
    pub metadata: Metadata,
    /// Before which of the members `id`, `role`, `parts` the metadata stands: 0 to 3.
    pub metadata_at: usize,
    /// The id is written with an escape: another text of the same id.
    pub escaped: bool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text.
    Text(String),
    /// The call of a tool that another message answers.
    Call(String),
    /// The result of a call.
    Result(String),
    /// A call of the AI SDK's interface that has no output yet.
    Waiting(String),
    /// The same with its output: result of a call that is open earlier on the path, else call and result in one.
    Answered(String),
    /// A payload inside the message.
    Media(Media),
    /// A part that is like one with a payload, the payload left blank.
    Blank(Media),
}

/// A payload and where it stands in its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// Which bytes.
    pub payload: Payload,
    /// In a `data:` URL with this media type and parameter, or else as bare base64 some levels down.
    pub as_url: bool,
}

/// Bytes that tests store: few, so that messages share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Short ones, each number others.
    Short(u8),
    /// Of several hundred kilobytes.
    Long,
}

impl Payload {
    /// The bytes.
    pub fn bytes(self) -> Vec<u8> {
        let (length, step) = match self {
            Self::Short(number) => (800 + usize::from(number), 7 + usize::from(number)),
            Self::Long => (401_000, 3),
        };
        (0..length).map(|index| (index * step / 5) as u8).collect()
    }
}

/// The `metadata` of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metadata {
    /// Not there.
    Absent,
    /// `null`.
    Null,
    /// A string.
    Word,
    /// An object: keys and values as they are written, without the quotes of the key.
    Object(Vec<(String, String)>),
}

impl Text {
    /// A message of one text part.
    pub fn plain(id: &str, role: &str, text: &str) -> Self {
        Self {
            id: id.to_owned(),
            role: role.to_owned(),
            parts: vec![Part::Text(text.to_owned())],
            metadata: Metadata::Absent,
            metadata_at: 3,
            escaped: false,
        }
    }

    /// The text as it is stored: no white space outside strings.
    pub fn compact(&self) -> String {
        self.written("")
    }

    /// The text as it is read by reference, and what is left out of it.
    pub fn by_reference(&self) -> (String, Vec<MediaReference>) {
        let mut references = Vec::new();
        for (part, at) in self.parts.iter().zip(0..) {
            if let Part::Media(media) = part {
                let bytes = media.payload.bytes();
                references.push(MediaReference {
                    index: references.len() as u32,
                    pointer: format!("/parts/{at}/{}", media.place()),
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    media_type: MEDIA_TYPE.to_owned(),
                    bytes: bytes.len() as u64,
                });
            }
        }
        (self.blanked().compact(), references)
    }

    /// The message with all its payloads left blank.
    pub fn blanked(&self) -> Self {
        let blank = |part: &Part| match part {
            Part::Media(media) => Part::Blank(*media),
            other => other.clone(),
        };
        Self { parts: self.parts.iter().map(blank).collect(), ..self.clone() }
    }

    /// Whether it leaves blank where a stored message has a payload.
    pub fn blanks(&self, stored: &Self) -> bool {
        self.parts.iter().zip(&stored.parts).any(|(own, stored)| match (own, stored) {
            (Part::Blank(own), Part::Media(stored)) => own.as_url == stored.as_url,
            _ => false,
        })
    }

    /// How many bytes reading by reference leaves out.
    pub fn outside(&self) -> u64 {
        (self.compact().len() - self.blanked().compact().len()) as u64
    }

    /// Its payloads, in order.
    pub fn payloads(&self) -> Vec<Payload> {
        let payload = |part: &Part| match part {
            Part::Media(media) => Some(media.payload),
            _ => None,
        };
        self.parts.iter().filter_map(payload).collect()
    }

    /// The same message with white space wherever JSON allows some.
    pub fn spaced(&self) -> String {
        self.written(" \t\r\n")
    }

    fn written(&self, gap: &str) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| part.written()).collect();
        let parts = format!("[{gap}{}{gap}]", parts.join(&format!("{gap},{gap}")));
        let mut members =
            vec![("id", self.written_id()), ("role", Value::from(self.role.as_str()).to_string()), ("parts", parts)];
        let metadata = match &self.metadata {
            Metadata::Absent => None,
            Metadata::Null => Some("null".to_owned()),
            Metadata::Word => Some("\"word\"".to_owned()),
            Metadata::Object(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("\"{key}\"{gap}:{gap}{value}")).collect();
                Some(format!("{{{gap}{}{gap}}}", members.join(&format!("{gap},{gap}"))))
            }
        };
        if let Some(metadata) = metadata {
            members.insert(self.metadata_at, ("metadata", metadata));
        }
        let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\"{gap}:{gap}{value}")).collect();
        format!("{gap}{{{gap}{}{gap}}}{gap}", members.join(&format!("{gap},{gap}")))
    }

    fn written_id(&self) -> String {
        let plain = Value::from(self.id.as_str()).to_string();
        match self.id.chars().next() {
            Some(first) if self.escaped && first.is_ascii_alphanumeric() => {
                format!("\"\\u{:04x}{}", u32::from(first), &plain[2..])
            }
            _ => plain,
        }
    }

    /// What a client may append of it: the reserved keys leave the metadata, which goes when nothing is left.
    pub fn stripped(&self, reserved: &[String]) -> Self {
        let mut text = self.clone();
        if let Metadata::Object(members) = &self.metadata {
            let left: Vec<_> = members.iter().filter(|(key, _)| !is_reserved(key, reserved)).cloned().collect();
            if left.len() < members.len() {
                text.metadata = if left.is_empty() { Metadata::Absent } else { Metadata::Object(left) };
            }
        }
        text
    }

    /// What is stored when a client writes it over `stored`, whose reserved values stay. None: it cannot hold them.
    pub fn over(&self, stored: &Self, reserved: &[String]) -> Option<Self> {
        let kept: Vec<(String, String)> = match &stored.metadata {
            Metadata::Object(members) => {
                members.iter().filter(|(key, _)| is_reserved(key, reserved)).cloned().collect()
            }
            _ => Vec::new(),
        };
        if kept.is_empty() {
            return Some(self.stripped(reserved));
        }
        let mut text = self.clone();
        let mut members = match &self.metadata {
            Metadata::Word => return None,
            Metadata::Absent => {
                text.metadata_at = 3;
                Vec::new()
            }
            Metadata::Null => Vec::new(),
            Metadata::Object(members) => {
                members.iter().filter(|(key, _)| !is_reserved(key, reserved)).cloned().collect()
            }
        };
        members.extend(kept);
        text.metadata = Metadata::Object(members);
        Some(text)
    }

    /// Whether it says the same as another message, reserved keys left out on both sides.
    pub fn says_the_same_as(&self, other: &Self, reserved: &[String]) -> bool {
        if self.compact() == other.compact() {
            return true;
        }
        let (a, b) = (self.stripped(reserved), other.stripped(reserved));
        // A metadata that held nothing but reserved keys is the same as an empty one and as none.
        let emptied = |before: &Self, after: &Self| {
            let mut text = after.clone();
            if after.metadata == Metadata::Absent && before.metadata != Metadata::Absent {
                text.metadata = Metadata::Object(Vec::new());
            }
            text
        };
        a.compact() == b.compact() || emptied(self, &a).compact() == emptied(other, &b).compact()
    }

    /// The first 120 characters of its text; none where it has no text to show.
    pub fn preview(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) if !text.is_empty() => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let joined = texts.join(" ").trim().chars().take(120).collect::<String>();
        (!joined.is_empty()).then_some(joined)
    }
}

impl Part {
    fn written(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        match self {
            Self::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
            Self::Call(id) => {
                format!(r#"{{"type":"tool-call","toolCallId":{},"toolName":"look","input":{{"x":1.0}}}}"#, quoted(id))
            }
            Self::Result(id) => format!(r#"{{"type":"tool_result","tool_use_id":{},"content":"found"}}"#, quoted(id)),
            Self::Waiting(id) => {
                format!(r#"{{"type":"tool-look","toolCallId":{},"state":"input-available","input":{{}}}}"#, quoted(id))
            }
            Self::Answered(id) => format!(
                r#"{{"type":"tool-look","toolCallId":{},"state":"output-available","input":{{}},"output":1e3}}"#,
                quoted(id)
            ),
            Self::Media(media) => media.written(&STANDARD.encode(media.payload.bytes())),
            Self::Blank(media) => media.written(""),
        }
    }
}

/// The media type of all payloads.
pub(super) const MEDIA_TYPE: &str = "image/PNG";

impl Media {
    fn written(self, base64: &str) -> String {
        match (self.as_url, base64) {
            (true, "") => r#"{"type":"file","url":""}"#.to_owned(),
            (true, base64) => format!(r#"{{"type":"file","url":"data:{MEDIA_TYPE};name=a b;base64,{base64}"}}"#),
            (false, base64) => {
                format!(r#"{{"type":"image","source":[{{"data":"{base64}","media_type":"{MEDIA_TYPE}"}}]}}"#)
            }
        }
    }

    /// Where it stands in its part.
    fn place(self) -> &'static str {
        if self.as_url { "url" } else { "source/0/data" }
    }
}

/// Whether a key, as it is written, names a reserved one.
fn is_reserved(written: &str, reserved: &[String]) -> bool {
    let key: String = serde_json::from_str(&format!("\"{written}\"")).unwrap_or_else(|_| written.to_owned());
    reserved.contains(&key)
}
