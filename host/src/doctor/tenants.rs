//! Every entry of the root: whose it is, what lies in it, who has it, whether it is sound.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wasmtime_wasi::FsPerms;

use super::file_system::rights_of_others;
use super::holders::Holders;
use super::{Examination, Finding, Level, store};
use crate::directory::{DOOMED_FILE, LOG_FILE, NAME_FILE, NEW_FILE, STORE_FILE, read_name};
use crate::error::Result;
use crate::filesystem::Usage;
use crate::lock::LOCK_FILE;
use crate::runtime::Runtime;
use crate::sandbox::{Place, Sandbox};
use crate::settings::Settings;
use crate::tenant_name::{Owner, TenantName, owner};

/// How far ahead of the clock the time of a file may be: file systems and clocks are not exact.
const AHEAD: Duration = Duration::from_secs(300);

/// A log that is longer, in bytes, was not written back as it should have been.
const LONG_LOG: u64 = 256 << 20;

/// What belongs into the directory of a tenant.
const KNOWN: [&str; 4] = [STORE_FILE, LOG_FILE, LOCK_FILE, NAME_FILE];

pub(super) fn examine(root: &Path, what: &Examination, found: &mut Vec<Finding>) {
    let entries = match fs::read_dir(root).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => {
            let finding = Finding::new("tenant", Level::Problem, format!("the root cannot be listed: {error}"));
            found.push(finding.about(root.display().to_string()).advice("give it to this user (chown)"));
            return;
        }
    };
    let begun = found.len();
    let holders = Holders::read();
    let deep = what.deep.then(|| Runtime::shared(None));
    let (mut tenants, mut held, mut checked) = (0_u64, 0_u64, 0_u64);
    for entry in entries {
        let Some(name) = whose(&entry, found) else { continue };
        tenants += 1;
        let tenant = Tenant { name: &name, directory: &entry.path() };
        if !tenant.files(what, found) {
            continue;
        }
        let holder = holders.of(&entry.path().join(LOCK_FILE));
        if let Some(holder) = &holder {
            held += 1;
            found.push(tenant.tell("lock", Level::Note, format!("{holder} has it open")));
        }
        let log = entry.path().join(LOG_FILE).symlink_metadata();
        let has_log = log.is_ok_and(|log| log.len() > 0);
        if let Some(finding) = store::examine(&entry.path().join(STORE_FILE), has_log) {
            found.push(finding.about(name.as_str()));
        }
        if let Some(runtime) = &deep {
            match tenant.check(runtime, holder.is_some()) {
                Ok(()) => checked += 1,
                Err(finding) => found.push(finding),
            }
        }
    }
    let depth = if what.deep { format!(", and all of {checked} was read") } else { String::new() };
    let sentence = format!("{tenants} were looked at, {held} are open in a process{depth}");
    let worst = found.iter().skip(begun).map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let level = if worst >= Level::Warning { Level::Note } else { Level::Ok };
    found.push(Finding::new("tenant", level, sentence));
}

/// The tenant that a directory belongs to. None, and told: it belongs to nobody.
fn whose(entry: &DirEntry, found: &mut Vec<Finding>) -> Option<TenantName> {
    let path = entry.path();
    let mut tell = |level, sentence: &str, advice: &str| {
        let finding = Finding::new("tenant", level, sentence).about(path.display().to_string());
        found.push(finding.advice(advice));
        None
    };
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let name = entry.file_name();
    let owner = name.to_str().map_or(Owner::Nobody, owner);
    if is_link && owner != Owner::Nobody {
        return tell(
            Level::Problem,
            "it is a link in place of a tenant's directory: it is not followed",
            "find out who made it; to move a tenant elsewhere, move the whole root",
        );
    }
    let foreign = ("it is nothing of talktree's, and left alone", "keep other files outside of the root");
    match owner {
        _ if !path.is_dir() => tell(Level::Note, foreign.0, foreign.1),
        Owner::Nobody => tell(Level::Warning, "its name is that of no tenant: it is left alone", foreign.1),
        Owner::Tenant(name) => Some(name),
        Owner::Hashed => match read_name(&path).filter(|written| Some(written.directory().as_str()) == name.to_str()) {
            Some(name) => Some(name),
            None => tell(
                Level::Problem,
                "the file `name` in it is missing or of another tenant: nobody can use this tenant",
                "write the tenant's name, without a line break, into that file",
            ),
        },
    }
}

/// A tenant that is looked at.
struct Tenant<'a> {
    name: &'a TenantName,
    directory: &'a Path,
}

