//! What README.md, its neighbours and docs/ tell a reader to type has to exist: commands of `cargo xtask` must parse, sub-commands and
//! options of `talktree` must be in its help, links to files must lead to one.
//!
//! Rust code in README.md is compiled elsewhere: it is a documentation test of the package `talktree-tests`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::{
    Arguments,
    process::read,
    project::{release_binary, root},
};

/// Checks all documents and complains of everything at once.
pub(super) fn check() -> Result<()> {
    let talktree = release_binary("talktree")?;
    let mut wrong = Vec::new();
    let documents = documents()?;
    for file in &documents {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        let name = file.strip_prefix(root()).unwrap_or(file).display().to_string();
        for (line, words) in commands(&text) {
            if let Err(error) = check_command(&words, &talktree) {
                wrong.push(format!("{name}:{line}: `{}`: {error:#}", words.join(" ")));
            }
        }
        let dir = file.parent().unwrap_or(root());
        wrong.extend(dead_links(&text, dir).into_iter().map(|link| format!("{name}: leads nowhere: {link}")));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{} documents checked", documents.len());
    Ok(())
}

/// README.md and what lies beside it, and everything in docs/.
fn documents() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for dir in ["", "docs", "docs/bindings"] {
        let dir = root().join(dir);
        let entries = fs::read_dir(&dir).with_context(|| format!("read {}", dir.display()))?;
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md") && file.is_file());
    files.sort();
    Ok(files)
}

/// The command lines in fenced blocks for a shell, with their line numbers, as words.
///
/// A line is cut at the first `|`, `>`, `;`, `&` or `#` that stands alone: what is after it is the shell's.
fn commands(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut shell = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let is_shell = ["sh", "bash", "shell", "console"].contains(&language.trim());
            shell = if shell.is_some() { None } else { Some(is_shell) };
        } else if shell == Some(true) {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let ends = |word: &&str| !["|", ">", ">>", "<", "&&", "&", "#", "\\"].contains(word);
            let words: Vec<_> = line.split_whitespace().take_while(ends).map(str::to_owned).collect();
            if !words.is_empty() {
                found.push((index + 1, words));
            }
        }
    }
    found
}

/// Checks a command that is ours; any other passes.
fn check_command(words: &[String], talktree: &Path) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cargo", "xtask", rest @ ..] => match Arguments::try_parse_from([&["cargo xtask"], rest].concat()) {
            Ok(_) => Ok(()),
            Err(error) if !error.use_stderr() => Ok(()),
            Err(error) => bail!("{}", error.to_string().lines().next().unwrap_or_default().to_owned()),
        },
        [program, rest @ ..] if program.rsplit('/').next() == Some("talktree") => check_options(rest, talktree),
        _ => Ok(()),
    }
}

/// Checks that the sub-command is there and that its help, or that of the program, knows each option.
fn check_options(words: &[&str], talktree: &Path) -> Result<()> {
    let subcommand = words.iter().find(|word| !word.starts_with('-'));
    let mut help = read(Command::new(talktree).arg("--help"))?;
    if let Some(subcommand) = subcommand {
        help += &read(Command::new(talktree).args([subcommand, "--help"]))?;
    }
    for option in words.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
        let name = option.split('=').next().unwrap_or(option);
        let known = help.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == name);
        anyhow::ensure!(known, "{name} is not in its help");
    }
    Ok(())
}

/// Links to files of the checkout that are not there, pictures among them.
fn dead_links(text: &str, dir: &Path) -> Vec<String> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let pictures = [" src=\"", " srcset=\""].into_iter().flat_map(|mark| text.split(mark).skip(1));
    let targets = links.chain(pictures.filter_map(|rest| rest.split('"').next()));
    let is_file =
        |target: &&str| !target.is_empty() && !target.contains("://") && !target.contains(char::is_whitespace);
    targets.filter(is_file).filter(|target| !dir.join(target).exists()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn commands_are_those_of_shell_blocks_up_to_what_the_shell_takes() {
        let text = "`cargo no`\n```sh\n$ cargo xtask demo --x | cat\n# a remark\n\n```\n```rust\ncargo no\n```\n";
        assert_eq!(commands(text), [(3, vec!["cargo".into(), "xtask".into(), "demo".into(), "--x".into()])]);
    }

    #[test]
    fn a_task_or_an_option_that_does_not_exist_is_found() {
        let check = |line: &str| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            check_command(&words, Path::new("/nowhere/talktree"))
        };
        check("cargo xtask test --quick").unwrap();
        check("cargo xtask --help").unwrap();
        check("ls --no-such-option").unwrap();
        check("cargo xtask no-such-task").unwrap_err();
        check("cargo xtask test --no-such-option").unwrap_err();
        check("target/release/talktree demo").unwrap_err();
    }

    #[test]
    fn a_link_to_no_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("here.md"), "").unwrap();
        let text = "[a](here.md) [b](gone.md) [c](https://example.org/x) [d](#below) [e](here.md#part) \
                    <img alt=\"\" src=\"here.md\"> <source srcset=\"gone.png\">";
        assert_eq!(dead_links(text, dir.path()), ["gone.md", "gone.png"]);
    }
}
