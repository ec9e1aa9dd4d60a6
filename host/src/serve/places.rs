//! How much each token may have under way at a time, so that one cannot take all connections.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

/// Counts what is under way for each name: requests, and conversations as long as they are open.
#[derive(Debug)]
pub(super) struct Places {
    each: usize,
    taken: Mutex<HashMap<Arc<str>, usize>>,
}

/// A place that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    name: Arc<str>,
}

impl Places {
    /// So many for each name.
    pub(super) fn new(each: usize) -> Self {
        Self { each, taken: Mutex::default() }
    }

    /// Takes a place. None: all that this name may have are taken.
    pub(super) fn take(self: &Arc<Self>, name: &Arc<str>) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(Arc::clone(name)).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(Place { places: Arc::clone(self), name: Arc::clone(name) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = taken.entry(Arc::clone(&self.name)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_places_and_others_have_theirs() {
        let places = Arc::new(Places::new(2));
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let held = [places.take(&one), places.take(&one)];
        assert!(held.iter().all(Option::is_some) && places.take(&one).is_none());
        assert!(places.take(&other).is_some());
        drop(held);
        assert!(places.take(&one).is_some());
        assert!(places.taken.lock().is_ok_and(|taken| taken.is_empty()), "who has none is forgotten");
    }
}
