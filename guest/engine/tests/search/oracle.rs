//! Queries against texts of many scripts, checked by a plain look at how the texts were made.

use std::collections::BTreeSet;

use proptest::prelude::*;
use talktree_engine::{AppendOptions, SearchOptions};

use super::common::{everything, ids, message, store};

/// English words with their forms. No form of one is a form of another.
const WORDS: &[&[&str]] = &[
    &["deploy", "deploys", "Deployed", "deploying", "DEPLOYMENT"],
    &["run", "runs", "running"],
    &["study", "studies", "studied", "studying"],
    &["box", "boxes", "boxed"],
    &["note", "notes", "noted"],
    &["not"],
    &["store", "stores", "stored", "storing"],
    &["story", "stories"],
    &["plan", "plans", "planned", "planning"],
    &["plane", "planes"],
    &["café", "CAFE", "cafe\u{301}", "cafés"],
    &["naïve", "naive"],
    &["window", "windows"],
    &["gen"],
    &["v1"],
    &["42"],
    &["Straße", "strasse"],
    &["ёлка", "елка"],
    &["rollback", "rollbacks"],
    &["merge", "merged", "merging"],
    &["cache", "caches", "cached", "caching"],
];

/// Characters of runs without spaces.
const SCRIPTS: &[&str] =
    &["部署窗口决定周五讨论了", "東京タワーに行", "결제오류가발생", "กินข้าวที่บ้าน", "ສະບາຍດີ", "ខ្ញុំស្រលាញ់", "𠀀𠀁𠀂"];

const GAPS: &[&str] = &[" ", "  ", ", ", "\n", " - ", ". ", " 😀 ", "-", "/", "\u{3000}", "、"];

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// What a text is made of: the number of an English word, or a run.
enum Piece {
    Word(usize),
    Run(String),
}

struct Text {
    text: String,
    /// With the forms that were written.
    pieces: Vec<(Piece, String)>,
}

fn text(random: &mut Random) -> Text {
    let mut made = Text { text: String::new(), pieces: Vec::new() };
    for index in 0..1 + random.below(14) {
        let run = random.below(3) == 0;
        let glued = matches!(made.pieces.last(), Some((piece, _)) if matches!(piece, Piece::Run(_)) != run)
            && random.below(4) == 0;
        if index > 0 && !glued {
            made.text.push_str(random.pick(GAPS));
        }
        let (piece, form) = if run {
            let script: Vec<char> = random.pick(SCRIPTS).chars().collect();
            let run: String = (0..1 + random.below(6)).map(|_| script[random.below(script.len())]).collect();
            (Piece::Run(run.clone()), run)
        } else {
            let word = random.below(WORDS.len());
            (Piece::Word(word), random.pick(WORDS[word]).to_owned())
        };
        made.text.push_str(&form);
        made.pieces.push((piece, form));
    }
    made
}

/// A form in plain letters, by a list of those that the words use.
fn plain(form: &str) -> String {
    form.to_lowercase()
        .chars()
        .filter(|char| *char != '\u{301}')
        .map(|char| match char {
            'é' => 'e',
            'ï' => 'i',
            'ё' => 'е',
            char => char,
        })
        .collect::<String>()
        .replace('ß', "ss")
}

fn has_word(text: &Text, word: usize) -> bool {
    text.pieces.iter().any(|(piece, _)| matches!(piece, Piece::Word(other) if *other == word))
}

fn has_run(text: &Text, run: &str) -> bool {
    text.pieces.iter().any(|(piece, _)| matches!(piece, Piece::Run(other) if other.contains(run)))
}

