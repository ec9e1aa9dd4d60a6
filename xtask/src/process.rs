//! Running other programs: what is run is said first, and what failed is said in full.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// A cargo of the toolchain that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The compiler that cargo will use.
pub(crate) fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Runs a command with its output on the terminal; any exit code but 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("+ {line}");
    let status = command.status().with_context(|| format!("cannot start: {line}"))?;
    if !status.success() {
        bail!("{status}: {line}");
    }
    Ok(())
}

/// Runs a command and answers what it printed; any exit code but 0 is an error with what it complained about.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let line = shown(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start: {line}"))?;
    if !output.status.success() {
        bail!("{}: {line}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("no UTF-8 from: {line}"))
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let mut words = vec![Path::new(command.get_program()).file_name().unwrap_or_default()];
    words.extend(command.get_args());
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word for a POSIX shell, in quotes where it needs them.
pub(crate) fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Where a program of that name is on the path.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&path).map(|dir| dir.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn quoting_leaves_plain_words_alone_and_guards_the_others() {
        assert_eq!(quoted("--target=wasm32-wasip2"), "--target=wasm32-wasip2");
        assert_eq!(quoted("-I/a b"), "'-I/a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_failed_command_says_its_line_and_what_it_printed() {
        let error = read(rustc().arg("--no-such-option")).unwrap_err().to_string();
        assert!(error.contains("rustc --no-such-option"), "{error}");
        assert!(error.contains("no-such-option'"), "{error}");
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_found() {
        assert_eq!(on_path("no-program-has-this-name"), None);
    }
}
