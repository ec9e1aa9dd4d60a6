//! Numbers of the server for Prometheus: requests and connections. They name methods and kinds of errors, never tenants.
//!
//! What the calls cost in the store is counted by [`Counters`](crate::metrics::Counters), as for any other runtime.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    metrics::{Histogram, head, line},
    rpc::Observer,
};

/// What has happened since the start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<&'static str, Histogram>>,
    /// By method and kind.
    errors: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    /// Requests that were not let in, by kind.
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    connections: AtomicU64,
}

impl Observer for Metrics {
    fn called(&self, method: &'static str, failure: Option<&'static str>, took: Duration) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(method).or_default().add(took);
        if let Some(kind) = failure {
            *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry((method, kind)).or_default() += 1;
        }
    }
}

impl Metrics {
    /// A request was not let in.
    pub(super) fn refused(&self, kind: &'static str) {
        *self.refusals.lock().unwrap_or_else(PoisonError::into_inner).entry(kind).or_default() += 1;
    }

    /// A connection has begun.
    pub(super) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has ended.
    pub(super) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// All of it, as Prometheus reads it.
    pub(super) fn text(&self, live_tenants: usize, disk_bytes: u64) -> String {
        let mut text = String::new();
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        head(&mut text, "talktree_calls_total", "counter", "Calls that have ended, failed ones too.");
        for (method, durations) in &calls {
            let count = durations.count();
            line(&mut text, format_args!("talktree_calls_total{{method=\"{method}\"}} {count}"));
        }
        head(&mut text, "talktree_errors_total", "counter", "Calls that have failed.");
        for ((method, kind), count) in &*self.errors.lock().unwrap_or_else(PoisonError::into_inner) {
            line(&mut text, format_args!("talktree_errors_total{{method=\"{method}\",kind=\"{kind}\"}} {count}"));
        }
        head(&mut text, "talktree_call_duration_seconds", "histogram", "Time from a request to its answer.");
        for (method, durations) in &calls {
            durations.write(&mut text, "talktree_call_duration_seconds", &format!("method=\"{method}\""));
        }
        head(&mut text, "talktree_refusals_total", "counter", "Requests that were not let in.");
        for (kind, count) in &*self.refusals.lock().unwrap_or_else(PoisonError::into_inner) {
            line(&mut text, format_args!("talktree_refusals_total{{kind=\"{kind}\"}} {count}"));
        }
        head(&mut text, "talktree_connections", "gauge", "Connections that are open.");
        line(&mut text, format_args!("talktree_connections {}", self.connections.load(Ordering::Relaxed)));
        head(&mut text, "talktree_live_tenants", "gauge", "Tenants that have a thread.");
        line(&mut text, format_args!("talktree_live_tenants {live_tenants}"));
        head(&mut text, "talktree_live_disk_bytes", "gauge", "Bytes on the disk of the tenants that have a sandbox.");
        line(&mut text, format_args!("talktree_live_disk_bytes {disk_bytes}"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_classes_that_add_up() {
        let metrics = Metrics::default();
        for (micros, failure) in [(400, None), (500, None), (501, Some("busy")), (40_000_000, Some("timed-out"))] {
            metrics.called("ping", failure, Duration::from_micros(micros));
        }
        metrics.refused("forbidden");
        metrics.connected();
        let text = metrics.text(3, 4096);
        for line in [
            "talktree_calls_total{method=\"ping\"} 4",
            "talktree_errors_total{method=\"ping\",kind=\"busy\"} 1",
            "talktree_call_duration_seconds_bucket{method=\"ping\",le=\"0.0005\"} 2",
            "talktree_call_duration_seconds_bucket{method=\"ping\",le=\"0.001\"} 3",
            "talktree_call_duration_seconds_bucket{method=\"ping\",le=\"30\"} 3",
            "talktree_call_duration_seconds_bucket{method=\"ping\",le=\"+Inf\"} 4",
            "talktree_call_duration_seconds_sum{method=\"ping\"} 40.001401",
            "talktree_call_duration_seconds_count{method=\"ping\"} 4",
            "talktree_refusals_total{kind=\"forbidden\"} 1",
            "talktree_connections 1",
            "talktree_live_tenants 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
