//! A configuration file to begin with, written from what the command line says about itself.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::options::{self, Shape, is_guarded, shape};

/// Every option of every command as a comment, with what it does and its default.
pub(crate) fn sample(commands: &Command) -> String {
    let mut text = String::from(
        "# Configuration of talktree. Every key is an option of the same name; `talktree COMMAND --help` says more.\n\
         # What stands above the first table holds for every command that has such an option.\n\
         # Relative paths are meant from the directory of this file.\n\n\
         # root = \"/var/lib/talktree\"\n# log = \"warn\"\n",
    );
    for command in commands.get_subcommands() {
        let name = command.get_name();
        let mut options = options::of_command(command).peekable();
        if options.peek().is_none() {
            continue;
        }
        // Writing to a string does not fail.
        let _ = write!(text, "\n# [{name}]\n");
        for arg in options {
            let Some(option) = options::name(arg) else { continue };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let own = if is_guarded(name, option) { " (in this table only)" } else { "" };
            let _ = write!(text, "#   {}{own}\n# {option} = {}\n", help.replace('\n', " "), example(arg));
        }
    }
    text
}

/// A value as it would be written: the default, or what kind of thing it is.
fn example(arg: &Arg) -> String {
    let shown = arg.get_default_values().first().filter(|_| !arg.is_hide_default_value_set());
    let default = shown.map(|value| value.to_string_lossy().into_owned());
    let names = arg.get_value_names().unwrap_or_default();
    let kind = || names.first().map_or("...", |name| name.as_str()).to_owned();
    match shape(arg) {
        Shape::Flag => "false".to_owned(),
        Shape::One => quoted(&default.unwrap_or_else(kind)),
        Shape::Many => format!("[{}]", quoted(&default.unwrap_or_else(|| kind().trim_end_matches(",...").to_owned()))),
    }
}

fn quoted(text: &str) -> String {
    if text.parse::<u64>().is_ok() { text.to_owned() } else { format!("{text:?}") }
}
