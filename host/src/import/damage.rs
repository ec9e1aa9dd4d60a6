//! The transcripts of `tests/transcripts`, damaged anywhere: an import ends, and what it reports adds up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, sync::LazyLock};

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{Format, Input, Memory, Options, Report, run};

/// Every transcript, with its format.
static TRANSCRIPTS: LazyLock<Vec<(Format, Vec<u8>)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    let mut found = Vec::new();
    // The store itself takes Talktree's own.
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Talktree) {
        for case in fs::read_dir(root.join(format.name())).unwrap() {
            let files = fs::read_dir(case.unwrap().path()).unwrap().map(|file| file.unwrap().path());
            let inputs = files.filter(|file| !file.ends_with("expected.json"));
            found.extend(inputs.map(|input| (format, fs::read(input).unwrap())));
        }
    }
    found
});

fn import(format: Format, bytes: &[u8], store: &mut Memory) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let options = Options { format: Some(format), now: Some(1), ..Options::default() };
    runtime.block_on(run(Input::bytes("", bytes).unwrap(), store, options)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_import_survives_damage_anywhere(
        of in any::<Index>(),
        cuts in vec((any::<Index>(), 1..200usize, 0..3u8), 1..5),
    ) {
        let (format, mut bytes) = of.get(&TRANSCRIPTS).clone();
        for (at, length, kind) in cuts {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + length);
            match kind {
                0 => bytes[at..end].fill(0),
                1 => bytes.drain(at..end).for_each(drop),
                _ => bytes.truncate(at),
            }
        }
        let mut store = Memory::default();
        let first = import(format, &bytes, &mut store);
        let again = import(format, &bytes, &mut store);
        prop_assert_eq!((again.imported(), again.skipped()), (0, first.imported() + first.skipped()));
        prop_assert_eq!(again.failures(), first.failures());
    }
}
