//! `talktree tenants`: who is there.

use std::{
    io::{self, BufWriter, Write as _},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;

use super::{Root, terminal::harmless};

/// List the tenants, one a line
#[derive(Args)]
#[command(after_help = "\
Names are data and may hold anything: what could disturb a terminal is shown as a sign. Programs should ask for --json.

Examples:
  talktree tenants --root data
  talktree tenants --root data --json | jq -r .

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Tenants {
    #[command(flatten)]
    root: Root,

    /// JSON Lines: each name as a JSON string
    #[arg(long)]
    json: bool,
}

impl Tenants {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let talktree = self.root.open().await?;
        let mut out = BufWriter::new(io::stdout());
        let mut cursor = None;
        loop {
            let page = talktree.list_tenants().limit(1_000).cursor(cursor).await?;
            for tenant in &page.tenants {
                if self.json {
                    writeln!(out, "{}", json!(tenant))?;
                } else {
                    writeln!(out, "{}", harmless(tenant))?;
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                out.flush()?;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}
