//! The engine by itself.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use talktree_engine::Durability;
use talktree_tests::subject::Native;

use super::driver::run;
use super::operation::steps;

#[test]
fn the_engine_answers_as_the_model_does() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    TestRunner::new(config)
        .run(&steps(100), |steps| {
            run(Native::new(Durability::Normal).map_err(|error| TestCaseError::fail(error.to_string()))?, &steps);
            Ok(())
        })
        .unwrap();
}
