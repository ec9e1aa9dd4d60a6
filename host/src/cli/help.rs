//! How the commands are shown: in groups, and with the variables of their options.

use std::fmt::Write as _;

use clap::Command;

use super::GENERAL;
use crate::config;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Serve others", &["serve", "rpc", "mcp", "token"]),
    (
        "Conversations",
        &["chat", "append", "memory", "show", "tree", "history", "search", "sessions", "tenants", "import", "export"],
    ),
    ("Care", &["stats", "check", "vacuum", "snapshot", "restore", "prune", "delete", "doctor"]),
    ("This program", &["demo", "config", "completions", "help"]),
];

/// The commands in groups.
pub(super) fn arrange(commands: Command) -> Command {
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(groups, "{heading}:");
        for name in names {
            let about = match commands.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None if *name == "help" => "Print this message or the help of a command".to_owned(),
                None => continue,
            };
            let _ = writeln!(groups, "  {name:<12} {about}");
        }
        groups.push('\n');
    }
    commands.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{GENERAL}:\n{{options}}{{after-help}}"
    ))
}

/// The same commands, whose help names the variables of their options.
pub(super) fn with_variables(commands: Command) -> Command {
    let commands = commands.mut_args(|arg| match arg.get_long().filter(|_| arg.is_global_set()) {
        Some(option) => named(arg.clone(), config::global_variable(option)),
        None => arg,
    });
    commands.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let configurable: Vec<_> = config::of_command(&command).map(|arg| arg.get_id().clone()).collect();
        command.mut_args(|arg| match arg.get_long().filter(|_| configurable.contains(arg.get_id())) {
            Some(option) => {
                // The one that is shorter, where there are two.
                let variable = config::variables(&name, option).pop();
                variable.map_or_else(|| arg.clone(), |variable| named(arg.clone(), variable))
            }
            None => arg,
        })
    })
}

fn named(arg: clap::Arg, variable: String) -> clap::Arg {
    arg.env(variable).hide_env_values(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        for command in super::super::commands().get_subcommands() {
            let places =
                GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| **name == command.get_name()).count();
            assert_eq!(places, 1, "{}", command.get_name());
        }
    }
}
