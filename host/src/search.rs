//! Search, in one session or in all of a tenant's.

use std::future::IntoFuture;
use std::sync::Arc;

use wasmtime::Store;

use crate::bindings::Sessions;
use crate::bindings::talktree::sessions::types as wit;
use crate::call::{Access, Call, Label};
use crate::error::Result;
use crate::sandbox::Guest;
use crate::session::Session;
use crate::tenant::Tenant;
use crate::types::{SearchFields, SearchOptions, SearchPage};

impl Tenant {
    /// Finds messages of all sessions by their words, best first.
    ///
    /// Any text is a query: all its words have to be there, in any order; `"..."` is a phrase, `word*` the beginning of
    /// a word. Letter case, diacritics and English endings make no difference; Chinese, Japanese, Korean, Thai, Lao and
    /// Khmer are found by one or more characters anywhere. The first search of a tenant builds its index, in steps between
    /// which other calls are carried out. Errors: `stale-cursor`, `invalid-argument`.
    pub fn search(&self, query: impl Into<String>) -> Search {
        let options = SearchOptions {
            session: None,
            limit: None,
            cursor: None,
            role: None,
            after: None,
            before: None,
            fields: SearchFields::empty(),
        };
        Search { tenant: self.clone(), query: query.into(), options }
    }
}

impl Session {
    /// Finds messages of this session by their words, as [`Tenant::search`] does.
    pub fn search(&self, query: impl Into<String>) -> Search {
        self.tenant().search(query).session(self.id().to_owned())
    }
}

/// See [`Tenant::search`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct Search {
    tenant: Tenant,
    query: String,
    options: SearchOptions,
}

impl Search {
    /// Only in this session; none: in all of the tenant's.
    pub fn session(mut self, id: impl Into<Option<String>>) -> Self {
        self.options.session = id.into();
        self
    }

    /// Results in this page: 1 to 1,000; none: 20.
    pub fn limit(mut self, results: impl Into<Option<u32>>) -> Self {
        self.options.limit = results.into();
        self
    }

    /// Goes on where the page with this cursor ended; none: from the beginning.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.options.cursor = cursor.into();
        self
    }

    /// Only messages of this role.
    pub fn role(mut self, role: impl Into<Option<String>>) -> Self {
        self.options.role = role.into();
        self
    }

    /// Only messages written at this time or later, in ms since 1970 UTC.
    pub fn after(mut self, time: impl Into<Option<i64>>) -> Self {
        self.options.after = time.into();
        self
    }

    /// Only messages written at this time or earlier, in ms since 1970 UTC.
    pub fn before(mut self, time: impl Into<Option<i64>>) -> Self {
        self.options.before = time.into();
        self
    }

    /// What to look at: text parts, where nothing is named.
    pub fn fields(mut self, fields: SearchFields) -> Self {
        self.options.fields = fields;
        self
    }
}

impl IntoFuture for Search {
    type Output = Result<SearchPage>;
    type IntoFuture = Call<SearchPage>;

    fn into_future(self) -> Call<SearchPage> {
        let Self { tenant, query, options } = self;
        tenant.with_index(tenant.label("search"), move |sessions, store| {
            sessions.talktree_sessions_store().call_search(store, &query, &options)
        })
    }
}

impl Tenant {
    /// Makes a call that searches, with an index that lacks nothing: steps of it are turns of their own, so that other
    /// calls come in between.
    pub(crate) fn with_index<T, F>(&self, label: Label, function: F) -> Call<T>
    where
        T: Send + 'static,
        F: Fn(&Sessions, &mut Store<Guest>) -> wasmtime::Result<Result<T, wit::Error>> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        let turn = move |tenant: &Tenant| {
            let function = Arc::clone(&function);
            tenant.enqueue_any(label.clone(), Access::Read, move |sessions, store| {
                match sessions.talktree_sessions_store().call_update_index(&mut *store)? {
                    Ok(true) => Ok(Ok(None)),
                    Ok(false) => Ok(function(sessions, store)?.map(Some)),
                    Err(error) => Ok(Err(error)),
                }
            })
        };
        let first = turn(self);
        let tenant = self.clone();
        self.follow(async move {
            let mut answer = first.await?;
            loop {
                match answer {
                    Some(answer) => return Ok(answer),
                    None => answer = turn(&tenant).await?,
                }
            }
        })
    }
}
