//! Conversations as resources: in words, or as messages one a line.

use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    Access,
    results::transcript,
    uri::{Form, read},
};
use crate::rpc::{Failure, Object};

/// What a resource holds at most, in bytes of messages: the newest that fit.
const MOST: u32 = 1 << 20;
/// Resources of one page.
const PAGE: u32 = 100;

impl Form {
    fn title(self) -> &'static str {
        match self {
            Form::Transcript => "Transcript of a conversation",
            Form::Messages => "Messages of a conversation",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Form::Transcript => "The present branch in words, oldest message first; the newest MiB of it",
            Form::Messages => "The present branch as JSON, one message a line, oldest first; the newest MiB of it",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Form::Transcript => "text/plain",
            Form::Messages => "application/x-ndjson",
        }
    }
}

/// How conversations are addressed.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let templates = Form::ALL.map(|form| {
        ResourceTemplate::new(form.template(), form.title().to_lowercase().replace(' ', "-"))
            .with_title(form.title())
            .with_description(form.description())
            .with_mime_type(form.media_type())
    });
    ListResourceTemplatesResult::with_all_items(templates.to_vec())
}

/// The conversations of the tenant that a client is confined to, or those without a name of all tenants.
pub(super) async fn list(access: &Access, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let (resources, cursor) = match (access.service.tenant(), &access.confinement.session) {
        (Some(tenant), Some(session)) => (vec![resource(tenant, session, None)], None),
        (Some(tenant), None) => sessions(access, tenant, cursor).await.map_err(told)?,
        (None, _) => tenants(access, cursor).await.map_err(told)?,
    };
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = cursor;
    Ok(listed)
}

/// Resources, and where the next page begins.
type Page = (Vec<Resource>, Option<String>);

async fn sessions(access: &Access, tenant: &str, cursor: Option<String>) -> Result<Page, Failure> {
    #[derive(Deserialize)]
    struct Sessions {
        sessions: Vec<Session>,
        cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Session {
        id: String,
        title: Option<String>,
    }
    let Sessions { sessions, cursor } = invoke(access, "listSessions", &mut page_params(cursor)).await?;
    let resources = sessions.iter().map(|session| resource(tenant, &session.id, session.title.as_deref()));
    Ok((resources.collect(), cursor))
}

async fn tenants(access: &Access, cursor: Option<String>) -> Result<Page, Failure> {
    #[derive(Deserialize)]
    struct Tenants {
        tenants: Vec<String>,
        cursor: Option<String>,
    }
    let Tenants { tenants, cursor } = invoke(access, "listTenants", &mut page_params(cursor)).await?;
    let session = access.confinement.session.as_deref().unwrap_or_default();
    Ok((tenants.iter().map(|tenant| resource(tenant, session, None)).collect(), cursor))
}

fn page_params(cursor: Option<String>) -> Object {
    let mut params = Object::new();
    params.maybe_text("cursor", cursor.as_deref()).number("limit", PAGE);
    params
}

fn resource(tenant: &str, session: &str, title: Option<&str>) -> Resource {
    let name = if session.is_empty() { tenant.to_owned() } else { format!("{tenant} {session}") };
    let form = Form::Transcript;
    let resource = Resource::new(form.of(tenant, session), name).with_mime_type(form.media_type());
    resource.with_title(title.unwrap_or(form.title())).with_description(form.description())
}

/// What an address leads to.
pub(super) async fn content(access: &Access, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("there is no resource {uri:?}"), None);
    let (form, tenant, session) = read(uri).ok_or_else(unknown)?;
    if access.confinement.session.as_ref().is_some_and(|only| *only != session) {
        return Err(unknown());
    }
    #[derive(Deserialize)]
    struct Recent {
        messages: Vec<Box<RawValue>>,
        truncated: bool,
    }
    let mut params = Object::new();
    params.text("tenant", &tenant).text("session", &session).number("maxBytes", MOST).text("media", "reference");
    let Recent { messages, truncated } = invoke(access, "getRecentHistory", &mut params).await.map_err(told)?;
    let lines = messages.iter().map(|message| match form {
        Form::Transcript => transcript(&Value::from(message.get()), usize::MAX),
        Form::Messages => message.get().to_owned(),
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if truncated && form == Form::Transcript {
        text.insert_str(0, "(Earlier messages were left out.)\n");
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(form.media_type())]))
}

async fn invoke<T: serde::de::DeserializeOwned>(
    access: &Access,
    method: &str,
    params: &mut Object,
) -> Result<T, Failure> {
    let result = access.service.invoke(method, params).await?;
    serde_json::from_str(&result).map_err(|error| {
        Failure::store("other", format!("the answer of {method} cannot be read: {error}"), None, None, None)
    })
}

fn told(failure: Failure) -> ErrorData {
    ErrorData::invalid_params(format!("{}: {}", failure.kind(), failure.message()), None)
}
