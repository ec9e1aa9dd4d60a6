//! Which address leads where, and what every request passes first.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};

use super::{Identity, Refusal, Shared, agents, auth::Unknown, chat, events, gate, mcp, page, post, socket};

/// All addresses.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    let known = Router::new()
        .route("/rpc", post(post::rpc).get(socket::rpc))
        .route("/api/chat", post(chat::chat).get(chat::is_there))
        .route("/events", get(events::events))
        .route("/agents/coder-agent/{name}", get(agents::coder_agent))
        .route("/mcp", any(mcp::mcp).layer(Extension(mcp::service(shared.max_request))))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn_with_state(Arc::clone(shared), recognise));
    let guarded = known
        .merge(page::router())
        .fallback(|| async { nothing_here() })
        .method_not_allowed_fallback(|| async { not_that_way() })
        .layer(middleware::from_fn_with_state(Arc::clone(shared), guard));
    // What asks whether the server is there may know it by any name.
    let all = guarded.route("/healthz", get(healthz));
    all.layer(middleware::map_response(gate::harden)).with_state(Arc::clone(shared))
}

fn nothing_here() -> Refusal {
    Refusal::with_status(StatusCode::NOT_FOUND, "there is nothing at this address")
}

fn not_that_way() -> Refusal {
    Refusal::with_status(StatusCode::METHOD_NOT_ALLOWED, "this address is not asked in that way")
}

/// Looks at host and origin.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let ambiguous = request.headers().contains_key(header::TRANSFER_ENCODING);
    let (mut response, origin) = match shared.gate.check(&request) {
        Err(refusal) => {
            shared.metrics.refused(refusal.kind());
            (refusal.into_response(), None)
        }
        Ok(origin) if origin.is_some() && gate::is_preflight(&request) => (gate::preflight(), origin),
        Ok(origin) => (next.run(request).await, origin),
    };
    gate::allow(response.headers_mut(), origin);
    if ambiguous {
        // There may have been a Content-Length, too, which something in front of this server may have gone by: whatever
        // comes behind such a request is read by nobody.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Finds out who asks, and whether that is too often.
async fn recognise(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let identity = match identity(&shared, &request) {
        Ok(identity) => identity,
        Err(refusal) => {
            shared.metrics.refused(refusal.kind());
            return refusal.into_response();
        }
    };
    request.extensions_mut().insert(identity);
    next.run(request).await
}

fn identity(shared: &Shared, request: &Request) -> Result<Identity, Refusal> {
    if shared.stopping.is_cancelled() {
        return Err(Refusal::busy());
    }
    let identity = shared.authority.recognise(request.headers()).map_err(|unknown| match unknown {
        Unknown::Nobody => Refusal::unknown("a token has to be shown: \"Authorization: Bearer ...\""),
        Unknown::Refused => Refusal::unknown("this token is not accepted, or not any more"),
    })?;
    shared.rates.count(identity.name.as_ref()).map_err(Refusal::too_many)?;
    match &identity.name {
        None => Ok(identity),
        Some(name) => {
            let place = shared.places.take(name).ok_or_else(Refusal::crowded)?;
            Ok(identity.with_place(place))
        }
    }
}

async fn healthz(State(shared): State<Arc<Shared>>) -> Response {
    if shared.stopping.is_cancelled() {
        return Refusal::busy().into_response();
    }
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], "ok\n").into_response()
}

async fn metrics(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Refusal> {
    if !identity.metrics {
        return Err(Refusal::forbidden("this token may not read the numbers of all tenants together"));
    }
    let mut text = shared.metrics.text(shared.talktree.live_tenants(), shared.talktree.live_disk_bytes());
    if let Some(counters) = shared.counters.get() {
        text.push_str(&counters.text());
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
