//! Messages and parts, put together from pieces of a record.
//!
//! What a part has no member for stays with it, under the name of the format, so that the record can be put together
//! again: in its provider metadata, or, where a block has no part at all, as a part `data-<format>`.

use super::{
    json::{self, Members, Writer, elements, inside, same_key},
    plan::Sources,
};

/// The parts of one format, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own(pub(crate) &'static str);

impl Own {
    /// A text, given as a JSON string.
    pub(crate) fn text(self, text: &str, rest: Option<String>) -> String {
        self.spoken("text", text, rest)
    }

    /// What a model thought, given as a JSON string.
    pub(crate) fn reasoning(self, text: &str, rest: Option<String>) -> String {
        self.spoken("reasoning", text, rest)
    }

    fn spoken(self, kind: &str, text: &str, rest: Option<String>) -> String {
        let mut part = Writer::object();
        part.put_text("type", kind).put("text", text);
        self.put_rest(&mut part, "providerMetadata", rest);
        part.end()
    }

    /// What has no part of its own, as it is.
    pub(crate) fn data(self, raw: &str) -> String {
        let mut part = Writer::object();
        part.put("type", &format!("\"data-{}\"", self.0)).put("data", raw);
        part.end()
    }

    /// A file; the media type and the URL are JSON strings.
    pub(crate) fn file(self, media_type: &str, url: &str, rest: Option<String>) -> String {
        let mut part = Writer::object();
        part.put_text("type", "file").put("mediaType", media_type).put("url", url);
        self.put_rest(&mut part, "providerMetadata", rest);
        part.end()
    }

    /// A file whose bytes are there in base64; all three are JSON strings.
    pub(crate) fn inline_file(self, media_type: &str, base64: &str, rest: Option<String>) -> String {
        let url = format!("\"data:{};base64,{}\"", inside(media_type), inside(base64));
        self.file(media_type, &url, rest)
    }

    /// A call of a tool; name and id are JSON strings, the input is any JSON.
    pub(crate) fn call(self, name: &str, id: &str, input: Option<&str>, rest: Option<String>) -> String {
        let mut part = Writer::object();
        part.put_text("type", "dynamic-tool").put("toolName", name).put("toolCallId", id);
        part.put_text("state", "input-available");
        if let Some(input) = input {
            part.put("input", input);
        }
        self.put_rest(&mut part, "callProviderMetadata", rest);
        part.end()
    }

    /// The same, for programs that write the input as a JSON string with JSON in it. What is no JSON is kept as
    /// `rawInput`.
    pub(crate) fn call_of_text(self, name: &str, id: &str, arguments: Option<&str>, rest: Option<String>) -> String {
        let Some(raw) = arguments else { return self.call(name, id, None, rest) };
        let Some(text) = json::text(raw) else { return self.call(name, id, Some(raw), rest) };
        if let Ok(input) = json::valid(text.as_bytes()) {
            return self.call(name, id, Some(input), rest);
        }
        let mut part = Writer::object();
        part.put_text("type", "dynamic-tool").put("toolName", name).put("toolCallId", id);
        part.put_text("state", "input-available").put("rawInput", raw);
        self.put_rest(&mut part, "callProviderMetadata", rest);
        part.end()
    }

    /// What a tool answered. `content` is a JSON string, a list of blocks, or any other JSON; `item` makes an item of
    /// a tool's output of a block.
    pub(crate) fn result(
        self,
        id: Option<&str>,
        name: Option<&str>,
        content: Option<&str>,
        error: bool,
        item: impl Fn(&str) -> String,
        rest: Option<String>,
    ) -> String {
        let mut part = Writer::object();
        part.put_text("type", "tool-result");
        part.put("toolCallId", id.unwrap_or("\"\""));
        if let Some(name) = name {
            part.put("toolName", name);
        }
        let text_type = if error { "error-text" } else { "text" };
        let mut output = Writer::object();
        match content {
            Some(text) if text.starts_with('"') => {
                output.put_text("type", text_type).put("value", text);
            }
            Some(list) if list.starts_with('[') => {
                let blocks = elements(list);
                match &*blocks {
                    [only] if plain_text(only).is_some() => {
                        output.put_text("type", text_type).put("value", plain_text(only).unwrap_or_default());
                    }
                    blocks => {
                        let mut value = Writer::array();
                        for block in blocks {
                            value.push(&item(block));
                        }
                        output.put_text("type", "content").put("value", &value.end());
                        if error {
                            part.put("isError", "true");
                        }
                    }
                }
            }
            None | Some("null") => {
                output.put_text("type", text_type).put_text("value", "");
            }
            Some(other) => {
                output.put_text("type", if error { "error-json" } else { "json" }).put("value", other);
            }
        }
        part.put("output", &output.end());
        self.put_rest(&mut part, "providerMetadata", rest);
        part.end()
    }

