//! Which tenant is served by which thread, and when.
//!
//! Every tenant that has calls waiting, or has had some lately, has a slot: a queue, and while it is live a thread that
//! serves nothing else. There are at most as many threads as live tenants are allowed. Who gets one, keeps one and gives
//! one up is for [`slots`](crate::slots) to say. All of that is kept under one lock that is held for moments only: never
//! while a call runs, a file is touched or a future is woken.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::call::{Answer, Call, Job, Label};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::compactor::{Compactor, LAST_CALLS};
use crate::context::Providers;
use crate::error::{Error, ErrorKind};
use crate::file_work::FileWork;
use crate::filesystem::Usage;
use crate::metrics::Hooks;
use crate::runtime::{GUEST_STACK_BYTES, Runtime};
use crate::settings::Settings;
use crate::slots::{Bounds, Freed, Next, Put, Slots};
use crate::tenant_name::TenantName;
use crate::watchers::Watchers;
use crate::worker::{EmptySandbox, Worker};

/// How long a thread stays with a tenant that has no sandbox: one that was never written, or could not be opened.
const LINGER: Duration = Duration::from_millis(200);

/// How long a tenant whose calls keep coming keeps its thread while others wait for one. Closing a tenant and opening
/// another costs some milliseconds.
const TURN: Duration = Duration::from_millis(50);

/// How long dropping the last handle waits for what was accepted.
const DROP_PATIENCE: Duration = Duration::from_secs(5);

/// A thread's stack: the guest's part, and as much again for the host and more.
const STACK_BYTES: usize = 4 * GUEST_STACK_BYTES;

/// All tenants below one root. The last handle to it ends it.
pub(crate) struct Scheduler {
    shared: Arc<Shared>,
    compactor: Arc<Compactor>,
    file_work: Arc<FileWork>,
}

/// What the threads of the tenants share.
pub(crate) struct Shared {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) settings: Settings,
    pub(crate) root: PathBuf,
    /// Answers the reads of tenants that were never written; one is kept.
    pub(crate) empty: Mutex<Option<EmptySandbox>>,
    /// Who wants to know when a tenant is written.
    pub(crate) watchers: Watchers,
    /// What the live tenants take on the disk.
    pub(crate) usage: Usage,
    state: Mutex<State>,
    /// A thread has ended.
    ended: Condvar,
}

struct State {
    /// No more calls are accepted.
    closed: bool,
    slots: Slots<Entry>,
    handles: Vec<JoinHandle<()>>,
}

/// What can be asked of a tenant's thread.
pub(crate) enum Entry {
    Call(Job),
    Close(tracing::Span, Answer<()>),
    Delete(tracing::Span, Answer<()>),
    Restore(tracing::Span, Box<dyn Read + Send>, Answer<()>),
}

impl Entry {
    fn refuse(self, error: Error) {
        match self {
            Entry::Call(job) => job.work.refuse(error),
            Entry::Close(_, answer) | Entry::Delete(_, answer) | Entry::Restore(_, _, answer) => {
                answer.send(Err(error));
            }
        }
    }
}

impl Scheduler {
    pub(crate) fn new(runtime: Arc<Runtime>, settings: Settings, root: PathBuf) -> Self {
        let compactor = Compactor::new(&settings, runtime.tokio().clone());
        let bounds = Bounds {
            threads: settings.max_live_tenants,
            calls_of_one: settings.max_waiting_calls,
            calls_of_all: settings.max_waiting_calls_in_all,
        };
        let shared = Shared {
            runtime,
            settings,
            root,
            empty: Mutex::new(None),
            watchers: Watchers::default(),
            state: Mutex::new(State { closed: false, slots: Slots::new(bounds), handles: Vec::new() }),
            usage: Usage::default(),
            ended: Condvar::new(),
        };
        Self { shared: Arc::new(shared), compactor, file_work: Arc::default() }
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.shared.root
    }

