//! `cargo xtask fuzz`: the targets of `fuzz/` under libFuzzer, one after the other.
//!
//! cargo-fuzz asks for a nightly compiler because of the sanitizers; without one the stable compiler is enough, once it is
//! told to accept the options of the coverage.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{
    host::native,
    process::{cargo, on_path, quoted, run},
    project::{cache_dir, root, target_dir},
};

/// The version of cargo-fuzz that is installed where there is none.
const CARGO_FUZZ: &str = "0.13.2";

/// Files of a target that are kept in the repository at most, and how long each of them may be.
const KEPT: usize = 40;
const KEPT_BYTES: u64 = 6000;

/// What is fuzzed, and for how long.
#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Seconds for each target
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Only this target; may be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Choose anew what is kept in fuzz/corpus: the inputs of all runs here that reach most, the short ones first
    #[arg(long)]
    keep: bool,
}

impl Options {
    /// All targets for so many seconds each.
    pub(crate) fn lasting(seconds: u64) -> Self {
        Self { seconds, target: Vec::new(), keep: false }
    }
}

/// What became of a target.
struct Run {
    target: String,
    time: Duration,
    inputs: u64,
    /// Branches that were reached.
    reached: u64,
    /// The inputs that a check failed with.
    found: Vec<PathBuf>,
    failed: bool,
}

/// Builds the targets and runs them.
pub(crate) fn command(options: &Options) -> Result<()> {
    let all = targets()?;
    if let Some(unknown) = options.target.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown:?}; there are {}", all.join(", "));
    }
    let wanted: Vec<&String> =
        all.iter().filter(|name| options.target.is_empty() || options.target.contains(name)).collect();
    let fuzzer = Fuzzer::build()?;
    let mut runs = Vec::new();
    for target in wanted {
        eprintln!("\n== {target}, {} s", options.seconds);
        runs.push(fuzzer.run(target, options.seconds)?);
        if options.keep {
            fuzzer.keep(target)?;
        }
    }
    print_table(&runs);
    for run in runs.iter().filter(|run| run.failed) {
        for input in &run.found {
            eprintln!(
                "\n{} does not keep its promises. To see it again:\n  cargo run --release --package talktree-checks --bin repeat -- {} {}",
                run.target,
                run.target,
                quoted(input)
            );
        }
    }
    match runs.iter().filter(|run| run.failed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} targets failed", runs.len()),
    }
}

/// What a change has to pass: the format of the targets, and each check for three seconds on inputs that are made from the
/// kept ones, without instrumentation.
pub(crate) fn smoke() -> Result<()> {
    run(cargo().current_dir(root().join("fuzz")).args(["fmt", "--check"]))?;
    let tests = ["nextest", "run", "--run-ignored", "only", "-E", "package(talktree-checks) & test(made_up)"];
    run(native(&tests).env("TALKTREE_FUZZ_SECONDS", "3"))
}

/// The names of all targets.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/targets");
    let mut names = Vec::new();
    for file in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let path = file?.path();
        names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn print_table(runs: &[Run]) {
    eprintln!("\n{:<12} {:>8} {:>12} {:>8}  found", "target", "seconds", "inputs", "reached");
    for run in runs {
        let found = match (run.failed, run.found.len()) {
            (false, _) => "nothing".to_owned(),
            (true, 0) => "FAILED without an input: see above".to_owned(),
            (true, _) => run.found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        };
        eprintln!("{:<12} {:>8} {:>12} {:>8}  {found}", run.target, run.time.as_secs(), run.inputs, run.reached);
    }
}

/// The targets, built.
struct Fuzzer {
    programs: PathBuf,
}

impl Fuzzer {
    fn build() -> Result<Self> {
        let dir = target_dir()?.join("fuzz");
        let mut path: Vec<PathBuf> = Vec::new();
        if on_path("cargo-fuzz").is_none() {
            path.push(install()?);
        }
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let words = ["fuzz", "build", "--sanitizer", "none", "--target-dir"];
        run(cargo()
            .current_dir(root())
            .args(words)
            .arg(&dir)
            .env("PATH", env::join_paths(path)?)
            .env("RUSTC_BOOTSTRAP", "1"))?;
        // Below the name of the machine's kind, which cargo-fuzz names to cargo.
        let mut kinds = fs::read_dir(&dir)?.filter_map(|entry| Some(entry.ok()?.path().join("release")));
        let programs =
            kinds.find(|release| release.parent().is_some_and(|kind| kind.ends_with(triple())) && release.is_dir());
        Ok(Self { programs: programs.with_context(|| format!("cargo-fuzz has built nothing in {}", dir.display()))? })
    }

