//! Hooks for metrics: what calls cost, told to whoever counts.
//!
//! A [`Metrics`] is given to [`Builder::metrics`](crate::Builder::metrics) and is told of every call that has ended,
//! whichever way it came in: over this library, JSON-RPC, HTTP or the Model Context Protocol. [`Counters`] is one that
//! counts for Prometheus; `talktree serve` shows it at `/metrics`.
//!
//! ```no_run
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use talktree::{Talktree, metrics::{EndedCall, Metrics}};
//!
//! #[derive(Default)]
//! struct Failures(AtomicU64);
//!
//! impl Metrics for Failures {
//!     fn call_ended(&self, call: &EndedCall<'_>) {
//!         if call.outcome.is_err() {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! # async fn example() -> talktree::Result<()> {
//! let talktree = Talktree::builder("data").metrics(Failures::default()).open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing of what messages say is ever told: names of tenants and operations, kinds of errors, times and sizes.

mod counters;
mod histogram;
mod weight;

pub use counters::Counters;
pub(crate) use histogram::{Histogram, head, line};
pub(crate) use weight::weight;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::ErrorKind;
use crate::tenant_name::TenantName;

/// Is told what happens.
///
/// The methods are called on the threads of the tenants, before the answer is handed out: they have to be quick, and must
/// not wait for calls of the same tenant. One that panics is caught, and the call goes on.
pub trait Metrics: Send + Sync + 'static {
    /// A call has ended: it was carried out, or refused.
    fn call_ended(&self, call: &EndedCall<'_>);

    /// A sandbox was made for a tenant, which took so long.
    fn sandbox_opened(&self, tenant: &str, took: Duration) {
        let _ = (tenant, took);
    }

    /// The sandbox of a tenant broke down, or was ended since a call took too long.
    fn sandbox_lost(&self, tenant: &str) {
        let _ = tenant;
    }
}

impl<M: Metrics + ?Sized> Metrics for Arc<M> {
    fn call_ended(&self, call: &EndedCall<'_>) {
        (**self).call_ended(call);
    }

    fn sandbox_opened(&self, tenant: &str, took: Duration) {
        (**self).sandbox_opened(tenant, took);
    }

    fn sandbox_lost(&self, tenant: &str) {
        (**self).sandbox_lost(tenant);
    }
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EndedCall<'a> {
    /// The tenant that it was about.
    pub tenant: &'a str,
    /// What was called, as the contract names it: `append-message`.
    pub operation: &'static str,
    /// What came of it.
    pub outcome: Result<(), ErrorKind>,
    /// How long it waited for its turn.
    pub waited: Duration,
    /// How long it ran, with the time that making a sandbox took; zero where it was refused.
    pub ran: Duration,
    /// Bytes of content that came with it: JSON of messages, content of blocks, lines.
    pub bytes_in: u64,
    /// Bytes of content in its answer.
    pub bytes_out: u64,
}

/// All that are told.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Arc<[Arc<dyn Metrics>]>);

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({})", self.0.len())
    }
}

impl Hooks {
    /// The same and one more.
    pub(crate) fn with(&self, metrics: impl Metrics) -> Self {
        let more: Arc<dyn Metrics> = Arc::new(metrics);
        Self(self.0.iter().cloned().chain([more]).collect())
    }

    /// What will be told of a call that begins to wait now. None: nobody wants to know.
    pub(crate) fn report(&self, tenant: &TenantName, operation: &'static str, bytes_in: u64) -> Option<Report> {
        (!self.0.is_empty()).then(|| Report {
            hooks: self.clone(),
            tenant: tenant.clone(),
            operation,
            queued: Instant::now(),
            begun: None,
            bytes_in,
            bytes_out: 0,
            told: false,
        })
    }

    pub(crate) fn sandbox_opened(&self, tenant: &TenantName, took: Duration) {
        self.tell(|metrics| metrics.sandbox_opened(tenant.as_str(), took));
    }

    pub(crate) fn sandbox_lost(&self, tenant: &TenantName) {
        self.tell(|metrics| metrics.sandbox_lost(tenant.as_str()));
    }

    fn tell(&self, tell: impl Fn(&dyn Metrics)) {
        for metrics in self.0.iter() {
            if catch_unwind(AssertUnwindSafe(|| tell(&**metrics))).is_err() {
                tracing::warn!("a hook for metrics panicked: what it was told is lost to it");
            }
        }
    }
}

/// What will be told of one call.
pub(crate) struct Report {
    hooks: Hooks,
    tenant: TenantName,
    operation: &'static str,
    queued: Instant,
    begun: Option<Instant>,
    bytes_in: u64,
    bytes_out: u64,
    told: bool,
}

impl Report {
    /// Its turn has come.
    pub(crate) fn begin(&mut self) {
        self.begun = Some(Instant::now());
    }

    /// So much content is in the answer.
    pub(crate) fn carry(&mut self, bytes_out: u64) {
        self.bytes_out = bytes_out;
    }

    /// It has ended.
    pub(crate) fn end(mut self, outcome: Result<(), ErrorKind>) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: Result<(), ErrorKind>) {
        self.told = true;
        let now = Instant::now();
        let begun = self.begun.unwrap_or(now);
        let call = EndedCall {
            tenant: self.tenant.as_str(),
            operation: self.operation,
            outcome,
            waited: begun.saturating_duration_since(self.queued),
            ran: now.saturating_duration_since(begun),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
        };
        self.hooks.tell(|metrics| metrics.call_ended(&call));
    }
}

/// A call whose answer was lost on the way has ended, too.
impl Drop for Report {
    fn drop(&mut self) {
        if !self.told {
            self.tell(Err(ErrorKind::Crashed));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::sync::Mutex;

    use super::*;

    type Told = (String, &'static str, Result<(), ErrorKind>);

    #[derive(Default)]
    struct Kept(Mutex<Vec<Told>>);

    impl Metrics for Kept {
        fn call_ended(&self, call: &EndedCall<'_>) {
            self.0.lock().unwrap().push((call.tenant.to_owned(), call.operation, call.outcome));
        }
    }

    struct Panics;

    impl Metrics for Panics {
        fn call_ended(&self, _call: &EndedCall<'_>) {
            panic!("on purpose");
        }
    }

    #[test]
    fn a_hook_that_panics_keeps_nobody_from_being_told() {
        let kept = Arc::new(Kept::default());
        let hooks = Hooks::default().with(Panics).with(Arc::clone(&kept));
        let tenant = TenantName::new("t").unwrap();
        hooks.report(&tenant, "stats", 0).unwrap().end(Ok(()));
        drop(hooks.report(&tenant, "check", 0));
        let told = kept.0.lock().unwrap().clone();
        assert_eq!(told, [("t".into(), "stats", Ok(())), ("t".into(), "check", Err(ErrorKind::Crashed))]);
    }

    #[test]
    fn without_hooks_nothing_is_measured() {
        assert!(Hooks::default().report(&TenantName::new("t").unwrap(), "stats", 0).is_none());
    }
}
