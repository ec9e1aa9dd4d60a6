//! The sessions of a tenant: the list of them, their titles, forks and ends.

use std::future::IntoFuture;

use crate::call::{Access, Call};
use crate::error::Result;
use crate::operations::page_setters;
use crate::session::Session;
use crate::tenant::Tenant;
use crate::types::{SessionEntry, SessionPage};

impl Tenant {
    /// The sessions, newest activity first, without reading any message, in pages. Errors: `stale-cursor`.
    pub fn list_sessions(&self) -> ListSessions {
        ListSessions { tenant: self.clone(), cursor: None, limit: None }
    }
}

/// See [`Tenant::list_sessions`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct ListSessions {
    tenant: Tenant,
    cursor: Option<String>,
    limit: Option<u32>,
}

impl ListSessions {
    page_setters!();
}

impl IntoFuture for ListSessions {
    type Output = Result<SessionPage>;
    type IntoFuture = Call<SessionPage>;

    fn into_future(self) -> Call<SessionPage> {
        let Self { tenant, cursor, limit } = self;
        tenant.enqueue(tenant.label("list-sessions"), Access::Read, move |guest, store| {
            guest.call_list_sessions(store, cursor.as_deref(), limit)
        })
    }
}

impl Session {
    /// The session as a list of sessions shows it, without its messages. Errors: `unknown-session`.
    pub fn info(&self) -> Call<SessionEntry> {
        self.call("session-info", Access::Read, |guest, store, session| guest.call_session_info(store, session))
    }

    /// Gives the session a title of at most 1,024 bytes, or takes it away, on a user's word. Errors: `unknown-session`.
    pub fn set_title(&self, title: Option<&str>) -> Call<SessionEntry> {
        self.title(title, false)
    }

    /// Gives the session a title that a program made up: one that a user gave stays. Errors: `unknown-session`.
    pub fn set_automatic_title(&self, title: &str) -> Call<SessionEntry> {
        self.title(Some(title), true)
    }

    fn title(&self, title: Option<&str>, automatic: bool) -> Call<SessionEntry> {
        let title = title.map(str::to_owned);
        self.call("set-title", Access::Write(|_| true), move |guest, store, session| {
            guest.call_set_title(store, session, title.as_deref(), automatic)
        })
    }

    /// Deletes the session with all that belongs to it: messages, summaries, configuration, title, blocks of its own.
    /// Answers how many messages that were. Errors: `unknown-session`.
    pub fn delete(&self) -> Call<u32> {
        self.call("delete-session", Access::Write(|_| true), |guest, store, session| {
            guest.call_delete_session(store, session)
        })
    }

    /// Copies the path to the present leaf, or another one, into a new session: in order, with times and summaries; title
    /// and configuration too. Answers how many messages that were. Errors: `unknown-session`, `unknown-message`,
    /// `invalid-argument` where the new session exists.
    pub fn fork(&self, new_session: impl Into<String>) -> Fork {
        Fork { session: self.clone(), leaf_id: None, new_session: new_session.into() }
    }
}

/// See [`Session::fork`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct Fork {
    session: Session,
    leaf_id: Option<String>,
    new_session: String,
}

impl Fork {
    /// The path's last message, instead of the present leaf.
    pub fn leaf(mut self, id: impl Into<String>) -> Self {
        self.leaf_id = Some(id.into());
        self
    }
}

impl IntoFuture for Fork {
    type Output = Result<u32>;
    type IntoFuture = Call<u32>;

    fn into_future(self) -> Call<u32> {
        let Self { session, leaf_id, new_session } = self;
        session.call("fork-session", Access::Write(|_| true), move |guest, store, session| {
            guest.call_fork_session(store, session, leaf_id.as_deref(), &new_session)
        })
    }
}
