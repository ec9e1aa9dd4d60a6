//! How many tokens a text costs, without a tokenizer.
//!
//! The estimate follows how `o200k_base` cuts text: words with the space before them, numbers in threes, punctuation,
//! line breaks; and adds what its vocabulary makes of the pieces, by script. It is a small automaton: for each byte (for
//! each character beyond ASCII) one look into a table gives the next state and what the step costs. Nothing branches on
//! the text, so it runs at the speed of memory reads, and it is the same on every machine.
//!
//! Images and files cost what providers charge for them, not what their bytes would cost as text.

use super::json::Raw;

/// Grows when the same text may be given another estimate.
pub const ESTIMATOR_VERSION: u32 = 1;

/// What an image costs.
pub const IMAGE_TOKENS: u32 = 765;

/// Costs are counted in thousandths of a token.
const MILLI: u64 = 1000;

/// Adds up the tokens of texts.
#[derive(Debug, Clone)]
pub struct Estimator {
    milli: u64,
    state: u32,
}

impl Default for Estimator {
    fn default() -> Self {
        Self::new()
    }
}

/// The tokens of a plain text.
pub fn estimate(text: &str) -> u32 {
    let mut estimator = Estimator::new();
    estimator.plain(text);
    estimator.tokens()
}

impl Estimator {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { milli: 0, state: START }
    }

    /// The sum, rounded up; `u32::MAX` where it is larger.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.milli.div_ceil(MILLI)).unwrap_or(u32::MAX)
    }

    /// Adds a number of tokens that is known.
    pub fn add(&mut self, tokens: u32) {
        self.milli += u64::from(tokens) * MILLI;
    }

    /// A text that stands for itself.
    pub fn plain(&mut self, text: &str) {
        self.state = START;
        self.run(text);
    }

    /// What a string of JSON says.
    pub fn text(&mut self, raw: &Raw<'_>) {
        self.state = START;
        self.run_raw(raw, 0);
    }

    /// A string inside a JSON value, which a model sees with its quotes and escapes.
    pub fn string(&mut self, raw: &Raw<'_>) {
        self.milli += STRING_MILLI;
        self.state = QUOTED;
        self.run_raw(raw, ESCAPE_MILLI);
    }

    /// A key inside a JSON value.
    pub fn key(&mut self, raw: &Raw<'_>) {
        self.milli += KEY_MILLI;
        self.state = QUOTED;
        self.run_raw(raw, ESCAPE_MILLI);
    }

    /// A number inside a JSON value.
    pub fn number(&mut self, number: &str) {
        self.milli += SCALAR_MILLI;
        self.state = QUOTED;
        self.run(number);
    }

    /// `true`, `false` or `null` inside a JSON value.
    pub fn word(&mut self) {
        self.milli += SCALAR_MILLI + MILLI;
    }

    /// The start of an object or an array.
    pub fn open(&mut self) {
        self.milli += OPEN_MILLI;
    }

    /// The end of an object or an array.
    pub fn close(&mut self) {
        self.milli += CLOSE_MILLI;
    }

    fn step(&mut self, class: u8) {
        let entry = TABLE[(self.state as usize * CLASSES + class as usize) % TABLE.len()];
        self.state = entry & 0xFF;
        self.milli += u64::from(entry >> 8);
    }

    fn run(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte < 0x80 {
                self.step(ASCII[byte as usize & 0x7F]);
                at += 1;
            } else {
                let Some(char) = text.get(at..).and_then(|rest| rest.chars().next()) else { return };
                self.step(class_of(char));
                at += char.len_utf8();
            }
        }
    }

    /// The same for a string with escapes, each of which costs `escape` more.
    fn run_raw(&mut self, raw: &Raw<'_>, escape: u64) {
        if !raw.has_escapes() {
            return self.run(raw.as_written());
        }
        let mut rest = raw.as_written();
        while let Some(at) = rest.find('\\') {
            self.run(rest.get(..at).unwrap_or_default());
            rest = rest.get(at..).unwrap_or_default();
            let (char, after) = Raw::first_escape(rest);
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            if char.is_ascii() {
                self.milli += escape;
                self.step(ASCII[char as usize & 0x7F]);
            } else {
                self.step(class_of(char));
            }
            rest = after;
        }
        self.run(rest);
    }
}

/// The tokens of a string that holds the bytes of an image or a file, by its `data:` URL or as base64; none if it is
/// text. `key` is the name of the member that it is in.
pub(super) fn inline_media(key: Option<&Raw<'_>>, raw: &Raw<'_>) -> Option<u32> {
    let written = raw.as_written();
    if let Some(url) = written.strip_prefix("data:") {
        let head = url.as_bytes().iter().take(256).position(|&byte| byte == b',')?;
        let (head, payload) = url.split_at_checked(head)?;
        let media_type = head.split(';').next().unwrap_or_default();
        if head.ends_with(";base64") {
            return Some(media_tokens(media_type, payload.len() / 4 * 3));
        }
        return media_type.starts_with("image").then_some(IMAGE_TOKENS);
    }
    if written.len() < 64 {
        return None;
    }
    let media_type = MAGIC.iter().find(|(magic, _)| written.starts_with(magic)).map(|(_, media_type)| *media_type);
    let by_name = || written.len() >= 256 && key.is_some_and(|key| DATA_KEYS.contains(&key.as_written()));
    if (media_type.is_some() || by_name()) && is_base64(written) {
        return Some(media_tokens(media_type.unwrap_or_default(), written.len() / 4 * 3));
    }
    None
}

