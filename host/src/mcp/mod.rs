//! The Model Context Protocol: conversations as tools and resources for agents.
//!
//! What is special here:
//!
//! - **Messages are strings** that hold JSON, given and taken: libraries of that protocol re-spell JSON, and a message has
//!   to stay as it is, byte for byte.
//! - **Results are short** where a model reads them: a transcript in words as the content, the exact values as the structured
//!   content. Media is left out of messages; only what JSON-RPC gives has it.
//! - **Confinement.** A server can be for one tenant, and for one session of it: then neither is an argument of any tool, and
//!   nothing else can be reached. It can also be for reading only.
//! - **Errors** that an agent can act on are results of the tool, not errors of the protocol: `kind: what is wrong`.

mod arguments;
mod catalogue;
mod handler;
mod prompts;
mod resources;
mod results;
mod uri;

use rmcp::{ServiceExt as _, transport::async_rw::AsyncRwTransport};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, ErrorKind, Result, Talktree,
    rpc::{Caller, DEFAULT_MAX_REQUEST},
    tenant_name::TenantName,
};

pub(crate) use handler::{Access, Handler};

/// What a server is confined to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Nothing but this tenant.
    pub tenant: Option<String>,
    /// Nothing but this session, whichever tenant.
    pub session: Option<String>,
    /// Nothing that writes.
    pub read_only: bool,
}

/// Serves one client on a pair of byte streams, one JSON text a line, until the input ends or `stop` is ready. What was
/// asked for by then is answered if it does not take long.
///
/// # Errors
///
/// `invalid-argument` for a tenant that cannot be; `other` where the client does not speak the protocol.
pub async fn serve<R, W>(
    talktree: Talktree,
    confinement: Confinement,
    input: R,
    output: W,
    stop: impl Future<Output = ()> + Send,
) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_opening(std::future::ready(Ok(talktree)), confinement, input, output, stop).await
}

/// The same with a Talktree that is still opening: what a client asks at first is answered meanwhile. Clients give a
/// server some seconds to answer, and opening takes longer where the component has never been compiled.
///
/// # Errors
///
/// Those of [`serve`], and that of opening, which ends it.
pub async fn serve_opening<R, W>(
    talktree: impl Future<Output = Result<Talktree>> + Send + 'static,
    confinement: Confinement,
    input: R,
    output: W,
    stop: impl Future<Output = ()> + Send,
) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let caller = match &confinement.tenant {
        None => Caller::trusted(),
        Some(tenant) => {
            TenantName::new(tenant)?;
            let refuse = |failure: crate::rpc::Failure| Error::new(ErrorKind::Forbidden, failure.message());
            Caller::trusted().confined_to(tenant).map_err(refuse)?
        }
    };
    let talktree = handler::opening(talktree);
    let handler = Handler::of_one(caller, confinement, talktree.clone());
    let ended = CancellationToken::new();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(DEFAULT_MAX_REQUEST);
    let broken = |error: &dyn std::fmt::Display| Error::new(ErrorKind::Other, format!("no client is served: {error}"));
    let serving = async {
        let running = match handler.serve_with_ct(transport, ended.clone()).await {
            Ok(running) => running,
            // A client that goes before it has said anything is none.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(broken(&error)),
        };
        running.waiting().await.map(drop).map_err(|error| broken(&error))
    };
    // Nobody has to ask for it to open.
    let failing = async {
        match talktree.clone().await {
            Ok(_) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        error = failing => return Err(error),
        () = stop => ended.cancel(),
    }
    if let Some(Ok(talktree)) = talktree.peek() {
        talktree.end_compactions();
    }
    serving.await
}
