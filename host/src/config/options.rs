//! The options of the commands, as the command line itself defines them.

use clap::{Arg, ArgAction, Command};

/// What the names of all variables begin with.
pub(crate) const PREFIX: &str = "TALKTREE_";

/// The options of a command that can be configured: all that it has, but for help and those of the program itself.
pub(crate) fn of_command(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| name(arg).is_some() && !arg.is_global_set() && !is_help(arg))
}

/// An option's long name, which is its key, too.
pub(crate) fn name(arg: &Arg) -> Option<&str> {
    arg.get_long()
}

fn is_help(arg: &Arg) -> bool {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
}

/// How an option takes values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It is there or not.
    Flag,
    /// One value.
    One,
    /// Any number of values.
    Many,
}

/// How an option takes values.
pub(crate) fn shape(arg: &Arg) -> Shape {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => Shape::Flag,
        ArgAction::Append => Shape::Many,
        _ => Shape::One,
    }
}

/// What divides several values in one variable: what divides them in the option, or else the ends of lines.
pub(crate) fn delimiter(arg: &Arg) -> char {
    arg.get_value_delimiter().unwrap_or('\n')
}

/// Whether an option of a command is taken from its own variables and its own table alone: what deletes or hands out
/// rights must not do so to something that was named for other commands.
pub(crate) fn is_guarded(command: &str, option: &str) -> bool {
    match command {
        "delete" => matches!(option, "tenant" | "session" | "yes"),
        "prune" => matches!(option, "tenant" | "older-than" | "keep" | "yes"),
        "restore" => option == "tenant",
        "token" => true,
        // Here it says what is given, not what is shown.
        "append" => option == "json",
        _ => false,
    }
}

/// Whether an option's value may hold a password or a key: it is never shown.
pub(crate) fn has_secret(option: &str) -> bool {
    option == "summarizer"
}

/// The variables that an option is taken from, the one that counts more first.
pub(crate) fn variables(command: &str, option: &str) -> Vec<String> {
    let shout = |name: &str| name.to_ascii_uppercase().replace('-', "_");
    let own = format!("{PREFIX}{}_{}", shout(command), shout(option));
    let shared = (!is_guarded(command, option)).then(|| global_variable(option));
    [own].into_iter().chain(shared).collect()
}

/// The variable of an option that every command has or that any command may have.
pub(crate) fn global_variable(option: &str) -> String {
    format!("{PREFIX}{}", option.to_ascii_uppercase().replace('-', "_"))
}
