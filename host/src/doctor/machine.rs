//! The machine: clock, limits, the directory for temporary files, the component and where its code is kept.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::file_system::{Fault, may_write};
use super::{Examination, Finding, Level};
use crate::cache_dir;
use crate::runtime::Runtime;

/// When this was written, in seconds since 1970: no clock that is right is before it.
const WRITTEN: u64 = 1_767_225_600;

/// A hundred years later.
const FAR_AWAY: u64 = WRITTEN + 100 * 365 * 86_400;

/// Files that one live tenant has open: its lock, its directory, the database, the log, and one while it is opened.
const FILES_OF_A_TENANT: u64 = 5;

/// Files that the process has open otherwise.
const OTHER_FILES: u64 = 64;

pub(super) fn examine(what: &Examination, found: &mut Vec<Finding>) {
    found.push(clock(what.clock()));
    limits(what.max_live_tenants, what.max_connections, found);
    found.push(temporary(&std::env::temp_dir()));
    found.push(cache(what.cache_dir.clone().or_else(cache_dir::user_directory)));
    if what.component {
        found.push(component());
    }
}

fn clock(now: SystemTime) -> Finding {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if (WRITTEN..FAR_AWAY).contains(&seconds) {
        return Finding::new("clock", Level::Ok, "the clock can be right");
    }
    Finding::new("clock", Level::Warning, "the clock is wrong: times of messages, tokens and certificates depend on it")
        .advice("set the time of this machine, or let NTP do so")
}

#[cfg(unix)]
fn limits(live_tenants: u64, connections: u64, found: &mut Vec<Finding>) {
    use rustix::process::{Resource, getrlimit};

    found.extend(judge_limits(
        [Resource::Nofile, Resource::Nproc, Resource::As].map(|resource| getrlimit(resource).current),
        live_tenants,
        connections,
    ));
}

#[cfg(not(unix))]
fn limits(_live_tenants: u64, _connections: u64, _found: &mut Vec<Finding>) {}

/// Whether the limits of the system (open files, processes, bytes of addresses; none: unlimited) do for this load.
#[cfg(unix)]
fn judge_limits(limits: [Option<u64>; 3], live_tenants: u64, connections: u64) -> Vec<Finding> {
    /// Addresses that a sandbox keeps for its memory, most of them never used.
    const ADDRESSES_OF_A_SANDBOX: u64 = 6 << 30;

    let [files, processes, addresses] = limits;
    let mut found = Vec::new();
    let load = format!("{live_tenants} live tenants and {connections} connections");
    let wanted = live_tenants.saturating_mul(FILES_OF_A_TENANT).saturating_add(connections).saturating_add(OTHER_FILES);
    if let Some(files) = files.filter(|files| *files < wanted) {
        let advice = format!("raise it (`ulimit -n {wanted}`, LimitNOFILE of systemd), or allow fewer live tenants");
        let sentence = format!("{files} files may be open, and {load} can need {wanted}");
        found.push(Finding::new("limits", Level::Warning, sentence).advice(advice));
    }
    // A thread each, and some more.
    let wanted = live_tenants.saturating_add(64);
    if let Some(processes) = processes.filter(|processes| *processes < wanted) {
        let sentence =
            format!("{processes} threads of this user may run, and {live_tenants} live tenants need {wanted}");
        found.push(Finding::new("limits", Level::Warning, sentence).advice(format!("raise it (`ulimit -u {wanted}`)")));
    }
    let wanted = live_tenants.saturating_mul(ADDRESSES_OF_A_SANDBOX);
    if let Some(addresses) = addresses.filter(|addresses| *addresses < wanted) {
        let sentence =
            format!("{addresses} bytes of addresses may be used, and {live_tenants} sandboxes keep {wanted}");
        let advice = "take that limit away (`ulimit -v unlimited`): memory is limited for each sandbox";
        found.push(Finding::new("limits", Level::Warning, sentence).advice(advice));
    }
    if found.is_empty() {
        found.push(Finding::new("limits", Level::Ok, format!("files, threads and addresses do for {load}")));
    }
    found
}

fn temporary(directory: &Path) -> Finding {
    match may_write(directory) {
        Ok(()) => Finding::new("temporary", Level::Ok, format!("{} can be used", directory.display())),
        Err(fault) => {
            let sentence = format!("{}, the directory for temporary files: {fault}", directory.display());
            let advice = "make it, or name another one in TMPDIR: reads of tenants that were never written need one";
            Finding::new("temporary", Level::Problem, sentence).advice(advice)
        }
    }
}

