//! `talktree export`: one path of a conversation, for other programs and for people.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use talktree::{
    Session,
    export::{ExportError, Format, Options, export},
};

use super::{
    Conversation,
    terminal::{BAD, PLAIN},
};

/// Export a conversation: one path of it for other programs or to be read, or all of it to be imported again
#[derive(Args)]
#[command(after_help = "\
The path leads from its root to the present leaf, or to the message that --leaf names. Everything on it is exported, \
also what summaries cover; with --summaries they stand in its place, as a model is shown the conversation.

Formats: talktree (JSON Lines with everything of the session, all branches too, which talktree import takes back as it was; \
with --all-sessions everything of the tenant), ai-sdk (UIMessages as they are stored, in an array), openai-messages (as chat completions take them; without \
ids, times and reasoning), markdown (to be read; media is named and left out).

Examples:
  talktree export --root data --tenant easy --format talktree --all-sessions -o easy.jsonl
  talktree export --root data --tenant easy --format markdown | less
  talktree export --root data --tenant easy --session work --format openai-messages -o work.json
  talktree export --root data --tenant easy --leaf m17 --format ai-sdk -o branch.json

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Export {
    #[command(flatten)]
    conversation: Conversation,

    /// Format to export to: talktree, ai-sdk, openai-messages, markdown
    #[arg(long, short, value_name = "FORMAT", value_parser = kind)]
    format: Kind,

    /// All sessions of the tenant, with what they share: only with --format talktree
    #[arg(long, conflicts_with_all = ["session", "leaf", "summaries"])]
    all_sessions: bool,

    /// Id of the path's last message, instead of the present leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,

    /// Show summaries in the place of what they cover
    #[arg(long)]
    summaries: bool,

    /// File to write, instead of standard output; it is there when all of it is
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What can be exported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Whole sessions, to be imported again.
    Own,
    /// One path.
    Path(Format),
}

fn kind(name: &str) -> Result<Kind, String> {
    match name {
        "talktree" => Ok(Kind::Own),
        name => name.parse().map(Kind::Path).map_err(|error: ExportError| format!("{error}, talktree")),
    }
}

/// A command line that contradicts itself.
fn wrong(why: &str) -> ExitCode {
    anstream::eprintln!("{BAD}error:{PLAIN} {why}");
    ExitCode::from(2)
}

impl Export {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if self.format != Kind::Own && self.all_sessions {
            return Ok(wrong("--all-sessions goes with --format talktree: the others export one path"));
        }
        if self.format == Kind::Own && (self.leaf.is_some() || self.summaries) {
            return Ok(wrong("--leaf and --summaries go with a path: --format talktree exports whole sessions"));
        }
        let session = self.conversation.open().await?;
        if !self.all_sessions {
            // One that is not there is a slip of the pen, and not an empty export.
            session.info().await?;
        }
        match &self.output {
            None => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                self.export(&session, &mut out).await?;
                out.flush()?;
            }
            Some(file) => self.write(&session, file).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes what is asked for, and says how much that was.
    async fn export(&self, session: &Session, out: &mut impl io::Write) -> anyhow::Result<String> {
        let Kind::Path(format) = self.format else {
            let pages = if self.all_sessions { session.tenant().export_lines() } else { session.export_lines() };
            let (mut lines, mut cursor) = (0, None);
            loop {
                let page = pages.clone().cursor(cursor).await?;
                lines += page.lines.bytes().filter(|byte| *byte == b'\n').count();
                out.write_all(page.lines.as_bytes())?;
                cursor = page.cursor;
                if cursor.is_none() {
                    return Ok(format!("{lines} lines"));
                }
            }
        };
        let options = Options { leaf: self.leaf.clone(), summaries: self.summaries };
        match export(session, format, &options, out).await {
            Ok(count) => Ok(format!("{count} messages")),
            // So that a reader who has had enough is recognised as one.
            Err(ExportError::Io(error)) => Err(error.into()),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&self, session: &Session, file: &Path) -> anyhow::Result<()> {
        let cannot = || format!("{} cannot be written", file.display());
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = tempfile::Builder::new().prefix(".export-").tempfile_in(directory).with_context(cannot)?;
        let mut out = io::BufWriter::new(new);
        let count = self.export(session, &mut out).await?;
        let new = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(cannot)?;
        new.as_file().sync_all().with_context(cannot)?;
        new.persist(file).with_context(cannot)?;
        writeln!(io::stderr(), "{}: {count}", super::terminal::harmless(&file.display().to_string()))?;
        Ok(())
    }
}
