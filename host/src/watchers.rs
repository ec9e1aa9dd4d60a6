//! Who wants to know when a tenant is written: those that follow its feed.
//!
//! Only this process can write a tenant that it has open, so that nothing has to be polled.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::tenant_name::TenantName;

/// All that are waited for, by tenant.
#[derive(Default)]
pub(crate) struct Watchers {
    signals: Mutex<HashMap<TenantName, watch::Sender<()>>>,
}

impl Watchers {
    /// Tells when the tenant may have been written.
    pub(crate) fn watch(&self, name: &TenantName) -> watch::Receiver<()> {
        self.lock().entry(name.clone()).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// The tenant may have been written.
    pub(crate) fn written(&self, name: &TenantName) {
        let mut signals = self.lock();
        let Some(signal) = signals.get(name) else { return };
        if signal.receiver_count() == 0 {
            signals.remove(name);
        } else {
            signal.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantName, watch::Sender<()>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
