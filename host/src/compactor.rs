//! Compaction beside everything else: a plan of the guest, a summary of the host's summarizer, a commit.
//!
//! Two kinds of compaction run here as tasks of their own: those that an append reported as due, and those that were
//! asked for. In a session there is one at a time, and of all of them only so many ask the summarizer at once, half of
//! which may be of one tenant: one whose summaries take long, or never come, does not keep others from theirs. The
//! guest is called for moments only, before and after the summarizer, so that no call of the tenant waits for it.

use std::collections::HashMap;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::call::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Session, WeakSession};
use crate::settings::Settings;
use crate::summarizer::{self, Purpose, SummarizeError, Summarizer, Summary, SummaryRequest};
use crate::types::{AutoCompact, Compaction, CompactionPlan, ConfigurationChange, SummaryDetails};

/// How long compactions that were asked for go on when everything ends.
pub(crate) const LAST_CALLS: Duration = Duration::from_secs(10);

/// Steps of one compaction, so that it ends.
const MAX_STEPS: usize = 1000;

/// Compactions of one tenant that may run or wait. More that are asked for are refused.
const MAX_OF_ONE_TENANT: usize = 256;

/// All compactions below one root.
pub(crate) struct Compactor {
    summarizer: Option<Arc<dyn Summarizer>>,
    time_limit: Duration,
    /// One for each step that may run at a time.
    permits: Arc<Semaphore>,
    /// How many of them one tenant may have.
    permits_of_one: usize,
    state: Mutex<State>,
    /// When what was asked for has to be done; what was not ends as soon as there is such a time.
    ending: watch::Sender<Option<Instant>>,
    /// Compactions that were asked for and are not done.
    asked: watch::Sender<usize>,
    tokio: Handle,
}

/// What runs, or waits to. Whatever has come to its end leaves nothing here.
#[derive(Default)]
struct State {
    places: HashMap<Place, Running>,
    tenants: HashMap<String, Share>,
}

/// What one tenant has of all that runs.
struct Share {
    /// One for each of its steps that may run at a time.
    permits: Arc<Semaphore>,
    /// How many compactions run or wait.
    users: usize,
}

/// Lets one step run.
struct Permit {
    _of_tenant: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// A session of a tenant.
type Place = (String, Arc<str>);

/// What runs in one session, or waits to.
#[derive(Default)]
struct Running {
    /// Held by the one that runs.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// How many run or wait.
    users: usize,
    /// An automatic one is among them; the number counts the reports that one is due.
    automatic: Option<u64>,
}

/// How an attempt at a step ended.
enum Step {
    /// There was nothing to compact.
    Nothing,
    Made(Box<Compaction>),
}

impl Compactor {
    pub(crate) fn new(settings: &Settings, tokio: Handle) -> Arc<Self> {
        Arc::new(Self {
            summarizer: settings.summarizer.as_ref().map(|chosen| Arc::clone(&chosen.0)),
            time_limit: settings.summarizer_timeout,
            permits: Arc::new(Semaphore::new(settings.max_compactions)),
            permits_of_one: settings.max_compactions.div_ceil(2),
            state: Mutex::default(),
            ending: watch::Sender::new(None),
            asked: watch::Sender::new(0),
            tokio,
        })
    }

    /// An append reported that a compaction is due. Returns at once.
    pub(crate) fn due(self: &Arc<Self>, session: &WeakSession) {
        if self.summarizer.is_none() || self.ending.borrow().is_some() {
            return;
        }
        let place = session.place();
        if let Some(reports) = self.lock().places.get_mut(&place).and_then(|running| running.automatic.as_mut()) {
            *reports += 1;
            return;
        }
        // Where there are too many, the next append reports it again.
        let Some(user) = self.enter(place, true) else { return };
        let session = session.clone();
        self.tokio.spawn(async move {
            let compactor = Arc::clone(&user.compactor);
            tokio::select! {
                biased;
                () = compactor.ended() => {}
                // Its place is given up inside, at the moment when no report can be missed.
                result = compactor.compact_automatically(&session, user) => if let Err(error) = result {
                    let (tenant, session) = session.place();
                    let kind = error.kind().as_str();
                    tracing::warn!(tenant, session = &*session, kind, "an automatic compaction came to nothing");
                },
            }
        });
    }

