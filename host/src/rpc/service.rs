//! Requests carried out on somebody's behalf, whatever they came by.

use std::{
    borrow::Cow,
    io::{self, Write},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::{
    connection::{Connection, Subscription},
    failure::Failure,
    json::Object,
    methods::Call,
    request::{Refused, Request},
};
use crate::{Talktree, access::Tenants};

/// On whose behalf requests are carried out.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    tenants: Arc<Tenants>,
    /// What a request without a tenant is about.
    tenant: Option<Arc<str>>,
}

impl Caller {
    /// Somebody who may use every tenant.
    pub(crate) fn trusted() -> Self {
        Self::of(Arc::new(Tenants::all()))
    }

    /// Somebody who may use these tenants.
    pub(crate) fn of(tenants: Arc<Tenants>) -> Self {
        Self { tenants, tenant: None }
    }

    /// The same, for one of the tenants only, which need not be named in requests.
    pub(crate) fn confined_to(&self, tenant: &str) -> Result<Self, Failure> {
        self.check(tenant)?;
        Ok(Self { tenants: Arc::new(Tenants::only(tenant)), tenant: Some(tenant.into()) })
    }

    /// The tenant that need not be named.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// The tenants that can be used.
    pub(crate) fn tenants(&self) -> &Arc<Tenants> {
        &self.tenants
    }

    /// Errors: `forbidden` for a tenant that is not this caller's. Whether there is such a tenant is not told.
    pub(crate) fn check(&self, tenant: &str) -> Result<(), Failure> {
        if self.tenants.covers(tenant) {
            return Ok(());
        }
        let sentence = "this tenant is none of those that you may use";
        Err(Failure::store("forbidden", sentence, Some("tenant".to_owned()), None, None))
    }
}

/// Is told of every call that has ended.
pub(crate) trait Observer: Send + Sync {
    /// A call of a method took so long; `failure` is the kind of error that it ended with.
    fn called(&self, method: &'static str, failure: Option<&'static str>, took: Duration);
}

/// Carries out requests of one caller.
#[derive(Clone)]
pub(crate) struct Service {
    talktree: Talktree,
    caller: Caller,
    observer: Option<Arc<dyn Observer>>,
    /// From then on nothing waits for an event any longer.
    ending: CancellationToken,
}

/// What a line turned out to be.
pub(crate) enum Taken {
    /// It is blank, or no request and not to be answered.
    Nothing,
    /// It is no request.
    Refused(Reply),
    /// To be carried out.
    Task(Task),
}

/// A request that is ready to be carried out.
pub(crate) struct Task {
    service: Service,
    /// JSON text; none: it is not to be answered.
    id: Option<String>,
    call: Result<Call, Failure>,
}

/// The answer to a request, or an event.
pub(crate) struct Reply {
    /// JSON text of the request's id; none: it is a notification, and `outcome` its method and params.
    id: Option<String>,
    outcome: Result<String, Failure>,
}

impl Service {
    pub(crate) fn new(talktree: Talktree, caller: Caller, observer: Option<Arc<dyn Observer>>) -> Self {
        Self { talktree, caller, observer, ending: CancellationToken::new() }
    }

    /// The same, which lets nothing wait for an event any longer when this is cancelled.
    pub(crate) fn ending_with(self, ending: CancellationToken) -> Self {
        Self { ending, ..self }
    }