#[test]
fn two_hundred_queries_find_exactly_what_a_plain_look_finds_in_five_thousand_messages() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path());
    let mut random = Random(0x5eed_1234);
    let texts: Vec<Text> = (0..5000).map(|_| text(&mut random)).collect();
    for (session, chunk) in texts.chunks(500).enumerate() {
        let messages: Vec<String> = chunk
            .iter()
            .enumerate()
            .map(|(index, text)| message(&format!("m{}", session * 500 + index), "user", &text.text))
            .collect();
        store.append_messages(&format!("s{}", session % 3), &messages, &AppendOptions::default()).unwrap();
    }
    let (mut queries, mut hits) = (0, 0);
    let mut check = |query: &str, expected: &dyn Fn(&Text) -> bool| {
        let found: BTreeSet<String> = ids(&mut store, query).into_iter().collect();
        let expected: BTreeSet<String> =
            (0..texts.len()).filter(|&index| expected(&texts[index])).map(|index| format!("m{index}")).collect();
        let wrong: Vec<(&String, &str)> = found
            .symmetric_difference(&expected)
            .take(3)
            .map(|id| (id, texts[id[1..].parse::<usize>().unwrap()].text.as_str()))
            .collect();
        assert!(wrong.is_empty(), "{query:?}: {} found, {} expected, {wrong:?}", found.len(), expected.len());
        queries += 1;
        hits += found.len();
    };
    for (word, forms) in WORDS.iter().enumerate() {
        for form in *forms {
            check(form, &|text| has_word(text, word));
        }
    }
    for _ in 0..60 {
        let source = loop {
            let (piece, _) = &texts[random.below(texts.len())].pieces[0];
            if let Piece::Run(run) = piece {
                break run.chars().collect::<Vec<char>>();
            }
        };
        let from = random.below(source.len());
        let run: String = source[from..from + 1 + random.below(source.len() - from)].iter().collect();
        check(&run, &|text| has_run(text, &run));
        let word = random.below(WORDS.len());
        check(&format!("{} {run}", WORDS[word][0]), &|text| has_word(text, word) && has_run(text, &run));
    }
    for _ in 0..30 {
        let word = random.below(WORDS.len());
        let form = plain(random.pick(WORDS[word]));
        let letters: Vec<char> = form.chars().collect();
        let beginning: String = letters[..1 + random.below(letters.len())].iter().collect();
        check(&format!("{beginning}*"), &|text| {
            let is = |piece: &Piece, form: &str| matches!(piece, Piece::Word(_)) && plain(form).starts_with(&beginning);
            text.pieces.iter().any(|(piece, form)| is(piece, form))
        });
    }
    for _ in 0..40 {
        let (first, second) = (random.below(WORDS.len()), random.below(WORDS.len()));
        check(&format!("\"{} {}\"", WORDS[first][0], WORDS[second][0]), &|text| {
            text.pieces.windows(2).any(|pair| {
                matches!((&pair[0].0, &pair[1].0), (Piece::Word(a), Piece::Word(b)) if *a == first && *b == second)
            })
        });
    }
    assert!(queries >= 200 && hits > 20_000, "{queries} queries, {hits} hits");
}

#[test]
fn any_text_is_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let store = std::cell::RefCell::new(store(directory.path()));
    super::common::say(&mut store.borrow_mut(), "", "m", "deployed 部署 NOT \u{0} \" * ( v1.2 \u{fffd} e\u{301} 𠀀");
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "\"", "*", " ", "(", ")", ":", "^", "-", "+", "NEAR(", "NOT ", "AND ", "OR ", "text:", "{text}", "\0", "'",
            ";", "\\", "部", "署*", "deploy", "\u{301}", "\u{200d}", "😀", "\u{3099}", "\u{e33}", "\u{1160}", "x",
        ])
        .prop_map(str::to_owned),
    ];
    let query = prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat());
    proptest!(ProptestConfig::with_cases(3000), |(query in query, all in any::<bool>())| {
        let options = if all { everything() } else { SearchOptions::default() };
        let found = store.borrow_mut().search(&query, &options);
        prop_assert!(found.is_ok(), "{query:?}: {found:?}");
    });
}

#[test]
fn any_text_finds_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = std::cell::RefCell::new(store(directory.path()));
    let count = std::cell::Cell::new(0);
    proptest!(ProptestConfig::with_cases(300), |(text in "[\\PC\u{0}\u{301}\u{3099}]{1,60}")| {
        let id = format!("m{}", count.get());
        count.set(count.get() + 1);
        let mut store = store.borrow_mut();
        super::common::say(&mut store, "", &id, &text);
        let found = ids(&mut store, &text);
        let words = !ids(&mut store, &text.replace('"', " ")).is_empty();
        prop_assert!(!words || found.contains(&id), "{text:?}");
    });
}
