//! Runs one input through a check: for a look at what a fuzzer has found.
use talktree_checks::CHECKS;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(target), Some(file)) = (arguments.next(), arguments.next()) else { panic!("one TARGET FILE") };
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).expect("no such target");
    check(&std::fs::read(file).expect("the file can be read"));
}
