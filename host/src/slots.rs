//! Whose turn it is: the queues of the tenants, and who has a thread, waits for one or gives one up.
//!
//! This is bookkeeping alone: no call runs in here and no thread is started, so that it can be kept under one lock.
//!
//! - A tenant has a slot while it has calls waiting or a thread.
//! - Where all threads are taken, tenants wait in the order in which they came. For each of them one thread is given up:
//!   by the tenant that has been idle longest, or, where none is idle, by one whose turn is over when its present call
//!   ends. One that has calls left goes to the end of the line.
//! - Where there are many threads some are kept free, by the same rule, so that a tenant that comes need not wait until
//!   another one is closed.
//! - Of the room that all queues together have left no tenant takes more than half: its queue may be as long as what is
//!   left, so that there is always some for those who come later.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar};

use crate::error::{Error, ErrorKind};
use crate::tenant_name::TenantName;

/// Tenants that may wait for a thread. Beyond that, calls are refused.
const MAX_WAITING_TENANTS: usize = 16_384;

/// One of so many threads is kept free.
const FREE: usize = 16;

/// What there may be of everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) threads: usize,
    /// Calls that may wait for one tenant, and for all together.
    pub(crate) calls_of_one: usize,
    pub(crate) calls_of_all: usize,
}

/// All slots, with queues of some kind of entries.
pub(crate) struct Slots<E> {
    bounds: Bounds,
    slots: HashMap<TenantName, Slot<E>>,
    /// Slots without a thread, the one that came first in front.
    waiting: VecDeque<TenantName>,
    /// Those that have a thread and nothing to do, by their last use.
    idle: BTreeMap<u64, TenantName>,
    threads: usize,
    /// Threads that are being given up.
    retiring: usize,
    /// Entries in all queues.
    calls: usize,
    /// Counts uses, to tell which tenant was used least lately.
    uses: u64,
}

struct Slot<E> {
    queue: VecDeque<E>,
    /// Something is to be done for its thread.
    wake: Arc<Condvar>,
    /// When it was used last, in uses.
    used: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has no thread yet.
    Waiting,
    /// It has a thread, and something to do for it.
    Busy,
    /// It has a thread, and nothing to do.
    Idle,
    /// It gives up its thread.
    Retiring,
}

/// What became of an entry.
pub(crate) enum Put<E> {
    Queued,
    /// It is queued, and a thread has to be started for its tenant.
    Start,
    Refused(E, Error),
}

/// What a tenant's thread does next.
pub(crate) enum Next<E> {
    Serve(E),
    /// There is nothing to do before this is notified.
    Wait(Arc<Condvar>),
    /// Give the thread up.
    Rest,
}

/// What a thread does that was given up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    /// It stays with its tenant: there are calls again, and nobody else needs it.
    Stays,
    /// It serves another tenant.
    Goes(TenantName),
    /// It ends.
    Ends,
}

