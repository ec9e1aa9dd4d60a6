//! A model that is a script, for trying everything out without a key.

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{Answering, Model, Piece, Question};

/// What stands before something to be remembered.
const REMEMBER: [&str; 2] = ["remember:", "记住："];
/// What stands before something to be written down, as `title | text`.
const NOTE: &str = "note:";
/// What stands before something to be looked up.
const LOOK_UP: &str = "look up:";

/// A model without a model. It repeats what the user has told it, so that one sees what it was shown, and calls tools when
/// it is told to: `remember: FACT`, `note: TITLE | TEXT`, `look up: WORDS`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scripted;

impl Model for Scripted {
    fn answer(&self, question: Question) -> Answering {
        let messages: Vec<Value> =
            question.messages.iter().filter_map(|message| serde_json::from_str(message).ok()).collect();
        let pieces = match messages.last() {
            Some(last) if last["role"] == "assistant" => after_tools(last),
            _ => on_words(&question, &messages),
        };
        stream::iter(pieces.into_iter().map(Ok)).boxed()
    }
}

/// What a tool has answered is passed on.
fn after_tools(message: &Value) -> Vec<Piece> {
    let mut outputs = message["parts"].as_array().into_iter().flatten().filter_map(|part| part["output"].as_str());
    say(&format!("Done. {}", outputs.next_back().unwrap_or("Nothing came of it.")))
}

fn on_words(question: &Question, messages: &[Value]) -> Vec<Piece> {
    let told: Vec<String> = messages.iter().filter(|message| message["role"] == "user").map(text_of).collect();
    let Some(last) = told.last() else { return say("Say something.") };
    let word = |prefix: &str| last.get(..prefix.len()).filter(|start| start.eq_ignore_ascii_case(prefix));
    let rest = |prefix: &str| word(prefix).map(|_| last[prefix.len()..].trim().to_owned());
    if let Some(fact) = REMEMBER.iter().find_map(|prefix| rest(prefix)) {
        return call(question, "set_context", &json!({"label": "memory", "content": fact, "action": "append"}));
    }
    if let Some(note) = rest(NOTE) {
        let (title, text) = note.split_once('|').unwrap_or((note.as_str(), note.as_str()));
        let arguments = json!({"label": "notes", "key": title.trim(), "title": title.trim(), "content": text.trim()});
        return call(question, "set_context", &arguments);
    }
    if let Some(words) = rest(LOOK_UP) {
        return call(question, "search_context", &json!({"label": "notes", "query": words}));
    }
    let before = &told[..told.len() - 1];
    if before.is_empty() {
        return say(&format!("You said: {last} That is the first thing that you have told me here."));
    }
    let list: String = before.iter().map(|text| format!("\n- {text}")).collect();
    say(&format!("You said: {last}\n\nBefore that you have told me:{list}"))
}

fn text_of(message: &Value) -> String {
    let texts = message["parts"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn call(question: &Question, name: &str, arguments: &Value) -> Vec<Piece> {
    // As of a model, an id is new for each call of a conversation.
    let id = format!("call-{}", question.messages.len());
    vec![Piece::Call { id, name: name.to_owned(), arguments: arguments.to_string() }]
}

/// Word by word, as a model does.
fn say(text: &str) -> Vec<Piece> {
    text.split_inclusive(' ').map(|word| Piece::Text(word.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn answer(texts: &[&str]) -> Vec<Piece> {
        let message = |text: &&str| json!({"role": "user", "parts": [{"type": "text", "text": text}]}).to_string();
        let messages = texts.iter().map(message).collect();
        let question = Question { system: String::new(), reminder: None, messages, tools: Vec::new() };
        futures::executor::block_on_stream(Scripted.answer(question)).map(Result::unwrap).collect()
    }

    fn said(texts: &[&str]) -> String {
        answer(texts).iter().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "" }).collect()
    }

    #[test]
    fn it_repeats_what_it_was_told() {
        let text = said(&["My name is Ada.", "What is it?"]);
        assert!(text.contains("My name is Ada.") && text.contains("What is it?"), "{text}");
        assert!(!said(&["Hello"]).contains("Before that"));
        assert!(!said(&["记"]).is_empty(), "a prefix never cuts a character");
    }

    #[test]
    fn it_calls_tools_when_it_is_told_to() {
        let [Piece::Call { name, arguments, .. }] = &answer(&["Remember: deploys are on Fridays"])[..] else {
            panic!()
        };
        assert_eq!(name, "set_context");
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap()["content"], "deploys are on Fridays");
        let [Piece::Call { name, .. }] = &answer(&["look up: deploys"])[..] else { panic!() };
        assert_eq!(name, "search_context");
    }
}
