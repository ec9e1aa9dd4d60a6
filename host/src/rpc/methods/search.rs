//! The method that searches.

use super::super::{
    failure::Failure,
    json::Object,
    params::{Params, choice},
};
use crate::{SearchFields, Tenant};

/// The words for what is looked at.
const FIELDS: [(&str, SearchFields); 4] = [
    ("text", SearchFields::TEXT),
    ("tools", SearchFields::TOOLS),
    ("reasoning", SearchFields::REASONING),
    ("summaries", SearchFields::SUMMARIES),
];

pub(super) async fn search(tenant: &Tenant, params: Params<'_>) -> Result<String, Failure> {
    let mut fields = SearchFields::empty();
    for word in params.jsons_if_given("include")?.unwrap_or_default() {
        fields |= choice("include", &word, &FIELDS)?;
    }
    let page = tenant
        .search(params.required_any_text("query")?)
        .session(params.session_if_given()?)
        .limit(params.number::<u32>("limit")?)
        .cursor(params.text("cursor")?)
        .role(params.text("role")?)
        .after(params.number::<i64>("after")?)
        .before(params.number::<i64>("before")?)
        .fields(fields)
        .await?;
    Ok(Object::new()
        .list("results", &page.results, |result, out| {
            let mut found = Object::new();
            found
                .text("sessionId", &result.session_id)
                .text("id", &result.id)
                .text("role", &result.role)
                .number("seq", result.seq)
                .text("content", &result.content)
                .flag("contentTruncated", result.content_truncated)
                .text("snippet", &result.snippet)
                .real("score", result.score);
            out.push_str(&found.finish());
        })
        .maybe_text("cursor", page.cursor.as_deref())
        .finish())
}
