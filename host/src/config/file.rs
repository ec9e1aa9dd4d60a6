//! The configuration file.
//!
//! ```toml
//! root = "/var/lib/talktree"      # for every command that has such an option
//!
//! [serve]                         # for one command
//! listen = "0.0.0.0:443"
//! ```
//!
//! Keys are the long names of the options. All of the file is checked, whichever command is run: a file is good or it is
//! not. Errors name the line, and never repeat a line, which may hold what is nobody's business.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{self, Shape, is_guarded, shape};
use super::{ConfigError, Result, value};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What the file says.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The table that it stands in; none: above all tables.
    pub(crate) table: Option<String>,
    pub(crate) key: String,
    pub(crate) line: usize,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    Flag(bool),
    /// Whether they stand in an array.
    Texts(Vec<String>, bool),
}

/// Options of the program itself that can stand above all tables.
const PROGRAM_KEYS: [&str; 1] = ["log"];

impl ConfigFile {
    /// Reads a file and checks it against these commands. None: there is no such file.
    pub(crate) fn read(path: &Path, commands: &Command) -> Result<Option<Self>> {
        let refuse = |why: &dyn std::fmt::Display| {
            ConfigError(format!("the configuration file {} cannot be read: {why}", path.display()))
        };
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(refuse(&"it is not a file")),
            Ok(found) if found.len() > MAX_BYTES => return Err(refuse(&"it is longer than 1 MiB")),
            Ok(_) => {}
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(refuse(&error)),
        }
        let bytes = fs::read(path).map_err(|error| refuse(&error))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse(&"it is not UTF-8"))?;
        Self::parse(&text, path, commands).map(Some)
    }

    fn parse(text: &str, path: &Path, commands: &Command) -> Result<Self> {
        let reader = Reader { text, path, commands };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.error(at, &format!("this is not TOML: {}", error.message()))
        })?;
        let mut entries = Vec::new();
        for (key, value) in table.get_ref() {
            match value.get_ref() {
                DeValue::Table(inner) => reader.table(key, inner, &mut entries)?,
                _ => entries.push(reader.shared(key, value)?),
            }
        }
        entries.sort_by_key(|entry| entry.line);
        Ok(Self { path: path.to_owned(), entries })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it says of an option of a command: first in the command's table, then above all tables.
    pub(crate) fn entry(&self, command: &str, option: &str) -> Option<&Entry> {
        let find = |table: Option<&str>| {
            self.entries.iter().find(|entry| entry.table.as_deref() == table && entry.key == option)
        };
        find(Some(command)).or_else(|| find(None).filter(|_| !is_guarded(command, option)))
    }

    /// What it says of an option of the program itself.
    pub(crate) fn program_entry(&self, option: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.table.is_none() && entry.key == option)
    }

    /// Every value that does not fit its option, with its line: one sentence each.
    pub(crate) fn check(&self, commands: &Command, home: Option<&OsStr>) -> Result<()> {
        for entry in &self.entries {
            for command in commands.get_subcommands() {
                let name = command.get_name();
                let concerned = entry.table.as_deref().is_none_or(|table| table == name);
                let arg = options::of_command(command).find(|arg| options::name(arg) == Some(entry.key.as_str()));
                let Some(arg) = arg.filter(|_| concerned && (entry.table.is_some() || !is_guarded(name, &entry.key)))
                else {
                    continue;
                };
                entry.values(arg, self.directory(), home).map_err(|why| {
                    let hint = match entry.table {
                        Some(_) => String::new(),
                        None => format!(" (for `{name}`: what fits one command only belongs into its table)"),
                    };
                    ConfigError(format!("{}, line {}: {}: {why}{hint}", self.path.display(), entry.line, entry.key))
                })?;
            }
        }
        Ok(())
    }

    /// Paths in the file are meant from here.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

