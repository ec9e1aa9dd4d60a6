//! Requests that come one after the other without waiting for answers.
//!
//! A request takes its share of a budget when it is read and gives it back when its answer is written, which bounds the
//! memory of all, and tells when everything is done. Where there are many streams they have a budget in common for what
//! goes beyond a little for each, so that all of them are bounded, and one that takes all leaves others their own. The requests of one tenant are carried out in the order in which
//! they came, tenants side by side.

use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{
    connection::Connection,
    failure::Failure,
    lanes::Lanes,
    service::{Reply, Service, Taken, Task},
};

/// What may be under way, in KiB of request lines.
const BUDGET: u32 = 128 * 1024;
/// What a request costs whatever its length, in KiB: so about a thousand of them are under way at most.
const SHARE: u32 = 128;
/// What a stream has for itself where there is a budget for all, in KiB of request lines.
const OWN: usize = 1024;
/// What all streams may have together beyond that, in KiB of request lines.
const COMMON: u32 = 256 * 1024;
/// Answers that wait for being written.
const ANSWERS: usize = 16;

/// A part of the budget, given back when it is dropped.
pub(crate) struct Share {
    _of_stream: OwnedSemaphorePermit,
    _of_lines: Option<OwnedSemaphorePermit>,
}

/// What the request lines of many streams together may take up.
#[derive(Clone, Debug)]
pub(crate) struct CommonBudget(Arc<Semaphore>);

impl Default for CommonBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(COMMON as usize)))
    }
}

/// An answer on its way out.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    /// Given back when the answer is written. An event that nobody has asked for has none.
    pub(crate) share: Option<Share>,
}

/// Answers, in the order in which they are ready. `None`: that was the last one.
pub(crate) type Answers = mpsc::Receiver<Option<Answer>>;

/// What is under way of one stream of requests.
pub(crate) struct Pipeline {
    service: Service,
    lanes: Arc<Lanes>,
    budget: Arc<Semaphore>,
    /// What is left of what this stream has for itself, and what there is for all; none: it is the only one.
    common: Option<(Arc<Semaphore>, CommonBudget)>,
    answers: mpsc::Sender<Option<Answer>>,
    connection: Connection,
}

impl Pipeline {
    /// A pipeline, and where its answers come out.
    pub(crate) fn new(service: Service, common: Option<&CommonBudget>) -> (Arc<Self>, Answers) {
        let (answers, waiting) = mpsc::channel(ANSWERS);
        let budget = Arc::new(Semaphore::new(BUDGET as usize));
        let connection = Connection::new(answers.clone(), service.ending());
        let common = common.map(|common| (Arc::new(Semaphore::new(OWN)), common.clone()));
        (Arc::new(Self { service, lanes: Arc::default(), budget, common, answers, connection }), waiting)
    }

    /// Waits until a request of so many bytes can be taken in. None: nothing more is.
    pub(crate) async fn room(&self, bytes: usize) -> Option<Share> {
        let cost = u32::try_from(bytes / 1024).unwrap_or(BUDGET).saturating_add(SHARE).min(BUDGET);
        let of_stream = Arc::clone(&self.budget).acquire_many_owned(cost).await.ok()?;
        let kib = u32::try_from(bytes / 1024).unwrap_or(COMMON).saturating_add(1).min(COMMON);
        let of_lines = match &self.common {
            None => None,
            Some((own, CommonBudget(all))) => match Arc::clone(own).try_acquire_many_owned(kib) {
                Ok(share) => Some(share),
                Err(_) => Arc::clone(all).acquire_many_owned(kib).await.ok(),
            },
        };
        Some(Share { _of_stream: of_stream, _of_lines: of_lines })
    }

    /// Takes a line in.
    pub(crate) async fn take(self: &Arc<Self>, line: Vec<u8>, share: Share) {
        match self.service.take(line).await {
            Taken::Nothing => {}
            Taken::Refused(reply) => self.answer(reply, share).await,
            Taken::Task(task) => self.begin(task, share),
        }
    }

    /// Answers what was not even read.
    pub(crate) async fn refuse(&self, failure: Failure, share: Share) {
        self.answer(self.service.refuse(failure), share).await;
    }

    /// Waits until everything that was taken in is answered, and closes the stream of answers. Nothing more is taken in.
    /// What waits for an event is answered as it is, and subscriptions end.
    pub(crate) async fn finish(&self) {
        self.connection.end();
        // Whatever was taken in gives back its share once it is answered.
        let done = Arc::clone(&self.budget).acquire_many_owned(BUDGET).await;
        self.budget.close();
        drop(done);
        // Where nobody takes answers any more nobody waits for the last one either.
        let _ = self.answers.send(None).await;
    }

    async fn answer(&self, reply: Reply, share: Share) {
        // Where nobody takes answers any more there is nobody to be told so.
        let _ = self.answers.send(Some(Answer { reply, share: Some(share) })).await;
    }

    /// Puts a request into its lane.
    fn begin(self: &Arc<Self>, task: Task, share: Share) {
        let gives_way = task.gives_way();
        let lane = task.lane().map(str::to_owned);
        let pipeline = Arc::clone(self);
        let job = async move {
            let (reply, subscription) = task.run(Some(&pipeline.connection)).await;
            if let Some(reply) = reply {
                pipeline.answer(reply, share).await;
            }
            if let Some(subscription) = subscription {
                pipeline.connection.begin(subscription);
            }
        };
        match lane {
            Some(tenant) if gives_way => self.lanes.push(tenant, begin_only(job).boxed()),
            Some(tenant) => self.lanes.push(tenant, job.boxed()),
            None => drop(tokio::spawn(job)),
        }
    }
}

/// Lets a job begin, which puts its first call into the tenant's queue, and go on beside the lane.
async fn begin_only(job: impl Future<Output = ()> + Send + 'static) {
    let mut job = job.boxed();
    if futures::poll!(&mut job).is_pending() {
        tokio::spawn(job);
    }
}