impl<E> Slots<E> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            slots: HashMap::new(),
            waiting: VecDeque::new(),
            idle: BTreeMap::new(),
            threads: 0,
            retiring: 0,
            calls: 0,
            uses: 0,
        }
    }

    /// Tenants that have a thread or wait for one.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn contains(&self, name: &TenantName) -> bool {
        self.slots.contains_key(name)
    }

    /// Puts an entry at the end of its tenant's queue, or refuses it.
    pub(crate) fn put(&mut self, name: &TenantName, entry: E) -> Put<E> {
        let left = self.bounds.calls_of_all.saturating_sub(self.calls);
        let waiting = self.slots.get(name).map_or(0, |slot| slot.queue.len());
        if waiting >= self.bounds.calls_of_one.min(left) {
            let whose = if left == 0 { "all tenants" } else { "this tenant" };
            let limit = self.bounds.calls_of_one.min(self.bounds.calls_of_all) as u64;
            return Put::Refused(entry, busy(&format!("too many calls of {whose} are waiting"), waiting as u64, limit));
        }
        self.uses += 1;
        if let Some(slot) = self.slots.get_mut(name) {
            if slot.stage == Stage::Idle {
                self.idle.remove(&slot.used);
                slot.stage = Stage::Busy;
            }
            slot.used = self.uses;
            slot.queue.push_back(entry);
            slot.wake.notify_one();
            self.calls += 1;
            return Put::Queued;
        }
        let free = self.threads < self.bounds.threads;
        if !free && self.waiting.len() >= MAX_WAITING_TENANTS {
            let waiting = self.waiting.len() as u64;
            return Put::Refused(entry, busy("too many tenants are waiting", waiting, waiting));
        }
        let stage = if free { Stage::Busy } else { Stage::Waiting };
        let slot = Slot { queue: VecDeque::from([entry]), wake: Arc::default(), used: self.uses, stage };
        self.slots.insert(name.clone(), slot);
        self.calls += 1;
        if free {
            self.threads += 1;
            self.make_room();
            return Put::Start;
        }
        self.waiting.push_back(name.clone());
        self.make_room();
        Put::Queued
    }

    /// The thread that was to be started for this tenant could not be: gives back what waited for it.
    pub(crate) fn unstarted(&mut self, name: &TenantName) -> VecDeque<E> {
        self.threads -= 1;
        self.remove(name)
    }

    /// What a tenant's thread does next. The turn is over: it gives the thread up if others need one. Nothing is open:
    /// it does so as well while there is nothing to do.
    pub(crate) fn next(&mut self, name: &TenantName, turn_is_over: bool, is_open: bool) -> Next<E> {
        let needed = self.waiting.len() > self.retiring;
        let Some(slot) = self.slots.get_mut(name) else { return Next::Rest };
        if slot.stage == Stage::Retiring {
            return Next::Rest;
        }
        if needed && (turn_is_over || (!is_open && slot.queue.is_empty())) {
            self.rest(name);
            return Next::Rest;
        }
        if let Some(entry) = slot.queue.pop_front() {
            self.calls -= 1;
            return Next::Serve(entry);
        }
        let wake = Arc::clone(&slot.wake);
        if slot.stage == Stage::Busy {
            slot.stage = Stage::Idle;
            self.idle.insert(slot.used, name.clone());
            self.make_room();
            if self.slots.get(name).is_none_or(|slot| slot.stage == Stage::Retiring) {
                return Next::Rest;
            }
        }
        Next::Wait(wake)
    }

    /// A tenant's thread is given up.
    pub(crate) fn rest(&mut self, name: &TenantName) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        match slot.stage {
            Stage::Waiting | Stage::Retiring => return,
            Stage::Idle => drop(self.idle.remove(&slot.used)),
            Stage::Busy => {}
        }
        slot.stage = Stage::Retiring;
        self.retiring += 1;
        slot.wake.notify_one();
    }

    /// What a tenant's thread does when all of the tenant is closed.
    pub(crate) fn freed(&mut self, name: &TenantName) -> Freed {
        if let Some(slot) = self.slots.get_mut(name) {
            if slot.stage == Stage::Retiring {
                self.retiring -= 1;
            }
            if slot.queue.is_empty() {
                self.slots.remove(name);
            } else if self.waiting.is_empty() {
                slot.stage = Stage::Busy;
                return Freed::Stays;
            } else {
                slot.stage = Stage::Waiting;
                self.waiting.push_back(name.clone());
            }
        }
        while let Some(name) = self.waiting.pop_front() {
            if let Some(slot) = self.slots.get_mut(&name) {
                slot.stage = Stage::Busy;
                self.make_room();
                return Freed::Goes(name);
            }
        }
        self.threads -= 1;
        Freed::Ends
    }

    /// Forgets a tenant whose thread has broken down: gives back what waited for it.
    pub(crate) fn remove(&mut self, name: &TenantName) -> VecDeque<E> {
        let Some(slot) = self.slots.remove(name) else { return VecDeque::new() };
        match slot.stage {
            Stage::Idle => drop(self.idle.remove(&slot.used)),
            Stage::Retiring => self.retiring -= 1,
            Stage::Waiting | Stage::Busy => {}
        }
        self.calls -= slot.queue.len();
        slot.queue
    }

    /// Wakes all threads that wait.
    pub(crate) fn wake_all(&self) {
        for slot in self.slots.values() {
            slot.wake.notify_one();
        }
    }

    /// Takes a thread from an idle tenant for each that waits and for each that has to be free, from those used least
    /// lately first.
    fn make_room(&mut self) {
        let free = self.bounds.threads - self.threads.min(self.bounds.threads);
        let wanted = self.waiting.len() + (self.bounds.threads / FREE).saturating_sub(free);
        while self.retiring < wanted {
            let Some((_, name)) = self.idle.pop_first() else { return };
            if let Some(slot) = self.slots.get_mut(&name) {
                slot.stage = Stage::Retiring;
                self.retiring += 1;
                slot.wake.notify_one();
            }
        }
    }
}

