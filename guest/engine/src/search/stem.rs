//! English endings: plurals, `-ed`, `-ing` and `-ment`.
//!
//! The first steps of Porter's algorithm, which undo what grammar adds, without most of the later ones, which throw words
//! of different meaning together. Some things differ: `-ies` and `-ied` become `-y` instead of every `-y` an `-i`, and
//! plurals in `-us`, `-is` and `-as` are told from words that end so by a short list.

/// Words that the rules would take apart, or would not bring together, and their stems.
const IRREGULAR: &[(&str, &str)] = &[
    ("agreed", "agre"),
    ("alias", "alias"),
    ("anything", "anything"),
    ("apis", "api"),
    ("atlas", "atlas"),
    ("bias", "bias"),
    ("buses", "bus"),
    ("canvas", "canvas"),
    ("clis", "cli"),
    ("cpus", "cpu"),
    ("disagreed", "disagre"),
    ("does", "do"),
    ("during", "during"),
    ("dying", "die"),
    ("embed", "embed"),
    ("embeds", "embed"),
    ("evening", "evening"),
    ("evenings", "evening"),
    ("everything", "everything"),
    ("freed", "free"),
    ("gases", "gas"),
    ("goes", "go"),
    ("gpus", "gpu"),
    ("guaranteed", "guarante"),
    ("guis", "gui"),
    ("lying", "lie"),
    ("menus", "menu"),
    ("morning", "morning"),
    ("mornings", "morning"),
    ("nothing", "nothing"),
    ("npus", "npu"),
    ("queued", "queue"),
    ("queueing", "queue"),
    ("queuing", "queue"),
    ("quizzes", "quiz"),
    ("series", "series"),
    ("skis", "ski"),
    ("something", "something"),
    ("species", "species"),
    ("taxis", "taxi"),
    ("tpus", "tpu"),
    ("tying", "tie"),
    ("uris", "uri"),
    ("whereas", "whereas"),
    ("wikis", "wiki"),
];

/// What the rules take off the end of a word, beside an `e` or a doubled consonant before it.
const ENDINGS: &[&str] = &["s", "e", "es", "ed", "eds", "ing", "ings", "ie", "ies", "ied", "ieds", "ment", "ments"];

/// The longest word that is looked at.
const MAX_BYTES: usize = 40;

/// Brings a folded word to its stem. Only words of English letters have one; the others stay.
pub(crate) fn stem(word: &mut String) {
    if word.len() < 3 || !has_endings(word) {
        return;
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word.as_str(), |(irregular, _)| irregular) {
        if let Some((_, stem)) = IRREGULAR.get(at) {
            word.clear();
            word.push_str(stem);
        }
        return;
    }
    plural(word);
    past_or_present(word);
    if word.strip_suffix("ment").is_some_and(|rest| measure(rest.as_bytes()) > 1) {
        word.truncate(word.len() - 4);
    }
    if word.len() > 3
        && let Some(rest) = word.strip_suffix('e')
        && !needs_e(rest.as_bytes())
    {
        word.pop();
    }
    if word.ends_with("ll") && measure(word.as_bytes()) > 1 {
        word.pop();
    }
}

