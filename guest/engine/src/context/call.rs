//! Carrying out the tool calls of a model. What a model gets wrong is answered in words that say what is right.

use std::fmt::Write as _;

use rusqlite::params;

use super::arguments::Arguments;
use super::block::{Entry, Row};
use super::prompt::usage;
use super::tools::Name;
use super::write::Target;
use crate::append::now;
use crate::error::{Error, Kind, Result};
use crate::place::Place;
use crate::search::{Query, relevance};
use crate::session::validate_id;
use crate::store::{Store, Tx};
use crate::types::{BlockWrite, ToolAnswer, WriteAction};

/// What the model is told: that it is done, or what it got wrong.
pub(super) type Told = std::result::Result<String, String>;

/// Entries that a search gives at most.
const MAX_FOUND: usize = 10;

/// Characters of each of them.
const MAX_FOUND_CHARACTERS: usize = 4000;

/// Keys that an answer lists at most.
const MAX_LISTED: usize = 50;

impl<P: Place> Store<P> {
    /// Carries out a tool call of a model. What a model may get wrong is an answer, never an error.
    ///
    /// A search of a block answers at most 10 entries, with at most 4,000 characters of each.
    pub fn call_tool(&mut self, session: &str, name: &str, arguments: &str) -> Result<ToolAnswer> {
        validate_id(session)?;
        let told = match Name::ALL.into_iter().find(|tool| tool.text() == name) {
            None => Err(format!("there is no tool {name:?}; {}", self.given(session)?)),
            Some(tool) => match Arguments::read(arguments) {
                Err(wrong) => Err(wrong),
                Ok(given) => match tool {
                    Name::SetContext => self.set_context(session, &given)?,
                    Name::SearchContext => self.read(|tx| tx.search_context(session, &given))?,
                    Name::LoadContext => self.load_context(session, &given)?,
                    Name::UnloadContext => self.write(|tx| tx.unload_context(session, &given))?,
                    Name::SessionSearch => self.session_search(session, &given)?,
                },
            },
        };
        Ok(match told {
            Ok(content) => ToolAnswer { content, is_error: false },
            Err(wrong) => ToolAnswer { content: format!("Error: {wrong}"), is_error: true },
        })
    }

    /// Which tools there are.
    fn given(&mut self, session: &str) -> Result<String> {
        self.read(|tx| {
            let rows = tx.blocks_of(session)?;
            let names: Vec<&str> = Name::ALL.into_iter().filter(|tool| tool.is_given(&rows)).map(Name::text).collect();
            Ok(format!("the tools are: {}", names.join(", ")))
        })
    }

    fn set_context(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        match self.write(|tx| tx.set_context(session, given)) {
            Err(error) if is_the_models(&error) => Ok(Err(match error.kind {
                Kind::OverLimit => {
                    format!("{}. Write less, or replace what is there by something shorter", error.message)
                }
                _ => error.message,
            })),
            told => told,
        }
    }

    fn load_context(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        // Where nothing can be written the text is given all the same.
        if self.place().read_only() {
            return self.read(|tx| Ok(tx.entry_to_load(session, given)?.map(|(_, _, text)| text)));
        }
        self.write(|tx| {
            let (row, key, text) = match tx.entry_to_load(session, given)? {
                Ok(found) => found,
                Err(wrong) => return Ok(Err(wrong)),
            };
            let session = tx.ensure_session(session, now())?.key;
            tx.mark_loaded(session, &row, &key)?;
            Ok(Ok(text))
        })
    }
}

/// Whether an error is about what the model gave: those carry their subject.
fn is_the_models(error: &Error) -> bool {
    matches!(error.kind, Kind::OverLimit | Kind::InvalidArgument) && error.subject.is_some()
}