fn busy(sentence: &str, current: u64, limit: u64) -> Error {
    Error::new(ErrorKind::Busy, format!("{sentence}: try again later")).with_numbers(current, limit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn slots(threads: usize, calls_of_one: usize, calls_of_all: usize) -> Slots<u32> {
        Slots::new(Bounds { threads, calls_of_one, calls_of_all })
    }

    fn name(number: usize) -> TenantName {
        TenantName::new(&format!("t{number}")).unwrap()
    }

    #[track_caller]
    fn served(slots: &mut Slots<u32>, name: &TenantName, turn_is_over: bool) -> u32 {
        match slots.next(name, turn_is_over, true) {
            Next::Serve(entry) => entry,
            Next::Wait(_) => panic!("it waits"),
            Next::Rest => panic!("it rests"),
        }
    }

    fn rests(slots: &mut Slots<u32>, name: &TenantName, turn_is_over: bool) -> bool {
        matches!(slots.next(name, turn_is_over, true), Next::Rest)
    }

    fn fill(slots: &mut Slots<u32>, name: &TenantName) -> usize {
        (0..).take_while(|entry| !matches!(slots.put(name, *entry), Put::Refused(..))).count()
    }

    #[test]
    fn the_tenant_idle_longest_gives_up_its_thread() {
        let mut slots = slots(3, 10, 100);
        for number in [0, 1, 2] {
            assert!(matches!(slots.put(&name(number), 0), Put::Start));
            served(&mut slots, &name(number), false);
        }
        // The first is used again after the second, and the third is busy.
        for number in [0, 1] {
            assert!(matches!(slots.next(&name(number), false, true), Next::Wait(_)));
        }
        slots.put(&name(0), 1);
        served(&mut slots, &name(0), false);
        assert!(matches!(slots.next(&name(0), false, true), Next::Wait(_)));
        assert!(matches!(slots.put(&name(3), 0), Put::Queued));
        assert!(rests(&mut slots, &name(1), false));
        assert!(!rests(&mut slots, &name(0), false), "one is enough");
        assert_eq!(slots.freed(&name(1)), Freed::Goes(name(3)));
        assert_eq!((slots.len(), slots.threads()), (3, 3));
    }

    #[test]
    fn of_many_threads_some_are_kept_free() {
        let mut slots = slots(2 * FREE, 10, 100);
        let mut live = Vec::new();
        for number in 0..2 * FREE {
            assert!(matches!(slots.put(&name(number), 0), Put::Start), "{number}");
            served(&mut slots, &name(number), false);
            assert!(matches!(slots.next(&name(number), false, true), Next::Wait(_)), "the one used last stays");
            live.push(number);
            // Those used least lately go where two would not be free any more.
            live.retain(|number| {
                let rests = rests(&mut slots, &name(*number), false);
                if rests {
                    assert_eq!(slots.freed(&name(*number)), Freed::Ends);
                }
                !rests
            });
        }
        assert_eq!(live, (2..2 * FREE).collect::<Vec<_>>());
        assert_eq!((slots.len(), slots.threads()), (2 * FREE - 2, 2 * FREE - 2));
    }

    #[test]
    fn a_tenant_that_is_never_idle_gives_way_when_its_turn_is_over_and_comes_again() {
        let mut slots = slots(1, 10, 100);
        let (greedy, patient) = (name(0), name(1));
        slots.put(&greedy, 0);
        for entry in 1..5 {
            slots.put(&greedy, entry);
        }
        served(&mut slots, &greedy, false);
        served(&mut slots, &greedy, true);
        slots.put(&patient, 9);
        served(&mut slots, &greedy, false);
        assert!(rests(&mut slots, &greedy, true));
        assert_eq!(slots.freed(&greedy), Freed::Goes(patient.clone()));
        assert_eq!(served(&mut slots, &patient, false), 9);
        assert!(rests(&mut slots, &patient, false), "it is idle, and the other waits");
        assert_eq!(slots.freed(&patient), Freed::Goes(greedy.clone()));
        assert_eq!(served(&mut slots, &greedy, true), 3, "in their order");
        assert_eq!(served(&mut slots, &greedy, true), 4);
        assert!(matches!(slots.next(&greedy, true, true), Next::Wait(_)));
    }

    #[test]
    fn for_each_that_waits_one_thread_is_given_up_and_no_more() {
        let mut slots = slots(4, 10, 100);
        for number in 0..4 {
            slots.put(&name(number), 0);
            slots.put(&name(number), 1);
            served(&mut slots, &name(number), false);
        }
        slots.put(&name(4), 0);
        slots.put(&name(5), 0);
        let resting = (0..4).filter(|number| rests(&mut slots, &name(*number), true)).count();
        assert_eq!(resting, 2);
    }

    #[test]
    fn a_thread_that_was_given_up_stays_where_calls_came_meanwhile_and_nobody_waits() {
        let mut slots = slots(1, 10, 100);
        slots.put(&name(0), 0);
        served(&mut slots, &name(0), false);
        assert!(matches!(slots.next(&name(0), false, true), Next::Wait(_)));
        slots.rest(&name(0));
        slots.put(&name(0), 1);
        assert!(rests(&mut slots, &name(0), false));
        assert_eq!(slots.freed(&name(0)), Freed::Stays);
        assert_eq!(served(&mut slots, &name(0), false), 1);
        slots.rest(&name(0));
        assert_eq!(slots.freed(&name(0)), Freed::Ends);
        assert_eq!((slots.len(), slots.threads(), slots.calls, slots.retiring), (0, 0, 0, 0));
    }

    #[test]
    fn one_flood_leaves_room_and_many_floods_leave_some() {
        let mut slots = slots(1, 1_000, 100);
        assert_eq!(fill(&mut slots, &name(0)), 50);
        assert_eq!(fill(&mut slots, &name(1)), 25);
        for number in 2..1_000 {
            if matches!(slots.put(&name(number), 0), Put::Refused(..)) {
                assert_eq!(slots.calls, 100);
                break;
            }
        }
        // What is served makes room again, for whoever has less.
        served(&mut slots, &name(0), false);
        assert!(matches!(slots.put(&name(0), 0), Put::Refused(..)));
        assert!(matches!(slots.put(&name(2_000), 0), Put::Queued));
    }

    #[test]
    fn a_tenant_has_its_own_bound() {
        let mut slots = slots(1, 5, 100);
        assert_eq!(fill(&mut slots, &name(0)), 5);
        assert_eq!(fill(&mut slots, &name(1)), 5);
        served(&mut slots, &name(0), false);
        assert_eq!(fill(&mut slots, &name(0)), 1);
    }

    #[test]
    fn what_has_no_thread_or_has_broken_down_leaves_nothing() {
        let mut slots = slots(1, 5, 100);
        slots.put(&name(0), 0);
        assert_eq!(slots.unstarted(&name(0)), [0]);
        slots.put(&name(0), 0);
        served(&mut slots, &name(0), false);
        slots.put(&name(0), 1);
        slots.put(&name(1), 2);
        assert_eq!(slots.remove(&name(0)), [1]);
        assert_eq!(slots.freed(&name(0)), Freed::Goes(name(1)));
        assert_eq!(served(&mut slots, &name(1), false), 2);
        slots.rest(&name(1));
        assert_eq!(slots.freed(&name(1)), Freed::Ends);
        assert_eq!((slots.len(), slots.threads(), slots.calls, slots.retiring, slots.idle.len()), (0, 0, 0, 0, 0));
    }
}
