//! Turns of several instances in a world that runs them one step at a time, in an order drawn from a seed, freezes them
//! where it likes, and kills some.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::*;

/// A small source of numbers, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What all instances share.
struct World {
    /// In ms.
    now: u64,
    /// What the wall clock is ahead of it.
    wall: u64,
    names: BTreeMap<String, usize>,
    contents: Vec<Vec<u8>>,
    /// Until when each instance sleeps; none: it has ended.
    asleep: Vec<Option<u64>>,
    running: usize,
    numbers: Numbers,
    /// One step in this many is followed by a freeze of up to 8 s; 0: none.
    freezes: u64,
    full: bool,
    read_only: bool,
    /// Somebody has the host's lock.
    locked: bool,
    /// The turns that wrote, in the order of their writes: instance and number of the turn.
    writes: Vec<(usize, u64)>,
}

#[derive(Clone)]
struct Instance {
    shared: Arc<(Mutex<World>, Condvar)>,
    number: usize,
}

fn world(instances: usize, seed: u64) -> Arc<(Mutex<World>, Condvar)> {
    let world = World {
        now: 1_000_000,
        wall: 1_700_000_000_000,
        names: BTreeMap::new(),
        contents: Vec::new(),
        asleep: vec![Some(0); instances],
        running: 0,
        numbers: Numbers(seed),
        freezes: 0,
        full: false,
        read_only: false,
        locked: false,
        writes: Vec::new(),
    };
    Arc::new((Mutex::new(world), Condvar::new()))
}

impl World {
    /// Chooses who runs next; time goes on to the first who wakes.
    fn choose(&mut self) {
        let Some(first) = self.asleep.iter().flatten().min().copied() else { return };
        self.now = self.now.max(first);
        let awake: Vec<usize> = (0..self.asleep.len())
            .filter(|&number| self.asleep[number].is_some_and(|until| until <= self.now))
            .collect();
        self.running = awake[self.numbers.below(awake.len() as u64) as usize];
    }
}

impl Instance {
    fn of(shared: &Arc<(Mutex<World>, Condvar)>, number: usize) -> Self {
        Self { shared: Arc::clone(shared), number }
    }

    fn marks(&self) -> Marks<Self> {
        let drawn = self.world().numbers.below(u64::MAX);
        Marks::new(self.clone(), drawn)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }

    /// Lets others run, for at least this long, and comes back when it is chosen.
    fn pause(&self, milliseconds: u64) -> MutexGuard<'_, World> {
        let mut world = self.world();
        world.asleep[self.number] = Some(world.now + milliseconds);
        world.choose();
        self.shared.1.notify_all();
        self.shared.1.wait_while(world, |world| world.running != self.number).unwrap()
    }

    /// One step: whatever happens in it happens at once, and anything may happen before it.
    fn step(&self) -> MutexGuard<'_, World> {
        let frozen = {
            let mut world = self.world();
            let freezes = world.freezes;
            if freezes > 0 && world.numbers.below(freezes) == 0 {
                world.numbers.below(8_000)
            } else {
                world.numbers.below(3)
            }
        };
        self.pause(frozen)
    }

    /// Waits until it is chosen for the first time. Dropping what is answered lets the others go on without it, after a
    /// failed assertion as well.
    fn start(&self) -> Life<'_> {
        drop(self.shared.1.wait_while(self.world(), |world| world.running != self.number).unwrap());
        Life(self)
    }
}

struct Life<'a>(&'a Instance);

impl Drop for Life<'_> {
    fn drop(&mut self) {
        let mut world = self.0.world();
        world.asleep[self.0.number] = None;
        world.choose();
        self.0.shared.1.notify_all();
    }
}

impl Surroundings for Instance {
    type Mark = usize;

