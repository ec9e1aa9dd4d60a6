//! Sums along a long chain stay right through updates, deletes and forks: more of them than one block of corrections.

use talktree_engine::{DeleteMode, MediaMode, RecentOptions, Source};

use super::common::{append, append_many, append_under, message, store};

#[test]
fn totals_of_a_long_path_are_right_after_any_change() {
    const COUNT: usize = 9_000;
    let directory = tempfile::tempdir().unwrap();
    let mut opened = store(directory.path());
    append_many(&mut opened, 0, COUNT);
    // Lengths of the texts on the path, by number; gone where deleted.
    let mut lengths: Vec<Option<usize>> =
        (0..COUNT).map(|number| Some(message(&format!("m{number}"), "hello").len())).collect();
    let mut random = 42_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let total = |store: &mut talktree_engine::Store<_>, leaf_id: Option<String>| {
        let options = RecentOptions { max_bytes: 0, leaf_id, overlays: true, media: MediaMode::Inline };
        store.get_recent_history("", &options).unwrap().total_content_bytes as usize
    };
    for round in 0..600 {
        let number = next(lengths.len());
        let id = format!("m{number}");
        match next(4) {
            0 => {
                let gone = opened.delete_messages("", &[id], DeleteMode::Splice, false).unwrap().deleted;
                assert_eq!(gone, u32::from(lengths[number].take().is_some()));
            }
            1 => {
                let text = message(&id, &"x".repeat(next(300)));
                if opened.update_message("", &text, Source::Server).unwrap().is_some() {
                    lengths[number] = Some(text.len());
                }
            }
            2 => {
                let id = format!("m{}", lengths.len());
                append(&mut opened, "", &id);
                lengths.push(Some(message(&id, "hello").len()));
            }
            _ => {
                if lengths[number].is_some() {
                    append_under(&mut opened, &format!("f{round}"), &id).unwrap();
                    let fork = message(&format!("f{round}"), "hello").len();
                    let above: usize = lengths[..=number].iter().flatten().sum();
                    assert_eq!(total(&mut opened, Some(format!("f{round}"))), above + fork);
                    // The main path goes on.
                    let last = lengths.iter().rposition(Option::is_some).unwrap();
                    opened.set_leaf("", Some(&format!("m{last}"))).unwrap();
                }
            }
        }
        if let Some(leaf) = (0..=next(lengths.len())).rev().find(|&number| lengths[number].is_some()) {
            let expected: usize = lengths[..=leaf].iter().flatten().sum();
            assert_eq!(total(&mut opened, Some(format!("m{leaf}"))), expected, "round {round}, to m{leaf}");
        }
    }
    assert!(opened.check().unwrap().sound);
}
