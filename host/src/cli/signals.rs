//! Signals that ask for an end.

use std::io;

/// SIGTERM and SIGINT: the first asks for an end in good order, the second for an end.
pub(crate) struct Signals(tokio::sync::mpsc::Receiver<()>);

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let (told, first) = tokio::sync::mpsc::channel(1);
        let mut signals = Listener::new()?;
        tokio::spawn(async move {
            signals.next().await;
            tracing::info!("ending: what was read is carried out");
            // Nobody waits for it any more where serving has ended already.
            let _ = told.send(()).await;
            signals.next().await;
            tracing::warn!("ended at once by a second signal");
            std::process::exit(1);
        });
        Ok(Self(first))
    }

    /// Ready at the first signal.
    pub(crate) async fn first(mut self) {
        self.0.recv().await;
    }
}

#[cfg(unix)]
struct Listener(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Listener {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Listener(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Listener {
    fn new() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
