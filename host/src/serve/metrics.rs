//! Numbers for Prometheus. They name methods and kinds of errors, never tenants.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::rpc::Observer;

/// Upper ends of the classes of durations, in seconds as they are written and in microseconds.
const CLASSES: [(&str, u64); 12] = [
    ("0.0005", 500),
    ("0.001", 1_000),
    ("0.0025", 2_500),
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("1", 1_000_000),
    ("5", 5_000_000),
    ("30", 30_000_000),
];

/// What has happened since the start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<&'static str, Durations>>,
    /// By method and kind.
    errors: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    /// Requests that were not let in, by kind.
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    connections: AtomicU64,
}

/// How long the calls of a method took.
#[derive(Debug, Default, Clone, Copy)]
struct Durations {
    /// Calls by class, those above all classes last.
    classes: [u64; CLASSES.len() + 1],
    micros: u64,
}

impl Observer for Metrics {
    fn called(&self, method: &'static str, failure: Option<&'static str>, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = CLASSES.iter().position(|(_, end)| micros <= *end).unwrap_or(CLASSES.len());
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = calls.entry(method).or_default();
        durations.micros = durations.micros.saturating_add(micros);
        if let Some(count) = durations.classes.get_mut(class) {
            *count += 1;
        }
        drop(calls);
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
    pub(super) fn text(&self, live_tenants: usize) -> String {
        let mut text = String::new();
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        head(&mut text, "talktree_calls_total", "counter", "Calls that have ended, failed ones too.");
        for (method, durations) in &calls {
            let count: u64 = durations.classes.iter().sum();
            line(&mut text, format_args!("talktree_calls_total{{method=\"{method}\"}} {count}"));
        }
        head(&mut text, "talktree_errors_total", "counter", "Calls that have failed.");
        for ((method, kind), count) in &*self.errors.lock().unwrap_or_else(PoisonError::into_inner) {
            line(&mut text, format_args!("talktree_errors_total{{method=\"{method}\",kind=\"{kind}\"}} {count}"));
        }
        head(&mut text, "talktree_call_duration_seconds", "histogram", "Time from a request to its answer.");
        for (method, durations) in &calls {
            write_durations(&mut text, method, durations);
        }
        head(&mut text, "talktree_refusals_total", "counter", "Requests that were not let in.");
        for (kind, count) in &*self.refusals.lock().unwrap_or_else(PoisonError::into_inner) {
            line(&mut text, format_args!("talktree_refusals_total{{kind=\"{kind}\"}} {count}"));
        }
        head(&mut text, "talktree_connections", "gauge", "Connections that are open.");
        line(&mut text, format_args!("talktree_connections {}", self.connections.load(Ordering::Relaxed)));
        head(&mut text, "talktree_live_tenants", "gauge", "Tenants that have a thread.");
        line(&mut text, format_args!("talktree_live_tenants {live_tenants}"));
        text
    }
}

fn write_durations(text: &mut String, method: &str, durations: &Durations) {
    let mut below = 0;
    for ((end, _), count) in CLASSES.iter().zip(durations.classes) {
        below += count;
        line(text, format_args!("talktree_call_duration_seconds_bucket{{method=\"{method}\",le=\"{end}\"}} {below}"));
    }
    let all: u64 = durations.classes.iter().sum();
    let seconds = Duration::from_micros(durations.micros).as_secs_f64();
    line(text, format_args!("talktree_call_duration_seconds_bucket{{method=\"{method}\",le=\"+Inf\"}} {all}"));
    line(text, format_args!("talktree_call_duration_seconds_sum{{method=\"{method}\"}} {seconds}"));
    line(text, format_args!("talktree_call_duration_seconds_count{{method=\"{method}\"}} {all}"));
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
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
        let text = metrics.text(3);
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
