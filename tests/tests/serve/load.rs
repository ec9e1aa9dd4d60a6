//! Load in short forms; `cargo xtask load` has the long ones.
#![cfg(unix)]

use std::time::Duration;

use talktree_tests::load::{mixed, neighbours, new_seed, turns};

#[test]
fn every_acknowledged_write_is_there_once_after_sandboxes_and_the_server_were_killed() {
    let root = tempfile::tempdir().unwrap();
    let seed = new_seed();
    println!("seed {seed}");
    let options = mixed::Options { clients: 12, tenants: 20, calls: 4_000, ends: 4, live: 8, time_limit_ms: 150, seed };
    let report = mixed::run(&root.path().join("data"), options).unwrap();
    println!("{report}");
    assert!(report.had_all_kinds_of_ends(), "{report}");
}

#[test]
fn alone_what_a_process_holds_does_not_grow_with_the_tenants_it_has_seen() {
    let root = tempfile::tempdir().unwrap();
    let options = turns::Options { tenants: 240, live: 24 };
    let report = turns::run(&root.path().join("data"), options).unwrap();
    println!("{report}");
}

#[test]
fn alone_neighbours_of_a_tenant_at_its_limits_are_hardly_slower() {
    let root = tempfile::tempdir().unwrap();
    let options = neighbours::Options { rounds: 4, window: Duration::from_millis(500) };
    let felt = neighbours::run(&root.path().join("data"), options).unwrap();
    for felt in &felt {
        println!("{felt}");
    }
    assert!(felt.iter().all(neighbours::Felt::is_allowed), "{felt:#?}");
}
