//! Connections: accepted, bounded in number and time, and ended in good order.

use std::{io, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{Server, Shared, metrics::Metrics, patient::Patient, routes};

/// How long the head of a request may take, and how long a connection may be without one.
const HEAD: Duration = Duration::from_secs(10);
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may take nothing of its answers.
const TAKING: Duration = Duration::from_secs(30);
/// The longest head of a request, in bytes.
const HEAD_BYTES: usize = 64 * 1024;
/// Headers of a request.
const HEADERS: usize = 100;
/// How long nothing is accepted after that has failed: there may be too many files open.
const PAUSE: Duration = Duration::from_millis(100);

/// A place among the connections, held as long as one is open.
struct Place {
    metrics: Arc<Metrics>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.metrics.disconnected();
    }
}

/// Serves until it is told to stop, and then ends in good order.
pub(super) async fn run(server: Server, stop: impl Future<Output = ()> + Send) {
    let Server { listener, tls, shared, max_connections, patience } = server;
    let places = Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS)));
    let router = routes::router(&shared);
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            // Nobody closes it.
            let permit = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((permit, listener.accept().await?.0))
        };
        tokio::select! {
            () = &mut stop => break,
            accepted = accepted => match accepted {
                Ok((permit, stream)) => begin(&shared, &router, tls.as_ref(), stream, permit),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    shared.stopping.cancel();
    shared.talktree.end_compactions();
    shared.tasks.close();
    if timeout(patience, shared.tasks.wait()).await.is_err() {
        tracing::warn!("some clients did not come to an end in time and are cut off");
    }
    if let Some(agent) = &shared.agent {
        // What there is of answers whose clients have gone is stored.
        agent.close().await;
    }
}

fn begin(
    shared: &Arc<Shared>,
    router: &Router,
    tls: Option<&TlsAcceptor>,
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
) {
    // Answers go out at once. Where that cannot be had they go out later.
    let _ = stream.set_nodelay(true);
    shared.metrics.connected();
    let place = Place { metrics: Arc::clone(&shared.metrics), _permit: permit };
    let (for_connection, router, tls) = (Arc::clone(shared), router.clone(), tls.cloned());
    shared.tasks.spawn(async move {
        let served = match tls {
            None => converse(&for_connection, router, Patient::new(stream, TAKING, place)).await,
            Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
                Ok(Ok(stream)) => converse(&for_connection, router, Patient::new(stream, TAKING, place)).await,
                Ok(Err(error)) => Err(error.into()),
                Err(late) => Err(late.into()),
            },
        };
        if let Err(error) = served {
            // Clients go as they like.
            tracing::debug!(error, "a connection has broken off");
        }
    });
}

async fn converse<S>(shared: &Shared, router: Router, stream: S) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES)
        // A client that has sent its last request may say so at once.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        ended = &mut connection => return ended.map_err(Into::into),
        () = shared.stopping.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await.map_err(Into::into)
}
