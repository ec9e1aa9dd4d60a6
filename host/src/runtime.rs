//! The compiled component: one engine for the whole process, and the clock that ends calls that take too long.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::component::{Component, Linker};
use wasmtime::{Cache, CacheConfig, Config, Engine};

use crate::bindings::{Sessions, SessionsPre};
use crate::error::{Error, ErrorKind, Result};
use crate::imports;
use crate::sandbox::Guest;

/// The component, as `cargo xtask guest` built it.
static COMPONENT: &[u8] = include_bytes!(env!("TALKTREE_COMPONENT_FILE"));

/// How often the clock ticks while calls run: time limits are kept to this.
const TICK: Duration = Duration::from_millis(5);

/// How much of its thread's stack a guest may use.
pub(crate) const GUEST_STACK_BYTES: usize = 1 << 20;

/// The engine, the compiled component with its imports linked, and what its calls need around them.
pub(crate) struct Runtime {
    component: SessionsPre<Guest>,
    clock: Arc<Clock>,
    /// wasmtime-wasi looks for a tokio runtime at every call of the guest into the system, and without one it goes a
    /// much slower way. Files are read and written on the tenant's own thread all the same: what runs on this one is
    /// compaction.
    tokio: tokio::runtime::Runtime,
}

impl Runtime {
    /// The runtime of this process. The first call compiles the component, or loads it from the cache.
    ///
    /// It is never taken down: machine code is the same for all, and compiling takes seconds.
    pub(crate) fn shared(cache_dir: Option<&Path>) -> Result<Arc<Self>> {
        static SHARED: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*shared {
            return Ok(Arc::clone(runtime));
        }
        let runtime = Self::build(cache_dir)
            .map_err(|error| Error::new(ErrorKind::Other, format!("the component could not be loaded: {error:#}")))?;
        Ok(Arc::clone(shared.insert(Arc::new(runtime))))
    }

    fn build(cache_dir: Option<&Path>) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        // SQLite's parser and the engine's JSON reader recurse; overflowing would cost the sandbox.
        config.max_wasm_stack(GUEST_STACK_BYTES);
        // The component uses WASI 0.2 only: what concurrent calls would need per store is left out.
        config.concurrency_support(false);
        if let Some(directory) = cache_dir {
            let mut cache = CacheConfig::new();
            cache.with_directory(directory);
            config.cache(Some(Cache::new(cache)?));
        }
        let engine = Engine::new(&config)?;
        let component = Component::from_binary(&engine, COMPONENT)?;
        let mut linker = Linker::<Guest>::new(&engine);
        imports::link(&mut linker)?;
        let component = SessionsPre::new(linker.instantiate_pre(&component)?)?;
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { component, clock: Clock::start(engine)?, tokio })
    }

    /// The engine, for new stores.
    pub(crate) fn engine(&self) -> &Engine {
        self.component.engine()
    }

    /// Makes an instance in this store.
    pub(crate) fn instantiate(&self, store: &mut wasmtime::Store<Guest>) -> wasmtime::Result<Sessions> {
        self.component.instantiate(store)
    }

    /// While the guard lives, this thread has a tokio runtime: every thread that calls guests needs one.
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.tokio.enter()
    }

    /// Where tasks of the host itself run, whatever executor the caller has.
    pub(crate) fn tokio(&self) -> &tokio::runtime::Handle {
        self.tokio.handle()
    }

    /// The clock ticks while the guard lives: every call of a guest needs one.
    pub(crate) fn ticking(&self) -> Ticking {
        *self.clock.lock() += 1;
        self.clock.wanted.notify_one();
        Ticking(Arc::clone(&self.clock))
    }
}

/// The number of ticks after which this much time has passed for sure.
pub(crate) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2).saturating_add(1)
}

/// Moves the engine's epoch forward while calls run, and sleeps while none does.
struct Clock {
    running: Mutex<usize>,
    wanted: Condvar,
}

impl Clock {
    fn start(engine: Engine) -> std::io::Result<Arc<Self>> {
        let clock = Arc::new(Self { running: Mutex::new(0), wanted: Condvar::new() });
        let ticker = Arc::clone(&clock);
        std::thread::Builder::new().name("talktree-clock".to_owned()).spawn(move || {
            loop {
                let running = ticker.lock();
                drop(
                    ticker.wanted.wait_while(running, |running| *running == 0).unwrap_or_else(PoisonError::into_inner),
                );
                std::thread::sleep(TICK);
                engine.increment_epoch();
            }
        })?;
        Ok(clock)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Runtime::ticking`].
pub(crate) struct Ticking(Arc<Clock>);

impl Drop for Ticking {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
    }
}
