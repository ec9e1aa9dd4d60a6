//! The tools: what each does, which arguments it takes, and which method carries it out.
//!
//! An argument has the name of the method's param and goes there as it is, so that the methods alone say what is right.

use serde_json::{Map, Value, json};

use super::{Confinement, results::Shape};

/// What a tool does to what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// Something comes, nothing goes.
    Adds,
    /// Something changes that can be changed back.
    Sets,
    /// Something goes, or is written over.
    Destroys,
}

/// What a tool is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All tenants.
    Root,
    /// A tenant.
    Tenant,
    /// A tenant; a session may narrow it.
    Within,
    /// A session.
    Session,
}

/// An argument.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    /// Its JSON Schema.
    schema: &'static str,
    pub(super) required: bool,
    /// JSON text that takes its place where it is absent.
    pub(super) default: Option<&'static str>,
    /// An empty text stands for null: some models' providers take no schema with several types.
    pub(super) nullable: bool,
}

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) effect: Effect,
    pub(super) scope: Scope,
    /// Of JSON-RPC.
    pub(super) method: &'static str,
    /// Params that are always the same, as JSON texts.
    pub(super) constants: &'static [(&'static str, &'static str)],
    pub(super) arguments: &'static [Argument],
    pub(super) shape: Shape,
}

/// The name of the argument that names the tenant, and that of the session.
pub(super) const TENANT: &str = "tenant";
pub(super) const SESSION: &str = "session";
/// Arguments that are not params: a message as a string, or what one is made of.
pub(super) const MESSAGE: &str = "message";
pub(super) const TEXT: &str = "text";
pub(super) const ROLE: &str = "role";

const fn required(name: &'static str, schema: &'static str) -> Argument {
    Argument { name, schema, required: true, default: None, nullable: false }
}

const fn optional(name: &'static str, schema: &'static str) -> Argument {
    Argument { required: false, ..required(name, schema) }
}

const fn default(name: &'static str, schema: &'static str, default: &'static str) -> Argument {
    Argument { default: Some(default), ..optional(name, schema) }
}

const fn nullable(argument: Argument) -> Argument {
    Argument { nullable: true, ..argument }
}

