//! A connection that is given up when its other end takes nothing for too long.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream whose writes fail when nothing of them could be written for a while. Something may be kept as long as it is
/// open.
pub(super) struct Patient<S, K> {
    stream: S,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    _kept: K,
}

impl<S, K> Patient<S, K> {
    pub(super) fn new(stream: S, patience: Duration, kept: K) -> Self {
        Self { stream, patience, stalled: None, _kept: kept }
    }

    /// Passes on what came of an attempt to write, or that patience is at an end.
    fn patiently<T>(
        stalled: &mut Option<Pin<Box<Sleep>>>,
        patience: Duration,
        attempt: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            *stalled = None;
            return attempt;
        }
        let waiting = stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end takes nothing")))
    }
}

impl<S: AsyncRead + Unpin, K: Unpin> AsyncRead for Patient<S, K> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin, K: Unpin> AsyncWrite for Patient<S, K> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let attempt = Pin::new(&mut this.stream).poll_write(context, bytes);
        Self::patiently(&mut this.stalled, this.patience, attempt, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let attempt = Pin::new(&mut this.stream).poll_write_vectored(context, pieces);
        Self::patiently(&mut this.stalled, this.patience, attempt, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let attempt = Pin::new(&mut this.stream).poll_flush(context);
        Self::patiently(&mut this.stalled, this.patience, attempt, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let attempt = Pin::new(&mut this.stream).poll_shutdown(context);
        Self::patiently(&mut this.stalled, this.patience, attempt, context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn a_write_that_nobody_takes_fails_and_one_that_is_taken_slowly_does_not() {
        let (near, mut far) = duplex(10);
        let mut patient = Patient::new(near, Duration::from_millis(200), ());
        let reading = tokio::spawn(async move {
            let mut piece = [0; 10];
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_millis(60)).await;
                far.read_exact(&mut piece).await.unwrap();
            }
            far
        });
        patient.write_all(&[1; 60]).await.unwrap();
        let _far = reading.await.unwrap();
        let error = patient.write_all(&[1; 60]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