    /// A block of a tool's answer: a text, if it is of one of these types.
    pub(crate) fn item(self, block: &str, texts: &[&str]) -> String {
        let members = Members::of(block.as_bytes());
        let is_text = members.text("type").is_some_and(|kind| texts.contains(&&*kind));
        match string(&members, "text").filter(|_| is_text) {
            Some(text) => {
                let mut item = Writer::object();
                item.put_text("type", "text").put("text", text);
                self.put_rest(&mut item, "providerOptions", rest(&members, &["type", "text"]));
                item.end()
            }
            None => self.custom_item(block),
        }
    }

    /// A block that has no item of its own in a tool's output.
    pub(crate) fn custom_item(self, block: &str) -> String {
        let mut item = Writer::object();
        item.put_text("type", "custom");
        self.put_rest(&mut item, "providerOptions", Some(block.to_owned()));
        item.end()
    }

    /// Puts members that a part has no place for under the name of the format.
    pub(crate) fn put_rest(self, part: &mut Writer, key: &str, rest: Option<String>) {
        if let Some(rest) = rest {
            let mut under = Writer::object();
            under.put(self.0, &rest);
            part.put(key, &under.end());
        }
    }

    /// A whole message. `kept` is what the parts do not say of the record; the records beside it follow.
    pub(crate) fn message(
        self,
        sources: &Sources<'_>,
        role: &str,
        origin: Option<&str>,
        parts: Writer,
        mut kept: Writer,
    ) -> String {
        for (key, asides) in [("before", &sources.before), ("after", &sources.after)] {
            if !asides.is_empty() {
                let mut list = Writer::array();
                for aside in asides {
                    list.push(aside);
                }
                kept.put(key, &list.end());
            }
        }
        let mut metadata = Writer::object();
        if let Some(origin) = origin {
            metadata.put_text("origin", origin);
        }
        if !kept.is_empty() {
            metadata.put(self.0, &kept.end());
        }
        let mut message = Writer::object();
        message.put_text("id", sources.id).put("role", role).put("parts", &parts.end());
        if !metadata.is_empty() {
            message.put("metadata", &metadata.end());
        }
        message.end()
    }
}

/// A member, if it is a string.
pub(crate) fn string<'a>(members: &Members<'a>, key: &str) -> Option<&'a str> {
    members.get(key).filter(|raw| raw.starts_with('"'))
}

/// The text of a block that is text and nothing else.
fn plain_text(block: &str) -> Option<&str> {
    let members = Members::of(block.as_bytes());
    let kind = members.text("type");
    let plain = matches!(kind.as_deref(), Some("text" | "input_text" | "output_text"));
    (plain && rest(&members, &["type", "text"]).is_none()).then(|| string(&members, "text")).flatten()
}

/// The longest title that is made of a text, in characters.
const LONGEST_TITLE: usize = 80;

/// A title for a conversation that begins with this text: its first line, cut.
pub(crate) fn title(text: &str) -> Option<String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match first.char_indices().nth(LONGEST_TITLE) {
        None => Some(first.to_owned()),
        Some((end, _)) => Some(format!("{}…", first[..end].trim_end())),
    }
}

/// The members that are not among these, as an object; none, if there are none.
pub(crate) fn rest(members: &Members<'_>, known: &[&str]) -> Option<String> {
    let rest = without(members, known);
    (!rest.is_empty()).then(|| rest.end())
}

/// An object without some members, which may be written on.
pub(crate) fn without(members: &Members<'_>, known: &[&str]) -> Writer {
    let mut object = Writer::object();
    for member in members.iter() {
        if !known.iter().any(|key| same_key(member.key, key)) {
            object.copy(member);
        }
    }
    object
}