/// Stems that words may have that begin with `beginning`, other than those that begin so themselves. There may be some
/// among them that no such word has.
pub(crate) fn shorter_stems(beginning: &str) -> Vec<String> {
    if !has_endings(beginning) {
        return Vec::new();
    }
    let mut stems: Vec<String> = IRREGULAR
        .iter()
        .filter(|(word, stem)| word.starts_with(beginning) && !stem.starts_with(beginning))
        .map(|(_, stem)| (*stem).to_owned())
        .collect();
    let longest = ENDINGS.iter().map(|ending| ending.len()).max().unwrap_or(0) + 1;
    for at in beginning.len().saturating_sub(longest).max(1)..beginning.len() {
        let (kept, rest) = beginning.split_at(at);
        let is_ending = |rest: &str| ENDINGS.iter().any(|ending| ending.starts_with(rest));
        let lost = rest.chars().next().filter(|&first| first == 'e' || kept.ends_with(first));
        let behind = lost.and_then(|first| rest.strip_prefix(first));
        if !is_ending(rest) && !behind.is_some_and(is_ending) {
            continue;
        }
        stems.push(kept.to_owned());
        if rest.starts_with(['i', 'e', 'm']) {
            stems.push(format!("{kept}e"));
        }
        if rest.starts_with('i') {
            stems.push(format!("{kept}y"));
        }
    }
    stems.retain(|stem| !stem.starts_with(beginning));
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// Whether a word is made of letters that English endings are for.
pub(crate) fn has_endings(word: &str) -> bool {
    word.len() <= MAX_BYTES && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn plural(word: &mut String) {
    let bytes = word.as_bytes();
    if word.ends_with("ies") {
        if word.len() > 4 {
            end_in_y(word, 3);
        } else {
            word.pop();
        }
    } else if word.ends_with("ie") && word.len() > 4 {
        end_in_y(word, 2);
    } else if let [.., before, b's'] = bytes
        && !matches!(before, b's' | b'u' | b'i')
        && (bytes.len() > 3 || !is_vowel(bytes, 1) || is_vowel(bytes, 0))
    {
        word.pop();
    }
}

fn past_or_present(word: &mut String) {
    if word.ends_with("ied") {
        if word.len() > 4 {
            end_in_y(word, 3);
        } else {
            word.pop();
        }
        return;
    }
    let Some(rest) = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed").filter(|rest| !rest.ends_with('e')))
    else {
        return;
    };
    let bytes = rest.as_bytes();
    if bytes.len() < 2 || !(0..bytes.len()).any(|at| is_vowel(bytes, at)) {
        return;
    }
    let doubled = bytes.len() > 3 && ends_double(bytes) && !rest.ends_with(['l', 's', 'z']);
    let lost_e = ["at", "bl", "iz"].iter().any(|end| rest.ends_with(end)) && bytes.len() > 2
        || bytes.len() == 2 && is_vowel(bytes, 0) && !is_vowel(bytes, 1)
        || !ends_double(bytes) && measure(bytes) == 1 && ends_short(bytes);
    word.truncate(rest.len());
    if doubled {
        word.pop();
    } else if lost_e {
        word.push('e');
    }
}

fn end_in_y(word: &mut String, ending: usize) {
    word.truncate(word.len() - ending);
    word.push('y');
}

/// Whether a word would be another one without the `e` behind this.
fn needs_e(rest: &[u8]) -> bool {
    match measure(rest) {
        0 => true,
        1 => ends_short(rest),
        _ => false,
    }
}

/// A vowel letter; `y` is one behind a consonant.
fn is_vowel(word: &[u8], at: usize) -> bool {
    let mut at = at;
    let mut turned = false;
    loop {
        match word.get(at) {
            Some(b'a' | b'e' | b'i' | b'o' | b'u') => return !turned,
            Some(b'y') if at > 0 => (at, turned) = (at - 1, !turned),
            _ => return turned,
        }
    }
}

/// How often consonants follow vowels.
fn measure(word: &[u8]) -> usize {
    let mut count = 0;
    let mut vowel = false;
    for at in 0..word.len() {
        // What is_vowel says of a `y`, without looking back each time.
        let now = match word.get(at) {
            Some(b'a' | b'e' | b'i' | b'o' | b'u') => true,
            Some(b'y') => at > 0 && !vowel,
            _ => false,
        };
        count += usize::from(vowel && !now);
        vowel = now;
    }
    count
}

/// Ends in the same consonant twice.
fn ends_double(word: &[u8]) -> bool {
    matches!(word, [.., a, b] if a == b) && !is_vowel(word, word.len() - 1)
}

/// Ends in consonant, vowel, consonant, the last of which is no `w`, `x` or `y`.
fn ends_short(word: &[u8]) -> bool {
    let length = word.len();
    length >= 3
        && !is_vowel(word, length - 3)
        && is_vowel(word, length - 2)
        && !is_vowel(word, length - 1)
        && !matches!(word.last(), Some(b'w' | b'x' | b'y'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    #[test]
    fn the_forms_of_a_word_meet() {
        for forms in [
            "deploy deploys deployed deploying deployment deployments",
            "run runs running",
            "study studies studied studying",
            "box boxes boxed boxing",
            "bus buses",
            "status statuses",
            "alias aliases aliased",
            "make makes making",
            "use uses used using",
            "cache caches cached caching",
            "file files filed filing",
            "fill fills filled filling",
            "note notes noted noting",
            "stop stops stopped stopping",
            "plan plans planned planning",
            "plane planes",
            "control controls controlled controlling",
            "cancel cancels canceled cancelled cancelling",
            "install installs installed installing installment",
            "process processes processed processing",
            "fix fixes fixed fixing",
            "add adds added adding",
            "update updates updated updating",
            "create creates created creating",
            "enable enables enabled enabling",
            "size sizes sized sizing",
            "write writes writing",
            "query queries queried querying",
            "try tries tried trying",
            "die dies died dying",
            "movie movies",
            "cookie cookies",
            "setting settings set",
            "error errors",
            "api apis",
            "id ids",
            "cpu cpus",
            "embed embeds embedded embedding embeddings",
            "merge merges merged merging",
            "parse parses parsed parsing",
            "release releases released releasing",
            "issue issues issued issuing",
            "queue queues queued queuing",
            "agree agrees agreed agreeing",
            "need needs needed needing",
            "see sees seeing",
            "page pages paged paging",
            "string strings",
            "require requires required requirement requirements",
            "quiz quizzes",
            "window windows",
            "key keys",
            "company companies",
            "debug debugs debugged debugging",
            "go goes going",
            "type types typed typing",
            "login logins",
            "close closes closed closing",
            "visit visits visited visiting",
            "edit edits edited editing",
        ] {
            let stems: Vec<String> = forms.split(' ').map(stemmed).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms}: {stems:?}");
        }
    }

    #[test]
    fn different_words_stay_apart() {
        for words in [
            "note not",
            "file fill",
            "plan plane",
            "hope hop",
            "store story",
            "party part",
            "one on",
            "here her",
            "care car",
            "many man",
            "any an",
            "these the",
            "his hi",
            "string str",
            "thing th",
            "need ne",
            "done don",
            "false fall",
            "evening even",
            "pipe pip",
            "this thi",
            "was wa",
            "implement imple",
            "document docu",
            "class clas",
        ] {
            let stems: Vec<String> = words.split(' ').map(stemmed).collect();
            assert!(stems[0] != stems[1], "{words}: {stems:?}");
        }
    }

    #[test]
    fn irregular_words_are_in_order() {
        assert!(IRREGULAR.is_sorted());
    }

    #[test]
    fn a_word_is_found_by_each_of_its_beginnings() {
        let check = |word: &str| {
            let stem = stemmed(word);
            for end in 1..=word.len() {
                let beginning = &word[..end];
                assert!(
                    stem.starts_with(beginning) || shorter_stems(beginning).contains(&stem),
                    "{word} is {stem}, and is not found by {beginning}"
                );
            }
        };
        IRREGULAR.iter().for_each(|(word, _)| check(word));
        let endings = [
            "", "s", "e", "es", "ed", "ing", "ings", "y", "ies", "ied", "ie", "ment", "ments", "ement", "led", "ling",
            "ses", "zing", "eds", "sses", "ll", "lls", "lled", "llment", "eed", "eing",
        ];
        // Every word of up to four of these letters, with every ending.
        let letters = ['a', 'e', 'i', 'y', 's', 'l', 't', 'b'];
        let mut words = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> =
                words.iter().flat_map(|word| letters.iter().map(move |letter| format!("{word}{letter}"))).collect();
            words.extend(longer);
            words.sort_unstable();
            words.dedup();
        }
        for word in words.iter().filter(|word| !word.is_empty()) {
            endings.iter().for_each(|ending| check(&format!("{word}{ending}")));
        }
    }
}
