//! How many tokens a text costs, without a tokenizer.
//!
//! The estimate follows how `o200k_base` cuts text: words with the space before them, numbers in threes, punctuation,
//! line breaks; and adds what its vocabulary makes of the pieces, by script. It is a small automaton: for each byte one
//! look into a table gives the next state and another what the step costs. Hardly anything branches on the text, so it
//! takes the same short time for any, and it is the same on every machine.
//!
//! Images and files cost what providers charge for them, not what their bytes would cost as text.

mod automaton;
mod media;

use self::automaton::{COST, Classes, NEXT, PLAIN, START, WRITTEN, class_at, place};
pub(super) use self::media::media_in;
pub use self::media::{IMAGE_TOKENS, media_tokens};
use super::json::Raw;

/// Grows when the same text may be given another estimate.
pub const ESTIMATOR_VERSION: u32 = 1;

/// Costs are counted in thousandths of a token.
const MILLI: u64 = 1000;

/// Texts of so many bytes are counted in [`LANES`] stretches side by side.
const SPLIT_FROM: usize = 256;

/// How many stretches.
const LANES: usize = 4;

/// How many bytes bring the automaton into the state that it has in the middle of a text: it remembers the length of a
/// run, up to sixteen bytes in ASCII.
const WARM_UP: usize = 32;

/// Adds up the tokens of texts.
#[derive(Debug, Clone)]
pub struct Estimator {
    milli: u64,
    /// Where the row of the state begins in the tables.
    state: u16,
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
        self.milli = self.milli.saturating_add(u64::from(tokens) * MILLI);
    }

    /// A text that stands for itself.
    pub fn plain(&mut self, text: &str) {
        self.state = START;
        self.run(text, &PLAIN);
    }

    /// What a string of JSON says.
    pub fn text(&mut self, raw: &Raw<'_>) {
        self.state = START;
        match (raw.has_escapes(), raw.has_numbered_escapes()) {
            (false, _) => self.run(raw.as_written(), &PLAIN),
            (true, false) => self.run(raw.as_written(), &WRITTEN),
            (true, true) => self.run_numbered(raw.as_written()),
        }
    }

    /// A stretch of JSON as it is written, structure and all. `numbered` says whether there may be escapes of the form
    /// `\u0000` in it, which stand for their characters.
    pub fn written(&mut self, json: &str, numbered: bool) {
        self.state = START;
        if numbered { self.run_numbered(json) } else { self.run(json, &WRITTEN) }
    }

    /// Counts a text; `classes` says how its bytes are meant.
    fn run(&mut self, text: &str, classes: &Classes) {
        let bytes = text.as_bytes();
        if bytes.len() < SPLIT_FROM {
            return self.run_from(bytes, 0, classes);
        }
        // Each step waits for the one before, so four stretches side by side take the time of one. Those that begin in
        // the middle first run over what is before them, uncounted, which brings them into the right state.
        let length = bytes.len() / LANES;
        let starts: [usize; LANES] = std::array::from_fn(|lane| lane * length);
        let mut states = [START; LANES];
        for offset in 0..WARM_UP {
            for (state, start) in states.iter_mut().zip(starts).skip(1) {
                *state = NEXT[place(*state, class_at(bytes, start - WARM_UP + offset, classes))];
            }
        }
        states[0] = self.state;
        let mut sums = [0; LANES];
        for offset in 0..length {
            for ((state, sum), start) in states.iter_mut().zip(&mut sums).zip(starts) {
                let place = place(*state, class_at(bytes, start + offset, classes));
                *state = NEXT[place];
                *sum += u64::from(COST[place]);
            }
        }
        self.milli += sums.iter().sum::<u64>();
        self.state = states[LANES - 1];
        self.run_from(bytes, LANES * length, classes);
    }

    fn run_from(&mut self, bytes: &[u8], start: usize, classes: &Classes) {
        let (mut state, mut milli) = (self.state, 0);
        for at in start..bytes.len() {
            let place = place(state, class_at(bytes, at, classes));
            state = NEXT[place];
            milli += u64::from(COST[place]);
        }
        self.state = state;
        self.milli += milli;
    }

    /// The same for JSON with escapes that stand for any character.
    fn run_numbered(&mut self, written: &str) {
        let mut rest = written;
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|tail| tail.find('\\')).map(|at| from + at) {
            if rest.as_bytes().get(at + 1) != Some(&b'u') {
                from = at + 2;
                continue;
            }
            self.run(rest.get(..at).unwrap_or_default(), &WRITTEN);
            let (char, after) = Raw::first_escape(rest.get(at..).unwrap_or_default());
            let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.run(char.encode_utf8(&mut [0; 4]), &PLAIN);
            (rest, from) = (after, 0);
        }
        self.run(rest, &WRITTEN);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Estimator, MILLI, PLAIN, SPLIT_FROM, WRITTEN};

    proptest! {
        #[test]
        fn stretches_side_by_side_count_like_one(
            pieces in prop::collection::vec(
                r#"[a-z]{1,12} |[A-Z_]{1,4}|[0-9]{1,9}|\\[nt"\\]|[ \n]{1,5}|[,.(){};"']{1,3}|[é日本のㅏ한글ж ไ😀—]{1,9}"#,
                60..400,
            )
        ) {
            let text = pieces.concat();
            prop_assume!(text.len() >= SPLIT_FROM);
            for classes in [&PLAIN, &WRITTEN] {
                let (mut split, mut whole) = (Estimator::new(), Estimator::new());
                split.run(&text, classes);
                whole.run_from(text.as_bytes(), 0, classes);
                prop_assert!(split.milli.abs_diff(whole.milli) <= MILLI, "{} {}", split.milli, whole.milli);
                prop_assert_eq!(split.state, whole.state);
            }
        }
    }
}