    /// Runs a target and passes on what libFuzzer says, but for the line that it has for each new input.
    fn run(&self, target: &str, seconds: u64) -> Result<Run> {
        let (work, found) = (work(target)?, artifacts(target)?);
        let before = files(&found)?;
        let mut command = self.command(target);
        command.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1");
        command.arg(format!("-artifact_prefix={}/", found.display())).arg(&work).arg(corpus(target));
        let begun = Instant::now();
        let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start {target}"))?;
        let (mut inputs, mut reached) = (0, 0);
        if let Some(output) = child.stderr.take() {
            for line in BufReader::new(output).split(b'\n') {
                let line = line?;
                let line = String::from_utf8_lossy(&line);
                if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
                    inputs = count.trim().parse().unwrap_or(0);
                }
                if let Some(count) = line.split("cov: ").nth(1).and_then(|rest| rest.split(' ').next()) {
                    reached = count.parse().unwrap_or(reached);
                }
                // Neither each new input nor the words that it has learned.
                if !line.starts_with(['#', '"']) || line.contains("pulse") || line.contains("INITED") {
                    eprintln!("{line}");
                }
            }
        }
        let failed = !child.wait()?.success();
        let found = files(&found)?.difference(&before).cloned().collect();
        Ok(Run { target: target.to_owned(), time: begun.elapsed(), inputs, reached, found, failed })
    }

    fn command(&self, target: &str) -> Command {
        let mut command = Command::new(self.programs.join(format!("{target}{}", env::consts::EXE_SUFFIX)));
        command.current_dir(root()).args(["-timeout=25", "-rss_limit_mb=3000", "-max_len=6000"]);
        command
    }

    /// Puts into the kept corpus what reaches most, of what is there and what the runs have found.
    fn keep(&self, target: &str) -> Result<()> {
        let (work, kept) = (work(target)?, corpus(target));
        let scratch = target_dir()?.join("fuzz/merge").join(target);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(scratch.join("all"))?;
        let control = scratch.join("control");
        let mut command = self.command(target);
        command.arg("-merge=1").arg(format!("-merge_control_file={}", control.display()));
        run(command.arg(scratch.join("all")).arg(&kept).arg(&work))?;
        let chosen = choose(&fs::read_to_string(&control)?, &kept);
        for path in &chosen {
            if path.parent() != Some(kept.as_path())
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                let short: String = name.chars().take(12).collect();
                fs::copy(path, kept.join(format!("found-{short}")))?;
            }
        }
        Ok(())
    }
}

/// The inputs to be kept: those that are, since they have names and reasons, and of the others those that reach what none
/// before them does, most first.
fn choose(control: &str, kept: &Path) -> Vec<PathBuf> {
    let mut lines = control.lines();
    let count: usize = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let paths: Vec<PathBuf> = lines.by_ref().skip(1).take(count).map(PathBuf::from).collect();
    let mut reaches: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); count];
    for line in lines {
        let mut words = line.split(' ');
        if let (Some("FT"), Some(number)) = (words.next(), words.next())
            && let Some(reach) = number.parse::<usize>().ok().and_then(|number| reaches.get_mut(number))
        {
            reach.extend(words);
        }
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut chosen = Vec::new();
    for (path, reach) in paths.iter().zip(&reaches).filter(|(path, _)| path.parent() == Some(kept)) {
        seen.extend(reach);
        chosen.push(path.clone());
    }
    let short = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.len() <= KEPT_BYTES);
    let others: Vec<_> =
        paths.iter().zip(&reaches).filter(|(path, _)| path.parent() != Some(kept) && short(path)).collect();
    while chosen.len() < KEPT {
        let new = |reach: &BTreeSet<&str>| reach.iter().filter(|feature| !seen.contains(*feature)).count();
        let best = others.iter().max_by_key(|(_, reach)| new(reach));
        let Some((path, reach)) = best.filter(|(_, reach)| new(reach) > 0) else { break };
        chosen.push((*path).clone());
        seen.extend(reach.iter());
    }
    chosen
}

/// What the compiler calls this kind of machine.
fn triple() -> String {
    let rustc = crate::process::read(crate::process::rustc().args(["--print", "host-tuple"])).unwrap_or_default();
    rustc.trim().to_owned()
}

/// Compiles cargo-fuzz and answers where it is.
fn install() -> Result<PathBuf> {
    let dir = cache_dir()?.join("programs").join(format!("cargo-fuzz-{CARGO_FUZZ}"));
    let bin = dir.join("bin");
    if !bin.is_dir() {
        eprintln!("going to compile cargo-fuzz {CARGO_FUZZ} into {} (with cargo, once)", dir.display());
        run(cargo().args(["install", "--locked", "cargo-fuzz", "--version", CARGO_FUZZ, "--root"]).arg(&dir))?;
    }
    Ok(bin)
}

fn corpus(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

/// Where a target's new inputs go: the runs of one machine build on each other.
fn work(target: &str) -> Result<PathBuf> {
    made(root().join("fuzz/work").join(target))
}

/// Where inputs go that a check failed with.
fn artifacts(target: &str) -> Result<PathBuf> {
    made(root().join("fuzz/artifacts").join(target))
}

fn made(dir: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

fn files(dir: &Path) -> Result<BTreeSet<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

    use super::*;

    #[test]
    fn what_is_kept_stays_and_of_the_rest_comes_what_reaches_most() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        let paths = [kept.join("named"), dir.path().join("same"), dir.path().join("more"), dir.path().join("less")];
        fs::create_dir(&kept).unwrap();
        for path in &paths {
            fs::write(path, "x").unwrap();
        }
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let control = format!("4\n0\n{}\nSTARTED 0 1\nFT 0 1 2\nFT 1 1 2\nFT 2 2 3 4 6\nFT 3 4 5\n", names.join("\n"));
        assert_eq!(choose(&control, &kept), [&paths[0], &paths[2], &paths[3]].map(PathBuf::clone));
    }

    #[test]
    fn every_target_has_a_kept_corpus() {
        let targets = targets().unwrap();
        assert!(targets.len() >= 8, "{targets:?}");
        for target in targets {
            let kept = files(&corpus(&target)).unwrap().len();
            assert!((1..=80).contains(&kept), "{target}: {kept}");
        }
    }
}
