//! The component in its sandbox.

use talktree_tests::Component;

use super::driver::compare;

#[test]
fn slow_the_component_answers_as_the_model_does() {
    compare(250, Component::new);
}
