//! `POST /rpc`: one request, one answer.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{Identity, Refusal, Shared, body::Room, refusal::json, target::Target};
use crate::rpc::{Failure, Taken};

/// Carries out the request in the body.
pub(super) async fn rpc(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    answer(&shared, &identity, request).await.unwrap_or_else(|refusal| {
        shared.metrics.refused(refusal.kind());
        refusal.into_response()
    })
}

async fn answer(shared: &Shared, identity: &Identity, request: Request) -> Result<Response, Refusal> {
    let target = Target::of_query(request.uri().query())?;
    let identity = shared.confined(identity, target.tenant.as_deref())?;
    let (head, body) = request.into_parts();
    if !is_json(head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok())) {
        // A page of another site can send a form or a text without being asked, but not this.
        let sentence = "the body has to be JSON: \"Content-Type: application/json\"";
        return Err(Refusal::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence));
    }
    let Room { bytes, share } = shared.bodies.read(&head.headers, body).await?;
    let reply = match shared.service(&identity).read(bytes) {
        Taken::Nothing => return Err(Refusal::new(StatusCode::BAD_REQUEST, Failure::request("there is no request"))),
        Taken::Refused(reply) => Some(reply),
        // A client that goes away does not take back what it has asked for.
        Taken::Task(task) => match shared.tasks.spawn(task.run_alone()).await {
            Ok(reply) => reply,
            Err(_) => return Err(Refusal::with_status(StatusCode::INTERNAL_SERVER_ERROR, "the request broke down")),
        },
    };
    drop(share);
    Ok(match reply {
        Some(reply) => json(StatusCode::OK, reply.into_text()),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

fn is_json(kind: Option<&str>) -> bool {
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}
