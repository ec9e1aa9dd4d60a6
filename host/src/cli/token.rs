//! `talktree token`: a new token for `talktree serve`.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use clap::Args;
use talktree::serve::{NewToken, add_token};

use super::values;

/// Make a token for `talktree serve`
#[derive(Args)]
#[command(after_help = "\
The token is shown once and kept nowhere: the file holds its hash. A server that uses the file notices within seconds. To \
take a token back, remove its entry from the file.

Examples:
  talktree token --file tokens.json --name easy --tenant easy:test1
  talktree token --file tokens.json --name chat --prefix user: --days 90
  talktree token --file tokens.json --name operator --all

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Token {
    /// File with the hashes of tokens; it is made where it is missing
    #[arg(long, value_name = "FILE")]
    file: PathBuf,

    /// Who gets it, for people
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Good for this tenant; may be there several times
    #[arg(long, value_name = "NAME", value_parser = values::tenant, conflicts_with = "all")]
    tenant: Vec<String>,

    /// Good for the tenants whose names begin so; it ends with a colon; may be there several times
    #[arg(long, value_name = "PREFIX:", conflicts_with = "all")]
    prefix: Vec<String>,

    /// Good for every tenant
    #[arg(long)]
    all: bool,

    /// Good for /metrics
    #[arg(long)]
    metrics: bool,

    /// Days until it ends; without it, it does not
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
}

impl Token {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let life = self.days.map(|days| Duration::from_secs(u64::from(days) * 86_400));
        let token = NewToken {
            name: self.name,
            all: self.all,
            tenants: self.tenant,
            prefixes: self.prefix,
            metrics: self.metrics,
            expires: life.and_then(|life| SystemTime::now().checked_add(life)),
        };
        writeln!(io::stdout(), "{}", add_token(&self.file, token)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
