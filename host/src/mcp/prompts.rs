//! Prompts: what a person may ask an agent to do with the conversations and the memory here, as one command.
//!
//! Clients show them by name (`/mcp__talktree__recall` in Claude Code, for instance). A prompt only says in words what the
//! tools are for; everything is done by the tools.

use rmcp::model::{ContentBlock, ErrorData, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};

use super::Confinement;

/// A prompt with one argument.
struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    argument: &'static str,
    argument_description: &'static str,
    /// What stands before the argument.
    text: &'static str,
    writes: bool,
}

const TEMPLATES: [Template; 2] = [
    Template {
        name: "recall",
        title: "Recall what is known",
        description: "Look up what earlier conversations and the memory hold about something",
        argument: "about",
        argument_description: "What to look for",
        text: "Find out what earlier conversations and the memory hold about the following, with the tools of talktree: \
            read the memory with list_blocks, look for its words (and other words for the same) with search_messages, and \
            read around what you find with get_message or read_history. Say what was found, where it was said, and what \
            was not found. About: ",
        writes: false,
    },
    Template {
        name: "remember",
        title: "Remember something",
        description: "Write something into the memory, so that later conversations have it",
        argument: "what",
        argument_description: "What to remember",
        text: "Remember the following for later conversations, with the tools of talktree: look with list_blocks whether a \
            memory block is there for it, and declare one with define_block if there is none; then write it with \
            write_block, short, in a way that is understood without this conversation, and without dropping what the block \
            says already. To remember: ",
        writes: true,
    },
];

impl Template {
    fn is_for(&self, confinement: &Confinement) -> bool {
        !(self.writes && confinement.read_only)
    }
}

/// The prompts for who is confined so.
pub(super) fn list(confinement: &Confinement) -> Vec<Prompt> {
    let shown = |template: &Template| {
        let argument =
            PromptArgument::new(template.argument).with_description(template.argument_description).with_required(true);
        Prompt::new(template.name, Some(template.description), Some(vec![argument])).with_title(template.title)
    };
    TEMPLATES.iter().filter(|template| template.is_for(confinement)).map(shown).collect()
}

/// A prompt with its argument filled in.
pub(super) fn get(
    confinement: &Confinement,
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let template = TEMPLATES
        .iter()
        .find(|template| template.name == name && template.is_for(confinement))
        .ok_or_else(|| ErrorData::invalid_params(format!("there is no prompt {name:?}"), None))?;
    let given =
        arguments.and_then(|arguments| arguments.get(template.argument)?.as_str()).filter(|text| !text.is_empty());
    let given = given
        .ok_or_else(|| ErrorData::invalid_params(format!("the prompt {name:?} needs {:?}", template.argument), None))?;
    let message = PromptMessage::new(Role::User, ContentBlock::text(format!("{}{given}", template.text)));
    Ok(GetPromptResult::new(vec![message]).with_description(template.description))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use serde_json::json;

    use super::{super::catalogue::find, *};

    #[test]
    fn a_prompt_says_what_to_do_with_tools_that_there_are() {
        let open = Confinement::default();
        for prompt in list(&open) {
            let argument = &prompt.arguments.unwrap()[0].name;
            let arguments = json!({argument: "the port {of} the server"});
            let got = get(&open, &prompt.name, arguments.as_object()).unwrap();
            let text = serde_json::to_value(&got.messages[0]).unwrap()["content"]["text"].as_str().unwrap().to_owned();
            assert!(text.ends_with(": the port {of} the server"), "{text}");
            let tools: Vec<_> =
                text.split(|c: char| !c.is_alphabetic() && c != '_').filter(|word| word.contains('_')).collect();
            assert!(tools.len() >= 3 && tools.iter().all(|tool| find(tool, &open).is_some()), "{tools:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_prompt_is_said() {
        let open = Confinement::default();
        let reader = Confinement { read_only: true, ..Confinement::default() };
        let arguments = json!({"what": "x", "about": 5});
        assert!(get(&open, "nothing", None).is_err());
        assert!(get(&open, "recall", None).is_err());
        assert!(get(&open, "recall", arguments.as_object()).is_err());
        assert!(get(&open, "remember", arguments.as_object()).is_ok());
        assert!(get(&reader, "remember", arguments.as_object()).is_err(), "who only reads writes nothing");
        assert_eq!(list(&reader).len(), 1);
    }
}
