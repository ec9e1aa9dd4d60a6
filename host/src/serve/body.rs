//! Bodies of requests: so long at most, so slow at most, and so many at a time.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, StatusCode, header},
};
use futures::StreamExt as _;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use super::refusal::Refusal;
use crate::rpc::Failure;

/// What all long bodies together may take up beyond their first part, in KiB.
const BUDGET: usize = 256 * 1024;
/// What a request costs whatever its length, in KiB, and how many may be under way: long bodies take no room from these.
const SHARE: u32 = 64;
const REQUESTS: usize = 4_096;
/// Room is taken in steps of so many KiB.
const STEP: u32 = 1024;
/// How long room is waited for.
const WAIT: Duration = Duration::from_secs(10);
/// How long any body may take, whatever its length.
const GRACE: Duration = Duration::from_secs(15);
/// From then on so many bytes have to come each second.
const BYTES_PER_SECOND: u64 = 256 * 1024;
/// How long what is not wanted is still read, so that a client that is sending it gets its answer.
const LINGER: Duration = Duration::from_secs(5);

/// Reads bodies.
#[derive(Debug)]
pub(super) struct Bodies {
    requests: Arc<Semaphore>,
    budget: Arc<Semaphore>,
    max_bytes: usize,
}

/// A body with the room that it takes up.
pub(super) struct Room {
    pub(super) bytes: Vec<u8>,
    /// Given back when it is dropped.
    pub(super) share: Share,
}

/// What a body takes of what there is for all.
pub(super) struct Share {
    _request: OwnedSemaphorePermit,
    long: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    pub(super) fn new(max_bytes: usize) -> Self {
        let (requests, budget) = (Arc::new(Semaphore::new(REQUESTS)), Arc::new(Semaphore::new(BUDGET)));
        Self { requests, budget, max_bytes }
    }

    /// Reads all of a body.
    pub(super) async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Room, Refusal> {
        let mut pieces = body.into_data_stream();
        match self.read_pieces(headers, &mut pieces).await {
            Ok(room) => Ok(room),
            Err(refusal) => {
                tokio::spawn(linger(pieces));
                Err(refusal)
            }
        }
    }

    async fn read_pieces(&self, headers: &HeaderMap, pieces: &mut BodyDataStream) -> Result<Room, Refusal> {
        let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > self.max_bytes as u64) {
            return Err(self.too_long());
        }
        let begun = Instant::now();
        let mut share = Share { _request: room(&self.requests, 1).await?, long: None };
        let mut room_kib = SHARE;
        let mut bytes = Vec::new();
        loop {
            let until = begun + GRACE + Duration::from_secs(bytes.len() as u64 / BYTES_PER_SECOND);
            let piece = match timeout_at(until, pieces.next()).await {
                Err(_) => return Err(Refusal::slow("the body did not come in time")),
                Ok(None) => return Ok(Room { bytes, share }),
                Ok(Some(Err(error))) => return Err(Refusal::bad(format!("the body broke off: {error}"))),
                Ok(Some(Ok(piece))) => piece,
            };
            if bytes.len() + piece.len() > self.max_bytes {
                return Err(self.too_long());
            }
            bytes.extend_from_slice(&piece);
            // One body may take up all of the budget, and then be longer than that.
            while bytes.len() / 1024 > room_kib as usize && (room_kib + STEP) as usize <= BUDGET {
                let more = room(&self.budget, STEP).await?;
                match &mut share.long {
                    Some(long) => long.merge(more),
                    none => *none = Some(more),
                }
                room_kib += STEP;
            }
        }
    }

    fn too_long(&self) -> Refusal {
        let sentence = format!("a request is at most {} bytes long (see --max-request)", self.max_bytes);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Failure::request(sentence))
    }
}

async fn room(budget: &Arc<Semaphore>, permits: u32) -> Result<OwnedSemaphorePermit, Refusal> {
    match timeout(WAIT, Arc::clone(budget).acquire_many_owned(permits)).await {
        Ok(Ok(share)) => Ok(share),
        _ => Err(Refusal::busy()),
    }
}

/// Reads on for a while, and keeps nothing.
async fn linger(mut pieces: BodyDataStream) {
    let _ = timeout(LINGER, async { while let Some(Ok(_)) = pieces.next().await {} }).await;
}
