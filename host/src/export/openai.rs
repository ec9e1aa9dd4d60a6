//! `openai-messages`: messages as chat completions take them, in an array.
//!
//! A message of several steps becomes several: a model says something and calls tools, the answers follow as messages
//! of role `tool`, and what it says then is a message of its own. Reasoning and data of programs have no place there
//! and are left out, and so is a message that holds nothing else.

use super::{
    Rules,
    part::{Answer, Call, Input, Part, output_text, take},
};
use crate::{
    Message,
    import::json::{self, Writer, inside},
};

pub(super) struct OpenAi;

impl Rules for OpenAi {
    fn begin(&self) -> &'static str {
        "[\n"
    }

    fn between(&self) -> &'static str {
        ",\n"
    }

    fn end(&self) -> &'static str {
        "\n]\n"
    }

    fn message(&self, message: &Message) -> Vec<String> {
        messages(&message.json)
    }
}

/// What a model or a user said in one go.
#[derive(Default)]
struct Turn {
    blocks: Vec<String>,
    /// The only block, if it is a text.
    text: Option<String>,
    calls: Vec<String>,
    answers: Vec<String>,
}

/// What one message becomes.
pub(crate) fn messages(message: &str) -> Vec<String> {
    let taken = take(message);
    // Answers are messages of their own; what else stands in such a message nobody but the user can have said.
    let role = if taken.role == "\"tool\"" { "\"user\"" } else { taken.role };
    let mut done = Vec::new();
    let mut turn = Turn::default();
    if taken.parts.is_empty() && taken.role != "\"tool\"" {
        turn.say("\"\"");
    }
    for part in taken.parts {
        match part {
            Part::Text(text) => {
                turn.flush_calls(role, &mut done);
                turn.say(text);
            }
            Part::File { media_type, url, name } => {
                turn.flush_calls(role, &mut done);
                turn.show(file(media_type, url, name));
            }
            Part::Call(of) => {
                // One that ran in an earlier step has been answered by a message of its own.
                if turn.calls.is_empty() && !turn.answers.is_empty() {
                    turn.flush(role, &mut done);
                }
                turn.calls.push(call(&of));
                turn.answers.extend(of.answer.as_ref().map(answer));
            }
            Part::Result(of) => turn.answers.push(answer(&of)),
            Part::Step => turn.flush_calls(role, &mut done),
            Part::Reasoning(_) | Part::Other(_) => {}
        }
    }
    turn.flush(role, &mut done);
    done
}

impl Turn {
    fn say(&mut self, text: &str) {
        let mut block = Writer::object();
        block.put_text("type", "text").put("text", text);
        self.text = self.blocks.is_empty().then(|| text.to_owned());
        self.blocks.push(block.end());
    }

    fn show(&mut self, block: String) {
        self.text = None;
        self.blocks.push(block);
    }

    /// What comes now was said after tools had answered.
    fn flush_calls(&mut self, role: &str, done: &mut Vec<String>) {
        if !self.calls.is_empty() || !self.answers.is_empty() {
            self.flush(role, done);
        }
    }

    fn flush(&mut self, role: &str, done: &mut Vec<String>) {
        let Turn { blocks, text, calls, answers } = std::mem::take(self);
        if !blocks.is_empty() || !calls.is_empty() {
            let mut message = Writer::object();
            message.put("role", role);
            match text {
                Some(text) => message.put("content", &text),
                None if blocks.is_empty() => message.put("content", "null"),
                None => message.put("content", &list(&blocks)),
            };
            if !calls.is_empty() {
                message.put("tool_calls", &list(&calls));
            }
            done.push(message.end());
        }
        done.extend(answers);
    }
}

fn list(of: &[String]) -> String {
    let mut list = Writer::array();
    for element in of {
        list.push(element);
    }
    list.end()
}

fn call(call: &Call<'_>) -> String {
    let arguments = match call.input {
        Input::Json(json) => json::quoted(json),
        Input::Text(text) => text.to_owned(),
        Input::Nothing => "\"{}\"".to_owned(),
    };
    let mut function = Writer::object();
    function.put_text("name", &call.name).put("arguments", &arguments);
    let mut out = Writer::object();
    out.put("id", call.id).put_text("type", "function").put("function", &function.end());
    out.end()
}

fn answer(answer: &Answer<'_>) -> String {
    let mut message = Writer::object();
    message.put_text("role", "tool").put("tool_call_id", answer.id).put("content", &output_text(answer.output));
    message.end()
}

fn file(media_type: &str, url: &str, name: Option<&str>) -> String {
    let mut block = Writer::object();
    let mut inner = Writer::object();
    let bytes = inside(url).split_once(";base64,").filter(|(start, _)| start.starts_with("data:"));
    match (inside(media_type).split('/').next().unwrap_or_default(), bytes) {
        ("image", _) => {
            inner.put("url", url);
            block.put_text("type", "image_url").put("image_url", &inner.end());
        }
        ("audio", Some((_, bytes))) => {
            let format = inside(media_type).split_once('/').map_or("wav", |(_, format)| format);
            inner.put("data", &format!("\"{bytes}\"")).put("format", &format!("\"{format}\""));
            block.put_text("type", "input_audio").put("input_audio", &inner.end());
        }
        _ => {
            if let Some(name) = name {
                inner.put("filename", name);
            }
            inner.put("file_data", url);
            block.put_text("type", "file").put("file", &inner.end());
        }
    }
    block.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_one_message_become_messages_of_their_own() {
        let message = r#"{"id":"a","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"hm"},
            {"type":"text","text":"Looking."},
            {"type":"tool-find","toolCallId":"c1","state":"output-available","input":{"q": 1},"output":{"n":2}},
            {"type":"dynamic-tool","toolName":"read","toolCallId":"c2","state":"output-error","rawInput":"{\"p","errorText":"no"},
            {"type":"step-start"},{"type":"text","text":"Two \ud83d."}]}"#;
        assert_eq!(
            messages(message),
            [
                r#"{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"q\": 1}"}},{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"p"}}]}"#,
                r#"{"role":"tool","tool_call_id":"c1","content":"{\"n\":2}"}"#,
                r#"{"role":"tool","tool_call_id":"c2","content":"no"}"#,
                r#"{"role":"assistant","content":"Two \ud83d."}"#,
            ]
        );
    }

    #[test]
    fn what_has_no_place_is_left_out_and_nothing_said_stays_nothing() {
        assert!(messages(r#"{"id":"a","role":"assistant","parts":[{"type":"reasoning","text":"hm"}]}"#).is_empty());
        assert_eq!(messages(r#"{"id":"a","role":"user","parts":[]}"#), [r#"{"role":"user","content":""}"#]);
        let image = r#"{"id":"a","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="}]}"#;
        assert_eq!(
            messages(image),
            [r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}"#]
        );
    }
}
