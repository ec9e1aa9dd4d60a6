//! Numbers of the store for Prometheus. They name operations and kinds of errors, never tenants.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{EndedCall, Histogram, Metrics, head, line};

/// Counts calls, for Prometheus.
///
/// A cheap handle: clones count together. Give one to [`Builder::metrics`](crate::Builder::metrics), keep another, and
/// show its [`text`](Self::text).
///
/// | metric | what it is |
/// | --- | --- |
/// | `talktree_operation_duration_seconds` | a histogram by `operation`: how long calls ran |
/// | `talktree_operation_wait_seconds` | a histogram by `operation`: how long they waited for their turn |
/// | `talktree_operation_errors_total` | by `operation` and `kind` of error |
/// | `talktree_operation_bytes_total` | content in bytes, by `operation` and `direction` (`in`, `out`) |
/// | `talktree_sandbox_open_seconds` | a histogram: how long sandboxes took to make |
/// | `talktree_sandboxes_lost_total` | sandboxes that broke down or were ended |
#[derive(Clone, Debug, Default)]
pub struct Counters(Arc<State>);

#[derive(Debug, Default)]
struct State {
    operations: Mutex<BTreeMap<&'static str, Operation>>,
    opened: Mutex<Histogram>,
    lost: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct Operation {
    waited: Histogram,
    ran: Histogram,
    bytes_in: u64,
    bytes_out: u64,
    errors: BTreeMap<&'static str, u64>,
}

impl Metrics for Counters {
    fn call_ended(&self, call: &EndedCall<'_>) {
        let mut operations = self.0.operations.lock().unwrap_or_else(PoisonError::into_inner);
        let operation = operations.entry(call.operation).or_default();
        operation.waited.add(call.waited);
        operation.ran.add(call.ran);
        operation.bytes_in = operation.bytes_in.saturating_add(call.bytes_in);
        operation.bytes_out = operation.bytes_out.saturating_add(call.bytes_out);
        if let Err(kind) = call.outcome {
            *operation.errors.entry(kind.as_str()).or_default() += 1;
        }
    }

    fn sandbox_opened(&self, _tenant: &str, took: Duration) {
        self.0.opened.lock().unwrap_or_else(PoisonError::into_inner).add(took);
    }

    fn sandbox_lost(&self, _tenant: &str) {
        self.0.lost.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counters {
    /// All of it, in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let operations = self.0.operations.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let label = |name| format!("operation=\"{name}\"");
        let name = "talktree_operation_duration_seconds";
        head(&mut text, name, "histogram", "Time that calls of the store ran.");
        for (operation, counted) in &operations {
            counted.ran.write(&mut text, name, &label(operation));
        }
        let name = "talktree_operation_wait_seconds";
        head(&mut text, name, "histogram", "Time that calls of the store waited for their turn.");
        for (operation, counted) in &operations {
            counted.waited.write(&mut text, name, &label(operation));
        }
        let name = "talktree_operation_errors_total";
        head(&mut text, name, "counter", "Calls of the store that have failed.");
        for (operation, counted) in &operations {
            for (kind, count) in &counted.errors {
                line(&mut text, format_args!("{name}{{operation=\"{operation}\",kind=\"{kind}\"}} {count}"));
            }
        }
        let name = "talktree_operation_bytes_total";
        head(&mut text, name, "counter", "Content that came with calls of the store, and that was answered.");
        for (operation, counted) in &operations {
            for (direction, bytes) in [("in", counted.bytes_in), ("out", counted.bytes_out)] {
                line(&mut text, format_args!("{name}{{operation=\"{operation}\",direction=\"{direction}\"}} {bytes}"));
            }
        }
        let name = "talktree_sandbox_open_seconds";
        head(&mut text, name, "histogram", "Time that sandboxes took to make.");
        self.0.opened.lock().unwrap_or_else(PoisonError::into_inner).write(&mut text, name, "");
        let name = "talktree_sandboxes_lost_total";
        head(&mut text, name, "counter", "Sandboxes that broke down or were ended.");
        line(&mut text, format_args!("{name} {}", self.0.lost.load(Ordering::Relaxed)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_is_told_is_counted_and_no_tenant_is_named() {
        let counters = Counters::default();
        for outcome in [Ok(()), Err(ErrorKind::Busy)] {
            counters.call_ended(&EndedCall {
                tenant: "planted-tenant",
                operation: "append-message",
                outcome,
                waited: Duration::from_micros(700),
                ran: Duration::from_millis(2),
                bytes_in: 100,
                bytes_out: 7,
            });
        }
        counters.sandbox_opened("planted-tenant", Duration::from_micros(1_500));
        counters.sandbox_lost("planted-tenant");
        let text = counters.text();
        for line in [
            "talktree_operation_duration_seconds_bucket{operation=\"append-message\",le=\"0.0025\"} 2",
            "talktree_operation_duration_seconds_sum{operation=\"append-message\"} 0.004",
            "talktree_operation_wait_seconds_bucket{operation=\"append-message\",le=\"0.0005\"} 0",
            "talktree_operation_wait_seconds_count{operation=\"append-message\"} 2",
            "talktree_operation_errors_total{operation=\"append-message\",kind=\"busy\"} 1",
            "talktree_operation_bytes_total{operation=\"append-message\",direction=\"in\"} 200",
            "talktree_operation_bytes_total{operation=\"append-message\",direction=\"out\"} 14",
            "talktree_sandbox_open_seconds_bucket{le=\"0.0025\"} 1",
            "talktree_sandbox_open_seconds_count 1",
            "talktree_sandboxes_lost_total 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("planted"));
    }
}
