//! `talktree completions`: the command line, for shells.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_complete::Shell;

/// Write a script that completes commands and options in a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  talktree completions bash > ~/.local/share/bash-completion/completions/talktree
  talktree completions zsh > \"${fpath[1]}/_talktree\"
  talktree completions fish > ~/.config/fish/completions/talktree.fish
  talktree completions powershell >> $PROFILE
  talktree completions elvish >> ~/.config/elvish/rc.elv

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut commands: Command) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut commands, "talktree", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
