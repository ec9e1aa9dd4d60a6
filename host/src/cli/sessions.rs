//! `talktree sessions`: the conversations of a tenant.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;
use talktree::SessionEntry;

use super::{
    Root,
    terminal::{FAINT, PLAIN, STRONG, harmless},
    values,
};

/// List the sessions of a tenant, newest activity first
#[derive(Args)]
#[command(after_help = "\
No message is read for it. The default session has the empty id.

Examples:
  talktree sessions --root data --tenant easy
  talktree sessions --root data --tenant easy --limit 10
  talktree sessions --root data --tenant easy --json | jq -r .id

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Sessions {
    #[command(flatten)]
    root: Root,

    /// Tenant that the sessions belong to
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
    tenant: String,

    /// At most so many
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,

    /// JSON Lines: each session as an object
    #[arg(long)]
    json: bool,
}

impl Sessions {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let tenant = self.root.open_tenant(&self.tenant).await?;
        let mut out: Box<dyn Write> = if self.json {
            Box::new(BufWriter::new(io::stdout()))
        } else {
            Box::new(BufWriter::new(anstream::stdout()))
        };
        let (mut cursor, mut left) = (None, self.limit);
        loop {
            let page = tenant.list_sessions().limit(1_000).cursor(cursor).await?;
            for session in page.sessions.iter().take(left) {
                if self.json { print_json(&mut out, session)? } else { print_session(&mut out, session)? }
            }
            left = left.saturating_sub(page.sessions.len());
            cursor = page.cursor.filter(|_| left > 0);
            if cursor.is_none() {
                out.flush()?;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}

fn print_json(out: &mut impl Write, session: &SessionEntry) -> io::Result<()> {
    let object = json!({
        "id": session.id,
        "title": session.title,
        "createdAt": session.created_at,
        "lastActivityAt": session.last_activity_at,
        "messages": session.messages,
        "tokens": session.tokens,
        "leafId": session.leaf_id,
    });
    writeln!(out, "{object}")
}

fn print_session(out: &mut impl Write, session: &SessionEntry) -> io::Result<()> {
    let time = jiff::Timestamp::from_millisecond(session.last_activity_at)
        .map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_else(|_| format!("{} ms", session.last_activity_at));
    let id = match session.id.as_str() {
        "" => "(default)".into(),
        id => harmless(id),
    };
    let title = session.title.as_deref().map(harmless).unwrap_or_default();
    let (messages, tokens) = (session.messages, session.tokens);
    writeln!(out, "{STRONG}{id}{PLAIN}  {title}  {FAINT}{messages} messages, {tokens} tokens, {time}{PLAIN}")
}
