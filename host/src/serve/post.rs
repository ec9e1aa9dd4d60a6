//! `POST /rpc`: one request, one answer.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
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
    let target = Target::of_query(request.uri().query())?.without_session()?;
    let identity = shared.confined(identity, target.tenant.as_deref())?;
    let (head, body) = request.into_parts();
    check_json(&head.headers)?;
    let Room { bytes, share } = shared.bodies.read(&head.headers, body).await?;
    let ending = shared.stopping.child_token();
    let reply = match shared.service(&identity).ending_with(ending.clone()).take(bytes).await {
        Taken::Nothing => return Err(Refusal::new(StatusCode::BAD_REQUEST, Failure::request("there is no request"))),
        Taken::Refused(reply) => Some(reply),
        // A client that goes away does not take back what it has asked for.
        Taken::Task(task) => {
            let mut task = shared.tasks.spawn(task.run_alone());
            let ended = tokio::select! {
                ended = &mut task => ended,
                _ = shared.authority.over(&identity) => {
                    // What happens from now on is not for this token: what waits for it is answered as it is.
                    ending.cancel();
                    task.await
                }
            };
            match ended {
                Ok(reply) => reply,
                Err(_) => {
                    return Err(Refusal::with_status(StatusCode::INTERNAL_SERVER_ERROR, "the request broke down"));
                }
            }
        }
    };
    drop(share);
    Ok(match reply {
        Some(reply) => json(StatusCode::OK, reply.into_text()),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// A page of another site can send a form or a text without being asked, but not JSON.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if kind.trim().eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let sentence = "the body has to be JSON: \"Content-Type: application/json\"";
    Err(Refusal::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence))
}
