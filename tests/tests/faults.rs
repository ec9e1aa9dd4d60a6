//! Short forms of what `cargo xtask proof` does at full length.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::time::Duration;

use talktree::Durability;
use talktree_tests::faults::{
    Amount, Reference, kills, new_seed, power,
    requests::{self, Wrong},
    together,
};

/// The same lives in every run: new ones are for `cargo xtask proof`.
fn life(seed: u64, steps: usize) -> Reference {
    Reference::new(seed, steps).unwrap()
}

#[test]
fn slow_a_life_in_which_nothing_goes_wrong_goes_well() {
    for seed in 10..18 {
        life(seed, 60);
    }
}

#[test]
fn slow_a_loss_of_power_at_any_moment_loses_nothing_acknowledged_and_leaves_nothing_by_half() {
    let tried = power::run(&life(1, 40), Durability::Full, Durability::Full, Amount { one_in: 15 }).unwrap();
    println!("{tried}");
    assert!(tried.images > 20, "{tried}");
}

#[test]
fn slow_a_loss_of_power_with_durability_normal_loses_the_last_calls_at_most() {
    let tried = power::run(&life(2, 40), Durability::Normal, Durability::Normal, Amount { one_in: 8 }).unwrap();
    println!("{tried}");
    assert!(tried.images > 20, "{tried}");
}

#[test]
fn what_durability_normal_does_not_promise_is_found_missing() {
    let error = power::run(&life(3, 12), Durability::Normal, Durability::Full, Amount { one_in: 1 }).unwrap_err();
    assert!(format!("{error:#}").contains("in the state of no number of steps"), "{error:#}");
}

#[test]
fn slow_whatever_the_disk_does_at_any_request_is_typed_and_costs_nothing_acknowledged() {
    let reference = life(4, 25);
    for wrong in Wrong::OF_DISK {
        let tried = requests::run(&reference, Durability::Normal, wrong, Amount { one_in: 6 }).unwrap();
        println!("{wrong:?}: {tried}");
        assert!(tried.lives > 0, "{tried}");
    }
}

#[test]
fn slow_memory_that_is_not_given_costs_nothing_acknowledged() {
    let tried = requests::run(&life(5, 30), Durability::Normal, Wrong::Memory, Amount { one_in: 8 }).unwrap();
    println!("{tried}");
    assert!(tried.lives > 0 && tried.failures > 0, "{tried}");
}

#[test]
fn slow_a_process_that_is_killed_at_any_moment_loses_nothing_acknowledged() {
    let reference = life(6, 60);
    for durability in [Durability::Full, Durability::Normal] {
        println!("{}", kills::run(&reference, durability, 12).unwrap());
    }
}

#[test]
fn slow_instances_in_several_processes_and_the_program_lose_nothing_of_one_another() {
    let options = together::Options { seed: new_seed(), processes: 2, time: Duration::from_secs(8) };
    println!("seed {}", options.seed);
    println!("{}", together::run(options).unwrap());
}
