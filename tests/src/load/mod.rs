//! Load on the real `talktree serve`: many clients, many tenants, kills, hostile neighbours.
//!
//! [`mixed`] is about what is acknowledged, [`turns`] about what one process holds, [`neighbours`] about what tenants feel of
//! one another. `cargo xtask load` runs them at full length, the tests in short forms.

pub mod client;
pub mod ledger;
pub mod mixed;
pub mod neighbours;
pub mod server;
pub mod turns;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A sequence of numbers that looks random. The same seed gives the same one.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed, one of many.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self((seed << 1) ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // Seeds that are alike give sequences that are not.
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A seed that no other run has.
pub fn new_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64)
}

/// Times of calls.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// One more.
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Those of another one, too.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What so many of a hundred are below, in milliseconds; 0 where there are none.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut times = self.0.clone();
        times.sort_unstable();
        let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

/// A message of a user, as JSON.
pub fn message(id: &str, text: &str) -> serde_json::Value {
    serde_json::json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_times_that_were_added() {
        let mut times = Times::default();
        (1..=100).rev().for_each(|ms| times.add(Duration::from_millis(ms)));
        let found = [1, 50, 99, 100].map(|percent| times.percentile(percent).round() as u64);
        assert_eq!(found, [1, 50, 99, 100]);
        assert_eq!(Times::default().percentile(99).round() as u64, 0);
    }

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_streams_are_apart() {
        let numbers = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..20).map(|_| random.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(5, 1), numbers(5, 1));
        assert_ne!(numbers(5, 1), numbers(5, 2));
        assert_ne!(numbers(5, 1), numbers(6, 1));
    }
}
