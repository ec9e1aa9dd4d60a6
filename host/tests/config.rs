//! Promises about the configuration, the completions and the help, kept by the real program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod program;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use program::{Server, message, talktree};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// A directory with a configuration file, and a root with one message beside it.
struct Place {
    directory: TempDir,
    file: PathBuf,
}

fn place(config: &str) -> Place {
    let directory = tempdir().unwrap();
    let mut server = Server::start(&directory.path().join("data"));
    server.call("appendMessage", json!({"message": message("m1", "user", "Hello")}));
    server.finish();
    let file = directory.path().join("talktree.toml");
    fs::write(&file, config).unwrap();
    Place { directory, file }
}

impl Place {
    /// The program, with this file, or with the one that is looked for.
    fn program(&self, named: bool) -> Command {
        let mut command = talktree();
        command.env_remove("TALKTREE_NO_CONFIG").stdin(Stdio::null());
        if named {
            command.env("TALKTREE_CONFIG", &self.file);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.program(true).args(arguments).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_file_says_what_was_not_typed_and_paths_are_meant_from_it() {
    let place = place("root = 'data'\ntenant = 't'\n[history]\njson = true\n");
    let done = place.run(&["history"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).starts_with("{\"id\":\"m1\""));
    // From anywhere, and by the option.
    let elsewhere = tempdir().unwrap();
    let mut command = place.program(false);
    let done = command.current_dir(elsewhere.path()).arg("history").arg("--config").arg(&place.file).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let done = place.run(&["history", "--json=false"]);
    assert!(!text(&done.stdout).contains('{'), "a flag can be said to be off");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_user_s_own_file_is_found_and_can_be_left_out() {
    let place = place("");
    let home = place.directory.path().join("home");
    fs::create_dir_all(home.join("talktree")).unwrap();
    fs::write(home.join("talktree/config.toml"), "root = '../../data'\ntenant = 't'\n").unwrap();
    let run = |arguments: &[&str]| {
        place.program(false).env("XDG_CONFIG_HOME", &home).args(arguments).output().unwrap().status.code()
    };
    assert_eq!(run(&["history"]), Some(0));
    assert_eq!(run(&["history", "--no-config"]), Some(2), "the tenant is missing then");
}

#[test]
fn options_count_before_variables_before_the_file_before_defaults() {
    let place = place("root = 'data'\nsession = 'of-the-file'\n[show]\ntenant = 't'\n");
    let session = |typed: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.program(true);
        let done = command.args(["show", "--json"]).args(typed).envs(variables.iter().copied()).output().unwrap();
        let shown: Value = serde_json::from_slice(&done.stdout).unwrap();
        shown["session"].as_str().unwrap().to_owned()
    };
    assert_eq!(session(&[], &[]), "of-the-file");
    assert_eq!(session(&[], &[("TALKTREE_SESSION", "of-all")]), "of-all");
    let both = [("TALKTREE_SESSION", "of-all"), ("TALKTREE_SHOW_SESSION", "of-show")];
    assert_eq!(session(&[], &both), "of-show");
    assert_eq!(session(&["--session", "typed"], &both), "typed");
    assert_eq!(
        session(&["--no-config", "--root", &place.directory.path().join("data").to_string_lossy(), "-t", "t"], &[]),
        ""
    );
}

#[test]
fn a_wrong_file_or_variable_ends_with_exit_code_2_and_says_where_and_what() {
    for (config, variable, parts) in [
        ("root = 'data'\ntennant = 't'\n", ("X", "y"), &["talktree.toml, line 2", "\"tennant\"", "\"tenant\""][..]),
        ("[serv]\nlisten = 'x'\n", ("X", "y"), &["line 1", "\"serve\""]),
        ("[serve]\nlisten = 'x'\n", ("X", "y"), &["line 2", "listen"]),
        ("", ("TALKTREE_WIDTH", "many"), &["TALKTREE_WIDTH", "--width"]),
        ("", ("TALKTREE_CONFIG", "/nowhere/at/all.toml"), &["/nowhere/at/all.toml"]),
    ] {
        let place = place(config);
        let mut command = place.program(true);
        let done = command.args(["show", "--root", "data", "-t", "t"]).env(variable.0, variable.1).output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{config:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{config:?}: {said}");
    }
}

#[test]
fn what_is_missing_beside_a_value_of_the_file_is_told_with_its_place() {
    let place = place("root = 'data'\n[serve]\ntls-cert = 'c.pem'\n");
    let done = place.run(&["serve"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2));
    assert!(said.contains("--tls-key") && said.contains("--tls-cert is from") && said.contains("line 3"), "{said}");
}

#[test]
fn config_shows_what_holds_and_from_where_and_never_a_secret() {
    let place = place("root = 'data'\n[serve]\nsummarizer = 'openai:https://me:planted-secret@model.example/v1#m'\n");
    let mut command = place.program(true);
    command.env("TALKTREE_MAX_REQUEST", "1MiB").env("OPENAI_API_KEY", "planted-secret").env("TALKTREE_LISTN", "x");
    let done = command.arg("config").output().unwrap();
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    for part in
        ["talktree.toml", "--root", "line 1", "TALKTREE_MAX_REQUEST", "openai:... (hidden)", "OPENAI_API_KEY: set"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("TALKTREE_LISTN") && said.contains("did you mean TALKTREE_LISTEN"), "{said}");
    let as_json = command.args(["--json", "serve"]).output().unwrap();
    let object: Value = serde_json::from_slice(&as_json.stdout).unwrap();
    assert_eq!(object["commands"]["serve"]["max-request"], json!({"value": "1MiB", "from": "TALKTREE_MAX_REQUEST"}));
    assert_eq!(object["commands"]["serve"]["listen"], json!({"value": "127.0.0.1:7411", "from": "default"}));
    let help = place.program(true).env("OPENAI_API_KEY", "planted-secret").args(["serve", "--help"]).output().unwrap();
    let wrong = place.program(true).env("TALKTREE_SUMMARIZER", "planted-secret").args(["serve"]).output().unwrap();
    for output in [done, as_json, help, wrong] {
        assert!(!text(&output.stdout).contains("planted-secret") && !text(&output.stderr).contains("planted-secret"));
    }
}

#[test]
fn the_sample_can_be_used_as_it_is() {
    let place = place("");
    let sample = place.run(&["config", "--sample"]);
    fs::write(&place.file, &sample.stdout).unwrap();
    assert_eq!(
        place.run(&["tenants", "--root", &place.directory.path().join("data").to_string_lossy()]).status.code(),
        Some(0)
    );
    // Help and completions do without any file.
    fs::write(&place.file, "no toml").unwrap();
    assert_eq!(place.run(&["completions", "bash"]).status.code(), Some(0));
    assert_eq!(place.run(&["serve", "--help"]).status.code(), Some(0));
}

#[test]
fn help_names_the_variables_and_shows_none_of_their_values() {
    let done = talktree().env("TALKTREE_LISTEN", "planted").args(["serve", "--help"]).output().unwrap();
    let said = text(&done.stdout);
    assert!(said.contains("[env: TALKTREE_LISTEN]") && !said.contains("planted"), "{said}");
    let whole = text(&talktree().arg("--help").output().unwrap().stdout);
    assert!(whole.contains("Serve others:") && whole.contains("  doctor "), "{whole}");
}

#[test]
fn a_tenant_without_a_name_and_too_much_memory_are_slips_of_the_command_line() {
    let root = tempdir().unwrap();
    let run = |arguments: &[&str]| talktree().args(arguments).arg("--root").arg(root.path()).output().unwrap();
    for arguments in
        [&["show", "--tenant", ""][..], &["rpc", "--memory-limit", "5GiB"], &["serve", "--memory-limit", "5GiB"]]
    {
        let done = run(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stderr));
    }
    assert!(text(&run(&["rpc", "--memory-limit", "4294967297"]).stderr).contains("more than 4GiB"));
}

/// Writes the completions for a shell where that shell can read them.
fn completions(shell: &str, directory: &Path) -> PathBuf {
    let script = directory.join(format!("completions.{shell}"));
    let done = talktree().args(["completions", shell]).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    fs::write(&script, done.stdout).unwrap();
    script
}

fn is_there(shell: &str) -> bool {
    Command::new(shell).arg("-c").arg("exit 0").status().is_ok_and(|status| status.success())
}

#[test]
fn every_shell_gets_a_script_that_knows_every_command() {
    let directory = tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = fs::read_to_string(completions(shell, directory.path())).unwrap();
        for command in ["serve", "doctor", "completions", "max-request"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

/// What bash offers for the last of these words.
fn offered_by_bash(script: &Path, words: &[&str]) -> Vec<String> {
    let code = r#"
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
how=$(complete -p talktree); [[ $how =~ -F\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" talktree "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;
    let mut bash = Command::new("bash");
    let done = bash.args(["--norc", "-c", code, "bash"]).arg(script).args(words).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    text(&done.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let directory = tempdir().unwrap();
    let script = completions("bash", directory.path());
    assert_eq!(offered_by_bash(&script, &["talktree", "doc"]), ["doctor"]);
    assert_eq!(offered_by_bash(&script, &["talktree", "serve", "--lis"]), ["--listen"]);
    assert_eq!(offered_by_bash(&script, &["talktree", "rpc", "--durability", ""]), ["full", "normal"]);
    assert_eq!(offered_by_bash(&script, &["talktree", "completions", "f"]), ["fish"]);
}

#[test]
fn fish_completes_commands_and_options_where_it_is_installed() {
    if !is_there("fish") {
        return;
    }
    let directory = tempdir().unwrap();
    let script = completions("fish", directory.path());
    let offered = |line: &str| {
        let code = format!("source {}; complete -C '{line}'", script.display());
        let mut fish = Command::new("fish");
        let done = fish.args(["--no-config", "-c", &code]).env("HOME", directory.path()).output().unwrap();
        let said = text(&done.stdout);
        said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered("talktree doc"), ["doctor"]);
    assert_eq!(offered("talktree serve --lis"), ["--listen"]);
    assert_eq!(offered("talktree rpc --durability "), ["full", "normal"]);
}

#[test]
fn zsh_completes_commands_and_options_where_it_is_installed() {
    if !is_there("zsh") {
        return;
    }
    let directory = tempdir().unwrap();
    fs::rename(completions("zsh", directory.path()), directory.path().join("_talktree")).unwrap();
    // A shell of its own on a pseudo terminal: when the key is pressed, it writes the line as it has become.
    let code = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; echo rea''dy"
while zpty -r shell line; do [[ $line == *ready* ]] && break; done
zpty -w -n shell "$2"$'\t'
sleep 1
zpty -w -n shell $'\x15'
zpty -w shell "echo do''ne"
while zpty -r shell line; do print -r -- "$line"; [[ $line == *done* ]] && break; done
zpty -d shell
"#;
    for (line, becomes) in [("talktree doc", "talktree doctor"), ("talktree serve --lis", "talktree serve --listen")] {
        let mut zsh = Command::new("zsh");
        zsh.args(["-f", "-c", code, "zsh"]).arg(directory.path()).arg(line).env("TERM", "xterm");
        let done = zsh.output().unwrap();
        let said = text(&done.stdout);
        assert!(said.contains(becomes), "{line}: {said:?} {}", text(&done.stderr));
    }
}
