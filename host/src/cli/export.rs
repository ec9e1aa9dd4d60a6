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

use super::Conversation;

/// Export one path of a conversation, for other programs or to be read
#[derive(Args)]
#[command(after_help = "\
The path leads from its root to the present leaf, or to the message that --leaf names. Everything on it is exported, \
also what summaries cover; with --summaries they stand in its place, as a model is shown the conversation.

Formats: ai-sdk (UIMessages as they are stored, in an array), openai-messages (as chat completions take them; without \
ids, times and reasoning), markdown (to be read; media is named and left out).

Examples:
  talktree export --root data --tenant easy --format markdown | less
  talktree export --root data --tenant easy --session work --format openai-messages -o work.json
  talktree export --root data --tenant easy --leaf m17 --format ai-sdk -o branch.json

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Export {
    #[command(flatten)]
    conversation: Conversation,

    /// Format to export to: ai-sdk, openai-messages, markdown
    #[arg(long, short, value_name = "FORMAT", value_parser = |name: &str| name.parse::<Format>())]
    format: Format,

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

impl Export {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let session = self.conversation.open().await?;
        let options = Options { leaf: self.leaf.clone(), summaries: self.summaries };
        match &self.output {
            None => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                // So that a reader who has had enough is recognised as one.
                match export(&session, self.format, &options, &mut out).await {
                    Err(ExportError::Io(error)) => return Err(error.into()),
                    done => done?,
                };
            }
            Some(file) => self.write(&session, &options, file).await?,
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn write(&self, session: &Session, options: &Options, file: &Path) -> anyhow::Result<()> {
        let cannot = || format!("{} cannot be written", file.display());
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = tempfile::Builder::new().prefix(".export-").tempfile_in(directory).with_context(cannot)?;
        let mut out = io::BufWriter::new(new);
        let count = export(session, self.format, options, &mut out).await?;
        let new = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(cannot)?;
        new.as_file().sync_all().with_context(cannot)?;
        new.persist(file).with_context(cannot)?;
        writeln!(io::stderr(), "{}: {count} messages", super::terminal::harmless(&file.display().to_string()))?;
        Ok(())
    }
}