    /// Bytes on the disk of the tenants that have a sandbox.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.shared.usage.bytes()
    }

    /// Runs what follows up on calls.
    pub(crate) fn tokio(&self) -> &Handle {
        self.shared.runtime.tokio()
    }

    /// Tells when a tenant may have been written.
    pub(crate) fn watch(&self, name: &TenantName) -> watch::Receiver<()> {
        self.shared.watchers.watch(name)
    }

    /// Content for blocks, by label.
    pub(crate) fn providers(&self) -> &Providers {
        &self.shared.settings.providers
    }

    /// How long a call may take, and what it asks of the host.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.shared.settings.call_timeout
    }

    /// Who is told what calls cost.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.shared.settings.metrics
    }

    /// How many tenants have a thread, or wait for one.
    pub(crate) fn live_tenants(&self) -> usize {
        self.shared.lock().slots.len()
    }

    /// Compacts beside the calls.
    pub(crate) fn compactor(&self) -> &Arc<Compactor> {
        &self.compactor
    }

    /// Looks into the root, beside the tenants' threads.
    pub(crate) fn file_work(&self) -> &Arc<FileWork> {
        &self.file_work
    }

    /// Puts a call at the end of its tenant's queue, or refuses it.
    pub(crate) fn enqueue(&self, name: &TenantName, job: Job) {
        Shared::enqueue(&self.shared, name, Entry::Call(job));
    }

    /// Ends the tenant's sandbox after what is in its queue. One that has none is closed already.
    pub(crate) fn close_tenant(&self, name: &TenantName, label: Label) -> Call<()> {
        let (answer, call) = Call::reported(label.report(self.hooks(), name));
        if self.shared.lock().slots.contains(name) {
            Shared::enqueue(&self.shared, name, Entry::Close(label.span, answer));
        } else {
            answer.send(Ok(()));
        }
        call
    }

    /// Deletes the tenant after what is in its queue.
    pub(crate) fn delete_tenant(&self, name: &TenantName, label: Label) -> Call<()> {
        let (answer, call) = Call::reported(label.report(self.hooks(), name));
        Shared::enqueue(&self.shared, name, Entry::Delete(label.span, answer));
        call
    }

    /// Makes a tenant of a snapshot.
    pub(crate) fn restore_tenant(&self, name: &TenantName, label: Label, snapshot: Box<dyn Read + Send>) -> Call<()> {
        let (answer, call) = Call::reported(label.report(self.hooks(), name));
        Shared::enqueue(&self.shared, name, Entry::Restore(label.span, snapshot, answer));
        call
    }

    /// Accepts no more calls, carries out the accepted ones, closes the sandboxes and ends the threads. While a
    /// compaction that was asked for is given its time, calls are still accepted, since it makes some.
    pub(crate) fn shut_down(&self) -> Call<()> {
        self.compactor.wind_down(LAST_CALLS);
        if !self.compactor.is_asked() {
            self.shared.refuse_more();
        }
        let shared = Arc::clone(&self.shared);
        let compactor = Arc::clone(&self.compactor);
        crate::call::blocking(move || {
            compactor.wait();
            shared.refuse_more();
            let handles = shared.wait(None);
            for handle in handles {
                // A panic of a tenant's thread was answered where it happened.
                let _ = handle.join();
            }
            shared.drop_empty_sandbox();
            Ok(())
        })
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // What was asked for keeps a handle, so nothing of that kind is left.
        self.compactor.wind_down(Duration::ZERO);
        self.shared.refuse_more();
        self.shared.wait(Some(DROP_PATIENCE));
        self.shared.drop_empty_sandbox();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Whatever panicked while holding it did so between two consistent states: nothing in there calls out.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(shared: &Arc<Self>, name: &TenantName, entry: Entry) {
        let refused = shared.try_enqueue(name, entry);
        // Out of the lock: this wakes the caller's task.
        for (entry, error) in refused {
            entry.refuse(error);
        }
    }

    /// Gives back what is refused: the entry itself, and with it all that waited if there is no thread to be had.
    fn try_enqueue(self: &Arc<Self>, name: &TenantName, entry: Entry) -> Vec<(Entry, Error)> {
        let mut state = self.lock();
        if state.closed {
            return vec![(entry, Error::new(ErrorKind::Other, "this Talktree was closed: open it again"))];
        }
        match state.slots.put(name, entry) {
            Put::Queued => Vec::new(),
            Put::Refused(entry, error) => vec![(entry, error)],
            Put::Start => match self.start_thread(name.clone()) {
                Ok(handle) => {
                    state.handles.retain(|handle| !handle.is_finished());
                    state.handles.push(handle);
                    Vec::new()
                }
                Err(error) => {
                    let error = Error::new(ErrorKind::Busy, format!("no thread could be started: {error}"));
                    state.slots.unstarted(name).into_iter().map(|entry| (entry, error.clone())).collect()
                }
            },
        }
    }

    /// The thread waits for the lock before anything else, so it may be started while that is held.
    fn start_thread(self: &Arc<Self>, first: TenantName) -> std::io::Result<JoinHandle<()>> {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name("talktree-tenant".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let _tokio = shared.runtime.enter();
            let mut next = Some(first);
            while let Some(name) = next {
                next = match catch_unwind(AssertUnwindSafe(|| shared.serve(&name))) {
                    Ok(next) => next,
                    Err(_) => shared.abandon(&name),
                };
            }
        })
    }

    /// Serves one tenant until its thread is given up, and answers which tenant is next.
    fn serve(&self, name: &TenantName) -> Option<TenantName> {
        let mut worker = Worker::new(self, name.clone());
        let mut begun = Instant::now();
        let mut served = false;
        loop {
            let turn_is_over = served && begun.elapsed() >= TURN;
            let Some(entry) = self.next_entry(name, turn_is_over, worker.is_open()) else {
                if let Err(error) = worker.close() {
                    tracing::warn!(tenant = name.as_str(), %error, "the store was not closed cleanly; nothing is lost");
                }
                match self.free(name) {
                    Freed::Goes(next) => return Some(next),
                    Freed::Ends => return None,
                    Freed::Stays => {
                        (begun, served) = (Instant::now(), false);
                        continue;
                    }
                }
            };
            served = true;
            match entry {
                Entry::Call(job) => worker.carry_out(job),
                Entry::Close(span, mut answer) => {
                    answer.begin();
                    let closed = span.in_scope(|| worker.close());
                    answer.send(closed);
                }
                Entry::Delete(span, mut answer) => {
                    answer.begin();
                    let deleted = span.in_scope(|| worker.delete());
                    answer.send(deleted);
                }
                Entry::Restore(span, mut snapshot, mut answer) => {
                    answer.begin();
                    let restored = span.in_scope(|| worker.restore(&mut *snapshot));
                    answer.send(restored);
                }
            }
        }
    }

    /// Waits for something to do. None: the thread is given up.
    fn next_entry(&self, name: &TenantName, turn_is_over: bool, is_open: bool) -> Option<Entry> {
        let patience = if is_open { self.settings.idle_timeout } else { LINGER.min(self.settings.idle_timeout) };
        let until = Instant::now().checked_add(patience);
        let mut state = self.lock();
        loop {
            let wake = match state.slots.next(name, turn_is_over, is_open) {
                Next::Serve(entry) => return Some(entry),
                Next::Rest => return None,
                Next::Wait(wake) => wake,
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if state.closed || left.is_some_and(|left| left.is_zero()) {
                state.slots.rest(name);
                return None;
            }
            state = match left {
                Some(left) => wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The tenant is closed, and its thread free.
    fn free(&self, name: &TenantName) -> Freed {
        let mut state = self.lock();
        let freed = state.slots.freed(name);
        self.note_end(&mut state, &freed);
        freed
    }

    /// The tenant's thread panicked: what waited is refused. Answers which tenant is next.
    fn abandon(&self, name: &TenantName) -> Option<TenantName> {
        let (refused, freed) = {
            let mut state = self.lock();
            let refused = state.slots.remove(name);
            let freed = state.slots.freed(name);
            self.note_end(&mut state, &freed);
            (refused, freed)
        };
        for entry in refused {
            entry.refuse(Error::new(ErrorKind::Crashed, "the tenant's thread broke down before this call: try again"));
        }
        match freed {
            Freed::Goes(next) => Some(next),
            Freed::Stays | Freed::Ends => None,
        }
    }

    fn note_end(&self, state: &mut State, freed: &Freed) {
        if *freed == Freed::Ends {
            // This thread is not finished yet; those that ended before are let go of.
            state.handles.retain(|handle| !handle.is_finished());
            self.ended.notify_all();
        }
    }

    fn refuse_more(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.slots.wake_all();
    }

    /// Waits until all threads have ended, or this much time has passed.
    fn wait(&self, patience: Option<Duration>) -> Vec<JoinHandle<()>> {
        let state = self.lock();
        let mut state = match patience {
            None => {
                self.ended.wait_while(state, |state| state.slots.threads() > 0).unwrap_or_else(PoisonError::into_inner)
            }
            Some(patience) => {
                let ended = self.ended.wait_timeout_while(state, patience, |state| state.slots.threads() > 0);
                ended.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        std::mem::take(&mut state.handles)
    }

    fn drop_empty_sandbox(&self) {
        *self.empty.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