impl Tenant<'_> {
    fn tell(&self, check: &'static str, level: Level, sentence: impl Into<String>) -> Finding {
        Finding::new(check, level, sentence).about(self.name.as_str())
    }

    /// Looks at what lies in the directory. False: there is no store.
    fn files(&self, what: &Examination, found: &mut Vec<Finding>) -> bool {
        let entries = match fs::read_dir(self.directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => {
                let finding = self.tell("tenant", Level::Problem, format!("its directory cannot be listed: {error}"));
                found.push(finding.advice("give it to the user that talktree runs as (chown -R)"));
                return false;
            }
        };
        if fs::metadata(self.directory).is_ok_and(|metadata| rights_of_others(&metadata) & 0o022 != 0) {
            let finding = self.tell("tenant", Level::Problem, "others may write into its directory");
            found.push(finding.advice(format!("chmod 700 {}", self.directory.display())));
        }
        let newest = what.clock() + AHEAD;
        let mut has_store = false;
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            if !metadata.is_file() && KNOWN.contains(&name.as_ref()) {
                let finding = self.tell("tenant", Level::Problem, format!("{name} is no plain file"));
                found.push(finding.advice("find out who put it there; talktree makes plain files only"));
                continue;
            }
            has_store |= name == STORE_FILE && metadata.len() > 0;
            if name == STORE_FILE && metadata.modified().is_ok_and(|modified| modified > newest) {
                let finding = self.tell("clock", Level::Warning, "it was written in the future, says this clock");
                found.push(finding.advice("set the time of this machine"));
            }
            found.extend(self.left_over(&name, metadata.len()));
        }
        if !has_store {
            let finding = self.tell("left-over", Level::Note, "it has no store: its first write was cut off");
            found.push(finding.advice("nothing need be done: the next write takes the directory"));
        }
        has_store
    }

    /// What a file says that need not be there.
    fn left_over(&self, name: &str, bytes: u64) -> Option<Finding> {
        let tell = |level, sentence: String, advice: &str| Some(self.tell("left-over", level, sentence).advice(advice));
        let mib = bytes >> 20;
        match name {
            DOOMED_FILE => tell(
                Level::Warning,
                format!("{name} ({mib} MiB) is of a tenant whose deletion was cut off: its words are still there"),
                "delete the tenant again, or remove the file",
            ),
            NEW_FILE => tell(
                Level::Note,
                format!("{name} ({mib} MiB) is of a restore that was cut off"),
                "restore again, or remove the file",
            ),
            "talktree.db-journal" => tell(
                Level::Warning,
                format!("{name} is of a program that does not keep a log: something else has written here"),
                "find out what has opened the database; the next opening takes the file back",
            ),
            LOG_FILE if bytes > LONG_LOG => tell(
                Level::Warning,
                format!("its log has {mib} MiB: it was not written back"),
                "open and close the tenant once (`talktree stats`)",
            ),
            _ if KNOWN.contains(&name) => None,
            _ if name.starts_with("talktree.db.schema-") => tell(
                Level::Note,
                format!("{name} ({mib} MiB) is the store as it was before it was migrated; deleted words may be in it"),
                "remove it when it is not wanted any more",
            ),
            _ if name.starts_with("talktree.tmp-") => tell(
                Level::Note,
                format!("{name} ({mib} MiB) is a temporary file of a process that was killed"),
                "nothing need be done: the next opening removes it",
            ),
            _ if name.starts_with("owner.") => None,
            _ => tell(Level::Note, format!("{name:?} is nothing of talktree's"), "keep other files elsewhere"),
        }
    }

    /// Reads all of the store, with the component, which can write nothing meanwhile.
    fn check(&self, runtime: &Result<Arc<Runtime>>, is_held: bool) -> std::result::Result<(), Finding> {
        let skipped = || self.tell("integrity", Level::Note, "it was not read: a process has it open");
        if is_held {
            return Err(skipped().advice("ask that process (`check` of JSON-RPC), or end it first"));
        }
        let failed = |error: &dyn std::fmt::Display| {
            self.tell("integrity", Level::Problem, format!("it cannot be read: {error}"))
        };
        let runtime = runtime.as_ref().map_err(|error| failed(error))?;
        // A lock file that is not there is nobody's, and is not made.
        let lock = File::open(self.directory.join(LOCK_FILE)).ok();
        match lock.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => return Err(skipped()),
            Some(Err(TryLockError::Error(error))) => return Err(failed(&error)),
            Some(Ok(())) | None => {}
        }
        let _in_tokio = runtime.enter();
        let place =
            Place { directory: self.directory, permissions: FsPerms::ReadOnly, usage: Usage::default(), hooks: None };
        let opened = Sandbox::open(runtime, &Settings::default(), place);
        let report = opened.and_then(|mut sandbox| {
            sandbox.call(|sessions, store| sessions.talktree_sessions_store().call_check(store))
        });
        match report {
            Ok(report) if report.sound => Ok(()),
            Ok(report) => {
                let finding =
                    self.tell("integrity", Level::Problem, format!("damaged: {}", report.problems.join("; ")));
                Err(finding.advice("what can be read is still read; a snapshot from before is the way back"))
            }
            Err(error) => Err(failed(&error)),
        }
    }
}
