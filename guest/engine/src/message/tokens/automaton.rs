//! The automaton that counts: classes of bytes, states, and what each step costs.
//!
//! The weights are thousandths of a token. They were fitted to counts of `o200k_base` on texts of each script; whoever
//! changes one changes estimates and raises [`ESTIMATOR_VERSION`](super::ESTIMATOR_VERSION).

const CLASSES: usize = 32;

const LOWER: u8 = 0;
const UPPER: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 3;
const NEWLINE: u8 = 4;
const PUNCT: u8 = 5;
const APOSTROPHE: u8 = 6;
const CONTROL: u8 = 7;
const LATIN: u8 = 8;
const CYRILLIC: u8 = 9;
const ALPHABET: u8 = 10;
const ARABIC: u8 = 11;
const THAI: u8 = 12;
const INDIC: u8 = 13;
const HAN: u8 = 14;
const KANA: u8 = 15;
const HANGUL: u8 = 16;
const CJK_PUNCT: u8 = 17;
const EMOJI: u8 = 18;
const JOINER: u8 = 19;
const DASHES: u8 = 20;
const SYMBOL: u8 = 21;
const RARE: u8 = 22;
const LATIN_EXTENDED: u8 = 23;
/// Bytes of a character after its first: they change nothing.
const CONTINUED: u8 = 24;
/// The backslash of an escape.
const BACKSLASH: u8 = 25;
const USED: usize = 26;

/// Classes from here on are numbers of tables for the second byte.
const BY_SECOND: u8 = 0x80;

/// How many states a class has: how long a run of it has been, up to so much.
const RUNS: [u8; USED] = [16, 4, 3, 2, 2, 4, 1, 1, 0, 12, 12, 12, 8, 8, 2, 2, 4, 2, 1, 1, 1, 2, 1, 0, 0, 1];

pub(super) const START: u16 = 0;

/// The number of a state; 0 is the start.
const fn state(class: u8, run: u8) -> u32 {
    let mut number = 1;
    let mut below = 0;
    while below < class {
        number += RUNS[below as usize] as u32;
        below += 1;
    }
    let run = if run > RUNS[class as usize] { RUNS[class as usize] } else { run };
    number + run as u32 - 1
}

const STATES: usize = 128;

const PLACES: usize = STATES * CLASSES;

/// Where the step from a state to a class stands in the tables.
pub(super) fn place(state: u16, class: u8) -> usize {
    usize::from(state | u16::from(class)) % PLACES
}

/// The state that follows, as the beginning of its row.
pub(super) static NEXT: [u16; PLACES] = tables().0;

/// What the step costs.
pub(super) static COST: [u16; PLACES] = tables().1;

const fn tables() -> ([u16; PLACES], [u16; PLACES]) {
    let (mut next, mut cost) = ([0; PLACES], [0; PLACES]);
    let mut class = 0;
    while class < USED as u8 {
        let mut from = 0;
        while from < USED as u8 {
            let mut run = 1;
            while run <= RUNS[from as usize] {
                let place = state(from, run) as usize * CLASSES + class as usize;
                (next[place], cost[place]) =
                    if class == CONTINUED { ((place - class as usize) as u16, 0) } else { entry(from, run, class) };
                run += 1;
            }
            from += 1;
        }
        if class != CONTINUED {
            (next[class as usize], cost[class as usize]) = entry(CONTROL, 0, class);
        }
        class += 1;
    }
    (next, cost)
}

