//! The tools, as a model's provider wants them described.
//!
//! The schemas keep to what OpenAI, Anthropic and MCP take alike: an object of strings, no member beside those that are
//! named, a list of values where only some are right. A description of a tool has at most 1,024 characters, and so has
//! that of an argument. Equal definitions of blocks give equal bytes, since tools are part of what a provider caches.

use super::block::Row;
use crate::error::Result;
use crate::message::quote;
use crate::place::Place;
use crate::store::Store;
use crate::types::{BlockKind, Tool};

/// Characters of a description.
const MAX_DESCRIPTION_CHARACTERS: usize = 1024;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    SetContext,
    SearchContext,
    LoadContext,
    UnloadContext,
    SessionSearch,
}

impl Name {
    /// All tools, in the order in which they are given.
    pub(super) const ALL: [Self; 5] =
        [Self::SetContext, Self::SearchContext, Self::LoadContext, Self::UnloadContext, Self::SessionSearch];

    /// How the model calls it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::SetContext => "set_context",
            Self::SearchContext => "search_context",
            Self::LoadContext => "load_context",
            Self::UnloadContext => "unload_context",
            Self::SessionSearch => "session_search",
        }
    }

    /// Which blocks it works on.
    pub(super) fn works_on(self, kind: BlockKind) -> bool {
        match self {
            Self::SetContext => kind != BlockKind::ReadOnly,
            Self::SearchContext => kind == BlockKind::Searchable,
            Self::LoadContext | Self::UnloadContext => kind == BlockKind::Loadable,
            Self::SessionSearch => false,
        }
    }

    /// Whether a session that sees these blocks has it.
    pub(super) fn is_given(self, rows: &[Row]) -> bool {
        self == Self::SessionSearch || rows.iter().any(|row| self.works_on(row.kind))
    }

    fn describe(self, rows: &[Row]) -> Tool {
        let blocks: Vec<&Row> = rows.iter().filter(|row| self.works_on(row.kind)).collect();
        let (description, properties, required): (&str, Vec<(&str, String)>, &[&str]) = match self {
            Self::SetContext => {
                let mut properties = vec![
                    ("label", labels("Which block to write.", &blocks)),
                    ("content", string("The text to write.")),
                    (
                        "action",
                        choice(
                            &["replace", "append"],
                            "replace (the default): the content takes the place of what is there. append: it goes \
                             behind what is there, on a line of its own.",
                        ),
                    ),
                ];
                let entries = blocks.iter().any(|row| row.kind.has_entries());
                if entries {
                    let only: Vec<&str> =
                        blocks.iter().filter(|row| row.kind.has_entries()).map(|row| row.label.as_str()).collect();
                    let only = cut(&format!("Only for blocks of entries: {}.", only.join(", ")), 500);
                    properties.push((
                        "title",
                        string(&format!(
                            "What the entry is about, in a few words. An entry that has this title already is \
                             written, otherwise a new one. {only}"
                        )),
                    ));
                    properties.push((
                        "key",
                        string(&format!(
                            "Key of the entry to write; with empty content and replace the entry is removed. {only}"
                        )),
                    ));
                }
                let description = if entries {
                    "Writes to a block of memory, which stays over conversations. A block of text is replaced or added \
                     to; a block of entries gets one entry: a new one unless title or key name one that is there."
                } else {
                    "Writes to a block of memory, which stays over conversations."
                };
                (description, properties, &["label", "content"])
            }
            Self::SearchContext => (
                "Searches the entries of a block of memory. An entry is found if it has all the words of the query.",
                vec![("label", labels("Which block to search.", &blocks)), ("query", string(QUERY))],
                &["label", "query"],
            ),
            Self::LoadContext => (
                "Loads an entry of a block of memory: answers its text. The system prompt lists the keys.",
                vec![("label", labels("Which block the entry is in.", &blocks)), ("key", string("Key of the entry."))],
                &["label", "key"],
            ),
            Self::UnloadContext => (
                "Says that a loaded entry of a block of memory is not needed any more.",
                vec![("label", labels("Which block the entry is in.", &blocks)), ("key", string("Key of the entry."))],
                &["label", "key"],
            ),
            Self::SessionSearch => (
                "Searches the messages of this conversation and of earlier ones, also those that are not shown any \
                 more. A message is found if it has all the words of the query.",
                vec![("query", string(QUERY))],
                &["query"],
            ),
        };
        Tool {
            name: self.text().to_owned(),
            description: description.to_owned(),
            input_schema: object(&properties, required),
        }
    }
}

/// What a query is.
const QUERY: &str = "Words to look for. \"...\" is a phrase, word* the beginning of a word.";

impl<P: Place> Store<P> {
    /// The tools that the blocks of a session need, and the search of its past messages.
    pub fn tools(&mut self, session: &str) -> Result<Vec<Tool>> {
        self.read(|tx| {
            let key = tx.session(session)?.map(|session| session.key);
            let rows = tx.visible_blocks(key)?;
            Ok(Name::ALL.into_iter().filter(|name| name.is_given(&rows)).map(|name| name.describe(&rows)).collect())
        })
    }
}

/// The schema of an object.
fn object(properties: &[(&str, String)], required: &[&str]) -> String {
    let properties: Vec<String> = properties.iter().map(|(name, schema)| format!("{}:{schema}", quote(name))).collect();
    format!(
        r#"{{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}}"#,
        properties.join(","),
        quoted(required)
    )
}

/// The schema of a text.
fn string(description: &str) -> String {
    format!(r#"{{"type":"string","description":{}}}"#, quote(&cut(description, MAX_DESCRIPTION_CHARACTERS)))
}

/// The schema of one of some texts.
fn choice(values: &[&str], description: &str) -> String {
    format!(
        r#"{{"type":"string","enum":[{}],"description":{}}}"#,
        quoted(values),
        quote(&cut(description, MAX_DESCRIPTION_CHARACTERS))
    )
}

/// The schema of the label of one of some blocks.
fn labels(what: &str, blocks: &[&Row]) -> String {
    let mut description = what.to_owned();
    for row in blocks {
        if let Some(text) = &row.description {
            description.push_str(&format!(" {}: {text}.", row.label));
        }
    }
    let labels: Vec<&str> = blocks.iter().map(|row| row.label.as_str()).collect();
    choice(&labels, &description)
}

fn quoted(values: &[&str]) -> String {
    values.iter().map(|value| quote(value)).collect::<Vec<_>>().join(",")
}

/// A text, or its beginning where it is too long.
fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['…']).collect()
}
