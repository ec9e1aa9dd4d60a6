//! Which tenant is served by which thread, and when.
//!
//! Every tenant that has calls waiting, or has had some lately, has a slot: a queue, and while it is live a thread that
//! serves nothing else. There are at most as many threads as live tenants are allowed. Beyond that, slots wait for a
//! thread, and the tenants that were used least lately are asked to give theirs up. All of it is kept under one lock
//! that is held for moments only: never while a call runs, a file is touched or a future is woken.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::call::{Answer, Call, Job};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::compactor::{Compactor, LAST_CALLS};
use crate::context::Providers;
use crate::error::{Error, ErrorKind};
use crate::runtime::{GUEST_STACK_BYTES, Runtime};
use crate::settings::Settings;
use crate::tenant_name::TenantName;
use crate::watchers::Watchers;
use crate::worker::{EmptySandbox, Worker};

/// Tenants that may wait for a thread. Beyond that, calls are refused.
const MAX_WAITING_TENANTS: usize = 16_384;

/// How long a thread stays with a tenant that has no sandbox: one that was never written, or could not be opened.
const LINGER: Duration = Duration::from_millis(200);

/// How long dropping the last handle waits for what was accepted.
const DROP_PATIENCE: Duration = Duration::from_secs(5);

/// A thread's stack: the guest's part, and as much again for the host and more.
const STACK_BYTES: usize = 4 * GUEST_STACK_BYTES;

/// All tenants below one root. The last handle to it ends it.
pub(crate) struct Scheduler {
    shared: Arc<Shared>,
    compactor: Arc<Compactor>,
}

/// What the threads of the tenants share.
pub(crate) struct Shared {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) settings: Settings,
    pub(crate) root: PathBuf,
    /// Answers the reads of tenants that were never written.
    pub(crate) empty: Mutex<Option<EmptySandbox>>,
    /// Who wants to know when a tenant is written.
    pub(crate) watchers: Watchers,
    state: Mutex<State>,
    /// A thread has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// No more calls are accepted.
    closed: bool,
    slots: HashMap<TenantName, Slot>,
    /// Slots without a thread, the one that came first in front.
    waiting: VecDeque<TenantName>,
    threads: usize,
    handles: Vec<JoinHandle<()>>,
    /// Counts uses, to tell which tenant was used least lately.
    uses: u64,
}

struct Slot {
    queue: VecDeque<Entry>,
    /// Something is to be done for its thread.
    wake: Arc<Condvar>,
    /// When it was used last, in uses.
    used: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has no thread yet.
    Waiting,
    /// Its thread has not served anything yet.
    Fresh,
    Live,
    /// It has been asked to give up its thread.
    Retiring,
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

/// What a tenant's thread does next.
enum Next {
    Serve(Entry),
    /// Close the sandbox, and the thread may be needed elsewhere.
    Rest,
}

impl Scheduler {
    pub(crate) fn new(runtime: Arc<Runtime>, settings: Settings, root: PathBuf) -> Self {
        let compactor = Compactor::new(&settings, runtime.tokio().clone());
        let shared = Shared {
            runtime,
            settings,
            root,
            empty: Mutex::new(None),
            watchers: Watchers::default(),
            state: Mutex::new(State::default()),
            ended: Condvar::new(),
        };
        Self { shared: Arc::new(shared), compactor }
    }