    fn names(&self) -> Result<Vec<String>, ErrorCode> {
        Ok(self.step().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> Result<usize, ErrorCode> {
        let mut world = self.step();
        if world.read_only {
            return Err(ErrorCode::NotPermitted);
        }
        if world.names.contains_key(name) {
            return Err(ErrorCode::Exist);
        }
        world.contents.push(Vec::new());
        let mark = world.contents.len() - 1;
        world.names.insert(name.to_owned(), mark);
        Ok(mark)
    }

    fn write(&self, mark: &usize, content: &str) -> Result<(), ErrorCode> {
        let mut world = self.step();
        if world.full {
            return Err(ErrorCode::InsufficientSpace);
        }
        world.contents[*mark] = content.as_bytes().to_vec();
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ErrorCode> {
        let world = self.step();
        Ok(world.names.get(name).map(|&mark| world.contents[mark].clone()))
    }

    fn is_there(&self, name: &str) -> Result<bool, ErrorCode> {
        Ok(self.step().names.contains_key(name))
    }

    fn delete(&self, name: &str) -> Result<(), ErrorCode> {
        self.step().names.remove(name);
        Ok(())
    }

    fn wall(&self) -> u64 {
        let world = self.world();
        world.wall + world.now
    }

    fn monotonic(&self) -> u64 {
        self.world().now
    }

    fn sleep(&self, milliseconds: u64) {
        drop(self.pause(milliseconds));
    }
}

/// What an instance does: turns with some writes each; some it leaves by dying, to come back as a new instance.
fn live(instance: &Instance, turns: u64) {
    let _life = instance.start();
    let mut marks = instance.marks();
    // How much had been written when our last turn ended well, in this life.
    let mut known = None;
    for turn in 0..turns {
        let me = (instance.number, turn);
        let others = marks.begin(20_000_000).unwrap();
        let (writes, dies) = {
            let mut world = instance.world();
            (world.numbers.below(5), world.numbers.below(10) == 0)
        };
        for _ in 0..writes {
            drop(instance.step());
            if marks.may(true) {
                // The look and the write may lie a little apart.
                let little = instance.world().numbers.below(300);
                instance.pause(little).writes.push(me);
            }
        }
        if dies {
            marks = instance.marks();
            known = None;
        } else {
            let written = instance.world().writes.len();
            let kept = marks.end().is_ok();
            if kept && !others {
                // It was promised that nobody else had a turn between our last one and this one.
                let since = instance.world().writes[known.unwrap()..written].to_vec();
                assert!(since.iter().all(|&write| write == me), "{me:?} did not notice {since:?}");
            }
            known = kept.then_some(written);
        }
        let idle = instance.world().numbers.below(100);
        drop(instance.pause(idle));
    }
}

/// What an instance does that must have the host's lock: it keeps the store for some writes, without looking again. Some
/// die meanwhile, which frees the lock and leaves the mark.
fn live_with_lock(instance: &Instance, turns: u64) {
    let _life = instance.start();
    for turn in 0..turns {
        while std::mem::replace(&mut instance.world().locked, true) {
            drop(instance.pause(20));
        }
        let drawn = instance.world().numbers.below(u64::MAX);
        let mut marks = Marks::locked(instance.clone(), drawn);
        marks.keep(20_000_000).unwrap();
        let (writes, dies) = {
            let mut world = instance.world();
            (world.numbers.below(5), world.numbers.below(4) == 0)
        };
        for _ in 0..writes {
            instance.step().writes.push((instance.number, turn));
        }
        if !dies {
            marks.release();
        }
        instance.world().locked = false;
        let idle = instance.world().numbers.below(100);
        drop(instance.pause(idle));
    }
    // Whoever dies last would keep the others out for good.
    while std::mem::replace(&mut instance.world().locked, true) {
        drop(instance.pause(20));
    }
    let mut last = Marks::locked(instance.clone(), u64::MAX);
    last.keep(20_000_000).unwrap();
    last.release();
    instance.world().locked = false;
}

fn run(instances: usize, with_lock: usize, turns: u64, freezes: u64, seed: u64) -> Vec<(usize, u64)> {
    let shared = world(instances, seed);
    shared.0.lock().unwrap().freezes = freezes;
    thread::scope(|scope| {
        for number in 0..instances {
            let instance = Instance::of(&shared, number);
            let live = if number < with_lock { live_with_lock } else { live };
            scope.spawn(move || live(&instance, turns));
        }
    });
    let world = shared.0.lock().unwrap();
    world.writes.clone()
}

/// Writes of a turn that another turn's come between.
fn torn(writes: &[(usize, u64)]) -> Option<(usize, u64)> {
    let mut over = BTreeSet::new();
    for pair in writes.windows(2) {
        if pair[0] != pair[1] {
            over.insert(pair[0]);
        }
        if over.contains(&pair[1]) {
            return Some(pair[1]);
        }
    }
    None
}

#[test]
fn turns_never_overlap_whoever_is_frozen_or_killed() {
    let mut written = 0;
    for seed in 0..150 {
        let writes = run(2 + seed as usize % 4, 0, 12, [6, 12, 30, 60][seed as usize / 4 % 4], seed);
        assert_eq!(torn(&writes), None, "seed {seed}: {writes:?}");
        written += writes.len();
    }
    assert!(written > 2_000, "hardly anything was written: {written}");
}

#[test]
fn turns_without_freezes_never_overlap_either() {
    for seed in 0..50 {
        let writes = run(6, 0, 10, 0, seed);
        assert_eq!(torn(&writes), None, "seed {seed}: {writes:?}");
    }
}

#[test]
fn turns_never_overlap_with_those_who_have_the_hosts_lock_whoever_is_frozen_or_killed() {
    let mut written = 0;
    for seed in 0..150 {
        let (instances, with_lock) = (2 + seed as usize % 4, 1 + seed as usize % 2);
        let writes = run(instances, with_lock, 12, [0, 6, 12, 30, 60][seed as usize / 4 % 5], seed);
        assert_eq!(torn(&writes), None, "seed {seed}: {writes:?}");
        written += writes.len();
    }
    assert!(written > 2_000, "hardly anything was written: {written}");
}

#[test]
fn who_has_the_hosts_lock_keeps_the_others_out_for_as_long_as_it_lives() {
    let instance = alone();
    let mut keeper = Marks::locked(instance.clone(), 1);
    keeper.keep(0).unwrap();
    instance.sleep(60_000);
    let refused = instance.marks().begin(1_000);
    assert!(matches!(refused, Err(Refusal::Kept(waited)) if waited >= 1_000), "{refused:?}");
    keeper.release();
    assert!(instance.world().names.is_empty(), "nothing stays where only hosts with locks have been");
    let mut other = instance.marks();
    assert_eq!(other.begin(0), Ok(true));
    assert!(matches!(Marks::locked(instance.clone(), 2).keep(1_000), Err(Refusal::Busy(_))));
    other.end().unwrap();
    keeper.keep(0).unwrap();
}

#[test]
fn a_mark_that_is_kept_by_the_dead_is_followed_at_once_by_who_has_the_hosts_lock_and_by_nobody_else() {
    let instance = alone();
    Marks::locked(instance.clone(), 1).keep(0).unwrap();
    instance.sleep(60_000);
    assert!(matches!(instance.marks().begin(10_000), Err(Refusal::Kept(_))));
    let before = instance.monotonic();
    let mut next = Marks::locked(instance.clone(), 2);
    next.keep(0).unwrap();
    assert!(instance.monotonic() - before < 100);
    next.release();
    assert_eq!(instance.marks().begin(0), Ok(true));
}

#[test]
fn a_mark_that_lost_its_content_with_the_power_does_not_hold_up_who_has_the_hosts_lock() {
    let instance = alone();
    instance.create("owner.7").unwrap();
    let before = instance.monotonic();
    Marks::locked(instance.clone(), 1).keep(1_000).unwrap();
    assert!(instance.monotonic() - before < 300);
}

/// One instance alone in a world.
fn alone() -> Instance {
    Instance::of(&world(1, 1), 0)
}

#[test]
fn a_second_turn_in_a_row_says_that_nobody_else_had_one() {
    let instance = alone();
    let mut marks = instance.marks();
    assert_eq!(marks.begin(0), Ok(true));
    marks.end().unwrap();
    for _ in 0..10 {
        assert_eq!(marks.begin(0), Ok(false));
        marks.end().unwrap();
    }
    let mut other = instance.marks();
    assert_eq!(other.begin(0), Ok(true));
    other.end().unwrap();
    assert_eq!(marks.begin(0), Ok(true));
    marks.end().unwrap();
    assert_eq!(instance.world().names.len(), 1, "old marks are deleted");
}

#[test]
fn a_turn_of_somebody_else_is_waited_for_as_long_as_told() {
    let instance = alone();
    let mut owner = instance.marks();
    owner.begin(0).unwrap();
    let before = instance.monotonic();
    let refused = instance.marks().begin(1_000);
    assert!(matches!(refused, Err(Refusal::Busy(waited)) if waited >= 1_000), "{refused:?}");
    assert!(instance.monotonic() - before < 1_500);
    assert!(owner.may(true));
    owner.end().unwrap();
}

#[test]
fn a_mark_left_behind_is_taken_after_five_seconds_and_its_owner_notices() {
    let instance = alone();
    let mut owner = instance.marks();
    owner.begin(0).unwrap();
    let before = instance.monotonic();
    let mut other = instance.marks();
    assert_eq!(other.begin(10_000), Ok(true));
    let waited = instance.monotonic() - before;
    assert!((5_000..5_500).contains(&waited), "{waited}");
    assert!(!owner.may(true));
    assert_eq!(owner.end(), Err(Refusal::Lost));
    assert!(other.may(true));
    other.end().unwrap();
}

#[test]
fn an_old_mark_is_taken_after_two_seconds_even_by_who_waits_little() {
    let instance = alone();
    instance.marks().begin(0).unwrap();
    instance.sleep(60_000);
    let before = instance.monotonic();
    assert_eq!(instance.marks().begin(0), Ok(true));
    let waited = instance.monotonic() - before;
    assert!((2_000..2_500).contains(&waited), "{waited}");
    // From the future: the wall clock was set back.
    instance.world().wall -= 3_600_000;
    assert_eq!(instance.marks().begin(0), Ok(true));
}

#[test]
fn a_jump_of_the_wall_clock_takes_no_turn_from_an_owner_at_work() {
    let shared = world(2, 3);
    thread::scope(|scope| {
        let instance = Instance::of(&shared, 0);
        scope.spawn(move || {
            let _life = instance.start();
            let mut owner = instance.marks();
            owner.begin(0).unwrap();
            instance.world().wall += 3_600_000;
            for _ in 0..40 {
                drop(instance.pause(300));
                assert!(owner.may(true));
            }
            owner.end().unwrap();
        });
        let other = Instance::of(&shared, 1);
        scope.spawn(move || {
            let _life = other.start();
            drop(other.pause(100));
            assert!(matches!(other.marks().begin(8_000), Err(Refusal::Busy(_))));
        });
    });
}

#[test]
fn a_mark_that_was_never_written_is_taken_too() {
    let instance = alone();
    instance.create("owner.7").unwrap();
    let before = instance.monotonic();
    let mut marks = instance.marks();
    assert_eq!(marks.begin(6_000), Ok(true));
    assert!(instance.monotonic() - before >= 5_000);
    marks.end().unwrap();
    assert_eq!(instance.world().names.keys().collect::<Vec<_>>(), ["owner.8"]);
}

#[test]
fn without_marks_there_is_reading_and_no_writing() {
    let instance = alone();
    instance.world().read_only = true;
    let mut marks = instance.marks();
    assert_eq!(marks.begin(0), Err(Refusal::ReadOnly));
    assert!(!marks.may(false), "no turn, no access");
    marks.begin_unmarked();
    assert!(marks.may(false) && !marks.may(true));
    marks.end().unwrap();
    assert!(!marks.may(false));
}

#[test]
fn a_full_disk_leaves_no_mark_behind() {
    let instance = alone();
    let mut marks = instance.marks();
    marks.begin(0).unwrap();
    marks.end().unwrap();
    instance.world().full = true;
    assert_eq!(marks.begin(0), Err(Refusal::NoRoom));
    instance.world().full = false;
    assert_eq!(instance.marks().begin(0), Ok(true));
}
