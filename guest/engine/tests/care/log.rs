//! The log stays small while a store is written steadily.

use talktree_engine::{Directory, Durability, FILE_NAME, Options, Store};

use super::common::append;

/// The log is written back at 4 MiB, and cut to 8 MiB where one transaction made it larger.
const LARGEST: u64 = 8 << 20;

#[test]
fn the_log_stays_small_under_steady_writing() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { durability: Durability::Normal, ..Options::default() };
    let mut store = Store::new(Directory::new(directory.path()), options);
    let log = directory.path().join(format!("{FILE_NAME}-wal"));
    let mut largest = 0;
    for start in (0..20_000).step_by(100) {
        append(&mut store, start..start + 100, "It rains on the roof of the house, as it did yesterday.");
        largest = largest.max(std::fs::metadata(&log).unwrap().len());
    }
    assert!(largest > 1 << 20, "it was not written to, {largest} bytes");
    assert!(largest < LARGEST, "{largest} bytes");
    // One large transaction does not leave a large log behind.
    append(&mut store, 20_000..20_001, &"x".repeat(20 << 20));
    append(&mut store, 20_001..20_002, "after it");
    let size = std::fs::metadata(&log).unwrap().len();
    assert!(size <= LARGEST, "{size} bytes");
}