const CURSOR: Argument =
    optional("cursor", r#"{"type":"string","description":"Where the last page ended; absent: the first page"}"#);
const LIMIT: Argument = default(
    "limit",
    r#"{"type":"integer","minimum":1,"maximum":1000,"default":50,"description":"How many at most"}"#,
    "50",
);
const LEAF: Argument = optional(
    "leafId",
    r#"{"type":"string","description":"Id of the message that the path ends with; absent: the present leaf"}"#,
);
const MESSAGE_TEXT: Argument = optional(
    MESSAGE,
    r#"{"type":"string","description":"The message as JSON in a string: {\"id\":...,\"role\":...,\"parts\":[{\"type\":\"text\",\"text\":...}]}"}"#,
);
const PARENT: Argument = nullable(optional(
    "parentId",
    r#"{"type":"string","description":"Id of the message that it answers: naming one that was answered already makes a branch. Empty: a new root; absent: the present leaf"}"#,
));
const LABEL: Argument = required("label", r#"{"type":"string","description":"The block's label"}"#);
/// Messages as they are shown: media by reference, so that no picture goes into a prompt.
const REFERENCE: (&str, &str) = ("media", "\"reference\"");

/// All tools.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "read_history",
        title: "Read a conversation",
        description: "The newest messages of the conversation's present branch that fit into maxBytes, oldest first. \
            Summaries stand in for what was compacted.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "getRecentHistory",
        constants: &[REFERENCE],
        arguments: &[
            default(
                "maxBytes",
                r#"{"type":"integer","minimum":0,"default":32768,"description":"Bytes of messages at most; one message always comes"}"#,
                "32768",
            ),
            LEAF,
            optional(
                "overlays",
                r#"{"type":"boolean","default":true,"description":"False: the messages that summaries stand for"}"#,
            ),
        ],
        shape: Shape::History,
    },
    Tool {
        name: "list_messages",
        title: "List all messages",
        description: "Every message of the conversation's tree, all branches, in the order in which they came: id, parent, \
            role and the beginning of its text.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "listMessages",
        constants: &[],
        arguments: &[LIMIT, CURSOR],
        shape: Shape::Nodes,
    },
    Tool {
        name: "get_message",
        title: "Read one message",
        description: "One message by its id, with its parent.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "getMessage",
        constants: &[REFERENCE],
        arguments: &[required("id", r#"{"type":"string","description":"The message's id"}"#)],
        shape: Shape::Message,
    },
    Tool {
        name: "list_branches",
        title: "List the answers to a message",
        description: "The messages that answer one message: more than one are branches.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "getBranches",
        constants: &[],
        arguments: &[
            nullable(required(
                "id",
                r#"{"type":"string","description":"Id of the message that is answered; empty: the first messages of the conversation"}"#,
            )),
            LIMIT,
            CURSOR,
        ],
        shape: Shape::Branches,
    },
    Tool {
        name: "search_messages",
        title: "Search past messages",
        description: "Finds messages by their words, in every script. All words have to be there; \"...\" is a phrase, \
            word* the beginning of a word. Best first.",
        effect: Effect::Reads,
        scope: Scope::Within,
        method: "search",
        constants: &[],
        arguments: &[
            required("query", r#"{"type":"string","description":"What to look for"}"#),
            default(
                "limit",
                r#"{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many at most"}"#,
                "10",
            ),
            CURSOR,
            optional(ROLE, r#"{"type":"string","description":"Only messages of this role"}"#),
            optional(
                "after",
                r#"{"type":"integer","description":"Only messages of this time or later, in ms since 1970 UTC"}"#,
            ),
            optional(
                "before",
                r#"{"type":"integer","description":"Only messages of this time or earlier, in ms since 1970 UTC"}"#,
            ),
            optional(
                "include",
                r#"{"type":"array","items":{"type":"string","enum":["text","tools","reasoning","summaries"]},"description":"Where to look; absent: in texts"}"#,
            ),
        ],
        shape: Shape::Found,
    },
    Tool {
        name: "list_sessions",
        title: "List conversations",
        description: "The conversations, those with the newest activity first.",
        effect: Effect::Reads,
        scope: Scope::Tenant,
        method: "listSessions",
        constants: &[],
        arguments: &[LIMIT, CURSOR],
        shape: Shape::Sessions,
    },
    Tool {
        name: "list_tenants",
        title: "List tenants",
        description: "The tenants that can be used here.",
        effect: Effect::Reads,
        scope: Scope::Root,
        method: "listTenants",
        constants: &[],
        arguments: &[LIMIT, CURSOR],
        shape: Shape::Tenants,
    },
    Tool {
        name: "list_blocks",
        title: "Read memory blocks",
        description: "The memory blocks with their contents and limits.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "listBlocks",
        constants: &[],
        arguments: &[],
        shape: Shape::Blocks,
    },
    Tool {
        name: "list_compactions",
        title: "List summaries",
        description: "The summaries that stand in for runs of messages, oldest first.",
        effect: Effect::Reads,
        scope: Scope::Session,
        method: "getCompactions",
        constants: &[],
        arguments: &[],
        shape: Shape::Compactions,
    },
    Tool {
        name: "append_message",
        title: "Append a message",
        description: "Appends a message: the whole of it as \"message\", or a \"text\" that becomes one. With the parentId of \
            a message that was answered already it is a fork: another branch, nothing is lost. Repeating it with the same \
            id stores nothing twice.",
        effect: Effect::Adds,
        scope: Scope::Session,
        method: "appendMessage",
        constants: &[],
        arguments: &[
            MESSAGE_TEXT,
            optional(
                TEXT,
                r#"{"type":"string","description":"The text of a message that is made of it, instead of \"message\""}"#,
            ),
            optional(
                ROLE,
                r#"{"type":"string","enum":["user","assistant","system"],"default":"user","description":"Whose the text is"}"#,
            ),
            PARENT,
            nullable(optional(
                "expectedLeaf",
                r#"{"type":"string","description":"Id of the newest message that you have seen, empty if there was none: if there is a newer one, nothing is written"}"#,
            )),
        ],
        shape: Shape::Appended,
    },
    Tool {
        name: "update_message",
        title: "Replace a message",
        description: "Replaces role and content of a message in place; its id says which.",
        effect: Effect::Destroys,
        scope: Scope::Session,
        method: "updateMessage",
        constants: &[],
        arguments: &[Argument { required: true, ..MESSAGE_TEXT }],
        shape: Shape::Updated,
    },
    Tool {
        name: "switch_branch",
        title: "Switch to another branch",
        description: "Makes a message the present leaf: reading ends with it, and the next message answers it.",
        effect: Effect::Sets,
        scope: Scope::Session,
        method: "setLeaf",
        constants: &[],
        arguments: &[nullable(required(
            "id",
            r#"{"type":"string","description":"Id of the message; empty: the newest one again"}"#,
        ))],
        shape: Shape::Leaf,
    },
    Tool {
        name: "delete_messages",
        title: "Delete messages",
        description: "Deletes messages for good. What answered them moves up (splice), or goes with them (subtree). With \
            dryRun it only says how many would go.",
        effect: Effect::Destroys,
        scope: Scope::Session,
        method: "deleteMessages",
        constants: &[],
        arguments: &[
            required(
                "ids",
                r#"{"type":"array","items":{"type":"string"},"minItems":1,"description":"Ids of the messages"}"#,
            ),
            optional(
                "mode",
                r#"{"type":"string","enum":["splice","subtree"],"default":"splice","description":"What becomes of the answers to them"}"#,
            ),
            optional("dryRun", r#"{"type":"boolean","default":false,"description":"True: nothing is deleted"}"#),
        ],
        shape: Shape::Deleted,
    },
    Tool {
        name: "compact",
        title: "Compact a conversation",
        description: "Puts a summary in the place of the middle of a long conversation. The messages stay, and can be read \
            and searched.",
        effect: Effect::Adds,
        scope: Scope::Session,
        method: "compact",
        constants: &[],
        arguments: &[LEAF],
        shape: Shape::Compaction,
    },
    Tool {
        name: "define_block",
        title: "Declare a memory block",
        description: "Declares a memory block, or changes description and limit of one that is there; its content stays.",
        effect: Effect::Sets,
        scope: Scope::Session,
        method: "defineBlock",
        constants: &[],
        arguments: &[
            LABEL,
            optional("description", r#"{"type":"string","description":"What the block is for"}"#),
            optional("maxTokens", r#"{"type":"integer","minimum":1,"description":"How long its content may get"}"#),
            optional(
                "kind",
                r#"{"type":"string","enum":["read-only","writable","searchable","loadable"],"default":"writable","description":"How a model uses it"}"#,
            ),
            optional(
                "scope",
                r#"{"type":"string","enum":["session","store"],"default":"session","description":"Store: all conversations share it"}"#,
            ),
            optional("content", r#"{"type":"string","description":"What a new block holds"}"#),
        ],
        shape: Shape::Block,
    },
    Tool {
        name: "write_block",
        title: "Write a memory block",
        description: "Writes a memory block: replaces its content, or appends to it. Earlier versions are kept.",
        effect: Effect::Sets,
        scope: Scope::Session,
        method: "writeBlock",
        constants: &[],
        arguments: &[
            LABEL,
            required("content", r#"{"type":"string","description":"The content"}"#),
            optional(
                "action",
                r#"{"type":"string","enum":["replace","append"],"default":"replace","description":"What becomes of what is there"}"#,
            ),
            optional("key", r#"{"type":"string","description":"Of a searchable or loadable block: which entry"}"#),
            optional(
                "title",
                r#"{"type":"string","description":"Of a searchable or loadable block: what the entry is about"}"#,
            ),
            optional(
                "version",
                r#"{"type":"integer","minimum":0,"description":"The version that you have seen: if there is a newer one, nothing is written"}"#,
            ),
        ],
        shape: Shape::Block,
    },
    Tool {
        name: "remove_block",
        title: "Remove a memory block",
        description: "Removes a memory block with all its versions, for good.",
        effect: Effect::Destroys,
        scope: Scope::Session,
        method: "removeBlock",
        constants: &[],
        arguments: &[LABEL],
        shape: Shape::Removed,
    },
    Tool {
        name: "system_prompt",
        title: "Read the system prompt",
        description: "The system prompt made of the memory blocks. It stays the same until it is refreshed.",
        effect: Effect::Sets,
        scope: Scope::Session,
        method: "systemPrompt",
        constants: &[],
        arguments: &[],
        shape: Shape::Prompt,
    },
    Tool {
        name: "set_title",
        title: "Name a conversation",
        description: "Gives the conversation a title, unless a person has given it one.",
        effect: Effect::Sets,
        scope: Scope::Session,
        method: "setTitle",
        constants: &[("automatic", "true")],
        arguments: &[required("title", r#"{"type":"string","description":"The title"}"#)],
        shape: Shape::Session,
    },
    Tool {
        name: "fork_session",
        title: "Fork into a new conversation",
        description: "Copies the present branch, or the path to another message, into a new conversation.",
        effect: Effect::Adds,
        scope: Scope::Session,
        method: "forkSession",
        constants: &[],
        arguments: &[required("newSession", r#"{"type":"string","description":"Id of the new conversation"}"#), LEAF],
        shape: Shape::Forked,
    },
];

/// The tool of this name, if there is one for who is confined so.
pub(super) fn find(name: &str, confinement: &Confinement) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name && tool.is_for(confinement))
}

impl Tool {
    /// Whether it can be used by who is confined so.
    pub(super) fn is_for(&self, confinement: &Confinement) -> bool {
        let reads = self.effect == Effect::Reads;
        let elsewhere = matches!(self.name, "list_sessions" | "fork_session");
        let allowed = match self.scope {
            Scope::Root => confinement.tenant.is_none(),
            // Other sessions are out of sight of one that is confined.
            _ => !(elsewhere && confinement.session.is_some()),
        };
        allowed && (reads || !confinement.read_only)
    }

    /// The names of the arguments that say where, for who is confined so.
    pub(super) fn places(&self, confinement: &Confinement) -> impl Iterator<Item = &'static str> + use<> {
        let tenant = (self.scope != Scope::Root && confinement.tenant.is_none()).then_some(TENANT);
        let in_session = matches!(self.scope, Scope::Session | Scope::Within);
        let session = (in_session && confinement.session.is_none()).then_some(SESSION);
        tenant.into_iter().chain(session)
    }

    /// The JSON Schema of its arguments.
    pub(super) fn input_schema(&self, confinement: &Confinement) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for place in self.places(confinement) {
            let schema = match (place, self.scope) {
                (TENANT, _) => {
                    required.push(TENANT);
                    json!({"type": "string", "minLength": 1, "description": "Whose conversations"})
                }
                (_, Scope::Within) => json!({"type": "string", "description": "Only this conversation; absent: all"}),
                _ => {
                    json!({"type": "string", "default": "", "description": "Id of the conversation; absent: the default one"})
                }
            };
            properties.insert(place.to_owned(), schema);
        }
        for argument in self.arguments {
            properties.insert(argument.name.to_owned(), argument.schema());
            if argument.required {
                required.push(argument.name);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties.into());
        schema.insert("required".to_owned(), required.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}

impl Argument {
    /// Its JSON Schema. They are checked to be JSON.
    fn schema(&self) -> Value {
        serde_json::from_str(self.schema).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_argument_has_a_schema_with_a_description() {
        for tool in TOOLS {
            for argument in tool.arguments {
                let schema: Value = serde_json::from_str(argument.schema).unwrap();
                assert!(schema["description"].is_string(), "{} {}", tool.name, argument.name);
                if let Some(default) = argument.default {
                    let default: Value = serde_json::from_str(default).unwrap();
                    assert_eq!(schema["default"], default, "{} {}", tool.name, argument.name);
                }
            }
        }
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
    }

    /// The least that the providers of models have in common: one type each, no schema elsewhere, names of letters.
    #[test]
    fn every_schema_is_one_that_all_providers_take() {
        fn check(schema: &Value, what: &str) {
            let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{what}: {schema}"));
            for (name, value) in schema.as_object().unwrap() {
                let known = [
                    "type",
                    "description",
                    "default",
                    "enum",
                    "minimum",
                    "maximum",
                    "minLength",
                    "minItems",
                    "items",
                    "properties",
                    "required",
                    "additionalProperties",
                ];
                assert!(known.contains(&name.as_str()) && !value.is_null(), "{what}: {name}");
            }
            if kind == "array" {
                check(&schema["items"], what);
            }
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                check(property, &format!("{what}.{name}"));
            }
        }
        for tool in TOOLS {
            check(&Value::from(tool.input_schema(&Confinement::default())), tool.name);
            // Clients put their own name and the server's before it, and 64 characters is what some take.
            let letters = tool.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            assert!(letters && "mcp__talktree__".len() + tool.name.len() <= 64, "{}", tool.name);
            assert!(tool.description.len() < 1_024, "{}", tool.name);
        }
    }

    #[test]
    fn who_is_confined_cannot_even_name_another_place() {
        let confined = Confinement { tenant: Some("a".into()), session: Some("s".into()), read_only: true };
        for tool in TOOLS.iter().filter(|tool| tool.is_for(&confined)) {
            assert_eq!(tool.effect, Effect::Reads, "{}", tool.name);
            let schema = tool.input_schema(&confined);
            assert!(schema["properties"].get(TENANT).is_none() && schema["properties"].get(SESSION).is_none());
        }
        for name in ["list_tenants", "list_sessions", "append_message"] {
            assert!(find(name, &confined).is_none(), "{name}");
            assert!(find(name, &Confinement::default()).is_some(), "{name}");
        }
    }
}
