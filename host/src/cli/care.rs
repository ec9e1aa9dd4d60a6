//! `talktree stats`, `check`, `vacuum`, `snapshot`, `restore` and `delete`: care of a tenant's store.

use std::{
    fs::File,
    io::{self, BufReader, IsTerminal as _, Read, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use talktree::{Talktree, Tenant};

use super::{Root, runtime::Limits, terminal::harmless, values};

/// Which tenant.
#[derive(Args)]
struct Store {
    #[command(flatten)]
    root: Root,

    /// Name of the tenant
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
    tenant: String,
}

impl Store {
    async fn open(&self) -> anyhow::Result<Tenant> {
        self.root.open_tenant(&self.tenant).await
    }
}

/// Show what fills the store of a tenant
#[derive(Args)]
#[command(after_help = "\
Counters are read, no messages.

Examples:
  talktree stats --root data --tenant easy
  talktree stats --root data --tenant easy --json | jq .bytes.file

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Stats {
    #[command(flatten)]
    store: Store,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let tenant = self.store.open().await?;
        let (stats, disk) = (tenant.stats().await?, tenant.disk().await?);
        let bytes = stats.bytes;
        let mut out = anstream::stdout().lock();
        if self.json {
            let object = json!({
                "messages": stats.messages,
                "sessions": stats.sessions,
                "bytes": {
                    "file": bytes.file,
                    "messages": bytes.messages,
                    "mediaBytes": bytes.media_bytes,
                    "index": bytes.index,
                    "free": bytes.free,
                },
                "disk": {"bytes": disk.bytes},
                "largest": stats.largest.iter().map(|message| json!({
                    "sessionId": message.session_id,
                    "id": message.id,
                    "bytes": message.bytes,
                })).collect::<Vec<_>>(),
                "schemaVersion": stats.schema_version,
            });
            writeln!(out, "{object}")?;
            return Ok(ExitCode::SUCCESS);
        }
        writeln!(out, "{} messages in {} sessions, schema {}", stats.messages, stats.sessions, stats.schema_version)?;
        let rows = [
            ("messages", bytes.messages),
            ("media", bytes.media_bytes),
            ("search index", bytes.index),
            ("free pages", bytes.free),
            ("file", bytes.file),
        ];
        for (name, number) in rows {
            let share = number.saturating_mul(30).checked_div(bytes.file).unwrap_or(0).min(30);
            let bar = "█".repeat(usize::try_from(share).unwrap_or(0));
            writeln!(out, "{name:>13}  {number:>14} bytes  {bar}")?;
        }
        writeln!(out, "{:>13}  {:>14} bytes", "file and log", disk.bytes)?;
        if !stats.largest.is_empty() {
            writeln!(out, "The largest messages:")?;
        }
        for message in &stats.largest {
            let (session, id) = (harmless(&message.session_id), harmless(&message.id));
            writeln!(out, "{:>13}  {:>14} bytes  in session {session:?}", id, message.bytes)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Look for damage in the store of a tenant
#[derive(Args)]
#[command(after_help = "\
All of the file is read: this takes a while for a large one.

Examples:
  talktree check --root data --tenant easy
  talktree check --root data --tenant easy --json

Exit codes: 0 nothing is wrong, 1 damage was found or it failed, 2 the command line was wrong.")]
pub(crate) struct Check {
    #[command(flatten)]
    store: Store,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let report = self.store.open().await?.check().await?;
        let mut out = anstream::stdout().lock();
        if self.json {
            writeln!(out, "{}", json!({ "sound": report.sound, "problems": report.problems }))?;
        } else if report.sound {
            writeln!(out, "Nothing is wrong.")?;
        } else {
            for problem in &report.problems {
                writeln!(out, "{}", harmless(problem))?;
            }
            anstream::eprintln!("What can be read is still read; a snapshot from before is the way back.");
        }
        Ok(if report.sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Give the free pages of a tenant's store back to the disk
#[derive(Args)]
#[command(after_help = "\
The file is written anew, which needs up to twice its size in free room on the disk; without it nothing changes.

Examples:
  talktree vacuum --root data --tenant easy

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Vacuum {
    #[command(flatten)]
    store: Store,
}

impl Vacuum {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let report = self.store.open().await?.vacuum().await?;
        writeln!(anstream::stdout(), "{} bytes before, {} bytes now", report.before, report.after)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Write a consistent copy of a tenant's store into a file
#[derive(Args)]
#[command(after_help = "\
The tenant may not be open in another process: there, ask for it over its own interface (`snapshot` of JSON-RPC).

Examples:
  talktree snapshot --root data --tenant easy easy.talktree
  talktree snapshot --root data --tenant easy - | zstd > easy.talktree.zst

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Snapshot {
    #[command(flatten)]
    store: Store,

    /// File to write, which must not be there yet; - is stdout
    file: PathBuf,
}

impl Snapshot {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let tenant = self.store.open().await?;
        if self.file == Path::new("-") {
            if io::stdout().is_terminal() {
                bail!("a snapshot is no text for a terminal: name a file, or send it to a program");
            }
            write_snapshot(&tenant, &mut io::stdout().lock()).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let named = || format!("the file {} cannot be written", self.file.display());
        let mut options = File::options();
        options.write(true).create_new(true);
        // It holds all that was said.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.file).with_context(named)?;
        let written = write_snapshot(&tenant, &mut file).await.and_then(|bytes| {
            file.sync_all().with_context(named)?;
            Ok(bytes)
        });
        match written {
            Ok(bytes) => {
                writeln!(anstream::stdout(), "{bytes} bytes in {}", self.file.display())?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                // Half a snapshot must not be taken for one.
                let _ = std::fs::remove_file(&self.file);
                Err(error)
            }
        }
    }
}

async fn write_snapshot(tenant: &Tenant, out: &mut impl io::Write) -> anyhow::Result<u64> {
    let mut cursor = None;
    loop {
        let piece = tenant.snapshot().cursor(cursor).max_bytes(8 << 20).await?;
        out.write_all(&piece.data)?;
        cursor = piece.cursor;
        if cursor.is_none() {
            out.flush()?;
            return Ok(piece.bytes);
        }
    }
}

/// Make a tenant of a snapshot
#[derive(Args)]
#[command(after_help = "\
A tenant that has a store already is left alone. What is no sound store is refused, and nothing stays of it.

Examples:
  talktree restore --root data --tenant easy easy.talktree
  zstd -dc easy.talktree.zst | talktree restore --root data --tenant easy-copy -

Exit codes: 0 done, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Restore {
    #[command(flatten)]
    store: Store,

    /// File with the snapshot; - is stdin
    file: PathBuf,

    #[command(flatten)]
    limits: Limits,
}

impl Restore {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let snapshot: Box<dyn Read + Send> = if self.file == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let file = File::open(&self.file);
            Box::new(BufReader::new(file.with_context(|| format!("{} cannot be read", self.file.display()))?))
        };
        // Here the root may be made: it is where something is to be written.
        let talktree = self.limits.set(Talktree::builder(&self.store.root.root)).open().await?;
        let tenant = talktree.tenant(&self.store.tenant)?;
        tenant.restore(snapshot).await?;
        let stats = tenant.stats().await?;
        writeln!(anstream::stdout(), "{} messages in {} sessions", stats.messages, stats.sessions)?;
        talktree.close().await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Delete a tenant, or one of its sessions, for good
#[derive(Args)]
#[command(after_help = "\
Without --yes it says what would go, and deletes nothing.

Examples:
  talktree delete --root data --tenant easy --session old --yes
  talktree delete --root data --tenant easy --yes

Exit codes: 0 done, 1 failed or not confirmed, 2 the command line was wrong.")]
pub(crate) struct Delete {
    #[command(flatten)]
    store: Store,

    /// Only this session
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,

    /// Do it
    #[arg(long)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let tenant = self.store.open().await?;
        let name = harmless(&self.store.tenant);
        let (what, messages) = match &self.session {
            Some(id) => {
                let info = tenant.session(id).info().await?;
                (format!("session {:?} of tenant {name:?}", harmless(id)), u64::from(info.messages))
            }
            None => (format!("tenant {name:?} with all its sessions"), tenant.stats().await?.messages),
        };
        if !self.yes {
            anstream::eprintln!("{what} has {messages} messages. With --yes it is deleted; nothing was.");
            return Ok(ExitCode::FAILURE);
        }
        match &self.session {
            Some(id) => {
                tenant.session(id).delete().await?;
            }
            None => tenant.delete().await?,
        }
        writeln!(anstream::stdout(), "{what} was deleted: {messages} messages")?;
        Ok(ExitCode::SUCCESS)
    }
}
