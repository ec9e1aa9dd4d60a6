//! Methods that copy a tenant's store, make its file small, or delete it.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::super::{failure::Failure, json::Object, params::Params};
use crate::Tenant;

type Answer = Result<String, Failure>;

pub(super) async fn export_lines(tenant: &Tenant, params: Params<'_>) -> Answer {
    let max_bytes = params.number::<u64>("maxBytes")?;
    let export = match params.session_if_given()? {
        Some(session) => tenant.session(session).export_lines(),
        None => tenant.export_lines(),
    };
    let page = export.cursor(params.text("cursor")?).max_bytes(max_bytes).await?;
    Ok(Object::new().text("jsonl", &page.lines).maybe_text("cursor", page.cursor.as_deref()).finish())
}

pub(super) async fn snapshot(tenant: &Tenant, params: Params<'_>) -> Answer {
    let piece = tenant.snapshot().cursor(params.text("cursor")?).max_bytes(params.number::<u64>("maxBytes")?).await?;
    Ok(Object::new()
        .text("base64", &STANDARD.encode(&piece.data))
        .number("bytes", piece.bytes)
        .maybe_text("cursor", piece.cursor.as_deref())
        .finish())
}

pub(super) async fn vacuum(tenant: &Tenant) -> Answer {
    let report = tenant.vacuum().await?;
    Ok(Object::new().number("before", report.before).number("after", report.after).finish())
}

pub(super) async fn delete_tenant(tenant: &Tenant) -> Answer {
    tenant.delete().await?;
    Ok(Object::new().flag("deleted", true).finish())
}