    /// Compacts because it was asked for. What can begin at once begins in the order of these calls.
    pub(crate) fn compact(self: &Arc<Self>, session: &Session, leaf: Option<String>) -> Call<Option<Compaction>> {
        let (answer, call) = Call::pair();
        let Some(user) = self.enter(session.downgrade().place(), false) else {
            let sentence = "too many compactions of this tenant are waiting: try again later";
            let (current, limit) = (MAX_OF_ONE_TENANT as u64, MAX_OF_ONE_TENANT as u64);
            return Call::refused(Error::new(ErrorKind::Busy, sentence).with_numbers(current, limit));
        };
        let turn = Arc::clone(&user.turn);
        self.asked.send_modify(|asked| *asked += 1);
        let asked = Asked(Arc::clone(self));
        let begun = match (Arc::clone(&turn).try_lock_owned(), self.permit_at_once(&user)) {
            (Ok(turn), Some(permit)) => Some(Begun { turn, permit, plan: prepare(session, leaf.as_deref()) }),
            _ => None,
        };
        // It is carried out even if this was the last handle.
        let kept = session.clone();
        let session = session.downgrade();
        self.tokio.spawn(async move {
            let compactor = Arc::clone(&user.compactor);
            let result = tokio::select! {
                biased;
                () = compactor.out_of_time() => {
                    Err(Error::new(ErrorKind::SummarizerFailed, "it was ended while a summary was waited for: try again"))
                }
                result = compactor.compact_as_asked(&session, leaf.as_deref(), &user, begun) => result,
            };
            drop(user);
            answer.send(result);
            drop(asked);
            drop(kept);
        });
        call
    }

    /// Ends what was not asked for, and gives the rest this much time. Told twice, the first time counts.
    pub(crate) fn wind_down(&self, patience: Duration) {
        let end = Instant::now() + patience;
        self.ending.send_if_modified(|ending| {
            let first = ending.is_none();
            ending.get_or_insert(end);
            first
        });
    }

    /// Whether something that was asked for is not done.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow() > 0
    }

    /// Blocks until all that was asked for is done or has run out of time. Not for tasks.
    pub(crate) fn wait(&self) {
        let mut asked = self.asked.subscribe();
        // The sender is ours, so there is no error.
        let _ = self.tokio.block_on(asked.wait_for(|asked| *asked == 0));
    }

