//! The one store of an instance.

use std::cell::RefCell;
use std::env;

use talktree_engine as engine;

use super::wit;
use crate::place::Preopened;
use crate::settings::Settings;

pub(super) type Store = engine::Store<Preopened>;
pub(super) type Answer<T> = Result<T, wit::Error>;

thread_local! {
    /// One instance, one directory, one store. It lives as long as the instance does.
    static STORE: RefCell<Option<Store>> = const { RefCell::new(None) };
}

/// Works on the store. What the host has set is read by the first call.
pub(super) fn on_store<A, B: From<A>>(work: impl FnOnce(&mut Store) -> engine::Result<A>) -> Answer<B> {
    STORE.with_borrow_mut(|store| {
        let store = match store {
            Some(store) => store,
            None => {
                let settings = Settings::read(|name| env::var(name).ok())?;
                let options = settings.options();
                store.insert(Store::new(Preopened::new(settings), options))
            }
        };
        Ok(work(store)?.into())
    })
}
