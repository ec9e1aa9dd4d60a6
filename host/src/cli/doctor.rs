//! `talktree doctor`: what is wrong here, and what to do.

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Command};
use serde_json::{Value, json};
use talktree::{
    doctor::{Examination, Finding, Level},
    summarizer::Spec,
};

use super::terminal::{ASSISTANT, BAD, FAINT, OTHER, PLAIN, harmless};
use crate::config::{self, Resolved};

/// Look for what can be wrong on this machine and in a root
#[derive(Args)]
#[command(after_help = "\
Nothing is changed, made or repaired. With --deep each tenant is read whole, and is busy for others meanwhile.

Examples:
  talktree doctor                            this machine, and the configuration
  talktree doctor --root data
  talktree doctor --root data --deep --json | jq -c '.findings[] | select(.level == \"problem\")'
  talktree doctor --root data --token-file tokens.json --max-live 1000

Exit codes: 0 nothing is wrong, though there may be warnings; 1 problems were found, or it failed; 2 the command line or a \
variable was wrong.")]
pub(crate) struct Doctor {
    /// Directory that holds the tenants; without it only the machine is looked at
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Read all of every tenant's store
    #[arg(long, requires = "root")]
    deep: bool,

    /// File with the hashes of tokens
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Tenants that are to be live at the same time: whether the system's limits do for them
    #[arg(long, value_name = "NUMBER", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    max_live: u32,

    /// Connections that are to be open at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,

    /// Who writes summaries: whether the key that it needs is there
    #[arg(long, value_name = "SPEC", default_value = "extractive")]
    summarizer: Spec,

    /// Do not compile the component, which takes some seconds
    #[arg(long)]
    skip_component: bool,

    /// Show what is well, too
    #[arg(long)]
    all: bool,

    /// One JSON object: problems, warnings, findings (check, level, about, finding, advice)
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) async fn run(self, commands: &Command, resolved: &Resolved) -> anyhow::Result<ExitCode> {
        let mut found = vec![configuration(resolved)];
        found.extend(unknown_variables(commands));
        if let Err(sentence) = self.summarizer.clone().build() {
            let advice = "set the variable with the key where talktree runs, or choose another summarizer";
            found.push(Finding::new("summarizer", Level::Problem, sentence).advice(advice));
        }
        let mut what = Examination::default()
            .load(self.max_live.into(), self.max_connections.into())
            .component(!self.skip_component)
            .deep(self.deep);
        if let Some(root) = &self.root {
            what = what.root(root);
        }
        if let Some(file) = &self.token_file {
            what = what.token_file(file);
        }
        found.extend(what.run().await?);
        let count = |level| found.iter().filter(|finding| finding.level == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        if self.json {
            let findings: Vec<_> = found.iter().map(object).collect();
            let report = json!({"problems": problems, "warnings": warnings, "findings": findings});
            writeln!(io::stdout(), "{report}")?;
        } else {
            let mut out = anstream::stdout().lock();
            let shown = found.iter().filter(|finding| self.all || finding.level > Level::Ok);
            shown.into_iter().try_for_each(|finding| print(&mut out, finding))?;
            match (problems, warnings) {
                (0, 0) => writeln!(out, "Nothing is wrong ({} things were looked at).", found.len())?,
                _ => writeln!(out, "{problems} problems, {warnings} warnings")?,
            }
        }
        Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The configuration file.
fn configuration(resolved: &Resolved) -> Finding {
    let tell = |level, sentence: &str| {
        let finding = Finding::new("configuration", level, sentence);
        match &resolved.path {
            Some(path) => finding.about(path.display().to_string()),
            None => finding,
        }
    };
    if let Some(error) = &resolved.file_error {
        return tell(Level::Problem, &error.to_string()).advice("`talktree config --sample` shows what can be in it");
    }
    match (&resolved.path, &resolved.file) {
        (None, _) => tell(Level::Ok, "no file is read"),
        (Some(_), None) => tell(Level::Ok, "there is no file: defaults hold"),
        (Some(path), Some(_)) if others_may_write(path) => {
            tell(Level::Problem, "others may write into it: they can choose what is run")
                .advice(format!("chmod 600 {}", path.display()))
        }
        (Some(_), Some(_)) => tell(Level::Ok, "it can be read, and every key is known"),
    }
}

#[cfg(unix)]
fn others_may_write(path: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().is_ok_and(|metadata| metadata.mode() & 0o022 != 0)
}

#[cfg(not(unix))]
fn others_may_write(_path: &std::path::Path) -> bool {
    false
}

fn unknown_variables(commands: &Command) -> impl Iterator<Item = Finding> {
    let names: Vec<OsString> = env::vars_os().map(|(name, _)| name).collect();
    config::unknown_variables(commands, names.into_iter()).into_iter().map(|(name, near)| {
        let finding = Finding::new("configuration", Level::Warning, "this variable is none of talktree's").about(name);
        match near {
            Some(near) => finding.advice(format!("did you mean {near}?")),
            None => finding.advice("remove it"),
        }
    })
}

fn object(finding: &Finding) -> Value {
    json!({
        "check": finding.check,
        "level": finding.level.as_str(),
        "about": finding.about,
        "finding": finding.sentence,
        "advice": finding.advice,
    })
}

fn print(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let style = match finding.level {
        Level::Ok => ASSISTANT,
        Level::Problem => BAD,
        Level::Warning => OTHER,
        _ => FAINT,
    };
    let level = finding.level.as_str();
    let about = finding.about.as_deref().map(|about| format!("{}: ", harmless(about))).unwrap_or_default();
    writeln!(out, "{style}{level:<8}{PLAIN} {:<13} {about}{}", finding.check, harmless(&finding.sentence))?;
    match &finding.advice {
        Some(advice) => writeln!(out, "{:22} {FAINT}to do: {}{PLAIN}", "", harmless(advice)),
        None => Ok(()),
    }
}
