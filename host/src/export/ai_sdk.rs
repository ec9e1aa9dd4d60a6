//! `ai-sdk`: messages as they are stored, in an array.

use super::Rules;
use crate::Message;

pub(super) struct AiSdk;

impl Rules for AiSdk {
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
        vec![message.json.clone()]
    }
}