/// The step to a character of class `to` after a run of `from`: the next state and what it costs.
const fn entry(from: u8, run: u8, to: u8) -> (u16, u16) {
    let same = from == to;
    let (next, cost) = match to {
        LOWER | LATIN | LATIN_EXTENDED => {
            if from == BACKSLASH {
                // A line break or a tab; what it costs was counted with the backslash.
                return (state(NEWLINE, 1) as u16 * CLASSES as u16, 0);
            }
            let extra = match to {
                LATIN => 450,
                LATIN_EXTENDED => 900,
                _ => 0,
            };
            match from {
                // A single mark before a word is often one token with it: `.then`, `_id`, `(x`.
                PUNCT if run == 1 => (state(LOWER, 1), 800 + extra),
                LOWER => (state(LOWER, run + 1), letter(run + 1) + extra),
                UPPER => (state(LOWER, run + 1), extra),
                APOSTROPHE => (state(LOWER, 1), 300 + extra),
                _ => (state(LOWER, 1), 1000 + extra),
            }
        }
        UPPER => match from {
            UPPER => (state(UPPER, run + 1), 450),
            PUNCT if run == 1 => (state(UPPER, 1), 850),
            _ => (state(UPPER, 1), 1000),
        },
        DIGIT => match from {
            DIGIT if run < 3 => (state(DIGIT, run + 1), 0),
            SPACE => (state(DIGIT, 1), 2000),
            _ => (state(DIGIT, 1), 1000),
        },
        SPACE => match from {
            SPACE => (state(SPACE, 2), if run == 1 { 1000 } else { 15 }),
            _ => (state(SPACE, 1), 0),
        },
        NEWLINE => match from {
            NEWLINE => (state(NEWLINE, 2), if run == 1 { 100 } else { 50 }),
            PUNCT | CJK_PUNCT => (state(NEWLINE, 1), 150),
            _ => (state(NEWLINE, 1), 1000),
        },
        PUNCT => match from {
            BACKSLASH => (state(PUNCT, 1), 0),
            PUNCT => (state(PUNCT, run + 1), if run == 1 { 300 } else { 250 }),
            _ => (state(PUNCT, 1), 850),
        },
        BACKSLASH => match from {
            BACKSLASH => (state(PUNCT, 1), 0),
            PUNCT => (state(BACKSLASH, 1), 200),
            NEWLINE => (state(BACKSLASH, 1), 100),
            _ => (state(BACKSLASH, 1), 900),
        },
        APOSTROPHE => match from {
            LOWER => (state(APOSTROPHE, 1), 300),
            _ => (state(PUNCT, 1), 850),
        },
        CYRILLIC => {
            (state(CYRILLIC, if same { run + 1 } else { 1 }), if same { if run < 4 { 80 } else { 200 } } else { 1000 })
        }
        ALPHABET => (state(ALPHABET, if same { run + 1 } else { 1 }), if same { 350 } else { 1000 }),
        ARABIC => (state(ARABIC, if same { run + 1 } else { 1 }), if same { 240 } else { 1000 }),
        THAI => (state(THAI, if same { run + 1 } else { 1 }), if same { 420 } else { 1000 }),
        INDIC => (state(INDIC, if same { run + 1 } else { 1 }), if same { 170 } else { 1000 }),
        HAN => (state(HAN, if same { run + 1 } else { 1 }), if same { 720 } else { 1000 }),
        KANA => (state(KANA, if same { run + 1 } else { 1 }), if same { 650 } else { 900 }),
        HANGUL => (state(HANGUL, if same { run + 1 } else { 1 }), if same { 500 } else { 1000 }),
        CJK_PUNCT => (state(CJK_PUNCT, if same { run + 1 } else { 1 }), 900),
        EMOJI => (state(EMOJI, 1), 1950),
        JOINER => (state(JOINER, 1), 900),
        DASHES => (state(DASHES, 1), 1000),
        SYMBOL => (state(SYMBOL, if same { run + 1 } else { 1 }), if same { 700 } else { 1300 }),
        RARE => (state(RARE, 1), 2500),
        _ => (state(CONTROL, 1), 1000),
    };
    (next as u16 * CLASSES as u16, cost as u16)
}

/// What the letter of that number adds to a word.
const fn letter(number: u8) -> u32 {
    match number {
        0..=5 => 0,
        6..=8 => 60,
        9..=12 => 120,
        _ => 250,
    }
}

/// The class of each byte; of first bytes of characters the class of the character, or a table for the second byte.
pub(super) type Classes = [u8; 256];

/// How the bytes of a text are meant that stands for itself.
pub(super) static PLAIN: Classes = classes(PUNCT);

/// How the bytes of a JSON string are meant as it is written.
pub(super) static WRITTEN: Classes = classes(BACKSLASH);

/// The class of the byte at a place.
pub(super) fn class_at(bytes: &[u8], at: usize, classes: &Classes) -> u8 {
    let class = bytes.get(at).map_or(CONTINUED, |&byte| classes[usize::from(byte)]);
    if class < BY_SECOND {
        return class;
    }
    let second = bytes.get(at + 1).copied().unwrap_or_default();
    SECOND[usize::from(class - BY_SECOND) % SECOND.len()][usize::from(second & 0x3F)]
}

