//! Talktree over HTTP, for runtimes on other machines and in browsers.
//!
//! | address | what it does |
//! | --- | --- |
//! | `POST /rpc` | one JSON-RPC request in the body, its answer in the body of the answer |
//! | WebSocket `/rpc` | requests and answers as text messages, without waiting for one another |
//! | `GET /events` | the feed of a tenant as Server-Sent Events |
//! | `/mcp` | the Model Context Protocol over Streamable HTTP |
//! | WebSocket `/agents/coder-agent/{name}` | the calls of a chat agent, about the tenant of that name |
//! | `GET /` | the page for people, a window into the store |
//! | `POST /api/chat` | an agent's answer to a message, as it is made; with [`ServeOptions::agent`] |
//! | `GET /healthz` | `ok` while the server takes requests |
//! | `GET /metrics` | numbers for Prometheus |
//!
//! `?tenant=T`, or `?user=U&conversation=C` for the tenant `U:C`, says once and for all which tenant a connection or a
//! request is about; then no other one can be named in it.
//!
//! What is refused before it reaches a method has a status of HTTP (400, 401, 403, 404, 408, 413, 415, 429, 503) and a
//! JSON-RPC error as its body. Every answer of a method, errors too, has the status 200; a request without an id has 204.
//!
//! # Who may come in
//!
//! On an address of this machine (`127.0.0.1`, `::1`) everybody may do everything. On any other one clients have to show
//! a token, and [`Server::bind`] refuses to start where none is configured: one of a token file, or a JSON Web Token. A token is
//! good for tenants by name and for those whose names begin so; every method is checked against that. `Host` has to be a
//! name or an address of this server, and `Origin`, where there is one, its own or an allowed one; other sites' pages cannot
//! read answers unless their origin is allowed.
//!
//! # Bounds
//!
//! A request is at most [`ServeOptions::max_request`] bytes long, a message of a WebSocket [`ServeOptions::max_message`]; all
//! bodies together take up 256 MiB. The head of a request has to be there within 10 s, its body within 15 s and one
//! second more for each 256 KiB; a client that takes nothing of its answers for 30 s is cut off. Each token may send
//! [`ServeOptions::rate`] requests a second, and have [`ServeOptions::max_per_token`] under way.
//!
//! # The end
//!
//! When it is told to stop, the server accepts no more connections and requests; what it has accepted is carried out and
//! answered, for which there are [`ServeOptions::patience`]. WebSockets and feeds are closed.

mod agents;
mod auth;
mod body;
mod chat;
mod events;
mod gate;
mod listener;
mod mcp;
mod metrics;
mod page;
mod patient;
mod places;
mod post;
mod rate;
mod refusal;
mod routes;
mod socket;
mod target;
mod tls;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use auth::check_token_file;
pub use auth::{JwtOptions, NewToken, add_token};
pub use tls::TlsFiles;

use auth::{Authority, Identity};
use body::Bodies;
use gate::Gate;
use metrics::Metrics;
use places::Places;
use rate::Rates;
use refusal::Refusal;

use crate::{
    Error, ErrorKind, Result, Talktree,
    chat::Agent,
    metrics::Counters,
    rpc::{CommonBudget, DEFAULT_MAX_REQUEST, Service},
};

/// How a server listens, and whom it lets in.
#[derive(Clone)]
pub struct ServeOptions {
    /// Address and port. `127.0.0.1:7411` by default; with port 0 the system chooses one.
    pub listen: SocketAddr,
    /// Certificate and key for TLS; none: without it.
    pub tls: Option<TlsFiles>,
    /// File with the hashes of tokens (see [`add_token`]).
    pub token_file: Option<PathBuf>,
    /// Whose JSON Web Tokens are accepted.
    pub jwt: Option<JwtOptions>,
    /// Names that this server is called by, beside its address and `localhost` where that leads to it.
    pub hosts: Vec<String>,
    /// Origins whose pages may use it, such as `https://app.example`.
    pub origins: Vec<String>,
    /// The longest request, in bytes; 128 MiB by default.
    pub max_request: usize,
    /// The longest message on a WebSocket, in bytes; 16 MiB by default. What is longer goes by `POST`.
    pub max_message: usize,
    /// How many connections may be open; 1,024 by default. More wait.
    pub max_connections: usize,
    /// How many requests a second each token may send, and twice as many after a rest; none: as many as it likes. 1,000 by
    /// default.
    pub rate: Option<u32>,
    /// How many requests each token may have under way, and WebSockets and feeds open, all together; none: half of
    /// `max_connections`.
    pub max_per_token: Option<usize>,
    /// Who answers `POST /api/chat`; nobody by default.
    pub agent: Option<Agent>,
    /// How long what was accepted may take when the server ends; 30 seconds by default.
    pub patience: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7411)),
            tls: None,
            token_file: None,
            jwt: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_request: DEFAULT_MAX_REQUEST,
            max_message: 16 << 20,
            max_connections: 1_024,
            rate: Some(1_000),
            max_per_token: None,
            agent: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// What all connections have in common.