    /// Cancelled when nothing may wait for an event any longer.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// The tenant that its caller is confined to.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.caller.tenant()
    }

    /// Reads a line as a request; a long one on a thread where that holds up nobody else.
    pub(crate) async fn take(&self, line: Vec<u8>) -> Taken {
        if line.len() < LONG {
            return self.read(line);
        }
        let service = self.clone();
        let read = tokio::task::spawn_blocking(move || service.read(line)).await;
        read.unwrap_or_else(|_| {
            let sentence = "the request could not be read, nothing of it was carried out: try again";
            Taken::Refused(self.refuse(Failure::store("crashed", sentence, None, None, None)))
        })
    }

    /// Reads a line as a request.
    fn read(&self, line: Vec<u8>) -> Taken {
        match Request::parse(line) {
            Ok(None) => Taken::Nothing,
            Ok(Some(mut request)) => {
                let id = request.id.take();
                Taken::Task(Task { service: self.clone(), id, call: Call::of(request, &self.caller) })
            }
            Err(Refused { id: Some(id), failure }) => Taken::Refused(self.refused(id, failure)),
            Err(Refused { id: None, .. }) => Taken::Nothing,
        }
    }

    /// Carries out a method with these params: the result's JSON text.
    pub(crate) async fn invoke(&self, method: &str, params: &mut Object) -> Result<String, Failure> {
        let mut line = Object::new();
        line.text("jsonrpc", "2.0").text("method", method).json("params", &params.finish());
        let call = match Request::parse(line.finish().into_bytes()) {
            Ok(Some(request)) => Call::of(request, &self.caller),
            Ok(None) => Err(Failure::request("there is no request")),
            Err(refused) => Err(refused.failure),
        };
        // Without a connection there is no subscription.
        self.carry_out(call, None).await.map(|(result, _)| result)
    }

    /// Carries out a call, and tells so. One that panics has failed.
    async fn carry_out(
        &self,
        call: Result<Call, Failure>,
        connection: Option<&Connection>,
    ) -> Result<(String, Option<Subscription>), Failure> {
        let begun = Instant::now();
        let method = call.as_ref().map_or(NO_METHOD, Call::method);
        let ending = connection.map_or(&self.ending, Connection::ending).cancelled();
        let outcome = match call {
            Ok(call) => {
                let carried_out = call.run(&self.talktree, &self.caller, connection, ending);
                AssertUnwindSafe(carried_out).catch_unwind().await.unwrap_or_else(|_| {
                    let sentence = "the call broke down; its outcome is unknown: retry with the same message id";
                    Err(Failure::store("crashed", sentence, None, None, None))
                })
            }
            Err(failure) => Err(failure),
        };
        if let Some(observer) = &self.observer {
            observer.called(method, outcome.as_ref().err().map(Failure::kind), begun.elapsed());
        }
        outcome
    }

    /// The answer to what could not be read at all.
    pub(crate) fn refuse(&self, failure: Failure) -> Reply {
        self.refused("null".to_owned(), failure)
    }

    fn refused(&self, id: String, failure: Failure) -> Reply {
        if let Some(observer) = &self.observer {
            observer.called(NO_METHOD, Some(failure.kind()), Duration::ZERO);
        }
        Reply { id: Some(id), outcome: Err(failure) }
    }
}

/// From so many bytes on reading a request takes longer than a task may: about half a millisecond.
const LONG: usize = 256 * 1024;

/// What stands for the method where there is none.
const NO_METHOD: &str = "none";

impl Task {
    /// The tenant in whose turn it has to be.
    pub(crate) fn lane(&self) -> Option<&str> {
        self.call.as_ref().ok().and_then(Call::tenant)
    }

    /// Once it has begun, what comes behind it need not wait for its end.
    pub(crate) fn gives_way(&self) -> bool {
        self.call.as_ref().is_ok_and(Call::gives_way)
    }

    /// Carries it out, and gives the answer if one is wanted, and the subscription that begins behind it.
    pub(crate) async fn run(self, connection: Option<&Connection>) -> (Option<Reply>, Option<Subscription>) {
        let Self { service, id, call } = self;
        let (outcome, subscription) = match service.carry_out(call, connection).await {
            Ok((result, subscription)) => (Ok(result), subscription),
            Err(failure) => (Err(failure), None),
        };
        match (id, outcome) {
            (Some(id), outcome) => (Some(Reply { id: Some(id), outcome }), subscription),
            (None, Err(failure)) => {
                // What it says may quote the request.
                tracing::debug!(kind = failure.kind(), "a request without id failed");
                (None, None)
            }
            (None, Ok(_)) => {
                // Nobody knows its number, and so nobody could end it.
                if let (Some(connection), Some(subscription)) = (connection, subscription) {
                    connection.forget(&subscription);
                }
                (None, None)
            }
        }
    }

    /// Carries it out where nothing but one answer can go back.
    pub(crate) async fn run_alone(self) -> Option<Reply> {
        self.run(None).await.0
    }
}

impl Reply {
    /// What nobody has asked for: a method, and its params as JSON text.
    pub(crate) fn notification(method: &str, params: String) -> Self {
        Self { id: None, outcome: Ok(format!(r#""method":"{method}","params":{params}"#)) }
    }

    /// Its pieces, one after the other.
    fn pieces(&self) -> [Cow<'_, str>; 5] {
        let begin = Cow::Borrowed(r#"{"jsonrpc":"2.0","#);
        match (&self.id, &self.outcome) {
            (Some(id), Ok(result)) => {
                [begin, format!(r#""id":{id},"#).into(), r#""result":"#.into(), result.into(), "}".into()]
            }
            (Some(id), Err(failure)) => {
                [begin, format!(r#""id":{id},"#).into(), r#""error":"#.into(), failure.json().into(), "}".into()]
            }
            (None, Ok(note)) => [begin, note.into(), "}".into(), "".into(), "".into()],
            (None, Err(failure)) => {
                [begin, r#""id":null,"#.into(), r#""error":"#.into(), failure.json().into(), "}".into()]
            }
        }
    }

    /// Writes it as one JSON text without line breaks.
    pub(crate) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        self.pieces().iter().try_for_each(|piece| output.write_all(piece.as_bytes()))
    }

    /// It as one JSON text without line breaks.
    pub(crate) fn into_text(self) -> String {
        self.pieces().concat()
    }
}
