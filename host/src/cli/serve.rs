//! `talktree serve`: JSON-RPC, events and MCP over HTTP.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use talktree::{
    chat::{Agent, Spec},
    metrics::Counters,
    serve::{JwtOptions, ServeOptions, Server, TlsFiles},
};

use super::{runtime::Runtime, signals::Signals, values};

/// Headings in the help.
const TLS: &str = "TLS";
const CALLERS: &str = "Who may come in";
const LIMITS: &str = "Limits of the network";

/// Serve JSON-RPC over HTTP and WebSockets, with events, MCP and metrics
#[derive(Args)]
#[command(after_help = "\
Addresses: GET / (a page for people), POST /rpc, WebSocket /rpc, GET /events, /mcp, WebSocket /agents/coder-agent/{name},
POST /api/chat (with --chat-model), GET /healthz, GET /metrics.
?tenant=T, or ?user=U&conversation=C for the tenant U:C, says which tenant a request or a connection is about.

On an address of this machine alone nobody has to show a token unless tokens are configured. Others can only be listened \
on with tokens: --token-file (see `talktree token`) or the four --jwt options, or both. On SIGTERM and SIGINT what was \
accepted is carried out and answered first; a second signal ends the process at once. The address is said on stdout once \
it is listened on.

Examples:
  talktree serve --root data
  curl -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' -H 'content-type: application/json' localhost:7411/rpc
  talktree serve --root data --chat-model scripted
  talktree token --file tokens.json --name chat --prefix user:
  talktree serve --root data --listen 0.0.0.0:443 --token-file tokens.json --tls-cert c.pem --tls-key k.pem

Exit codes: 0 a signal, 1 failed, 2 the command line was wrong.")]
pub(crate) struct Serve {
    #[command(flatten, next_help_heading = "Tenants")]
    runtime: Runtime,

    /// Address and port to listen on; port 0: one that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,

    /// File with the certificate chain, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = TLS)]
    tls_cert: Option<PathBuf>,

    /// File with the private key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = TLS)]
    tls_key: Option<PathBuf>,

    /// File with the hashes of tokens; it is read again when it changes
    #[arg(long, value_name = "FILE", help_heading = CALLERS)]
    token_file: Option<PathBuf>,

    /// Who issues JSON Web Tokens (`iss`)
    #[arg(long, value_name = "TEXT", requires_all = ["jwt_audience", "jwt_keys"], help_heading = CALLERS)]
    jwt_issuer: Option<String>,

    /// For whom they have to be (`aud`)
    #[arg(long, value_name = "TEXT", requires = "jwt_issuer", help_heading = CALLERS)]
    jwt_audience: Option<String>,

    /// File with the issuer's public keys, as a JSON Web Key Set; it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "jwt_issuer", help_heading = CALLERS)]
    jwt_keys: Option<PathBuf>,

    /// Claim with the name of a user U (such as `sub`): it lets in to the tenants whose names begin with U:
    #[arg(long, value_name = "NAME", requires = "jwt_issuer", help_heading = CALLERS)]
    jwt_user_claim: Option<String>,

    /// Names that this server is called by in `Host`, beside its address
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = CALLERS)]
    allow_host: Vec<String>,

    /// Origins whose pages may send requests, such as https://app.example
    #[arg(long, value_name = "ORIGIN,...", value_delimiter = ',', help_heading = CALLERS)]
    allow_origin: Vec<String>,

    /// Length of the longest request
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "128MiB", help_heading = LIMITS)]
    max_request: usize,

    /// Length of the longest message on a WebSocket
    #[arg(long, value_name = "BYTES", value_parser = values::size, default_value = "16MiB", help_heading = LIMITS)]
    max_message: usize,

    /// Connections that may be open
    #[arg(long, value_name = "NUMBER", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    max_connections: u32,

    /// Requests that each token may have under way, with the WebSockets and feeds that it has open [default: half of the
    /// connections]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_per_token: Option<u32>,

    /// Requests a second that each token may send; 0: as many as it likes
    #[arg(long, value_name = "NUMBER", default_value = "1000", help_heading = LIMITS)]
    rate: u32,

    /// Who answers POST /api/chat: scripted, openai:BASE_URL#MODEL (key from OPENAI_API_KEY), anthropic:MODEL (key from
    /// ANTHROPIC_API_KEY); without, nobody
    #[arg(long, value_name = "SPEC")]
    chat_model: Option<Spec>,

    /// What that model is told to be, in new sessions
    #[arg(long, value_name = "TEXT", requires = "chat_model")]
    chat_instructions: Option<String>,

    /// Summarize old messages of its conversations when more than so many tokens are read
    #[arg(long, value_name = "TOKENS", requires = "chat_model")]
    chat_compact_after: Option<u32>,

    /// Time that what was accepted has at the end
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "30s", help_heading = LIMITS)]
    patience: Duration,
}

impl Serve {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let jwt = match (self.jwt_issuer, self.jwt_audience, self.jwt_keys) {
            (Some(issuer), Some(audience), Some(keys)) => {
                Some(JwtOptions { issuer, audience, keys, user_claim: self.jwt_user_claim })
            }
            _ => None,
        };
        let model = self.chat_model.map(Spec::build).transpose().map_err(anyhow::Error::msg)?;
        let agent = model.map(|model| {
            let agent = self.chat_instructions.into_iter().fold(Agent::new(model), Agent::instructions);
            self.chat_compact_after.into_iter().fold(agent, Agent::compact_after)
        });
        let options = ServeOptions {
            agent,
            listen: self.listen,
            tls: self.tls_cert.zip(self.tls_key).map(|(certificates, key)| TlsFiles { certificates, key }),
            token_file: self.token_file,
            jwt,
            hosts: self.allow_host,
            origins: self.allow_origin,
            max_request: self.max_request,
            max_message: self.max_message,
            max_connections: usize::try_from(self.max_connections)?,
            max_per_token: self.max_per_token.map(usize::try_from).transpose()?,
            rate: Some(self.rate).filter(|rate| *rate > 0),
            patience: self.patience,
        };
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let counters = Counters::default();
        let talktree = self.runtime.builder()?.metrics(counters.clone()).open().await?;
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let server = Server::bind(talktree.clone(), options).await?.with_counters(counters);
        // Whoever has closed stdout does not want to know.
        let _ = writeln!(io::stdout(), "listening on {scheme}://{}", server.address()?);
        server.run(signals.first()).await;
        talktree.close().await.context("not every tenant could be closed")?;
        Ok(ExitCode::SUCCESS)
    }
}
