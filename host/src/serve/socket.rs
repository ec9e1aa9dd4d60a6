//! WebSocket `/rpc`: requests as text messages, their answers as they are ready.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        RawQuery, State,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code},
    },
    response::{IntoResponse as _, Response},
};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{Identity, Refusal, Shared, auth::Over, target::Target};
use crate::rpc::{Answers, Failure, Pipeline};

/// The protocol that a client may offer, which is none beside JSON-RPC itself.
const PROTOCOL: &str = "talktree";
/// How often a client is asked for a sign of life.
const PING: Duration = Duration::from_secs(30);
/// How long a client may give none.
const SILENCE: Duration = Duration::from_secs(90);
/// How long the other end may take to close, once it has been told.
const FAREWELL: Duration = Duration::from_secs(2);
/// How much longer than allowed a message may be to be answered and skipped. A longer one ends the connection.
const SKIPPABLE: usize = 1 << 20;

/// Why a conversation has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The client has closed, or has gone.
    Gone,
    /// The server ends.
    Stopping,
    /// The token is good no longer.
    Over(Over),
    /// The client has not given a sign of life.
    Silent,
    /// A message is longer than anything, or no message.
    Broken,
}

impl End {
    fn frame(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            End::Gone => return None,
            End::Stopping => (close_code::AWAY, "the server ends"),
            End::Over(Over::Expired) => (close_code::POLICY, "the token has expired"),
            End::Over(Over::TakenBack) => (close_code::POLICY, "the token is not accepted any more"),
            End::Silent => (close_code::POLICY, "no sign of life"),
            End::Broken => (close_code::SIZE, "this is no message, or too long a one"),
        };
        Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) })
    }
}

/// Begins a conversation.
pub(super) async fn rpc(
    State(shared): State<Arc<Shared>>,
    Extension(identity): Extension<Identity>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    let target = Target::of_query(query.as_deref()).and_then(Target::without_session);
    let confined = target.and_then(|target| shared.confined(&identity, target.tenant.as_deref()));
    match confined {
        Ok(identity) => begin(upgrade, shared, |shared, socket| converse(shared, identity, socket)),
        Err(refusal) => refuse(&shared, refusal),
    }
}

/// Answers a request that does not become a conversation.
pub(super) fn refuse(shared: &Shared, refusal: Refusal) -> Response {
    shared.metrics.refused(refusal.kind());
    refusal.into_response()
}

/// Lets a conversation begin that the end of the server waits for.
pub(super) fn begin<F>(
    upgrade: WebSocketUpgrade,
    shared: Arc<Shared>,
    conversation: impl FnOnce(Arc<Shared>, WebSocket) -> F + Send + 'static,
) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let limit = shared.max_message.saturating_add(SKIPPABLE);
    upgrade.max_message_size(limit).max_frame_size(limit).protocols([PROTOCOL]).on_upgrade(move |socket| {
        let tasks = shared.tasks.clone();
        tasks.track_future(conversation(shared, socket))
    })
}

async fn converse(shared: Arc<Shared>, identity: Identity, socket: WebSocket) {
    let (out, mut input) = socket.split();
    let (pipeline, answers) = Pipeline::new(shared.service(&identity), Some(&shared.lines));
    let gone = CancellationToken::new();
    let writing = tokio::spawn(write(out, answers, gone.clone()));
    let end = read(&shared, &identity, &mut input, &pipeline, &gone).await;
    // What was taken in is carried out, and answered if anybody listens.
    pipeline.finish().await;
    if let Ok(Some(out)) = writing.await {
        say_farewell(end, out, input).await;
    }
}

/// Closes a conversation, and waits a moment for the other end to do so, too.
pub(super) async fn say_farewell(end: End, mut out: SplitSink<WebSocket, Message>, mut input: SplitStream<WebSocket>) {
    let closing = async {
        if out.send(Message::Close(end.frame())).await.is_ok() {
            while let Some(Ok(_)) = input.next().await {}
        }
    };
    // Who does not close by itself is left.
    let _ = timeout(FAREWELL, closing).await;
}

/// Takes in requests until there is an end.
async fn read(
    shared: &Shared,
    identity: &Identity,
    input: &mut SplitStream<WebSocket>,
    pipeline: &Arc<Pipeline>,
    gone: &CancellationToken,
) -> End {
    let over = shared.authority.over(identity);
    tokio::pin!(over);
    loop {
        let taken = async {
            let text = match next_text(input).await {
                Ok(text) => text,
                Err(end) => return Some(end),
            };
            if let Err(wait) = shared.rates.count(identity.name.as_ref()) {
                // Who sends too fast is read more slowly.
                sleep(wait).await;
            }
            let share = pipeline.room(text.len()).await?;
            if text.len() > shared.max_message {
                pipeline.refuse(too_long(shared.max_message), share).await;
            } else {
                pipeline.take(text.as_bytes().to_vec(), share).await;
            }
            None
        };
        tokio::select! {
            biased;
            () = shared.stopping.cancelled() => return End::Stopping,
            () = gone.cancelled() => return End::Gone,
            over = &mut over => return End::Over(over),
            end = taken => if let Some(end) = end { return end },
        }
    }
}

fn too_long(max_message: usize) -> Failure {
    Failure::request(format!(
        "a message is at most {max_message} bytes long; this one was skipped (POST takes longer ones)"
    ))
}

/// The next message that is text.
pub(super) async fn next_text(
    input: &mut (impl futures::Stream<Item = Result<Message, axum::Error>> + Unpin),
) -> Result<Utf8Bytes, End> {
    loop {
        match timeout(SILENCE, input.next()).await {
            Err(_) => return Err(End::Silent),
            Ok(None | Some(Ok(Message::Close(_)))) => return Err(End::Gone),
            Ok(Some(Ok(Message::Text(text)))) => return Ok(text),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            // JSON is text. What is not may be anything, and cannot be answered to.
            Ok(Some(Ok(Message::Binary(_)) | Err(_))) => return Err(End::Broken),
        }
    }
}

/// Sends answers until the last one, and signs of life between them. Gives the other end back if it is still there.
async fn write(
    mut out: SplitSink<WebSocket, Message>,
    mut answers: Answers,
    gone: CancellationToken,
) -> Option<SplitSink<WebSocket, Message>> {
    let mut ping = interval(PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.tick().await;
    loop {
        let (message, share) = tokio::select! {
            answer = answers.recv() => match answer {
                Some(Some(answer)) => {
                    (Message::text(answer.reply.into_text()), answer.share)
                }
                Some(None) | None => return Some(out),
            },
            _ = ping.tick() => (Message::Ping(Default::default()), None),
        };
        if out.send(message).await.is_err() {
            gone.cancel();
            break;
        }
        drop(share);
    }
    // Nobody listens: what is still carried out gives back its share here.
    while let Some(Some(_)) = answers.recv().await {}
    None
}
