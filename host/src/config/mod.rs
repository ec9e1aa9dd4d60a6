//! Where the options of the commands come from: the command line, the environment, a file, defaults.
//!
//! In this order, the first that says something counts:
//!
//! 1. the option itself;
//! 2. the variable `TALKTREE_<COMMAND>_<OPTION>`, then `TALKTREE_<OPTION>`, which holds for every command that has such
//!    an option (an empty variable says nothing);
//! 3. the configuration file: the table of the command, then what stands above all tables;
//! 4. the default.
//!
//! What comes from elsewhere is checked on its own, so that errors name its place, and is then put to what was typed:
//! the command line is read by one parser only, with all its rules. Nothing here knows any option by name but for those
//! that must not come along by accident ([`options::is_guarded`]) and those that may hold a secret.

mod file;
mod options;
mod place;
mod sample;
mod sources;
mod value;

pub(crate) use file::ConfigFile;
pub(crate) use options::{global_variable, has_secret, of_command, variables};
pub(crate) use sample::sample;
pub(crate) use sources::{Given, Origin, Resolved, Setting, resolve, unknown_variables};
#[cfg(test)]
pub(crate) use value::check;

/// A sentence: what of the environment or of the file is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConfigError(pub(crate) String);

pub(crate) type Result<T, E = ConfigError> = std::result::Result<T, E>;
