//! Processes that are killed at any moment.

use std::{
    env, fmt,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use talktree::Durability;

use super::{
    Random, Reference, Store,
    reference::scratch,
    state,
    store::{answer, request},
};

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Kills.
    pub kills: u64,
    /// Those that came while a call was under way.
    pub under_way: u64,
    /// Those whose call had happened, although nobody was told.
    pub happened: u64,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, under_way, happened } = self;
        write!(f, "{kills} kills, {under_way} of them within a call, {happened} of those behind its last write")
    }
}

/// Has processes live a life until each is killed, and the next one go on from there, until so many were.
///
/// # Errors
/// Something acknowledged is missing, something is there by half, or the store is not sound.
pub fn run(reference: &Reference, durability: Durability, kills: u64) -> Result<Tried> {
    let mut random = Random::new(reference.seed, 4);
    let mut tried = Tried::default();
    let end = reference.steps.len();
    while tried.kills < kills {
        let root = scratch()?;
        let mut done = 0;
        while done < end && tried.kills < kills {
            // Some at the start of the process, most while it works.
            let moment = Duration::from_micros(match random.below(8) {
                0 => random.below(40_000),
                _ => 20_000 + random.below(120_000),
            });
            let told = live_until_killed(root.path(), durability, reference, done, moment)
                .with_context(|| format!("seed {}, kill {}", reference.seed, tried.kills))?;
            tried.kills += 1;
            let within = u64::from(told < end);
            tried.under_way += within;
            let read = || -> Result<String> {
                let mut store = Store::open(root.path(), durability, |builder| builder)?;
                let state = state::read(&mut store)?;
                store.close()?;
                Ok(state)
            };
            let state = read().with_context(|| format!("seed {}, after kill {}", reference.seed, tried.kills))?;
            done = reference
                .find(&state, told, (told + 1).min(end))
                .with_context(|| format!("seed {}, after kill {}", reference.seed, tried.kills))?;
            tried.happened += u64::from(done > told);
        }
    }
    ensure!(tried.under_way * 5 > tried.kills, "nearly all kills came while nothing was under way: {tried}");
    Ok(tried)
}

/// Answers how many steps were acknowledged.
fn live_until_killed(
    root: &Path,
    durability: Durability,
    reference: &Reference,
    from: usize,
    moment: Duration,
) -> Result<usize> {
    let mut child = Command::new(program()?)
        .env("TALKTREE_NO_CONFIG", "1")
        .args(["rpc", "--durability", if durability == Durability::Full { "full" } else { "normal" }, "--root"])
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let killer = thread::spawn(move || kill(child, moment));
    let mut told = from;
    for step in &reference.steps[from..] {
        let mut is_killed = false;
        let outcome = step.perform(|method, params| {
            let mut line = String::new();
            let asked = writeln!(input, "{}", request(method, params));
            let read = asked.and_then(|()| output.read_line(&mut line));
            // What the kill cut short is no answer.
            is_killed = read.is_err() || !line.ends_with('\n');
            ensure!(!is_killed, "killed");
            answer(&line)
        });
        match outcome {
            Ok(answer) => {
                if let Err(failure) = answer {
                    anyhow::bail!("{step:.200?} was answered {failure}");
                }
                told += 1;
            }
            Err(_) if is_killed => break,
            Err(error) => return Err(error),
        }
    }
    killer.join().map_err(|_| anyhow::anyhow!("the killer panicked"))??;
    Ok(told)
}

fn kill(mut child: Child, moment: Duration) -> Result<()> {
    thread::sleep(moment);
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// The program, built beside this one.
pub(super) fn program() -> Result<PathBuf> {
    let mut directory = env::current_exe()?;
    directory.pop();
    // Tests lie one directory deeper.
    if directory.ends_with("deps") {
        directory.pop();
    }
    let program = directory.join(format!("talktree{}", env::consts::EXE_SUFFIX));
    ensure!(program.is_file(), "{} is missing: `cargo build --release` makes it", program.display());
    Ok(program)
}
