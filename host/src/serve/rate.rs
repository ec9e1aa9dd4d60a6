//! How many requests each token may send.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// From so many names on those that have rested are forgotten.
const MANY: usize = 10_000;

/// A rate for each name: so many a second, and after a rest those of two seconds at once.
#[derive(Debug)]
pub(super) struct Rates {
    /// None: as many as come.
    per_second: Option<f64>,
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

/// What a name has left.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(super) fn new(per_second: Option<u32>) -> Self {
        Self { per_second: per_second.map(f64::from), buckets: Mutex::default() }
    }

    /// Counts a request. Error: it is one too many, and so long is to be waited.
    pub(super) fn count(&self, name: Option<&Arc<str>>) -> Result<(), Duration> {
        self.count_at(name, Instant::now())
    }

    fn count_at(&self, name: Option<&Arc<str>>, now: Instant) -> Result<(), Duration> {
        let (Some(per_second), Some(name)) = (self.per_second, name) else { return Ok(()) };
        let full = per_second * 2.0;
        let filled = |bucket: &Bucket| (bucket.left + (now - bucket.at).as_secs_f64() * per_second).min(full);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MANY && !buckets.contains_key(name) {
            buckets.retain(|_, bucket| filled(bucket) < full);
        }
        let bucket = buckets.entry(Arc::clone(name)).or_insert(Bucket { left: full, at: now });
        let left = filled(bucket);
        bucket.at = now;
        if left < 1.0 {
            bucket.left = left;
            return Err(Duration::from_secs_f64((1.0 - left) / per_second));
        }
        bucket.left = left - 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_rate_and_others_have_theirs() {
        let rates = Rates::new(Some(10));
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let begin = Instant::now();
        let counted = |name, at| (0..100).filter(|_| rates.count_at(Some(name), at).is_ok()).count();
        assert_eq!(counted(&one, begin), 20);
        assert_eq!(counted(&other, begin), 20);
        assert_eq!(rates.count_at(Some(&one), begin), Err(Duration::from_millis(100)));
        assert_eq!(counted(&one, begin + Duration::from_millis(550)), 5);
        assert_eq!(counted(&one, begin + Duration::from_secs(3_600)), 20);
    }

    #[test]
    fn who_has_no_name_and_who_has_no_rate_are_not_counted() {
        let rates = Rates::new(Some(1));
        assert!((0..100).all(|_| rates.count(None).is_ok()));
        let name: Arc<str> = "one".into();
        assert!((0..100).all(|_| Rates::new(None).count(Some(&name)).is_ok()));
    }

    #[test]
    fn names_that_have_rested_are_forgotten() {
        let rates = Rates::new(Some(1_000));
        let begin = Instant::now();
        for at in 0..MANY * 2 {
            let _ = rates.count_at(Some(&at.to_string().into()), begin + Duration::from_millis(at as u64));
        }
        assert!(rates.buckets.lock().is_ok_and(|buckets| buckets.len() <= MANY + 1));
    }
}
