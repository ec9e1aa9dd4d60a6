//! The conversation part of a prompt, read back.
//!
//! The engine writes it between `<conversation>` and `</conversation>`: an element for each message, named for its role,
//! and one for each earlier summary. Whatever is said in a message cannot end its element.

/// What a call without an answer is marked with.
const UNANSWERED: &str = "[a tool call of this message got no answer]";

/// One thing in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry<'a> {
    /// A summary that the new one will stand in for.
    Summary(&'a str),
    Message {
        role: &'a str,
        text: &'a str,
        /// One of its tool calls got no answer.
        unanswered: bool,
    },
}

/// The conversation in a prompt, in order. A prompt without one is one message of the user's.
pub(crate) fn read(prompt: &str) -> Vec<Entry<'_>> {
    let Some((_, rest)) = prompt.split_once("\n<conversation>\n") else {
        return vec![Entry::Message { role: "user", text: prompt, unanswered: false }];
    };
    let mut rest = rest.rsplit_once("</conversation>").map_or(rest, |(conversation, _)| conversation);
    let mut entries = Vec::new();
    while let Some((entry, after)) = next(rest) {
        entries.push(entry);
        rest = after;
    }
    entries
}

fn next(text: &str) -> Option<(Entry<'_>, &str)> {
    let (_, text) = text.split_once('<')?;
    let (tag, text) = text.split_once('>')?;
    let name = tag.split(' ').next().unwrap_or(tag);
    let end = format!("</{name}>");
    let (inside, after) = text.split_once(end.as_str()).unwrap_or((text, ""));
    let inside = inside.trim();
    let entry = if name == "earlier-summary" {
        Entry::Summary(inside)
    } else {
        let spoken = inside.strip_suffix(UNANSWERED);
        Entry::Message { role: name, text: spoken.unwrap_or(inside).trim_end(), unanswered: spoken.is_some() }
    };
    Some((entry, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_and_messages_come_back_in_order() {
        let prompt = "Rules.\n\n<conversation>\n<earlier-summary messages=\"3\">\n## Topic\nA port\n</earlier-summary>\n\
                      <user>\n1 < 2 <b>bold</b> < /user>\n</user>\n<assistant>\n[tool-call x] {}\n\
                      [a tool call of this message got no answer]\n</assistant>\n</conversation>\n\nNow.\n";
        assert_eq!(
            read(prompt),
            [
                Entry::Summary("## Topic\nA port"),
                Entry::Message { role: "user", text: "1 < 2 <b>bold</b> < /user>", unanswered: false },
                Entry::Message { role: "assistant", text: "[tool-call x] {}", unanswered: true },
            ]
        );
    }

    #[test]
    fn anything_else_is_read_as_something_said() {
        assert_eq!(read("Hello"), [Entry::Message { role: "user", text: "Hello", unanswered: false }]);
        assert_eq!(read("\n<conversation>\n</conversation>"), []);
        assert_eq!(read("x\n<conversation>\n<user>\nhalf").len(), 1);
    }
}
