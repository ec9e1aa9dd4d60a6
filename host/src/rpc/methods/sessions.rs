//! Methods about the sessions of a tenant.

use super::super::{failure::Failure, json::Object, params::Params};
use crate::{Session, SessionEntry, Tenant};

type Answer = Result<String, Failure>;

fn entry(session: &SessionEntry) -> String {
    Object::new()
        .text("id", &session.id)
        .maybe_text("title", session.title.as_deref())
        .flag("titleAutomatic", session.title_automatic)
        .number("createdAt", session.created_at)
        .number("lastActivityAt", session.last_activity_at)
        .number("messages", session.messages)
        .number("tokens", session.tokens)
        .maybe_text("leafId", session.leaf_id.as_deref())
        .finish()
}

pub(super) async fn list(tenant: &Tenant, params: Params<'_>) -> Answer {
    let page = tenant.list_sessions().cursor(params.text("cursor")?).limit(params.number::<u32>("limit")?).await?;
    Ok(Object::new()
        .list("sessions", &page.sessions, |session, out| out.push_str(&entry(session)))
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}

pub(super) async fn info(session: &Session) -> Answer {
    Ok(entry(&session.info().await?))
}

pub(super) async fn set_title(session: &Session, params: Params<'_>) -> Answer {
    let title = params.required_nullable_text("title")?;
    let automatic = params.flag("automatic")?.unwrap_or(false);
    let named = match (title, automatic) {
        (Some(title), true) => session.set_automatic_title(&title).await?,
        // A program that has no title to give leaves the present one.
        (None, true) => session.info().await?,
        (title, false) => session.set_title(title.as_deref()).await?,
    };
    Ok(entry(&named))
}

pub(super) async fn delete(session: &Session) -> Answer {
    Ok(Object::new().number("deleted", session.delete().await?).finish())
}

pub(super) async fn fork(session: &Session, params: Params<'_>) -> Answer {
    let mut fork = session.fork(params.required_name("newSession")?);
    if let Some(leaf) = params.text("leafId")? {
        fork = fork.leaf(leaf);
    }
    Ok(Object::new().number("messages", fork.await?).finish())
}
