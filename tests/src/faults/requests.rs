//! The n-th thing that a store asks of its disk goes wrong, or it gets no more memory.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use talktree::{
    Durability,
    hooks::{Fault, FileOperation, SandboxHooks, Verdict},
};

use super::{Amount, Random, Reference, Store, reference::scratch, state};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The disk fails once.
    Io,
    /// There is no room once.
    NoRoom,
    /// There is no room from then on, until the call has failed.
    Full,
    /// A read or a write does less than it was asked for.
    Short,
    /// It is interrupted and can be tried again.
    Interrupted,
    /// The host goes down in it.
    Panic,
    /// No more memory is given from then on, until the call has failed.
    Memory,
}

impl Wrong {
    /// All that a disk does.
    pub const OF_DISK: [Self; 6] = [Self::Io, Self::NoRoom, Self::Full, Self::Short, Self::Interrupted, Self::Panic];

    /// Whether an error of this kind says what went wrong.
    fn may_answer(self, kind: &str) -> bool {
        match self {
            // A disk that fails when a file is opened to be written is taken for one that cannot be written.
            Self::Io => matches!(kind, "other" | "read-only"),
            // A read that finds no room is a failure of the disk.
            Self::NoRoom | Self::Full => matches!(kind, "storage-full" | "other"),
            Self::Short => false,
            Self::Interrupted => matches!(kind, "other" | "read-only"),
            Self::Panic => kind == "crashed",
            Self::Memory => matches!(kind, "crashed" | "over-limit"),
        }
    }
}

/// What all sandboxes of a life share.
#[derive(Debug, Default)]
struct Shared {
    count: AtomicU64,
    over: AtomicBool,
}

struct Faults {
    wrong: Wrong,
    at: u64,
    shared: Arc<Shared>,
}

impl Faults {
    /// The number of this request, where any is left to go wrong.
    fn number(&self) -> Option<u64> {
        (!self.shared.over.load(Ordering::Relaxed)).then(|| self.shared.count.fetch_add(1, Ordering::Relaxed))
    }

    fn once(&self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl SandboxHooks for Faults {
    fn before(&mut self, operation: &FileOperation<'_>) -> Verdict {
        if self.wrong == Wrong::Memory {
            return Verdict::Proceed;
        }
        let Some(number) = self.number() else { return Verdict::Proceed };
        if number < self.at {
            return Verdict::Proceed;
        }
        if self.wrong == Wrong::Full {
            let takes_room =
                matches!(operation, FileOperation::Write { .. } | FileOperation::Open { create: true, .. });
            return if takes_room { Verdict::Fail(Fault::NoRoom) } else { Verdict::Proceed };
        }
        self.once();
        match self.wrong {
            Wrong::Io => Verdict::Fail(Fault::Io),
            Wrong::NoRoom => Verdict::Fail(Fault::NoRoom),
            Wrong::Interrupted => Verdict::Fail(Fault::Interrupted),
            Wrong::Short => Verdict::Shorten(match operation {
                FileOperation::Write { bytes, .. } => bytes.len() / 2,
                FileOperation::Read { length, .. } => (length / 2) as usize,
                _ => 0,
            }),
            Wrong::Panic => panic!("as the test wants it"),
            Wrong::Full | Wrong::Memory => Verdict::Proceed,
        }
    }

    fn memory_growing(&mut self, _from: usize, _to: usize) -> bool {
        self.wrong != Wrong::Memory || self.number().is_none_or(|number| number < self.at)
    }
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Lives in which something went wrong.
    pub lives: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Requests in an undisturbed life.
    pub requests: u64,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lives, failures, requests } = self;
        write!(f, "{lives} lives of {requests} requests, one of which went wrong; {failures} calls failed")
    }
}

/// Lives a life again and again, with something going wrong at another request each time.
///
/// # Errors
/// An error is of the wrong kind, something acknowledged is missing, something is there by half, or the store does not
/// go on.
pub fn run(reference: &Reference, durability: Durability, wrong: Wrong, amount: Amount) -> Result<Tried> {
    let mut picks = amount.picks(&mut Random::new(reference.seed, 3));
    // How many there are is known from a life in which nothing goes wrong.
    let requests = live(reference, durability, wrong, u64::MAX)?.requests;
    let mut tried = Tried { requests, ..Tried::default() };
    for at in (0..requests).filter(|_| picks()) {
        let life = live(reference, durability, wrong, at)
            .with_context(|| format!("seed {} ({durability:?}), {wrong:?} at request {at}", reference.seed))?;
        tried.lives += 1;
        tried.failures += life.failures;
    }
    Ok(tried)
}

/// What came of one life.
struct Life {
    requests: u64,
    failures: u64,
}

fn live(reference: &Reference, durability: Durability, wrong: Wrong, at: u64) -> Result<Life> {
    let root = scratch()?;
    let shared = Arc::new(Shared::default());
    let of_hooks = Arc::clone(&shared);
    let mut store = Store::open(root.path(), durability, |builder| {
        builder.sandbox_hooks(move |_| Box::new(Faults { wrong, at, shared: Arc::clone(&of_hooks) }))
    })?;
    let mut failures = 0;
    for (done, step) in reference.steps.iter().enumerate() {
        let Err(failure) = store.perform(step)? else { continue };
        ensure!(wrong.may_answer(&failure.kind), "{step:.200?} was answered {failure}");
        ensure!(failures == 0, "{step:.200?} failed too, although nothing went wrong any more: {failure}");
        failures += 1;
        shared.over.store(true, Ordering::Relaxed);
        // A call that comes while the thread goes down is told to be made again.
        let state = match state::read(&mut store) {
            Err(_) if wrong == Wrong::Panic => state::read(&mut store),
            state => state,
        };
        let state = state.with_context(|| format!("after {step:.200?} was answered {failure}"))?;
        let found = reference.find(&state, done, done + 1).with_context(|| format!("{failure}"))?;
        if found == done && !is_same(reference, done) {
            let again = store.perform(step)?;
            ensure!(again.is_ok(), "{step:.200?} cannot be done again: {again:?}");
        }
    }
    shared.over.store(true, Ordering::Relaxed);
    let end = reference.steps.len();
    reference.find(&state::read(&mut store)?, end, end)?;
    let requests = shared.count.load(Ordering::Relaxed);
    store.close()?;
    let mut sound = Store::open(root.path(), durability, |builder| builder)?;
    reference.find(&state::read(&mut sound)?, end, end).context("after it was opened again")?;
    sound.close()?;
    Ok(Life { requests, failures })
}

/// Whether a step changes nothing that can be seen.
fn is_same(reference: &Reference, done: usize) -> bool {
    reference.state(done) == reference.state(done + 1)
}
