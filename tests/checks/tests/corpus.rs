//! Every input that is kept, through its check; and for a moment inputs that are made from them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talktree_checks::CHECKS;
use talktree_checks::mutate::Mutator;

/// How long made-up inputs are tried, in seconds for each target; by default 3.
const SECONDS: &str = "TALKTREE_FUZZ_SECONDS";

/// Which ones: another number makes others. By default 1.
const SEED: &str = "TALKTREE_FUZZ_SEED";

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn kept(target: &str) {
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).unwrap();
    for (path, input) in corpus(target) {
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            panic!("{target} does not keep its promises with {}", path.display());
        }
    }
}

/// Tries inputs for some seconds. The same ones come in the same order, as many as there is time for.
fn made_up(target: &str) {
    let number = |name: &str, or: u64| std::env::var(name).ok().map_or(or, |text| text.parse().unwrap());
    let (seconds, seed) = (number(SECONDS, 3), number(SEED, 1));
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).unwrap();
    let corpus: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, input)| input).collect();
    let mut mutator = Mutator::new(seed);
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < Duration::from_secs(seconds) {
        let input = mutator.next(&corpus);
        count += 1;
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{seed}-{count}"));
            std::fs::write(&file, &input).unwrap();
            panic!("{target} does not keep its promises with {}: input {count} of seed {seed}", file.display());
        }
    }
    println!("{target}: {count} inputs in {seconds} s");
}

macro_rules! targets {
    ($($target:ident),*) => {
        mod kept {
            $(
                #[test]
                fn $target() {
                    super::kept(stringify!($target));
                }
            )*
        }
        mod made_up {
            $(
                #[test]
                #[ignore = "it takes its seconds whatever happens: a stage of its own of `cargo xtask test`"]
                fn $target() {
                    super::made_up(stringify!($target));
                }
            )*
        }
        #[test]
        fn every_check_is_run_and_has_a_target_for_libfuzzer() {
            assert_eq!(CHECKS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [$(stringify!($target)),*]);
            let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
            let targets = std::fs::read_dir(fuzz.join("targets")).unwrap().count();
            assert_eq!((targets, manifest.matches("[[bin]]").count()), (CHECKS.len(), CHECKS.len()));
            for (name, _) in CHECKS {
                let source = std::fs::read_to_string(fuzz.join("targets").join(name).with_extension("rs")).unwrap();
                assert!(source.contains(&format!("talktree_checks::{name}(data)")), "{name}");
                assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
            }
        }
    };
}

targets!(message, query, cursors, lines, database, importers, rpc, tokens);
