//! `wasi:io/poll` with an end: a sandbox cannot wait for longer than its call may take.
//!
//! The epochs that end a call only end code of the component. While it waits in the host, for a timer say, none of it runs;
//! so the host ends the waiting itself.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use wasmtime::Trap;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::sync::io::poll;
use wasmtime_wasi_io::bindings::wasi::io::poll as unending;

/// What a sandbox can wait for, and until when it may.
pub(crate) struct Waiting<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) deadline: Instant,
}

impl Waiting<'_> {
    fn until_deadline<T>(deadline: Instant, wait: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<T> {
        // Threads that call guests have a runtime: see `Runtime::enter`.
        let answer = Handle::current().block_on(async { timeout_at(deadline, wait).await });
        answer.unwrap_or_else(|_| Err(Trap::Interrupt.into()))
    }
}

impl poll::Host for Waiting<'_> {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        Self::until_deadline(self.deadline, unending::Host::poll(self.table, pollables))
    }
}

impl poll::HostPollable for Waiting<'_> {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        poll::HostPollable::ready(self.table, pollable)
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        Self::until_deadline(self.deadline, unending::HostPollable::block(self.table, pollable))
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(self.table, pollable)
    }
}

/// Says to wasmtime what implements the interface.
pub(crate) struct LimitedWaiting;

impl HasData for LimitedWaiting {
    type Data<'a> = Waiting<'a>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
    use std::pin::Pin;
    use std::time::Duration;

    use wasmtime_wasi::p2::{Pollable, subscribe};

    use super::*;

    /// Is never ready.
    struct Never;

    impl Pollable for Never {
        fn ready<'a, 'b>(&'a mut self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
        where
            'a: 'b,
            Self: 'b,
        {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn waiting_for_what_never_comes_ends_in_time() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _entered = runtime.enter();
        let mut table = ResourceTable::new();
        let never = table.push(Never).unwrap();
        let pollable = subscribe(&mut table, never).unwrap();
        let begun = Instant::now();
        let mut waiting = Waiting { table: &mut table, deadline: begun + Duration::from_millis(50) };
        let again = Resource::new_borrow(pollable.rep());
        let blocked = poll::HostPollable::block(&mut waiting, Resource::new_borrow(pollable.rep())).unwrap_err();
        assert_eq!(blocked.downcast_ref(), Some(&Trap::Interrupt));
        let polled = poll::Host::poll(&mut waiting, vec![again]).unwrap_err();
        assert_eq!(polled.downcast_ref(), Some(&Trap::Interrupt));
        assert!(begun.elapsed() >= Duration::from_millis(50) && begun.elapsed() < Duration::from_secs(10));
        assert!(!poll::HostPollable::ready(&mut waiting, pollable).unwrap());
    }
}
