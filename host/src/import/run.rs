//! An import from beginning to end.

use std::{
    collections::HashMap,
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::task::{JoinError, spawn_blocking};

use super::{
    format::Format,
    input::Input,
    plan::{Plan, Record},
    report::Report,
};

/// Messages of one batch.
const BATCH_MESSAGES: usize = 256;

/// Bytes of one batch. A message above it stands alone.
const BATCH_BYTES: usize = 4 << 20;

/// Why an import cannot begin, or its input not be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Reading the input failed. What was stored until then stays.
    #[error("the input cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// There is no format of this name.
    #[error("{name:?} is no format: {}", Format::ALL.map(Format::name).join(", "))]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// The input looks like none of the formats.
    #[error("{name:?} looks like none of the formats {}", Format::ALL.map(Format::name).join(", "))]
    NotRecognised {
        /// What the input is called.
        name: String,
    },
    /// A thread of the import died: a defect of this program.
    #[error("the import broke off: {0}")]
    Broken(#[from] JoinError),
}

/// What is imported, and where to.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; none: it is recognised.
    pub format: Option<Format>,
    /// The session; none: the one that the input names, or else the default session `""`. Where the input holds several
    /// and one is named here, each goes to `<this>/<its own id>`.
    pub session: Option<String>,
    /// The time of messages that have none, in ms; none: now.
    pub now: Option<i64>,
}

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was stored.
    Imported,
    /// A message of its id was there already.
    Present,
    /// Its parent is not there.
    NoParent,
    /// It is not accepted, and why.
    Refused(String),
}

/// Why nothing more can be stored, such as a full disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop(pub String);

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where messages go.
pub trait Sink: Send {
    /// Whether a session has no messages.
    fn is_empty(&mut self, session: &str) -> impl Future<Output = Result<bool, Stop>> + Send;

    /// Stores messages of one session, parents before children, each with its time or else with `now`. Answers what
    /// became of each, in order; one that is refused does not hinder those behind it.
    fn store(
        &mut self,
        session: &str,
        batch: &[Record],
        now: i64,
    ) -> impl Future<Output = Result<Vec<Outcome>, Stop>> + Send;

    /// Chooses the session's leaf.
    fn choose_leaf(&mut self, session: &str, id: &str) -> impl Future<Output = Result<(), Stop>> + Send;
}

/// Imports an input into a sink.
///
/// Messages that are there already are skipped, so it may be run again at any time. An error of the sink ends the
/// import and is told in [`Report::stopped`], with what was done until then.
pub async fn run<S: Sink>(mut input: Input, sink: &mut S, options: Options) -> Result<Report, ImportError> {
    let (format, plan) = spawn_blocking(move || -> Result<_, ImportError> {
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(&mut input)?,
        };
        Ok((format, Plan::new(format, input)?))
    })
    .await??;
    let names = session_ids(&plan, options.session.as_deref());
    let now = options.now.unwrap_or_else(now);
    let (plan, stop) = store_all(plan, sink, &names, now).await?;
    let mut report = Report { format: format.name(), stopped: stop.map(|stop| stop.0), ..Report::default() };
    let leaves: Vec<_> = (0..names.len()).map(|session| plan.leaf(session)).collect();
    report.failed = plan.outline.failed;
    for ((session, id), leaf) in plan.outline.sessions.into_iter().zip(names).zip(leaves) {
        let mut done = session.report;
        (done.id, done.leaf) = (id, leaf);
        report.sessions.push(done);
    }
    Ok(report)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn session_ids(plan: &Plan, wanted: Option<&str>) -> Vec<String> {
    let sessions = &plan.outline.sessions;
    let hint = |hint: &Option<String>| hint.clone().unwrap_or_default();
    sessions
        .iter()
        .map(|session| match wanted {
            None => hint(&session.hint),
            Some(wanted) if sessions.len() == 1 => wanted.to_owned(),
            Some(wanted) => format!("{wanted}/{}", hint(&session.hint)),
        })
        .collect()
}

/// Stores everything; answers the plan with what was counted, and why it ended early if it did.
async fn store_all<S: Sink>(
    mut plan: Plan,
    sink: &mut S,
    names: &[String],
    now: i64,
) -> Result<(Plan, Option<Stop>), ImportError> {
    // Sessions that have been looked at, and whether they had no messages.
    let mut fresh: HashMap<&str, bool> = HashMap::new();
    loop {
        // The plan goes to a blocking thread for the reading, and comes back.
        let (back, read) = spawn_blocking(move || {
            let read = next_batch(&mut plan);
            (plan, read)
        })
        .await?;
        plan = back;
        let batch = match read {
            Ok(batch) => batch,
            Err(error) => return Ok((plan, Some(Stop(ImportError::Io(error).to_string())))),
        };
        let Some(first) = batch.first() else { break };
        let name = names[first.session].as_str();
        if !fresh.contains_key(name) {
            match sink.is_empty(name).await {
                Ok(empty) => fresh.insert(name, empty),
                Err(stop) => return Ok((plan, Some(stop))),
            };
        }
        if let Err(stop) = store_batch(&mut plan, sink, name, now, batch).await {
            return Ok((plan, Some(stop)));
        }
    }
    for (session, name) in names.iter().enumerate() {
        if fresh.get(name.as_str()) == Some(&true)
            && let Some(leaf) = plan.leaf(session)
        {
            if let Err(stop) = sink.choose_leaf(name, &leaf).await {
                return Ok((plan, Some(stop)));
            }
            plan.outline.sessions[session].report.leaf_chosen = true;
        }
    }
    Ok((plan, None))
}

/// The next messages, all of one session; none at the end.
fn next_batch(plan: &mut Plan) -> std::io::Result<Vec<Record>> {
    let mut batch: Vec<Record> = Vec::new();
    let mut bytes = 0;
    while batch.len() < BATCH_MESSAGES && bytes < BATCH_BYTES {
        if batch.first().is_some_and(|first| plan.next_session() != Some(first.session)) {
            break;
        }
        let Some(record) = plan.advance()? else { break };
        // The session may have changed where a record before this one could not be read.
        let other = batch.first().is_some_and(|first| first.session != record.session);
        bytes += record.message.len();
        if other {
            plan.put_back(record);
            break;
        }
        batch.push(record);
    }
    Ok(batch)
}

/// Stores a batch. What hangs below a message that was refused is stored below the nearest message above that one.
async fn store_batch<S: Sink>(
    plan: &mut Plan,
    sink: &mut S,
    name: &str,
    now: i64,
    mut batch: Vec<Record>,
) -> Result<(), Stop> {
    while !batch.is_empty() {
        let outcomes = sink.store(name, &batch, now).await?;
        let mut again = Vec::new();
        for (record, outcome) in batch.into_iter().zip(outcomes) {
            let report = &mut plan.outline.sessions[record.session].report;
            match outcome {
                Outcome::Imported => {
                    report.imported += 1;
                    report.without_time += u64::from(record.created_at.is_none());
                }
                Outcome::Present => report.skipped += 1,
                Outcome::Refused(why) => plan.refused(record.node, &why),
                Outcome::NoParent => again.push(record),
            }
        }
        // The first of them has a parent that is stored or gone, so every round leaves one less, or moves it up.
        if let Some(first) = again.first()
            && plan.parent_id(first.node) == first.parent_id
        {
            let gone = again.remove(0);
            plan.refused(gone.node, "its parent is no longer in the store");
        }
        for record in &mut again {
            record.parent_id = plan.parent_id(record.node);
        }
        batch = again;
    }
    Ok(())
}