fn cache(directory: Option<PathBuf>) -> Finding {
    let slow = "without it every start takes some seconds longer";
    let Some(directory) = directory.map(|directory| directory.join(cache_dir::COMPILED)) else {
        let sentence = "this user has no cache directory for compiled code";
        return Finding::new("cache", Level::Warning, sentence).advice(format!("set HOME or XDG_CACHE_HOME: {slow}"));
    };
    // What is not there yet is made at the first start.
    let Some(existing) = directory.ancestors().find(|above| above.symlink_metadata().is_ok()) else {
        return Finding::new("cache", Level::Warning, format!("{} cannot be: {slow}", directory.display()));
    };
    let named = existing.display().to_string();
    let judged = match may_write(existing) {
        Err(fault) => Err(fault.to_string()),
        Ok(()) if existing == directory => cache_dir::check_as_it_is(existing),
        Ok(()) => Ok(()),
    };
    match judged {
        Ok(()) if existing == directory => Finding::new("cache", Level::Ok, format!("{named} can be used")),
        Ok(()) => Finding::new("cache", Level::Ok, format!("{} is made at the first start", directory.display())),
        Err(why) => Finding::new("cache", Level::Warning, format!("compiled code is not kept: {named}: {why}"))
            .about(named)
            .advice(format!("give it to this user, writable for nobody else (chmod 700): {slow}")),
    }
}

/// Compiles the component anew: what lies in the cache is not asked, and not touched.
fn component() -> Finding {
    let begun = Instant::now();
    match Runtime::shared(None) {
        Ok(_) => {
            let took = begun.elapsed().max(Duration::from_millis(1));
            let sentence = format!("it can be compiled, in {:.1} s (later starts take the cache)", took.as_secs_f64());
            Finding::new("component", Level::Ok, sentence)
        }
        Err(error) => Finding::new("component", Level::Problem, error.to_string())
            .advice("this processor or system is not supported, or the program is damaged: install it again"),
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Missing => f.write_str("it is not there"),
            Fault::NoDirectory => f.write_str("it is not a directory"),
            Fault::Forbidden => f.write_str("this user may not write there"),
            Fault::ReadOnly => f.write_str("the file system can only be read"),
            Fault::Other(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn a_clock_that_cannot_be_right_is_told() {
        let at = |seconds| clock(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).level;
        assert_eq!([at(0), at(WRITTEN - 1), at(FAR_AWAY)], [Level::Warning; 3]);
        assert_eq!([at(WRITTEN), at(WRITTEN + 86_400)], [Level::Ok; 2]);
        assert_eq!(clock(SystemTime::now()).level, Level::Ok);
    }

    #[cfg(unix)]
    #[test]
    fn limits_that_do_not_do_for_the_load_are_told_one_by_one() {
        let told = |limits| {
            let found = judge_limits(limits, 256, 1_024);
            found.iter().map(|finding| (finding.level, finding.advice.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(told([None, None, None]), [(Level::Ok, false)]);
        assert_eq!(told([Some(2_368), Some(320), Some(256 * (6 << 30))]), [(Level::Ok, false)]);
        assert_eq!(told([Some(2_367), None, None]), [(Level::Warning, true)]);
        assert_eq!(told([None, Some(319), None]), [(Level::Warning, true)]);
        assert_eq!(told([None, None, Some(1 << 30)]), [(Level::Warning, true)]);
        assert_eq!(told([Some(1), Some(1), Some(1)]).len(), 3);
        assert!(judge_limits([Some(u64::MAX), None, None], u64::MAX, u64::MAX)[0].level == Level::Ok);
    }

    #[test]
    fn a_directory_for_temporary_files_that_is_missing_is_told() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(temporary(directory.path()).level, Level::Ok);
        assert_eq!(temporary(&directory.path().join("none")).level, Level::Problem);
    }

    #[test]
    fn a_cache_that_is_unsafe_or_cannot_be_made_is_told_and_nothing_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let cache = |path: &Path| super::cache(Some(path.to_owned()));
        assert_eq!(cache(&directory.path().join("new")).level, Level::Ok);
        assert!(!directory.path().join("new").exists());
        let compiled = directory.path().join("talktree").join(cache_dir::COMPILED);
        std::fs::create_dir_all(&compiled).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&compiled, std::fs::Permissions::from_mode(0o700)).unwrap();
            assert_eq!(cache(&directory.path().join("talktree")).level, Level::Ok);
            std::fs::set_permissions(&compiled, std::fs::Permissions::from_mode(0o777)).unwrap();
            let told = cache(&directory.path().join("talktree"));
            assert!(told.level == Level::Warning && told.sentence.contains("others may write"), "{told:?}");
        }
        std::fs::write(directory.path().join("file"), "").unwrap();
        assert_eq!(cache(&directory.path().join("file")).level, Level::Warning);
        assert_eq!(super::cache(None).level, Level::Warning);
    }
}
