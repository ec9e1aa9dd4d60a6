//! `/mcp`: the Model Context Protocol over Streamable HTTP.
//!
//! Each request is for itself: nothing is kept between two of them, and every one is carried out for whoever sends it. `?tenant=T`
//! (or user and conversation) and `?session=S` confine it, `?readonly=true` lets it read only.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};

use super::{Identity, Refusal, Shared, body::Room, socket::refuse, target::Target};
use crate::mcp::{Access, Confinement, Handler};

/// What answers the requests.
pub(super) type McpService = StreamableHttpService<Handler, NeverSessionManager>;

/// Makes what answers the requests. Host, origin and length are looked at before, and what has been accepted at the end
/// of the server is answered.
pub(super) fn service(max_request: usize) -> McpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(max_request);
    StreamableHttpService::new(|| Ok(Handler::of_each_request()), Arc::default(), config)
}

/// Answers a request.
pub(super) async fn mcp(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    Extension(service): Extension<McpService>,
    request: Request,
) -> Response {
    match answer(&shared, &identity, &service, request).await {
        Ok(response) => response,
        Err(refusal) => refuse(&shared, refusal),
    }
}

async fn answer(
    shared: &Shared,
    identity: &Identity,
    service: &McpService,
    request: Request,
) -> Result<Response, Refusal> {
    let query = request.uri().query();
    let target = Target::of_query(query)?;
    let read_only = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .any(|(name, value)| name == "readonly" && value != "false");
    let identity = shared.confined(identity, target.tenant.as_deref())?;
    let confinement = Confinement { tenant: target.tenant, session: target.session, read_only };
    let access = Access { service: shared.service(&identity), confinement };
    let (mut head, body) = request.into_parts();
    head.extensions.insert(access);
    let Room { bytes, share } = shared.bodies.read(&head.headers, body).await?;
    let service = service.clone();
    let request = Request::from_parts(head, Body::from(bytes));
    // A client that goes away does not take back what it has asked for.
    let answered = shared.tasks.spawn(async move {
        let response = service.handle(request).await;
        drop(share);
        response
    });
    match answered.await {
        Ok(response) => Ok(response.map(Body::new).into_response()),
        Err(_) => Err(Refusal::with_status(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "the request broke down")),
    }
}