/// The block that the arguments name, among those that a tool works on.
fn pick<'a>(tool: Name, rows: &'a [Row], given: &Arguments) -> std::result::Result<&'a Row, String> {
    let right: Vec<&Row> = rows.iter().filter(|row| tool.works_on(row.kind)).collect();
    if right.is_empty() {
        return Err(format!("there is no block that {} works on", tool.text()));
    }
    let labels = right.iter().map(|row| row.label.as_str()).collect::<Vec<_>>().join(", ");
    let label = given.required("label").map_err(|wrong| format!("{wrong}; it is one of: {labels}"))?;
    if let Some(row) = right.iter().find(|row| row.label == label) {
        return Ok(row);
    }
    if let Some(row) = rows.iter().find(|row| row.label == label) {
        return Err(format!(
            "the block {label} is {}, and {} does not work on it; label is one of: {labels}",
            row.kind.name(),
            tool.text()
        ));
    }
    // The prompt shows labels in capitals.
    let capitals = label.to_uppercase();
    let mut alike = right.iter().filter(|row| row.label.to_uppercase() == capitals);
    match (alike.next(), alike.next()) {
        (Some(row), None) => Ok(row),
        _ => Err(format!("there is no block {label:?}; label is one of: {labels}")),
    }
}

/// Puts a list of keys into words.
fn listed(keys: &[(String, Option<String>)]) -> String {
    let mut list: Vec<&str> = keys.iter().take(MAX_LISTED).map(|(key, _)| key.as_str()).collect();
    let more = format!("and {} more", keys.len().saturating_sub(MAX_LISTED));
    if keys.len() > MAX_LISTED {
        list.push(&more);
    }
    if list.is_empty() { "it has no entries yet".to_owned() } else { format!("its keys are: {}", list.join(", ")) }
}

