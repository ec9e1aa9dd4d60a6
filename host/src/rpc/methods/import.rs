//! The method that takes over conversations of other programs.

use super::super::{failure::Failure, json::Object, params::Params};
use crate::{
    ErrorKind, Tenant,
    import::{Format, Input, Options, Report, run},
};

type Answer = Result<String, Failure>;

pub(super) async fn import_data(tenant: &mut Tenant, params: Params<'_>) -> Answer {
    // Without, it is recognised by its content.
    let format = params.text("format")?.map(|name| name.parse::<Format>()).transpose();
    let format = format.map_err(|error| Failure::argument("format", error.to_string()))?;
    let data = params.required_text("data")?;
    transcript(tenant, format, params.session_if_given()?, data).await
}

/// A transcript of another program.
async fn transcript(tenant: &mut Tenant, format: Option<Format>, session: Option<String>, data: String) -> Answer {
    // An export may come page by page.
    let options = Options { format, session, part: true, ..Options::default() };
    let input = Input::bytes("", data).map_err(broken)?;
    let report = run(input, tenant, options).await.map_err(broken)?;
    match &report.stopped {
        None => answer(&report).map_err(broken),
        // What was stored until then stays; the same call goes on from there.
        Some(why) => {
            let kind = report.stopped_by.map_or("other", ErrorKind::as_str);
            Err(Failure::store(kind, format!("the import stopped: {why}"), None, None, None))
        }
    }
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::store("other", error.to_string(), None, None, None)
}

fn answer(report: &Report) -> serde_json::Result<String> {
    let sessions = serde_json::to_string(&report.sessions)?;
    let failed = serde_json::to_string(&report.failed)?;
    Ok(Object::new().json("sessions", &sessions).json("failed", &failed).finish())
}
