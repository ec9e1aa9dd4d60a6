//! The engine by itself.

use talktree_engine::Durability;
use talktree_tests::subject::Native;

use super::driver::compare;

#[test]
fn slow_the_engine_answers_as_the_model_does() {
    compare(400, || Native::new(Durability::Normal));
}
