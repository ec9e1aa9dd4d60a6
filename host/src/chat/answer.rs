//! An answer while it is put together: text and calls of tools, in the order in which the model gave them.

use crate::{
    ToolAnswer,
    import::json::{Writer, valid},
};

/// The message that an answer becomes.
#[derive(Debug)]
pub(super) struct Draft {
    id: String,
    parts: Vec<String>,
    /// Text that is still growing.
    text: String,
    /// The model wrote as much as it may.
    pub(super) cut: bool,
}

impl Draft {
    pub(super) fn new(id: String) -> Self {
        Self { id, parts: Vec::new(), text: String::new(), cut: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.text.is_empty()
    }

    /// How many parts stand before the text that is growing.
    pub(super) fn place(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A tool was called, and has answered.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: &str, answer: &ToolAnswer) {
        self.end_text();
        let mut part = Writer::object();
        part.put_text("type", &format!("tool-{name}")).put_text("toolCallId", id);
        part.put_text("state", if answer.is_error { "output-error" } else { "output-available" });
        match valid(arguments.as_bytes()) {
            Ok(arguments) => part.put("input", arguments),
            // What is no JSON is kept as the model wrote it.
            Err(_) => part.put_text("rawInput", arguments),
        };
        part.put_text(if answer.is_error { "errorText" } else { "output" }, &answer.content);
        self.parts.push(part.end());
    }

    /// The model is asked again.
    pub(super) fn step(&mut self) {
        self.end_text();
        self.parts.push(r#"{"type":"step-start"}"#.to_owned());
    }

    fn end_text(&mut self) {
        if let Some(part) = text_part(&std::mem::take(&mut self.text)) {
            self.parts.push(part);
        }
    }

    /// The message as it is now.
    pub(super) fn message(&self, partial: bool) -> String {
        let mut parts = Writer::array();
        for part in self.parts.iter().chain(text_part(&self.text).as_ref()) {
            parts.push(part);
        }
        let mut message = Writer::object();
        message.put_text("id", &self.id).put_text("role", "assistant").put("parts", &parts.end());
        if partial || self.cut {
            let mut metadata = Writer::object();
            if partial {
                metadata.put("partial", "true");
            }
            if self.cut {
                metadata.put("cut", "true");
            }
            message.put("metadata", &metadata.end());
        }
        message.end()
    }
}

fn text_part(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let mut part = Writer::object();
    part.put_text("type", "text").put_text("text", text);
    Some(part.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_the_order_in_which_they_came() {
        let mut draft = Draft::new("a".to_owned());
        assert!(draft.is_empty());
        draft.say("Let ");
        draft.say("me.");
        draft.call("c", "find", r#"{"q": 1}"#, &ToolAnswer { content: "two".to_owned(), is_error: false });
        draft.call("d", "find", "{\"q", &ToolAnswer { content: "Error: no".to_owned(), is_error: true });
        draft.step();
        draft.say("Two.");
        assert_eq!(
            draft.message(true),
            r#"{"id":"a","role":"assistant","parts":[{"type":"text","text":"Let me."},{"type":"tool-find","toolCallId":"c","state":"output-available","input":{"q": 1},"output":"two"},{"type":"tool-find","toolCallId":"d","state":"output-error","rawInput":"{\"q","errorText":"Error: no"},{"type":"step-start"},{"type":"text","text":"Two."}],"metadata":{"partial":true}}"#
        );
    }
}
