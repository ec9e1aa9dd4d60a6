//! `talktree import`: conversations out of the files of other programs.

use std::{
    io::{self, IsTerminal as _, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use talktree::{
    Talktree, Tenant,
    import::{Format, ImportError, Input, Memory, Options, Phase, Problems, Progress, Report, Source, find, run},
};

use super::{
    Root,
    runtime::Limits,
    terminal::{BAD, FAINT, PLAIN, STRONG, harmless},
    values,
};

/// Problems of one kind that are printed for a file; --json has up to a thousand.
const SHOWN: usize = 20;

/// Import conversations from the files of other programs, with all their branches
#[derive(Args)]
#[command(after_help = "\
What is stored already is skipped, so an import may be repeated, or go on after an interruption. What is damaged \
costs itself and nothing else: it is reported with its place, and what hung below it hangs below the nearest message \
above.

Directories are searched with all that is below them, and so are zip archives, for files in .json and .jsonl that look \
like a transcript. Nothing is unpacked to the disk by its name.

Formats: talktree (what talktree export wrote), ai-sdk (UIMessages as an array, an object with messages, or JSON Lines), chatgpt (conversations.json of an \
export), claude-ai (the same of Claude), claude-code (session files), codex (rollout files), openai-messages (as chat \
completions take them, in the same shapes as ai-sdk), pi (session files, versions 1 to 3).

Examples:
  talktree import --root data --tenant easy ~/exports/*.zip
  talktree import --root data --tenant easy ~/.claude/projects ~/.codex/sessions ~/.pi/agent/sessions
  talktree import --root data --tenant easy --session work chat.json
  talktree import --root data --tenant easy --dry-run --json old.jsonl
  cat chat.json | talktree import --root data --tenant easy --format ai-sdk -

Exit codes: 0 everything was imported or was there already, 1 something could not be imported, 2 the command line \
was wrong.")]
pub(crate) struct Import {
    #[command(flatten)]
    root: Root,

    /// Tenant that the conversations are for
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
    tenant: String,

    /// Session to import into; without it the one that a file names, or else the default session, or one of the file's
    /// name where there are several. Where there are several, each goes to ID/<its own id>
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,

    /// Format of the files, where it is not recognised; of directories and archives only files like that count
    #[arg(long, value_name = "FORMAT", value_parser = |name: &str| name.parse::<Format>())]
    format: Option<Format>,

    /// Read and check everything, and store nothing
    #[arg(long)]
    dry_run: bool,

    /// JSON Lines: one report per file
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    limits: Limits,

    /// Files, archives and directories to import; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What became of one file.
#[derive(Serialize)]
struct FileReport<'a> {
    file: &'a str,
    #[serde(rename = "dryRun")]
    dry_run: bool,
    /// Why nothing of it could be read.
    error: Option<String>,
    #[serde(flatten)]
    report: Option<&'a Report>,
}

/// A transcript, or why there is none.
enum Item {
    StandardInput,
    Source(Source),
    Nothing(PathBuf, anyhow::Error),
}

impl Item {
    fn name(&self) -> String {
        match self {
            Self::StandardInput => "-".to_owned(),
            Self::Source(source) => source.to_string(),
            Self::Nothing(path, _) => path.display().to_string(),
        }
    }
}

impl Import {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        // Opened also for a dry run, so that a root or a tenant that cannot be are told then.
        let talktree = self.limits.set(Talktree::builder(&self.root.root)).open().await?;
        let tenant = talktree.tenant(&self.tenant)?;
        let (files, format) = (self.files.clone(), self.format);
        let items = tokio::task::spawn_blocking(move || search(&files, format)).await?;
        let several = items.len() > 1;
        let mut all_well = true;
        let mut told = Ok(());
        for item in items {
            let file = item.name();
            let done = self.import(item, &tenant, several).await;
            all_well &= matches!(&done, Ok(report) if report.failures() == 0 && report.stopped.is_none());
            let this = if self.json {
                let report = FileReport {
                    file: &file,
                    dry_run: self.dry_run,
                    error: done.as_ref().err().map(|error| format!("{error:#}")),
                    report: done.as_ref().ok(),
                };
                let line = serde_json::to_string(&report).context("the report cannot be written as JSON")?;
                writeln!(io::stdout(), "{line}")
            } else {
                print(&mut anstream::stdout(), &file, &done, self.dry_run)
            };
            // That nobody listens is no reason to leave files out.
            told = told.and(this);
        }
        talktree.close().await?;
        told?;
        Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn import(&self, item: Item, tenant: &Tenant, several: bool) -> anyhow::Result<Report> {
        let file = item.name();
        let mut unnamed = None;
        let input = match item {
            Item::Nothing(_, error) => return Err(error),
            Item::StandardInput => tokio::task::spawn_blocking(|| Input::spool("standard input", io::stdin())).await?,
            Item::Source(source) => {
                unnamed = source.session_name(several);
                tokio::task::spawn_blocking(move || source.open()).await?
            }
        };
        let input = input.with_context(|| format!("{file} cannot be read"))?;
        let bar = Bar::new(input.len(), &file);
        let input = input.with_progress({
            let bar = bar.clone();
            Arc::new(move |progress| bar.tell(progress))
        });
        let session = self.session.clone();
        let options = Options { format: self.format, session, one_of_several: several, unnamed, ..Options::default() };
        let done = if self.dry_run {
            run(input, &mut Memory::ids_only(), options).await
        } else {
            run(input, &mut tenant.clone(), options).await
        };
        bar.finish();
        match done {
            Ok(report) => Ok(report),
            Err(error @ ImportError::NotRecognised { .. }) => bail!("{error}; --format says which it is"),
            Err(error) => Err(error.into()),
        }
    }
}

/// All transcripts that the command line names, or leads to.
fn search(files: &[PathBuf], format: Option<Format>) -> Vec<Item> {
    let mut items = Vec::new();
    for file in files {
        if file == Path::new("-") {
            items.push(Item::StandardInput);
            continue;
        }
        let found = match find(file, format) {
            Ok(found) => found,
            Err(error) => {
                items.push(Item::Nothing(
                    file.clone(),
                    anyhow::Error::new(error).context(format!("{} cannot be read", file.display())),
                ));
                continue;
            }
        };
        if found.sources.is_empty() && found.unreadable.is_empty() {
            let why = format!("no transcript was found in it, among {} other files", found.others);
            items.push(Item::Nothing(file.clone(), anyhow::Error::msg(why)));
        }
        items.extend(found.sources.into_iter().map(Item::Source));
        items.extend(found.unreadable.into_iter().map(|(path, why)| Item::Nothing(path, anyhow::Error::msg(why))));
    }
    items
}

/// The progress of one file, on stderr where that is a terminal.
#[derive(Clone)]
struct Bar {
    bar: ProgressBar,
    phase: Arc<Mutex<Option<Phase>>>,
}

impl Bar {
    fn new(bytes: u64, file: &str) -> Self {
        let target =
            if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix:>10} [{bar:32}] {bytes}/{total_bytes}, {eta} left  {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(bytes), target).with_style(style);
        bar.set_message(harmless(file).into_owned());
        Self { bar, phase: Arc::default() }
    }

    fn tell(&self, progress: Progress) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if *phase != Some(progress.phase) {
            *phase = Some(progress.phase);
            self.bar.reset();
            self.bar.set_prefix(match progress.phase {
                Phase::Reading => "reading",
                Phase::Storing => "storing",
            });
        }
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.bytes);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Prints for people what became of a file.
fn print(out: &mut impl Write, file: &str, done: &anyhow::Result<Report>, dry_run: bool) -> io::Result<()> {
    let file = harmless(file);
    let report = match done {
        Ok(report) => report,
        Err(error) => {
            writeln!(out, "{STRONG}{file}{PLAIN}: {BAD}not imported{PLAIN}: {}", harmless(&format!("{error:#}")))?;
            return Ok(());
        }
    };
    let would = if dry_run { " (nothing was stored: dry run)" } else { "" };
    writeln!(out, "{STRONG}{file}{PLAIN}: {}{would}", report.format)?;
    for session in &report.sessions {
        let name = match session.id.as_str() {
            "" => "the default session".to_owned(),
            id => format!("session {:?}", harmless(id)),
        };
        let title = session.title.as_deref().map(|title| format!(" ({})", harmless(title))).unwrap_or_default();
        let counts = [
            (session.imported, "imported"),
            (session.skipped, "there already"),
            (session.failed.total(), "failed"),
            (session.without_time, "without a time of their own"),
        ];
        let mut words: Vec<_> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if words.is_empty() {
            words.push("no messages".to_owned());
        }
        writeln!(out, "  {name}{title}: {}", words.join(", "))?;
        if !session.kept_in_metadata.is_empty() {
            let kept = session.kept_in_metadata.iter().map(|(kind, count)| format!("{count} {}", harmless(kind)));
            writeln!(out, "    {FAINT}kept in metadata: {}{PLAIN}", kept.collect::<Vec<_>>().join(", "))?;
        }
        print_problems(out, "failed", BAD, &session.failed)?;
        print_problems(out, "put right", FAINT, &session.notes)?;
    }
    print_problems(out, "failed", BAD, &report.failed)?;
    if let Some(why) = &report.stopped {
        writeln!(
            out,
            "  {BAD}stopped:{PLAIN} {}. What was stored until then stays, and the same import goes on from there.",
            harmless(why).trim_end_matches('.')
        )?;
    }
    Ok(())
}

fn print_problems(out: &mut impl Write, what: &str, style: anstyle::Style, problems: &Problems) -> io::Result<()> {
    for problem in problems.listed().iter().take(SHOWN) {
        writeln!(out, "    {style}{what}{PLAIN} {}: {}", harmless(&problem.place), harmless(&problem.why))?;
    }
    let more = problems.total().saturating_sub(SHOWN as u64);
    if more > 0 {
        writeln!(out, "    {style}{what}{PLAIN} {more} more; --json lists them")?;
    }
    Ok(())
}