/// How common files begin, in base64.
const MAGIC: [(&str, &str); 6] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("\\/9j\\/", "image/jpeg"),
    ("R0lGODl", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi0", "application/pdf"),
];

/// Members that hold bytes in the formats that are about.
const DATA_KEYS: [&str; 7] = ["data", "base64", "bytes", "blob", "b64_json", "file_data", "image"];

/// Whether there is nothing but the digits of base64 in a text, slashes possibly escaped.
fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\'))
}

/// What a file costs, by its media type (full, or only its first half) and its size in bytes, 0 if that is not known.
pub fn media_tokens(media_type: &str, bytes: usize) -> u32 {
    let kind = media_type.split('/').next().unwrap_or_default();
    let (least, per_token, most) = match kind {
        "image" => return IMAGE_TOKENS,
        // Sound: about ten tokens for a second, at about 16 KiB a second.
        "audio" => (64, 1600, 100_000),
        // Moving pictures: about 260 tokens for a second, at about 250 KiB a second.
        "video" => (512, 1000, 1_000_000),
        // What is text in the file is text for the model.
        "text" => (16, 4, 1_000_000),
        // Documents: a page is about a thousand tokens and about 32 KiB.
        _ => (256, 32, 100_000),
    };
    u32::try_from(bytes / per_token).unwrap_or(most).clamp(least, most)
}

// The automaton. Its weights were fitted to counts of `o200k_base` on texts of each script.

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
const USED: usize = 24;

const STRING_MILLI: u64 = 1000;
const KEY_MILLI: u64 = 1000;
const SCALAR_MILLI: u64 = 1000;
const OPEN_MILLI: u64 = 700;
const CLOSE_MILLI: u64 = 300;
const ESCAPE_MILLI: u64 = 300;

/// How many states a class has: how long a run of it has been, up to so much.
const RUNS: [u8; USED] = [16, 4, 3, 2, 2, 4, 1, 1, 0, 12, 12, 12, 8, 8, 2, 2, 4, 2, 1, 1, 1, 2, 1, 0];

const START: u32 = 0;

/// The state after a single mark of punctuation.
const QUOTED: u32 = state(PUNCT, 1);

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

static TABLE: [u32; STATES * CLASSES] = table();

const fn table() -> [u32; STATES * CLASSES] {
    let mut table = [0; STATES * CLASSES];
    let mut class = 0;
    while class < USED as u8 {
        table[class as usize] = entry(CONTROL, 0, class);
        let mut from = 0;
        while from < USED as u8 {
            let mut run = 1;
            while run <= RUNS[from as usize] {
                table[state(from, run) as usize * CLASSES + class as usize] = entry(from, run, class);
                run += 1;
            }
            from += 1;
        }
        class += 1;
    }
    table
}

/// The step to a character of class `to` after a run of `from`: the next state and what it costs.
const fn entry(from: u8, run: u8, to: u8) -> u32 {
    let same = from == to;
    let (next, cost) = match to {
        LOWER | LATIN | LATIN_EXTENDED => {
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
            PUNCT => (state(PUNCT, run + 1), if run == 1 { 300 } else { 250 }),
            _ => (state(PUNCT, 1), 850),
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
    next | cost << 8
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

/// The classes of ASCII.
static ASCII: [u8; 128] = {
    let mut classes = [PUNCT; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' => SPACE,
            b'\n' | b'\r' => NEWLINE,
            b'\'' => APOSTROPHE,
            0..=0x1F | 0x7F => CONTROL,
            _ => PUNCT,
        };
        byte += 1;
    }
    classes
};

/// The class of a character beyond ASCII.
fn class_of(char: char) -> u8 {
    match u32::from(char) {
        0x80..=0x9F => CONTROL,
        0xA0 => SPACE,
        0xA1..=0xBF => DASHES,
        // Vietnamese has these in nearly every word, and the vocabulary has the words.
        0x110..=0x111 | 0x1A0..=0x1A1 | 0x1AF..=0x1B0 | 0x1E00..=0x1EFF => LOWER,
        0xC0..=0xFF | 0x300..=0x36F => LATIN,
        0x100..=0x24F => LATIN_EXTENDED,
        0x250..=0x2FF => RARE,
        0x370..=0x3FF | 0x530..=0x5FF | 0x10A0..=0x10FF => ALPHABET,
        0x400..=0x52F => CYRILLIC,
        0x600..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFE => ARABIC,
        0x900..=0xDFF => INDIC,
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF => THAI,
        0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF => HANGUL,
        0x200D | 0xFE00..=0xFE0F | 0x1F3FB..=0x1F3FF => JOINER,
        0x2000..=0x200A | 0x2028..=0x2029 => SPACE,
        0x200B..=0x206F => DASHES,
        0x2070..=0x25FF | 0x27C0..=0x2BFF => SYMBOL,
        0x2600..=0x27BF | 0x1F000..=0x1FAFF => EMOJI,
        0x2E80..=0x2FDF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => HAN,
        0x3000..=0x303F | 0xFF00..=0xFF20 | 0xFF3B..=0xFF40 | 0xFF5B..=0xFF65 | 0xFE30..=0xFE4F => CJK_PUNCT,
        0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9D => KANA,
        0xFF21..=0xFF3A | 0xFF41..=0xFF5A => LATIN,
        _ => RARE,
    }
}