struct Shared {
    talktree: Talktree,
    authority: Authority,
    gate: Gate,
    rates: Rates,
    places: Arc<Places>,
    bodies: Bodies,
    /// What the requests on all WebSockets take up.
    lines: CommonBudget,
    metrics: Arc<Metrics>,
    /// What calls cost in the store.
    counters: OnceLock<Counters>,
    max_request: usize,
    max_message: usize,
    agent: Option<Agent>,
    /// Calls and conversations that are waited for at the end.
    tasks: TaskTracker,
    /// Nothing more is taken in.
    stopping: CancellationToken,
}

impl Shared {
    /// Carries out requests of somebody.
    fn service(&self, identity: &Identity) -> Service {
        Service::new(self.talktree.clone(), identity.caller.clone(), Some(self.metrics.clone()))
            .ending_with(self.stopping.clone())
    }

    /// Somebody, confined to the tenant that an address names, if it does.
    fn confined(&self, identity: &Identity, tenant: Option<&str>) -> Result<Identity, Refusal> {
        let Some(tenant) = tenant else { return Ok(identity.clone()) };
        let refuse = |failure| Refusal::new(axum::http::StatusCode::FORBIDDEN, failure);
        Ok(identity.with_caller(identity.caller.confined_to(tenant).map_err(refuse)?))
    }
}

/// A server that listens, and has not accepted anything yet.
pub struct Server {
    listener: TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    shared: Arc<Shared>,
    max_connections: usize,
    patience: Duration,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    ///
    /// `forbidden` for an address that is not of this machine alone, where no tokens are configured; `not-configured` for
    /// files that are missing or make no sense, and for an address that cannot be listened on; `invalid-argument` for an
    /// allowed origin that is none.
    pub async fn bind(talktree: Talktree, options: ServeOptions) -> Result<Self> {
        let authority = Authority::new(options.token_file.as_deref(), options.jwt.as_ref())?;
        if !authority.is_needed() && !options.listen.ip().is_loopback() {
            let sentence = format!(
                "others than this machine can reach {}: tokens have to be configured first (a token file, or JSON Web Tokens)",
                options.listen
            );
            return Err(Error::new(ErrorKind::Forbidden, sentence).with_subject("listen"));
        }
        let gate = Gate::new(options.listen, &options.hosts, &options.origins)
            .map_err(|sentence| Error::new(ErrorKind::InvalidArgument, sentence).with_subject("origins"))?;
        let tls = options.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        if tls.is_none() && !options.listen.ip().is_loopback() {
            tracing::warn!("tokens and messages go over the network as they are: a proxy with TLS should be in front");
        }
        let listener = TcpListener::bind(options.listen).await.map_err(|error| {
            Error::new(ErrorKind::NotConfigured, format!("{} cannot be listened on: {error}", options.listen))
        })?;
        let shared = Shared {
            talktree,
            authority,
            gate,
            rates: Rates::new(options.rate),
            places: Arc::new(Places::new(options.max_per_token.unwrap_or(options.max_connections.div_ceil(2)).max(1))),
            bodies: Bodies::new(options.max_request),
            lines: CommonBudget::default(),
            metrics: Arc::default(),
            counters: OnceLock::new(),
            max_request: options.max_request,
            max_message: options.max_message,
            agent: options.agent,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        Ok(Self {
            listener,
            tls,
            shared: Arc::new(shared),
            max_connections: options.max_connections.max(1),
            patience: options.patience,
        })
    }

    /// Shows these numbers at `/metrics`, too: the same that the [`Talktree`] was given as a
    /// [hook](crate::Builder::metrics). Those of the first call count.
    #[must_use]
    pub fn with_counters(self, counters: Counters) -> Self {
        // A second one changes nothing.
        let _ = self.shared.counters.set(counters);
        self
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// `other` if the system does not tell.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|error| Error::new(ErrorKind::Other, error.to_string()))
    }

    /// Serves until `stop` is ready, and then ends in good order. Automatic compactions of this Talktree end then for good,
    /// and a `compact` that was accepted has ten seconds left. The Talktree itself stays open.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        listener::run(self, stop).await;
    }
}
