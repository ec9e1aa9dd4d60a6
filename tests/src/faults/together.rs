//! Several instances on one directory: some in one process, some in several, the program among them, some of them killed.

use std::{
    collections::HashMap,
    env, fmt,
    io::{self, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use talktree::Durability;

use super::{Random, Store, kills, reference::scratch, store::TENANT};
use crate::raw::{Model, RawHost, bindings::talktree::sessions::types::Error, plain};

/// How long an instance waits for its turn, in ms, before it asks again.
const PATIENCE: &str = "2000";

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What decides about the kills.
    pub seed: u64,
    /// Processes with two instances each.
    pub processes: u64,
    /// How long it goes on.
    pub time: Duration,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Messages that were acknowledged.
    pub acknowledged: u64,
    /// Processes that were killed.
    pub kills: u64,
    /// Turns of the program.
    pub turns: u64,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, kills, turns } = self;
        write!(f, "{acknowledged} messages acknowledged, {kills} processes killed, {turns} turns of the program")
    }
}

/// What writers were told, by the writer: the number of its last message.
type Told = Arc<Mutex<HashMap<String, u64>>>;

/// Has several write at once, some of them killed, and looks at what is there.
///
/// # Errors
/// A message that was acknowledged is missing or out of its writer's order, or the store is not sound.
pub fn run(options: Options) -> Result<Tried> {
    let root = scratch()?;
    let directory = root.path().join(TENANT);
    std::fs::create_dir(&directory)?;
    let told = Told::default();
    let ended = AtomicBool::new(false);
    let kills = AtomicU64::new(0);
    let turns = thread::scope(|scope| {
        let writers: Vec<_> = (0..options.processes)
            .map(|number| {
                let (told, ended, kills, directory) = (Arc::clone(&told), &ended, &kills, &directory);
                scope.spawn(move || keep_alive(options.seed, number, directory, &told, ended, kills))
            })
            .collect();
        let turns = take_turns(root.path(), options, &told);
        ended.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        turns
    })?;
    let told = told.lock().unwrap_or_else(PoisonError::into_inner);
    compare(root.path(), &told).with_context(|| format!("seed {}", options.seed))?;
    let acknowledged = told.values().sum();
    ensure!(acknowledged > 0 && turns > 0, "nothing was written: {told:?}, {turns} turns of the program");
    Ok(Tried { acknowledged, kills: kills.load(Ordering::Relaxed), turns })
}

/// A process that is killed at random moments and started again.
fn keep_alive(
    seed: u64,
    number: u64,
    directory: &Path,
    told: &Told,
    ended: &AtomicBool,
    kills: &AtomicU64,
) -> Result<()> {
    let mut random = Random::new(seed, 100 + number);
    for life in 0.. {
        let mut child = spawn(directory, &format!("p{number}.{life}"))?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let for_reading = Arc::clone(told);
        let reader = thread::spawn(move || note(output, &for_reading));
        let until = Instant::now() + Duration::from_millis(200 + random.below(2_500));
        while Instant::now() < until && !ended.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
        if ended.load(Ordering::Relaxed) {
            // It ends by itself when nobody is there to speak to.
            drop(child.stdin.take());
            let status = child.wait()?;
            ensure!(status.success(), "a process of instances ended with {status}");
        } else {
            child.kill()?;
            child.wait()?;
            kills.fetch_add(1, Ordering::Relaxed);
        }
        reader.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
    Ok(())
}

fn spawn(directory: &Path, name: &str) -> Result<Child> {
    let mut program = kills::program()?;
    program.set_file_name(format!("faults{}", env::consts::EXE_SUFFIX));
    Command::new(program)
        .args(["instances", name])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("no process")
}

fn note(output: impl io::BufRead, told: &Told) -> Result<()> {
    for line in output.lines() {
        // What a kill cuts short was not told.
        let Some((writer, number)) = line.ok().as_deref().and_then(parse) else { return Ok(()) };
        told.lock().unwrap_or_else(PoisonError::into_inner).insert(writer, number);
    }
    Ok(())
}

/// The writer of a message and its number, of its id or of what was told; a line that was cut short has no full stop.
fn parse(line: &str) -> Option<(String, u64)> {
    let (writer, number) = line.strip_suffix('.')?.rsplit_once('-')?;
    Some((writer.to_owned(), number.parse().ok()?))
}

/// Now and then the program comes, waits for its turn, writes, and goes.
fn take_turns(root: &Path, options: Options, told: &Told) -> Result<u64> {
    let mut random = Random::new(options.seed, 99);
    let until = Instant::now() + options.time;
    let (mut turns, mut number) = (0, 0);
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(random.below(400)));
        let mut store = Store::open(root, Durability::Full, |builder| builder)?;
        for _ in 0..1 + random.below(8) {
            let message = message("program", number + 1);
            match store.call("appendMessage", &json!({"message": message}))? {
                Ok(_) => number += 1,
                Err(failure) if failure.kind == "busy" => break,
                Err(failure) => bail!("the program was answered {failure}"),
            }
            told.lock().unwrap_or_else(PoisonError::into_inner).insert("program".to_owned(), number);
        }
        store.close()?;
        turns += 1;
    }
    Ok(turns)
}