impl Tx<'_> {
    /// The blocks that a session sees.
    fn blocks_of(&self, session: &str) -> Result<Vec<Row>> {
        let key = self.session(session)?.map(|session| session.key);
        self.visible_blocks(key)
    }

    fn set_context(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        let rows = self.blocks_of(session)?;
        let mut row = match pick(Name::SetContext, &rows, given) {
            Ok(row) => row.clone(),
            Err(wrong) => return Ok(Err(wrong)),
        };
        let write = match to_write(&row, given) {
            Ok(write) => write,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let target = match &write.key {
            Some(key) => Target::Key(key),
            None if row.kind.has_entries() => Target::Title,
            None => Target::Text,
        };
        let version = row.version;
        let key = self.write_block(session, &mut row, target, &write)?;
        let label = &row.label;
        let removes = write.content.is_empty() && write.action == WriteAction::Replace;
        let done = match (row.version != version, key.as_str()) {
            (false, "") => format!("{label} says so already."),
            (false, key) if removes => format!("{label} has no entry {key:?}."),
            (false, key) => format!("The entry {key:?} of {label} says so already."),
            (true, "") => format!("Written to {label}."),
            (true, key) if removes => format!("Removed the entry {key:?} from {label}."),
            (true, key) => format!("Written to {label} as the entry {key:?}."),
        };
        let usage = usage(&row).unwrap_or_else(|| format!("{} tokens", row.tokens));
        Ok(Ok(format!("{done} Usage: {usage}.")))
    }

    fn search_context(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        let rows = self.blocks_of(session)?;
        let row = match pick(Name::SearchContext, &rows, given) {
            Ok(row) => row,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let query = match given.query() {
            Ok(query) => query,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let label = &row.label;
        let entries = self.block_entries(row)?;
        let query = Query::parse(query);
        let mut found: Vec<(f64, &Entry)> = Vec::new();
        // What is newest is most likely still true.
        for entry in entries.iter().rev() {
            let title = entry.title.as_deref().unwrap_or_default();
            let text = [&entry.name, title, &entry.content].join("\n");
            found.extend(relevance(&query, &text).map(|relevance| (relevance, entry)));
        }
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        if found.is_empty() {
            return Ok(Ok(format!(
                "No results found in {label}, which has {} entries. An entry must have all the words: try fewer.",
                entries.len()
            )));
        }
        let mut answer = format!("Found in {label}: {} of {} entries.", found.len(), entries.len());
        for (_, entry) in found.iter().take(MAX_FOUND) {
            // Writing to a string does not fail.
            let _ = write!(answer, "\n---\n[{}]", entry.name);
            if let Some(title) = &entry.title {
                let _ = write!(answer, " {title}");
            }
            let _ = write!(answer, "\n{}", shortened(&entry.content));
        }
        if found.len() > MAX_FOUND {
            let _ = write!(answer, "\n---\n{} more are left out: search for more words.", found.len() - MAX_FOUND);
        }
        Ok(Ok(answer))
    }

    /// The entry of a block that the arguments name: the block, the key, and what the model is told.
    fn entry_to_load(
        &mut self,
        session: &str,
        given: &Arguments,
    ) -> Result<std::result::Result<(Row, String, String), String>> {
        let rows = self.blocks_of(session)?;
        let row = match pick(Name::LoadContext, &rows, given) {
            Ok(row) => row,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let key = match given.required("key") {
            Ok(key) => key,
            Err(wrong) => return Ok(Err(format!("{wrong}; {}", listed(&self.block_keys(row)?)))),
        };
        let Some(entry) = self.block_entry(row, key)? else {
            return Ok(Err(format!("{} has no entry {key:?}; {}", row.label, listed(&self.block_keys(row)?))));
        };
        let title = entry.title.map(|title| format!(" ({title})")).unwrap_or_default();
        let text = format!("Loaded {key:?}{title} from {}:\n\n{}", row.label, entry.content);
        Ok(Ok((row.clone(), key.to_owned(), text)))
    }

    fn unload_context(&mut self, session: &str, given: &Arguments) -> Result<Told> {
        let found = self.session(session)?.map(|session| session.key);
        let rows = self.visible_blocks(found)?;
        let row = match pick(Name::UnloadContext, &rows, given) {
            Ok(row) => row,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let key = match given.required("key") {
            Ok(key) => key,
            Err(wrong) => return Ok(Err(format!("{wrong}; {}", listed(&self.block_keys(row)?)))),
        };
        let label = &row.label;
        let unloaded = self
            .statement("DELETE FROM loaded WHERE session = ?1 AND block = ?2 AND name = ?3")?
            .execute(params![found, row.key, key])?;
        if unloaded > 0 {
            return Ok(Ok(format!("Unloaded {key:?} from {label}.")));
        }
        if self.block_entry(row, key)?.is_none() {
            return Ok(Err(format!("{label} has no entry {key:?}; {}", listed(&self.block_keys(row)?))));
        }
        Ok(Ok(format!("{key:?} of {label} was not loaded; it is unloaded.")))
    }
}

/// What the arguments say is to be written.
fn to_write(row: &Row, given: &Arguments) -> std::result::Result<BlockWrite, String> {
    let content = given.required("content")?.to_owned();
    let action = match given.optional("action")? {
        None | Some("replace") => WriteAction::Replace,
        Some("append") => WriteAction::Append,
        Some(other) => return Err(format!("action is \"replace\" or \"append\", and not {other:?}")),
    };
    let named = |name: &str| match given.optional(name)? {
        // Some models name every argument, and leave empty what they do not mean.
        None | Some("") => Ok(None),
        Some(_) if !row.kind.has_entries() => Err(format!(
            "the block {} is one text without entries: leave {name} out to write the whole text",
            row.label
        )),
        Some(text) => Ok(Some(text.to_owned())),
    };
    Ok(BlockWrite { content, action, key: named("key")?, title: named("title")?, version: None })
}

/// A content, or its beginning where it is long.
fn shortened(content: &str) -> String {
    match content.char_indices().nth(MAX_FOUND_CHARACTERS) {
        None => content.to_owned(),
        Some((end, _)) => {
            let left = content.get(end..).unwrap_or_default().chars().count();
            format!("{} [cut: {left} more characters]", content.get(..end).unwrap_or_default())
        }
    }
}