impl Entry {
    /// What has to be typed for it. Errors: a sentence, where that does not fit the option.
    pub(crate) fn values(&self, arg: &Arg, directory: &Path, home: Option<&OsStr>) -> Result<Vec<OsString>, String> {
        match (&self.values, shape(arg)) {
            (Values::Flag(flag), Shape::Flag) => Ok(vec![flag.to_string().into()]),
            (Values::Texts(..), Shape::Flag) => Err("this has to be true or false".to_owned()),
            (Values::Flag(_), _) => Err("this has to be a text or a number".to_owned()),
            (Values::Texts(_, true), Shape::One) => Err("this has to be one value, not an array".to_owned()),
            (Values::Texts(texts, _), kind) => {
                let divider = arg.get_value_delimiter().filter(|_| kind == Shape::Many);
                let mut values = Vec::new();
                for text in texts {
                    if divider.is_some_and(|divider| text.contains(divider)) {
                        return Err("each value has to be a text of its own: [\"a\", \"b\"]".to_owned());
                    }
                    let value = value::from_file(arg, text, directory, home);
                    value::check(arg, &value)?;
                    values.push(value);
                }
                Ok(values)
            }
        }
    }
}

/// A file that is being read.
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    commands: &'a Command,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn error(&self, at: usize, sentence: &str) -> ConfigError {
        ConfigError(format!("{}, line {}: {sentence}", self.path.display(), self.line(at)))
    }

    /// A table: the options of one command.
    fn table(
        &self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        table: &DeTable<'_>,
        into: &mut Vec<Entry>,
    ) -> Result<()> {
        let name = key.get_ref().as_ref();
        let Some(command) = self.commands.find_subcommand(name) else {
            let known = self.commands.get_subcommands().map(Command::get_name);
            return Err(self.unknown(key.span().start, "command", name, known));
        };
        for (key, value) in table {
            let option = key.get_ref().as_ref();
            if !options::of_command(command).any(|arg| options::name(arg) == Some(option)) {
                let known = options::of_command(command).filter_map(options::name);
                return Err(self.unknown(key.span().start, &format!("option of `{name}`"), option, known));
            }
            into.push(self.entry(Some(name), key, value)?);
        }
        Ok(())
    }

    /// A key above all tables: an option that some command has.
    fn shared(&self, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Result<Entry> {
        let option = key.get_ref().as_ref();
        let every = || {
            self.commands.get_subcommands().flat_map(|command| {
                options::of_command(command).filter_map(options::name).map(move |name| (command.get_name(), name))
            })
        };
        let shared = || every().filter(|(command, name)| !is_guarded(command, name)).map(|(_, name)| name);
        if shared().chain(PROGRAM_KEYS).any(|name| name == option) {
            return self.entry(None, key, value);
        }
        match every().find(|(_, name)| *name == option) {
            Some((command, _)) => {
                let sentence = format!("{option:?} holds for one command only: it belongs into its table, [{command}]");
                Err(self.error(key.span().start, &sentence))
            }
            None => Err(self.unknown(key.span().start, "option", option, shared().chain(PROGRAM_KEYS))),
        }
    }

    fn entry(
        &self,
        table: Option<&str>,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Entry> {
        let at = value.span().start;
        let text = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            _ => Err(self.error(at, "a value is a text, a whole number, true or false, or an array of texts")),
        };
        let values = match value.get_ref() {
            DeValue::Boolean(flag) => Values::Flag(*flag),
            DeValue::Array(array) => {
                Values::Texts(array.iter().map(|value| text(value.get_ref())).collect::<Result<_>>()?, true)
            }
            value => Values::Texts(vec![text(value)?], false),
        };
        let key = key.get_ref().to_string();
        Ok(Entry { table: table.map(str::to_owned), key, line: self.line(at), values })
    }

    fn unknown<'k>(&self, at: usize, what: &str, found: &str, known: impl Iterator<Item = &'k str>) -> ConfigError {
        let shown: String = found.chars().take(60).collect();
        let advice = if is_like_a_key(found) {
            "; keys of models are taken from the environment alone: OPENAI_API_KEY, ANTHROPIC_API_KEY".to_owned()
        } else {
            nearest(found, known).map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
        };
        self.error(at, &format!("there is no {what} {shown:?}{advice}"))
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_like_a_key(found: &str) -> bool {
    let found = found.to_ascii_lowercase().replace('-', "_");
    found.contains("api_key") || found.contains("apikey")
}

/// The known word that is spelt most like this one; none where nothing is alike.
pub(crate) fn nearest<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let found = found.to_ascii_lowercase().replace('_', "-");
    known
        .map(|word| (strsim::damerau_levenshtein(&found, &word.to_ascii_lowercase().replace('_', "-")), word))
        .filter(|(distance, word)| *distance <= 1 + word.chars().count() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}
