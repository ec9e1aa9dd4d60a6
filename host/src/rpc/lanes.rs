//! Order and bounds of what is under way.
//!
//! The requests of one tenant stand in its lane and are carried out one after the other, in the order of arrival; lanes
//! run side by side. A lane is there while something stands in it.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;

/// Work that is ready to begin.
pub(super) type Job = BoxFuture<'static, ()>;

/// All lanes, by tenant.
#[derive(Default)]
pub(super) struct Lanes {
    waiting: Mutex<HashMap<String, VecDeque<Job>>>,
}

impl Lanes {
    /// Puts a job at the end of its lane. Has to be called within a tokio runtime.
    pub(super) fn push(self: &Arc<Self>, lane: String, job: Job) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.entry(lane) {
            Entry::Occupied(mut queue) => queue.get_mut().push_back(job),
            Entry::Vacant(place) => {
                let lane = place.key().clone();
                place.insert(VecDeque::from([job]));
                tokio::spawn(Arc::clone(self).run(lane));
            }
        }
    }

    async fn run(self: Arc<Self>, lane: String) {
        while let Some(job) = self.next(&lane) {
            job.await;
        }
    }

    /// The next job of a lane; none: the lane is gone.
    fn next(&self, lane: &str) -> Option<Job> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let job = waiting.get_mut(lane)?.pop_front();
        if job.is_none() {
            waiting.remove(lane);
        }
        job
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    #[tokio::test]
    async fn one_lane_keeps_its_order_and_another_goes_past_it() {
        let lanes = Arc::new(Lanes::default());
        let (done, mut seen) = mpsc::unbounded_channel();
        let (go, gate) = oneshot::channel::<()>();
        let first = done.clone();
        lanes.push(
            "a".into(),
            async move {
                gate.await.unwrap();
                first.send("a1").unwrap();
            }
            .boxed(),
        );
        for (lane, name) in [("a", "a2"), ("b", "b1"), ("b", "b2"), ("a", "a3")] {
            let done = done.clone();
            lanes.push(lane.into(), async move { done.send(name).unwrap() }.boxed());
        }
        assert_eq!(seen.recv().await, Some("b1"));
        assert_eq!(seen.recv().await, Some("b2"));
        assert!(tokio::time::timeout(Duration::from_millis(50), seen.recv()).await.is_err(), "a waits for its first");
        go.send(()).unwrap();
        for name in ["a1", "a2", "a3"] {
            assert_eq!(seen.recv().await, Some(name));
        }
        tokio::time::timeout(Duration::from_secs(5), async {
            while !lanes.waiting.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("empty lanes go");
    }
}
