//! Who answers: a chat-completions server, or a script where there is none.

use completions::{Server, message};
use serde_json::Value;

use crate::problem::Problem;

/// Tokens of an answer at most.
const MAX_TOKENS: u32 = 4096;

/// The answer to a conversation, which is given as role and text.
pub(crate) fn answer(conversation: &[(String, String)]) -> Result<String, Problem> {
    match Server::from_environment("CHAT")? {
        Some(server) => {
            let messages: Vec<Value> = conversation.iter().map(|(role, text)| message(role, text)).collect();
            Ok(server.complete(&messages, MAX_TOKENS)?.text)
        }
        None => Ok(scripted(conversation)),
    }
}

/// Says back what was said, and how much of it there is.
fn scripted(conversation: &[(String, String)]) -> String {
    let said = conversation.last().map_or("", |(_, text)| text.as_str());
    format!("You said: {said} (message {} of this conversation)", conversation.len())
}
