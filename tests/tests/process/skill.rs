//! The skill text for agents that have a shell: every command in it does what it says.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output},
};

use crate::program;

const SKILL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/skills/talktree/SKILL.md");

/// The lines of the blocks for a shell, in order.
fn commands(text: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => commands.push(line),
            _ => {}
        }
    }
    commands
}

#[test]
fn every_command_of_the_skill_does_what_it_says() {
    let text = fs::read_to_string(SKILL).unwrap();
    let home = tempfile::tempdir().unwrap();
    // As it is called in the text, wherever it lies.
    let programs = home.path().join("bin");
    fs::create_dir(&programs).unwrap();
    symlink(program::path(), programs.join("talktree")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    // What was compiled before need not be compiled again.
    let cache = std::env::var("XDG_CACHE_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cache")));
    let run = |script: &str| -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-uc", script]).env_clear().env("PATH", &path).env("HOME", home.path());
        shell.env("XDG_CACHE_HOME", cache.as_deref().unwrap_or("."));
        shell.current_dir(home.path()).output().unwrap()
    };
    let commands = commands(&text);
    let (first, commands) = commands.split_first().unwrap();
    assert!(first.starts_with("export TALKTREE_ROOT="), "{first}");
    let talktree = |command: &str| run(&format!("{first}\n{command}"));
    assert!(commands.len() >= 9, "{commands:?}");
    let is_write = |command: &&&str| command.contains("append") || command.contains("--write");
    // Before anything was written: told in words, and nothing is made.
    for command in commands.iter().filter(|command| !is_write(command)) {
        let output = talktree(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains("error:"), "{command}: {:?} {said}", output.status);
    }
    assert!(!home.path().join(".talktree").exists());
    for command in commands.iter().filter(is_write).chain(commands) {
        let output = talktree(command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{command}");
    }
    let out = |command: &str| String::from_utf8(talktree(command).stdout).unwrap();
    assert!(out("talktree memory --tenant me").contains("Port 8080."));
    assert!(out("talktree search --tenant me deployment window").contains("[window] to Friday"));
    assert!(out("talktree search --tenant me 'deploy*' --limit 5 --json").lines().count() >= 2);
    let history = out("talktree history --tenant me --session work --recent 16KiB");
    assert!(history.contains("Asked to move") && history.contains("ops/deploy.cron"), "{history}");
    assert!(out("talktree sessions --tenant me --limit 10").contains("work"));
}

#[test]
fn the_skill_begins_as_skills_do() {
    let text = fs::read_to_string(SKILL).unwrap();
    let head = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    // Agents demand that the name is that of the directory, and cut a description that is longer.
    assert_eq!(field("name"), "talktree");
    let description = field("description");
    assert!(description.len() <= 1_024 && !description.contains(": ") && !description.contains('<'), "{description}");
}
