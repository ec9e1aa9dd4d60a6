//! `talktree prune`: sessions that nobody has used for long.

use std::{
    io::{self, BufWriter, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use jiff::{Span, Timestamp, Unit};
use talktree::SessionEntry;

use super::{
    Root,
    terminal::{FAINT, PLAIN, STRONG, harmless},
    values,
};

/// Delete the sessions of a tenant that have had no activity for long
#[derive(Args)]
#[command(after_help = "\
Nothing is ever deleted by itself: this is the whole of retention, and it is run by who wants it, from a timer for
instance. Without --yes it lists what would go, and deletes nothing. Activity is an append, update or import. The room is
free inside the file afterwards; `talktree vacuum` gives it back to the disk.

Examples:
  talktree prune --root data --tenant easy --older-than 90d
  talktree prune --root data --tenant easy --older-than 90d --keep 100 --yes

Exit codes: 0 done, or nothing to do; 1 failed, or there is something to delete and --yes is missing; 2 the command line \
was wrong.")]
pub(crate) struct Prune {
    #[command(flatten)]
    root: Root,

    /// Tenant whose sessions they are
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
    tenant: String,

    /// Only sessions whose last activity is longer ago, such as 12h, 90d, 6months
    #[arg(long, value_name = "TIME", value_parser = age)]
    older_than: Span,

    /// The so many sessions with the newest activity stay, however old they are
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    keep: usize,

    /// Do it
    #[arg(long)]
    yes: bool,
}

/// A span of time that is not negative.
fn age(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|_| "a span of time, such as 12h, 90d or 6months".to_owned())?;
    if span.is_negative() { Err("this is in the future".to_owned()) } else { Ok(span) }
}

impl Prune {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let now = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let limit = now.checked_sub(self.older_than).context("--older-than reaches too far back")?;
        let limit = limit.timestamp().as_millisecond();
        let tenant = self.root.open_tenant(&self.tenant).await?;
        let mut old: Vec<SessionEntry> = Vec::new();
        let (mut cursor, mut kept) = (None, 0);
        loop {
            let page = tenant.list_sessions().limit(1_000).cursor(cursor).await?;
            for session in page.sessions {
                if kept < self.keep {
                    kept += 1;
                } else if session.last_activity_at < limit {
                    old.push(session);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        let mut out = BufWriter::new(anstream::stdout());
        let (mut sessions, mut messages) = (0, 0);
        for session in &old {
            // It may have been used since it was listed.
            if self.yes && tenant.session(&session.id).info().await?.last_activity_at >= limit {
                continue;
            }
            if self.yes {
                tenant.session(&session.id).delete().await?;
            }
            sessions += 1;
            messages += u64::from(session.messages);
            let days = Timestamp::from_millisecond(session.last_activity_at)
                .and_then(|time| now.timestamp().since((Unit::Hour, time)))
                .map_or(0, |since| since.get_hours() / 24);
            let id = if session.id.is_empty() { "(default)".into() } else { harmless(&session.id) };
            let title = session.title.as_deref().map(harmless).unwrap_or_default();
            let count = session.messages;
            writeln!(out, "{STRONG}{id}{PLAIN}  {title}  {FAINT}{count} messages, {days} days{PLAIN}")?;
        }
        out.flush()?;
        let word = if self.yes { "were deleted" } else { "would be deleted, with --yes" };
        writeln!(io::stderr(), "{sessions} sessions with {messages} messages {word}")?;
        Ok(if self.yes || old.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_are_read_as_people_write_them_and_never_negative() {
        for good in ["12h", "90d", "6months", "1y 2mo", "0s", "P30D"] {
            assert!(age(good).is_ok(), "{good}");
        }
        for bad in ["", "90", "-1d", "soon"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
