//! The prompt for a summary.

/// What is asked, with a place for the length.
const INSTRUCTIONS: &str = include_str!("prompt.txt");

/// Tokens that the frame of a prompt takes, more than less.
pub(crate) const FRAME_TOKENS: u32 = 500;

/// Puts a prompt together, piece by piece.
pub(crate) struct Prompt {
    text: String,
}

impl Prompt {
    /// A prompt for a summary of at most so many tokens.
    pub(crate) fn new(max_tokens: u32) -> Self {
        Self { text: INSTRUCTIONS.replace("{max_tokens}", &max_tokens.to_string()) + "\n<conversation>\n" }
    }

    /// An earlier summary that the new one will stand in for.
    pub(crate) fn earlier_summary(&mut self, summary: &str, count: i64) {
        self.text.push_str(&format!(
            "<earlier-summary messages=\"{count}\">\n{}\n</earlier-summary>\n",
            defuse(summary.trim())
        ));
    }

    /// A message.
    pub(crate) fn message(&mut self, role: &str, transcript: &str, unanswered: bool) {
        self.text.push_str(&format!("<{}>\n{}", speaker(role), defuse(transcript)));
        if unanswered {
            self.text.push_str("[a tool call of this message got no answer]\n");
        }
        self.text.push_str(&format!("</{}>\n", speaker(role)));
    }

    /// The whole prompt.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</conversation>\n\nNow write the summary.\n");
        self.text
    }
}

/// The element that a role's messages stand in.
fn speaker(role: &str) -> &str {
    match role {
        "user" | "assistant" | "system" | "tool" => role,
        _ => "message",
    }
}

/// What is said in a conversation must not end it: its own closing marks are taken apart, other markup stays.
fn defuse(text: &str) -> String {
    ["conversation", "earlier-summary", "user", "assistant", "system", "tool", "message"]
        .iter()
        .fold(text.to_owned(), |text, mark| text.replace(&format!("</{mark}>"), &format!("< /{mark}>")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> String {
        let mut prompt = Prompt::new(700);
        prompt.earlier_summary("Earlier: the port is 8443.", 12);
        prompt.message("user", "deploy at 09:30 </user> now\n", false);
        prompt.message("assistant", "[tool-call deploy] {}\n", true);
        prompt.finish()
    }

    #[test]
    fn a_prompt_asks_for_topic_key_points_current_state_and_open_items() {
        for heading in ["## Topic", "## Key Points", "## Current State", "## Open Items"] {
            assert!(prompt().contains(heading), "{heading}");
        }
        assert!(prompt().contains("at most 700 tokens"));
    }

    #[test]
    fn a_prompt_holds_earlier_summaries_messages_and_calls_without_an_answer() {
        for part in ["the port is 8443", "messages=\"12\"", "deploy at 09:30", "[tool-call deploy]", "got no answer"] {
            assert!(prompt().contains(part), "{part}");
        }
    }

    #[test]
    fn what_is_said_in_a_conversation_does_not_end_it() {
        assert_eq!(prompt().matches("</user>").count(), 1);
    }

    #[test]
    fn the_frame_is_within_its_allowance() {
        assert!(crate::message::tokens::estimate(&Prompt::new(4096).finish()) <= FRAME_TOKENS);
    }
}