    pub(crate) fn root(&self) -> &PathBuf {
        &self.shared.root
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

    /// How many tenants have a thread, or wait for one.
    pub(crate) fn live_tenants(&self) -> usize {
        self.shared.lock().slots.len()
    }

    /// Compacts beside the calls.
    pub(crate) fn compactor(&self) -> &Arc<Compactor> {
        &self.compactor
    }

    /// Puts a call at the end of its tenant's queue, or refuses it.
    pub(crate) fn enqueue(&self, name: &TenantName, job: Job) {
        Shared::enqueue(&self.shared, name, Entry::Call(job));
    }

    /// Ends the tenant's sandbox after what is in its queue. One that has none is closed already.
    pub(crate) fn close_tenant(&self, name: &TenantName, span: tracing::Span) -> Call<()> {
        let (answer, call) = Call::pair();
        if self.shared.lock().slots.contains_key(name) {
            Shared::enqueue(&self.shared, name, Entry::Close(span, answer));
        } else {
            answer.send(Ok(()));
        }
        call
    }

    /// Deletes the tenant after what is in its queue.
    pub(crate) fn delete_tenant(&self, name: &TenantName, span: tracing::Span) -> Call<()> {
        let (answer, call) = Call::pair();
        Shared::enqueue(&self.shared, name, Entry::Delete(span, answer));
        call
    }

    /// Makes a tenant of a snapshot.
    pub(crate) fn restore_tenant(
        &self,
        name: &TenantName,
        span: tracing::Span,
        snapshot: Box<dyn Read + Send>,
    ) -> Call<()> {
        let (answer, call) = Call::pair();
        Shared::enqueue(&self.shared, name, Entry::Restore(span, snapshot, answer));
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
        state.uses += 1;
        let used = state.uses;
        if let Some(slot) = state.slots.get_mut(name) {
            if slot.queue.len() >= self.settings.max_waiting_calls {
                let waiting = slot.queue.len() as u64;
                let error = Error::new(ErrorKind::Busy, "too many calls of this tenant are waiting: try again later")
                    .with_numbers(waiting, waiting);
                return vec![(entry, error)];
            }
            slot.queue.push_back(entry);
            slot.used = used;
            slot.wake.notify_one();
            return Vec::new();
        }
        let free = state.threads < self.settings.max_live_tenants;
        if !free && state.waiting.len() >= MAX_WAITING_TENANTS {
            let error = Error::new(ErrorKind::Busy, "too many tenants are waiting: try again later");
            return vec![(entry, error)];
        }
        let stage = if free { Stage::Fresh } else { Stage::Waiting };
        let slot = Slot { queue: VecDeque::from([entry]), wake: Arc::new(Condvar::new()), used, stage };
        state.slots.insert(name.clone(), slot);
        if !free {
            state.waiting.push_back(name.clone());
            state.make_room();
            return Vec::new();
        }
        match self.start_thread(name.clone()) {
            Ok(handle) => {
                state.threads += 1;
                state.handles.retain(|handle| !handle.is_finished());
                state.handles.push(handle);
                Vec::new()
            }
            Err(error) => {
                let error = Error::new(ErrorKind::Busy, format!("no thread could be started: {error}"));
                let queue = state.slots.remove(name).map(|slot| slot.queue).unwrap_or_default();
                queue.into_iter().map(|entry| (entry, error.clone())).collect()
            }
        }
    }

    /// The thread waits for the lock before anything else, so it may be started while that is held.
    fn start_thread(self: &Arc<Self>, first: TenantName) -> std::io::Result<JoinHandle<()>> {
        let shared = Arc::clone(self);
        std::thread::Builder::new().name("talktree-tenant".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let _tokio = shared.runtime.enter();
            let mut served = Some(first);
            while let Some(name) = served {
                if catch_unwind(AssertUnwindSafe(|| shared.serve(&name))).is_err() {
                    shared.abandon(&name);
                }
                served = shared.next_tenant();
            }
        })
    }

