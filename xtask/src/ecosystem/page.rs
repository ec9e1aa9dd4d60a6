//! Pages of documentation whose commands are run as they stand, so that what a reader types is what was tried.
//!
//! The blocks marked `sh` of a page are one session of bash, in a directory of its own that begins empty but for the
//! files that the page says it begins with. A block marked `text` right behind one is what that one prints, where `…`
//! stands for anything. Blocks marked otherwise (`console` for what installs a tool) are not run: the stage does that.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use super::environments::place;
use crate::project::root;

/// What the commands of a page find when they begin.
#[derive(Default)]
pub(crate) struct Scene {
    /// Files to copy into the directory, under their own names.
    pub(crate) files: Vec<PathBuf>,
    /// Directories with programs, searched before those of the machine.
    pub(crate) programs: Vec<PathBuf>,
    /// More variables. `TALKTREE`, the checkout, is always there.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
}

/// Runs the commands of `docs/bindings/NAME.md`.
pub(crate) fn run_page(name: &str, scene: &Scene) -> Result<()> {
    let page = Path::new("docs/bindings").join(name).with_extension("md");
    let text = fs::read_to_string(root().join(&page)).with_context(|| format!("read {}", page.display()))?;
    let blocks = blocks(&text);
    anyhow::ensure!(!blocks.is_empty(), "{} has no commands to run", page.display());

    let dir = fresh(&place("pages")?.join(name))?;
    let (work, outputs) = (dir.join("work"), dir.join("outputs"));
    for new in [&work, &outputs] {
        fs::create_dir(new).with_context(|| format!("create {}", new.display()))?;
    }
    for file in &scene.files {
        let to = work.join(file.file_name().unwrap_or_default());
        fs::copy(file, &to).with_context(|| format!("copy {}", file.display()))?;
    }
    let script = dir.join("page.sh");
    fs::write(&script, script_of(&blocks))?;

    let own = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(scene.programs.iter().cloned().chain(env::split_paths(&own)))?;
    let mut bash = Command::new("bash");
    for variable in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        bash.env_remove(variable);
    }
    let status = bash
        .arg(&script)
        .arg(&outputs)
        .current_dir(&work)
        .env("PATH", path)
        .env("TALKTREE", root())
        .envs(scene.variables.iter().map(|(name, value)| (name, value)))
        // Nothing of what programs keep for a user is read or left behind.
        .env("HOME", fresh(&dir.join("home"))?)
        .stdin(Stdio::null())
        .status()
        .context("cannot start bash")?;

    for (number, block) in blocks.iter().enumerate() {
        let read = |ending: &str| fs::read_to_string(outputs.join(format!("{number}.{ending}")));
        let place = format!("{}:{}", page.display(), block.line);
        let failed = !status.success() && read("done").is_err();
        let (out, err) = (read("out").unwrap_or_default(), read("err").unwrap_or_default());
        if failed {
            bail!("{place}: {status}\n{}\n{}{}", block.commands.trim_end(), out, err);
        }
        if let Some(expected) = &block.output
            && !matches(expected, &out)
        {
            bail!("{place}: printed\n{}\ninstead of\n{}", out.trim_end(), expected.trim_end());
        }
    }
    anyhow::ensure!(status.success(), "{}: {status}", page.display());
    println!("{}: {} blocks of commands run", page.display(), blocks.len());
    Ok(())
}

/// An empty directory, whatever was there.
fn fresh(dir: &Path) -> Result<PathBuf> {
    if dir.exists() {
        fs::remove_dir_all(dir).with_context(|| format!("remove {}", dir.display()))?;
    }
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir.to_owned())
}

/// Commands of a page, and what they print.
#[derive(Debug, PartialEq)]
struct Block {
    /// Line of the page where the commands begin.
    line: usize,
    commands: String,
    output: Option<String>,
}

/// The blocks to run, in order.
fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut lines = text.lines().enumerate();
    // Whether nothing but empty lines came since the last block of commands.
    let mut follows = false;
    while let Some((index, line)) = lines.next() {
        let Some(language) = line.trim().strip_prefix("```") else {
            follows &= line.trim().is_empty();
            continue;
        };
        let body: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| line.trim() != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        if language == "sh" {
            found.push(Block { line: index + 2, commands: body, output: None });
        } else if let (true, "text", Some(last)) = (follows, language, found.last_mut()) {
            last.output = Some(body);
        }
        follows = language == "sh";
    }
    found
}

/// One script of all blocks. Each is a group, so that variables and processes in the background last; what it prints
/// goes into files of the directory that is the first argument.
fn script_of(blocks: &[Block]) -> String {
    let mut script = String::from(
        "set -euo pipefail\noutputs=$1\nshift\ntrap 'kill $(jobs -p) 2>/dev/null && wait 2>/dev/null || true' EXIT\n",
    );
    for (number, block) in blocks.iter().enumerate() {
        let Block { commands, .. } = block;
        script += &format!("{{\n{commands}}} >\"$outputs/{number}.out\" 2>\"$outputs/{number}.err\"\n");
        script += &format!("touch \"$outputs/{number}.done\"\n");
    }
    script
}

/// Whether a text is the expected one, in which `…` stands for anything.
fn matches(expected: &str, text: &str) -> bool {
    let mut pieces = expected.trim().split('…');
    let Some(mut rest) = text.trim().strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces: Vec<_> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn commands_are_taken_with_what_they_print_and_other_blocks_are_left() {
        let page = "# A\n```console\npip install x\n```\nText.\n```sh\necho a\necho b\n```\n\n```text\na\nb\n```\n\
                    ```sh\ntrue\n```\nMore.\n```text\nnot its output\n```\n";
        let expected = [
            Block { line: 7, commands: "echo a\necho b\n".to_owned(), output: Some("a\nb\n".to_owned()) },
            Block { line: 16, commands: "true\n".to_owned(), output: None },
        ];
        assert_eq!(blocks(page), expected);
    }

    #[test]
    fn an_ellipsis_stands_for_anything_and_everything_else_for_itself() {
        assert!(matches("ok(…)", "ok({inserted: true})\n"));
        assert!(matches("a…c…e", "abcde"));
        assert!(matches("same\n", "same"));
        assert!(!matches("a…c", "abd"));
        assert!(!matches("same", "same and more"));
        assert!(!matches("a…b…b", "ab"));
    }

    #[test]
    fn a_failing_command_ends_the_session_and_its_block_is_not_done() {
        let dir = tempfile::tempdir().unwrap();
        let page = "```sh\nx=1\n```\n```sh\necho $x\nfalse\necho no\n```\n```sh\necho never\n```\n";
        let script = dir.path().join("page.sh");
        fs::write(&script, script_of(&blocks(page))).unwrap();
        let status = Command::new("bash").arg(&script).arg(dir.path()).status().unwrap();
        assert!(!status.success());
        assert!(dir.path().join("0.done").exists() && !dir.path().join("1.done").exists());
        assert_eq!(fs::read_to_string(dir.path().join("1.out")).unwrap(), "1\n");
        assert!(!dir.path().join("2.out").exists());
    }
}
