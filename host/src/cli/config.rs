//! `talktree config`: what holds, and from where.

use std::{
    env,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::bail;
use clap::{Args, Command};
use serde_json::json;

use super::terminal::{BAD, FAINT, PLAIN, STRONG, harmless};
use crate::config::{self, ConfigFile, Given, Origin, Resolved, Setting};

/// Variables with keys of models: whether they are there is said, and nothing else.
const KEYS: [&str; 2] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];

/// Show the configuration: what holds for each command, and from where
#[derive(Args)]
#[command(after_help = "\
The file is the one that --config names, or TALKTREE_CONFIG, or config.toml in the directory talktree of the user's \
configuration ($XDG_CONFIG_HOME or ~/.config). An option counts before its variable, that before the file, and that before \
the default. Keys and passwords are never shown.

Examples:
  talktree config                          what the environment and the file say
  talktree config serve                    every option of `serve`, defaults too
  talktree config --sample > talktree.toml
  talktree config --json serve | jq .commands.serve

Exit codes: 0 done, 1 failed, 2 the command line, a variable or the file was wrong.")]
pub(crate) struct Config {
    /// Write a configuration file to begin with, in which everything is a comment
    #[arg(long, conflicts_with_all = ["json", "COMMAND"])]
    sample: bool,

    /// One JSON object: file, commands (option to value and origin), keys
    #[arg(long)]
    json: bool,

    /// Only this command, with the defaults of its options
    #[arg(id = "COMMAND")]
    command: Option<String>,
}

/// One line of what is shown.
struct Shown {
    option: String,
    value: String,
    origin: Origin,
}

impl Config {
    pub(crate) fn run(self, commands: &Command, resolved: &Resolved) -> anyhow::Result<ExitCode> {
        let (path, file) = (resolved.path.as_deref(), resolved.file.as_ref());
        let mut out = io::stdout().lock();
        if self.sample {
            out.write_all(config::sample(commands).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(command) = &self.command
            && commands.find_subcommand(command).is_none()
        {
            bail!("there is no command {:?}; `talktree help` lists them", harmless(command));
        }
        let wanted = |command: &&Command| self.command.as_deref().is_none_or(|name| name == command.get_name());
        let mut all = Vec::new();
        for command in commands.get_subcommands().filter(wanted) {
            all.push((command.get_name(), self.command(commands, command, path, file)?));
        }
        let unknown = config::unknown_variables(commands, env::vars_os().map(|(name, _)| name));
        if self.json {
            let commands: serde_json::Map<_, _> = all
                .iter()
                .map(|(name, shown)| {
                    let options: serde_json::Map<_, _> = shown
                        .iter()
                        .map(|line| {
                            let place = json!({"value": line.value, "from": line.origin.to_string()});
                            (line.option.clone(), place)
                        })
                        .collect();
                    ((*name).to_owned(), options.into())
                })
                .collect();
            let keys: serde_json::Map<_, _> = KEYS.iter().map(|key| ((*key).to_owned(), is_set(key).into())).collect();
            let unknown: Vec<_> = unknown.into_iter().map(|(name, _)| name).collect();
            let file = json!({"path": path.map(|path| path.to_string_lossy()), "found": file.is_some()});
            let object = json!({"file": file, "commands": commands, "keys": keys, "unknownVariables": unknown});
            writeln!(out, "{object}")?;
            return Ok(ExitCode::SUCCESS);
        }
        drop(out);
        let mut out = anstream::stdout().lock();
        match (path, file) {
            (None, _) => writeln!(out, "file: none")?,
            (Some(path), None) => writeln!(out, "file: {} (not there)", harmless(&path.to_string_lossy()))?,
            (Some(path), Some(_)) => writeln!(out, "file: {}", harmless(&path.to_string_lossy()))?,
        }
        for (name, shown) in all.iter().filter(|(_, shown)| !shown.is_empty()) {
            writeln!(out, "\n{STRONG}{name}{PLAIN}")?;
            for line in shown {
                let (value, origin) = (harmless(&line.value), line.origin.to_string());
                writeln!(out, "  --{} {value}  {FAINT}{}{PLAIN}", line.option, harmless(&origin))?;
            }
        }
        writeln!(out)?;
        for key in KEYS {
            writeln!(out, "{key}: {}", if is_set(key) { "set" } else { "not set" })?;
        }
        for (name, near) in unknown {
            let advice = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            writeln!(out, "{BAD}{}{PLAIN} is no variable of talktree{advice}", harmless(&name))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What holds for a command; defaults only where it was asked for.
    fn command(
        &self,
        commands: &Command,
        command: &Command,
        path: Option<&Path>,
        file: Option<&ConfigFile>,
    ) -> anyhow::Result<Vec<Shown>> {
        let mut arguments = vec!["talktree".into(), command.get_name().into()];
        match (path, file) {
            (Some(path), Some(_)) => arguments.extend(["--config".into(), path.into()]),
            _ => arguments.push("--no-config".into()),
        }
        let resolved = config::resolve(commands, &Given { arguments, variable: &super::variable })?;
        let mut shown = Vec::new();
        for arg in config::of_command(command) {
            let Some(option) = arg.get_long() else { continue };
            let found = resolved.settings.iter().find(|setting| setting.option == option);
            if found.is_none() && self.command.is_none() {
                continue;
            }
            let default = || Setting {
                option: option.to_owned(),
                values: arg.get_default_values().iter().map(|value| (*value).to_os_string()).collect(),
                origin: Origin::Default,
            };
            let setting = found.cloned().unwrap_or_else(default);
            let value = match config::has_secret(option) {
                true => hidden(&setting),
                false => setting.values.iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>().join(", "),
            };
            shown.push(Shown { option: setting.option, value, origin: setting.origin });
        }
        Ok(shown)
    }
}

/// The kind of a summarizer, without what may hold a password: `command:...`.
fn hidden(setting: &Setting) -> String {
    let text = setting.values.first().map(|value| value.to_string_lossy()).unwrap_or_default();
    match text.split_once(':') {
        Some((kind, _)) => format!("{kind}:... (hidden)"),
        None => text.into_owned(),
    }
}

fn is_set(key: &str) -> bool {
    env::var_os(key).is_some_and(|value| !value.is_empty())
}
