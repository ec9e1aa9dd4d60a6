//! Values of options that are not on the command line, checked one by one.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::ContextKind;
use clap::{Arg, Command};

use super::options::{self, Shape};

/// The option on its own: no rule of it concerns others any more.
pub(crate) fn alone(arg: Arg) -> Arg {
    arg.required(false).requires(Resettable::<clap::Id>::Reset).conflicts_with(Resettable::<clap::Id>::Reset)
}

/// What has to be typed for this value of an option.
pub(crate) fn typed(option: &str, value: &OsStr) -> OsString {
    let mut token = OsString::from(format!("--{option}="));
    token.push(value);
    token
}

/// Whether the option takes this value; if not, why. The value is not repeated where it may hold a secret.
pub(crate) fn check(arg: &Arg, value: &OsStr) -> Result<(), String> {
    let Some(option) = options::name(arg) else { return Ok(()) };
    let command = Command::new("option").no_binary_name(true).arg(alone(arg.clone()));
    let Err(error) = command.try_get_matches_from([typed(option, value)]) else { return Ok(()) };
    if options::has_secret(option) {
        return Err("its value is none of those that are possible (`talktree help serve` shows them)".to_owned());
    }
    let shown = value.to_string_lossy();
    if let Some(source) = std::error::Error::source(&error) {
        return Err(format!("{shown:?}: {source}"));
    }
    match error.get(ContextKind::ValidValue) {
        Some(values) => Err(format!("{shown:?} is not possible; these are: {values}")),
        None => Err(format!("{shown:?} is not possible")),
    }
}

/// Whether a text says yes or no.
pub(crate) fn truth(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// The values in a variable.
pub(crate) fn split(arg: &Arg, text: &OsStr) -> Vec<OsString> {
    match (options::shape(arg), text.to_str()) {
        (Shape::Many, Some(text)) => text
            .split(options::delimiter(arg))
            .map(str::trim)
            .filter(|value| !value.is_empty())
            .map(Into::into)
            .collect(),
        _ => vec![text.to_owned()],
    }
}

/// A value of a file that lies in this directory: paths are meant from there, `~/` is the home directory.
pub(crate) fn from_file(arg: &Arg, value: &str, directory: &Path, home: Option<&OsStr>) -> OsString {
    if arg.get_value_parser().type_id() != TypeId::of::<PathBuf>() || value.is_empty() || value == "-" {
        return value.into();
    }
    match (value.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).into(),
        _ => directory.join(value).into(),
    }
}