    /// Serves one tenant until it is to rest.
    fn serve(&self, name: &TenantName) {
        let mut worker = Worker::new(self, name.clone());
        loop {
            match self.next_entry(name, worker.is_open()) {
                Next::Serve(Entry::Call(job)) => worker.carry_out(job),
                Next::Serve(Entry::Close(span, answer)) => {
                    let closed = span.in_scope(|| worker.close());
                    answer.send(closed);
                }
                Next::Serve(Entry::Delete(span, answer)) => {
                    let deleted = span.in_scope(|| worker.delete());
                    answer.send(deleted);
                }
                Next::Serve(Entry::Restore(span, mut snapshot, answer)) => {
                    let restored = span.in_scope(|| worker.restore(&mut *snapshot));
                    answer.send(restored);
                }
                Next::Rest => {
                    if let Err(error) = worker.close() {
                        tracing::warn!(tenant = name.as_str(), %error, "the store was not closed cleanly; nothing is lost");
                    }
                    if self.retire(name) {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for something to do.
    fn next_entry(&self, name: &TenantName, is_open: bool) -> Next {
        let patience = if is_open { self.settings.idle_timeout } else { LINGER.min(self.settings.idle_timeout) };
        let until = Instant::now().checked_add(patience);
        let mut state = self.lock();
        loop {
            let closed = state.closed;
            let crowded = !state.waiting.is_empty();
            let Some(slot) = state.slots.get_mut(name) else { return Next::Rest };
            if slot.stage == Stage::Retiring {
                return Next::Rest;
            }
            if let Some(entry) = slot.queue.pop_front() {
                slot.stage = Stage::Live;
                if crowded {
                    // From now on it can be asked to give up its thread, and others wait for one.
                    state.make_room();
                }
                return Next::Serve(entry);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if closed || left.is_some_and(|left| left.is_zero()) || (crowded && !is_open) {
                return Next::Rest;
            }
            let wake = Arc::clone(&slot.wake);
            state = match left {
                Some(left) => wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The tenant's sandbox is closed. False: there are calls again, and nobody else needs the thread.
    fn retire(&self, name: &TenantName) -> bool {
        let mut state = self.lock();
        let crowded = !state.waiting.is_empty();
        let Some(slot) = state.slots.get_mut(name) else { return true };
        if slot.queue.is_empty() {
            state.slots.remove(name);
        } else if crowded {
            slot.stage = Stage::Waiting;
            state.waiting.push_back(name.clone());
        } else {
            slot.stage = Stage::Fresh;
            return false;
        }
        true
    }

    /// The next tenant for a thread that is free. None: the thread ends.
    fn next_tenant(&self) -> Option<TenantName> {
        let mut state = self.lock();
        while let Some(name) = state.waiting.pop_front() {
            state.uses += 1;
            let used = state.uses;
            if let Some(slot) = state.slots.get_mut(&name) {
                slot.stage = Stage::Fresh;
                slot.used = used;
                state.make_room();
                return Some(name);
            }
        }
        state.threads -= 1;
        self.ended.notify_all();
        None
    }

    /// The tenant's thread panicked: what waited is refused.
    fn abandon(&self, name: &TenantName) {
        let slot = self.lock().slots.remove(name);
        for entry in slot.into_iter().flat_map(|slot| slot.queue) {
            entry.refuse(Error::new(ErrorKind::Crashed, "the tenant's thread broke down before this call: try again"));
        }
    }

    fn refuse_more(&self) {
        let mut state = self.lock();
        state.closed = true;
        for slot in state.slots.values() {
            slot.wake.notify_one();
        }
    }

    /// Waits until all threads have ended, or this much time has passed.
    fn wait(&self, patience: Option<Duration>) -> Vec<JoinHandle<()>> {
        let state = self.lock();
        let mut state = match patience {
            None => self.ended.wait_while(state, |state| state.threads > 0).unwrap_or_else(PoisonError::into_inner),
            Some(patience) => {
                let ended = self.ended.wait_timeout_while(state, patience, |state| state.threads > 0);
                ended.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        std::mem::take(&mut state.handles)
    }

    fn drop_empty_sandbox(&self) {
        *self.empty.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl State {
    /// Asks as many tenants to give up their threads as others wait for one, those used least lately first.
    fn make_room(&mut self) {
        let asked = self.slots.values().filter(|slot| slot.stage == Stage::Retiring).count();
        let wanted = self.waiting.len().min(self.threads);
        for _ in asked..wanted {
            let live = self.slots.values_mut().filter(|slot| slot.stage == Stage::Live);
            let Some(slot) = live.min_by_key(|slot| slot.used) else { return };
            slot.stage = Stage::Retiring;
            slot.wake.notify_one();
        }
    }
}