    /// A place in a session, until it is dropped. None: the tenant has too many already.
    fn enter(self: &Arc<Self>, place: Place, automatic: bool) -> Option<User> {
        let mut state = self.lock();
        let new_share = || Share { permits: Arc::new(Semaphore::new(self.permits_of_one)), users: 0 };
        let share = state.tenants.entry(place.0.clone()).or_insert_with(new_share);
        if share.users >= MAX_OF_ONE_TENANT {
            return None;
        }
        share.users += 1;
        let permits = Arc::clone(&share.permits);
        let running = state.places.entry(place.clone()).or_default();
        running.users += 1;
        if automatic {
            running.automatic = Some(0);
        }
        let turn = Arc::clone(&running.turn);
        Some(User { compactor: Arc::clone(self), place, automatic, turn, permits })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock calls out.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready when everything is to end.
    async fn ended(&self) {
        let mut ending = self.ending.subscribe();
        let _ = ending.wait_for(Option::is_some).await;
    }

    /// Ready when everything is to end and the time for what was asked for is over.
    async fn out_of_time(&self) {
        let mut ending = self.ending.subscribe();
        let end = match ending.wait_for(Option::is_some).await {
            Ok(end) => *end,
            Err(_) => None,
        };
        if let Some(end) = end {
            sleep_until(end).await;
        }
    }

    async fn compact_automatically(&self, session: &WeakSession, mut user: User) -> Result<()> {
        let _turn = Arc::clone(&user.turn).lock_owned().await;
        let configured = session.call(|session| session.configure(ConfigurationChange::default()))?.await?;
        if configured.auto_compact == AutoCompact::Off {
            return Ok(());
        }
        let mut made = 0;
        for _ in 0..MAX_STEPS {
            let reports = self.lock().places.get(&user.place).and_then(|running| running.automatic);
            let permit = self.permit(&user).await?;
            let plan = session.call(|session| prepare(session, None))?;
            match self.step(session, plan, permit).await {
                Ok(Step::Made(compaction)) => {
                    made += 1;
                    let (tenant, session) = session.place();
                    tracing::info!(tenant, session = &*session, messages = compaction.count, "compacted");
                }
                Ok(Step::Nothing) => {
                    let mut state = self.lock();
                    let Some(running) = state.places.get_mut(&user.place) else { return Ok(()) };
                    // An append that was reported since the plan was asked for may have given it something to do.
                    if running.automatic == reports {
                        running.automatic = None;
                        user.automatic = false;
                        // Its end takes the lock, too.
                        drop(state);
                        return Ok(());
                    }
                }
                // A later step that gains nothing does not undo the ones before it.
                Err(error) if error.kind() == ErrorKind::NoProgress && made > 0 => return Ok(()),
                // The messages were edited or deleted meanwhile: the next append reports it again.
                Err(error) if error.kind() == ErrorKind::PlanOutdated => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn compact_as_asked(
        &self,
        session: &WeakSession,
        leaf: Option<&str>,
        user: &User,
        begun: Option<Begun>,
    ) -> Result<Option<Compaction>> {
        let (_turn, mut first) = match begun {
            Some(Begun { turn, permit, plan }) => (turn, Some((plan, permit))),
            None => (Arc::clone(&user.turn).lock_owned().await, None),
        };
        let mut last = None;
        for _ in 0..MAX_STEPS {
            let (plan, permit) = match first.take() {
                Some(first) => first,
                None => {
                    let permit = self.permit(user).await?;
                    (session.call(|session| prepare(session, leaf))?, permit)
                }
            };
            match self.step(session, plan, permit).await {
                Ok(Step::Made(compaction)) => last = Some(*compaction),
                Ok(Step::Nothing) => break,
                // A later step that gains nothing does not undo the ones before it.
                Err(error) if error.kind() == ErrorKind::NoProgress && last.is_some() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(last)
    }

    /// Waits until a step may run. The tenant's own share comes first, so that few of one tenant wait for those of all.
    async fn permit(&self, user: &User) -> Result<Permit> {
        let closed = |_| Error::new(ErrorKind::Other, "no more compactions are made");
        let of_tenant = Arc::clone(&user.permits).acquire_owned().await.map_err(closed)?;
        let of_all = Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?;
        Ok(Permit { _of_tenant: of_tenant, _of_all: of_all })
    }

    fn permit_at_once(&self, user: &User) -> Option<Permit> {
        let of_tenant = Arc::clone(&user.permits).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        Some(Permit { _of_tenant: of_tenant, _of_all: of_all })
    }

    /// One plan, one summary, one commit.
    async fn step(&self, session: &WeakSession, plan: Call<Option<CompactionPlan>>, _permit: Permit) -> Result<Step> {
        let Some(plan) = plan.await? else { return Ok(Step::Nothing) };
        let CompactionPlan { token, prompt, max_tokens, .. } = plan;
        let request = SummaryRequest { prompt, max_tokens, purpose: Purpose::Compaction };
        let summary = match self.summarize(&request).await {
            Ok(summary) => summary,
            Err(error) => {
                session.call(|session| session.abandon_compaction(&token))?.await?;
                let (kind, sentence) = (summarizer::kind(&error), summarizer::sentence(&error));
                let sentence = format!("no summary was given ({kind}): {sentence}");
                return Err(Error::new(ErrorKind::SummarizerFailed, sentence));
            }
        };
        let Summary { text, truncated, input_tokens, output_tokens } = summary;
        let details = SummaryDetails { truncated, input_tokens, output_tokens };
        let committed =
            session.call(|session| session.commit_compaction(token, text).details(details).into_future())?.await?;
        Ok(Step::Made(Box::new(committed)))
    }

    async fn summarize(&self, request: &SummaryRequest) -> Result<Summary, SummarizeError> {
        let Some(summarizer) = &self.summarizer else {
            return Err(SummarizeError::Unavailable("no summarizer is configured".to_owned()));
        };
        // In a task of its own: a panic of an implementation is then a failure like others.
        let (summarizer, asked) = (Arc::clone(summarizer), request.clone());
        let task = self.tokio.spawn(async move { summarizer.summarize(&asked).await });
        let ended = AbortOnDrop(task.abort_handle());
        let answer = timeout(self.time_limit, task).await;
        drop(ended);
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(SummarizeError::Other("the summarizer broke down".to_owned())),
            Err(_) => {
                let seconds = self.time_limit.as_secs_f64();
                Err(SummarizeError::Unavailable(format!("it took longer than its limit of {seconds} s")))
            }
        }
    }
}

fn prepare(session: &Session, leaf: Option<&str>) -> Call<Option<CompactionPlan>> {
    let prepare = session.prepare_compaction();
    match leaf {
        Some(leaf) => prepare.leaf(leaf).into_future(),
        None => prepare.into_future(),
    }
}

/// A compaction that was asked for and could begin at once.
struct Begun {
    turn: OwnedMutexGuard<()>,
    permit: Permit,
    plan: Call<Option<CompactionPlan>>,
}

/// Runs in a session, or waits to.
struct User {
    compactor: Arc<Compactor>,
    place: Place,
    automatic: bool,
    /// The session's turn.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The tenant's share.
    permits: Arc<Semaphore>,
}

impl Drop for User {
    fn drop(&mut self) {
        let mut state = self.compactor.lock();
        if let Some(running) = state.places.get_mut(&self.place) {
            running.users -= 1;
            if self.automatic {
                running.automatic = None;
            }
            if running.users == 0 {
                state.places.remove(&self.place);
            }
        }
        if let Some(share) = state.tenants.get_mut(&self.place.0) {
            share.users -= 1;
            if share.users == 0 {
                state.tenants.remove(&self.place.0);
            }
        }
    }
}

/// Was asked for and is not done.
struct Asked(Arc<Compactor>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.asked.send_modify(|asked| *asked -= 1);
    }
}

/// Ends a task that nobody waits for any more.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