fn message(writer: &str, number: u64) -> Value {
    let text = "x".repeat(if number.is_multiple_of(40) { 100_000 } else { 100 });
    json!({"id": format!("{writer}-{number}."), "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// Every message that was told is there, and each writer's are in their order.
fn compare(root: &Path, told: &HashMap<String, u64>) -> Result<()> {
    let mut store = Store::open(root, Durability::Full, |builder| builder)?;
    let report = store.ask("check", &json!({}))?;
    ensure!(report["sound"] == json!(true), "the store is not sound: {report}");
    let mut found: HashMap<String, u64> = HashMap::new();
    let mut cursor = Value::Null;
    loop {
        let mut page = store.ask("listMessages", &json!({"cursor": cursor, "limit": 1_000}))?;
        for node in page["messages"].as_array().into_iter().flatten() {
            let id = node["id"].as_str().unwrap_or_default();
            let (writer, number) = parse(id).with_context(|| format!("a message {id:?} that nobody wrote"))?;
            let before = found.insert(writer.clone(), number).unwrap_or(0);
            ensure!(number == before + 1, "message {number} of {writer} comes behind its {before}");
        }
        cursor = page["cursor"].take();
        if cursor.is_null() {
            break;
        }
    }
    store.close()?;
    for (writer, &last) in told {
        let there = found.get(writer).copied().unwrap_or(0);
        ensure!(there >= last, "{writer} was told of {last} messages, and {there} are there");
    }
    Ok(())
}

/// What one of the processes does: two instances in threads append until the input ends, and tell what was acknowledged.
///
/// # Errors
/// A call is answered with anything but `busy`.
pub fn instances(name: &str, directory: &Path) -> Result<()> {
    let host = Arc::new(RawHost::new(&component()?).map_err(plain)?);
    let ended = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|number| {
            let (host, ended, directory) = (Arc::clone(&host), Arc::clone(&ended), directory.to_owned());
            let writer = format!("{name}.{number}");
            thread::spawn(move || write(&host, &directory, &writer, &ended))
        })
        .collect();
    io::copy(&mut io::stdin(), &mut io::sink())?;
    ended.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().map_err(|_| anyhow::anyhow!("an instance panicked"))??;
    }
    Ok(())
}

fn write(host: &RawHost, directory: &Path, writer: &str, ended: &AtomicBool) -> Result<()> {
    let mut instance =
        host.instance(directory, &[("TALKTREE_BUSY_TIMEOUT_MS", PATIENCE)], Model::Fails).map_err(plain)?;
    let mut number = 1;
    while !ended.load(Ordering::Relaxed) {
        match instance.append(&message(writer, number).to_string()).map_err(plain)? {
            Ok(_) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{writer}-{number}.")?;
                out.flush()?;
                number += 1;
            }
            Err(Error::Busy(_)) => {}
            Err(error) => bail!("{writer} was answered {error:?}"),
        }
    }
    let closed = instance.close().map_err(plain)?;
    ensure!(matches!(closed, Ok(()) | Err(Error::Busy(_))), "{writer} was answered {closed:?} on closing");
    Ok(())
}

/// The component, beside the programs that were built.
fn component() -> Result<PathBuf> {
    let program = kills::program()?;
    let target = program.parent().and_then(Path::parent).context("no target directory")?;
    Ok(target.join("talktree/sessions.wasm"))
}
