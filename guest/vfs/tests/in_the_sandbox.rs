//! The VFS under a real host: runs the checks of `examples/vfs_check.rs` as a component, in directories of its own, and
//! ends some of them at random moments.
//!
//! The component has to be there first; `cargo xtask test` sees to that, or
//! `cargo build -p talktree-vfs --example vfs_check --profile component --target wasm32-wasip2` with the environment
//! that `cargo xtask env` prints. `cargo nextest` runs them, each in a process of its own: the clock that ends a guest is
//! one for the process.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::bindings::sync::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

fn component() -> &'static CommandPre<Guest> {
    static COMPONENT: OnceLock<CommandPre<Guest>> = OnceLock::new();
    COMPONENT.get_or_init(|| {
        let mut config = Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config).unwrap();
        let file = target_directory().join("wasm32-wasip2/component/examples/vfs_check.wasm");
        let bytes = fs::read(&file).unwrap_or_else(|error| {
            panic!("{}: {error}; the top of this file says how it is built", file.display());
        });
        let component = Component::from_binary(&engine, &bytes).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        CommandPre::new(linker.instantiate_pre(&component).unwrap()).unwrap()
    })
}

/// The directory that this test was built into: it is in `<target>/<profile>/deps`.
fn target_directory() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// How a check ended, and what it printed.
struct Outcome {
    passed: bool,
    printed: String,
}

impl Outcome {
    fn last_line(&self) -> &str {
        self.printed.lines().last().unwrap_or_default()
    }
}

/// Runs a check in a directory, for at most this long.
fn run_for(directory: &Path, permissions: FsPerms, arguments: &[&str], limit: Duration) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let printed = MemoryOutputPipe::new(1 << 20);
    let mut wasi = WasiCtx::builder();
    wasi.allow_blocking_current_thread(true).arg("vfs_check").args(arguments).env("REPORT", "1");
    wasi.stdout(printed.clone()).inherit_stderr();
    wasi.preopened_dir(directory, "/data", permissions).unwrap();
    let component = component();
    let mut store = Store::new(component.engine(), Guest { wasi: wasi.build(), table: ResourceTable::new() });
    store.set_epoch_deadline(1);
    let passed = thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let engine = component.engine().clone();
        scope.spawn(move || {
            if is_done.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        });
        let instance = component.instantiate(&mut store).unwrap();
        let passed = matches!(instance.wasi_cli_run().call_run(&mut store), Ok(Ok(())));
        drop(done);
        passed
    });
    drop(store);
    Outcome { passed, printed: String::from_utf8(printed.contents().to_vec()).unwrap() }
}

fn run(directory: &Path, arguments: &[&str]) -> Outcome {
    run_for(directory, FsPerms::ReadWrite, arguments, Duration::from_secs(120))
}

fn passes(directory: &Path, arguments: &[&str]) -> Outcome {
    let outcome = run(directory, arguments);
    assert!(outcome.passed, "{arguments:?} failed: {}", outcome.printed);
    outcome
}

fn leftovers(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("tmp")).collect()
}

#[test]
fn files_behave_as_sqlite_expects() {
    passes(TempDir::new().unwrap().path(), &["files"]);
}

#[test]
fn only_plain_names_in_the_directory_are_opened() {
    let outer = TempDir::new().unwrap();
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).unwrap();
    passes(&inner, &["names"]);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
}

#[test]
fn the_log_is_exclusive_and_goes_away_on_closing() {
    let directory = TempDir::new().unwrap();
    passes(directory.path(), &["log"]);
    // The check leaves its connection open: this recovers what it committed.
    assert_eq!(passes(directory.path(), &["insert", "1", "FULL"]).printed.lines().next(), Some("5002"));
}

#[test]
fn a_large_sort_is_not_bound_by_memory() {
    let directory = TempDir::new().unwrap();
    let outcome = passes(directory.path(), &["sort", "24"]);
    let memory: u32 = outcome.printed.rsplit(", ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(memory < 12, "24 MiB were sorted in {memory} MiB");
    assert_eq!(leftovers(directory.path()), [""; 0]);
}

#[test]
fn a_vacuum_gives_room_back_and_leaves_nothing_behind() {
    let directory = TempDir::new().unwrap();
    passes(directory.path(), &["vacuum", "16"]);
    assert_eq!(leftovers(directory.path()), [""; 0]);
}

#[test]
fn no_two_instances_draw_the_same_numbers_and_the_clock_is_right() {
    let directory = TempDir::new().unwrap();
    let mut drawn = std::collections::HashSet::new();
    for _ in 0..5 {
        let outcome = passes(directory.path(), &["random"]);
        let (number, time) = outcome.printed.trim().split_once(' ').unwrap();
        assert!(drawn.insert(number.to_owned()));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        assert!(now.abs_diff(time.parse().unwrap()) < 60_000);
    }
}

#[test]
fn a_directory_that_can_only_be_read_is_read_with_a_log_and_without() {
    let directory = TempDir::new().unwrap();
    let read = || run_for(directory.path(), FsPerms::ReadOnly, &["read"], Duration::from_secs(60));
    passes(directory.path(), &["insert", "10", "FULL"]);
    assert!(!directory.path().join("check.db-wal").exists());
    assert_eq!(read().last_line(), "10");
    assert!(!run(directory.path(), &["trap", "7"]).passed);
    assert!(directory.path().join("check.db-wal").exists());
    let before = fs::read(directory.path().join("check.db-wal")).unwrap();
    assert_eq!(read().last_line(), "17");
    assert_eq!(fs::read(directory.path().join("check.db-wal")).unwrap(), before);
}

#[test]
fn an_instance_that_traps_loses_nothing_that_it_committed() {
    let directory = TempDir::new().unwrap();
    for round in 1..=5 {
        assert!(!run(directory.path(), &["trap", "20"]).passed);
        let outcome = passes(directory.path(), &["insert", "1", "NORMAL"]);
        assert_eq!(outcome.printed.lines().next(), Some((round * 21).to_string().as_str()));
    }
}

#[test]
fn an_instance_that_is_ended_at_any_moment_loses_nothing_that_it_reported() {
    let directory = TempDir::new().unwrap();
    let mut reported = 0;
    let mut ended = 0;
    for round in 0_u64.. {
        if ended == 25 {
            break;
        }
        assert!(round < 500, "only {ended} of {round} runs lived to report a row");
        let synchronous = ["OFF", "NORMAL", "FULL"][round as usize % 3];
        // Long enough for some rows, more so the slower this machine is, and rarely a round number of anything.
        let limit = Duration::from_micros(3_000 + round * 7_919 % 60_000 + round * 500);
        let outcome = run_for(directory.path(), FsPerms::ReadWrite, &["insert", "1000000", synchronous], limit);
        assert!(!outcome.passed);
        let rows = |line: Option<&str>| line.and_then(|line| line.parse::<u64>().ok());
        if let Some(first) = rows(outcome.printed.lines().next()) {
            // The first row of a run follows what was there: nothing reported before may be missing. What was committed
            // last may not have been reported any more, and reports may have been on their way.
            assert!((reported + 1..reported + 10).contains(&first), "{first} follows {reported}");
            let whole = outcome.printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
            reported = rows(whole.lines().last()).unwrap();
            ended += 1;
        }
    }
    assert!(reported > 100, "{reported} rows");
    let next = passes(directory.path(), &["insert", "1", "FULL"]).printed;
    let next: u64 = next.lines().next().unwrap().parse().unwrap();
    assert!((reported + 1..reported + 10).contains(&next), "{next} follows {reported}");
}