const fn classes(backslash: u8) -> Classes {
    let mut classes = [PUNCT; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' => SPACE,
            b'\n' | b'\r' => NEWLINE,
            b'\'' => APOSTROPHE,
            b'\\' => backslash,
            0..=0x1F | 0x7F => CONTROL,
            0x80..=0xBF => CONTINUED,
            0xC3 | 0xCC => LATIN,
            0xC5 | 0xC7..=0xC8 => LATIN_EXTENDED,
            0xC9..=0xCB => RARE,
            // Greek, Armenian, Hebrew.
            0xCD..=0xCF | 0xD5..=0xD7 => ALPHABET,
            0xD0..=0xD4 => CYRILLIC,
            0xD8..=0xDF => ARABIC,
            0xE4..=0xE9 => HAN,
            0xEB..=0xED => HANGUL,
            0xC2 => BY_SECOND,
            0xC4 => BY_SECOND + 1,
            0xC6 => BY_SECOND + 2,
            0xE0 => BY_SECOND + 3,
            0xE1 => BY_SECOND + 4,
            0xE2 => BY_SECOND + 5,
            0xE3 => BY_SECOND + 6,
            0xEA => BY_SECOND + 7,
            0xEF => BY_SECOND + 8,
            0xF0 => BY_SECOND + 9,
            0xEE | 0xF1..=0xFF => RARE,
            _ => PUNCT,
        };
        byte += 1;
    }
    classes
}

/// The classes of characters whose first byte does not tell, by the low six bits of the second.
static SECOND: [[u8; 64]; 10] = [
    // U+0080: controls, the space that does not break, marks of Latin-1.
    second([(0x80, CONTROL), (0xA0, SPACE), (0xA1, DASHES), (0xC0, 0), (0xC0, 0), (0xC0, 0)]),
    // U+0100: Latin with marks; the đ of Vietnamese, which has such letters in nearly every word, and the vocabulary
    // has the words.
    second([(0x80, LATIN_EXTENDED), (0x90, LOWER), (0x92, LATIN_EXTENDED), (0xC0, 0), (0xC0, 0), (0xC0, 0)]),
    // U+0180: the same with ơ and ư.
    second([
        (0x80, LATIN_EXTENDED),
        (0xA0, LOWER),
        (0xA2, LATIN_EXTENDED),
        (0xAF, LOWER),
        (0xB1, LATIN_EXTENDED),
        (0xC0, 0),
    ]),
    // U+0800: Arabic, the scripts of India, Thai and Lao, Tibetan.
    second([(0x80, ARABIC), (0xA4, INDIC), (0xB8, THAI), (0xBC, RARE), (0xC0, 0), (0xC0, 0)]),
    // U+1000: Burmese, Georgian, Hangul by letters, rare ones, Vietnamese, Greek.
    second([(0x80, THAI), (0x82, ALPHABET), (0x84, HANGUL), (0x88, RARE), (0xB8, LOWER), (0xBC, ALPHABET)]),
    // U+2000: punctuation, symbols, emoji, symbols, radicals of Han.
    second([(0x80, DASHES), (0x82, SYMBOL), (0x98, EMOJI), (0x9F, SYMBOL), (0xB0, RARE), (0xBA, HAN)]),
    // U+3000: punctuation, Kana, Hangul by letters, symbols, Han.
    second([(0x80, CJK_PUNCT), (0x81, KANA), (0x84, HANGUL), (0x87, KANA), (0x88, SYMBOL), (0x90, HAN)]),
    // U+A000: rare ones, Hangul.
    second([(0x80, RARE), (0xB0, HANGUL), (0xC0, 0), (0xC0, 0), (0xC0, 0), (0xC0, 0)]),
    // U+F000: private use, Han, Arabic, variation selectors, Arabic, wide forms and narrow Kana.
    second([(0x80, RARE), (0xA4, HAN), (0xAC, ARABIC), (0xB8, JOINER), (0xB9, ARABIC), (0xBC, CJK_PUNCT)]),
    // U+10000: rare ones, emoji, Han.
    second([(0x80, RARE), (0x9F, EMOJI), (0xA0, HAN), (0xC0, 0), (0xC0, 0), (0xC0, 0)]),
];

/// A table from the second bytes with which stretches begin.
const fn second(stretches: [(u8, u8); 6]) -> [u8; 64] {
    let mut table = [RARE; 64];
    let mut stretch = 0;
    while stretch < stretches.len() {
        let (from, class) = stretches[stretch];
        let mut byte = from;
        while byte < 0xC0 {
            table[(byte & 0x3F) as usize] = class;
            byte += 1;
        }
        stretch += 1;
    }
    table
}
