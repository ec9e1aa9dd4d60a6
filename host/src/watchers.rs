//! Who wants to know when a tenant is written: those that follow its feed.
//!
//! Only this process can write a tenant that it has open, so that nothing has to be polled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::tenant_name::TenantName;

/// So many tenants are remembered without a look at who waits.
const FEW: usize = 64;

/// All that are waited for, by tenant.
#[derive(Default)]
pub(crate) struct Watchers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    signals: HashMap<TenantName, watch::Sender<()>>,
    /// From so many on those that nobody waits for any more are looked for.
    many: usize,
}

impl Watchers {
    /// Tells when the tenant may have been written.
    pub(crate) fn watch(&self, name: &TenantName) -> watch::Receiver<()> {
        let mut state = self.lock();
        if state.signals.len() >= state.many.max(FEW) {
            // Most who wait see nothing written: without this, every tenant ever waited for would stay.
            state.signals.retain(|_, signal| signal.receiver_count() > 0);
            state.many = state.signals.len() * 2;
        }
        state.signals.entry(name.clone()).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// The tenant may have been written.
    pub(crate) fn written(&self, name: &TenantName) {
        let mut state = self.lock();
        let Some(signal) = state.signals.get(name) else { return };
        if signal.receiver_count() == 0 {
            state.signals.remove(name);
        } else {
            signal.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    #[test]
    fn tenants_that_nobody_waits_for_any_more_are_forgotten() {
        let watchers = Watchers::default();
        let name = |number: usize| TenantName::new(&format!("t{number}")).unwrap();
        let kept: Vec<_> = (0..FEW).map(|number| watchers.watch(&name(number))).collect();
        for number in 0..FEW * 20 {
            drop(watchers.watch(&name(FEW + number)));
        }
        assert!(watchers.lock().signals.len() <= FEW * 2 + 1);
        for (number, seen) in kept.iter().enumerate() {
            watchers.written(&name(number));
            assert!(seen.has_changed().unwrap());
        }
    }
}
