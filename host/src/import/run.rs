//! An import from beginning to end.

use std::{
    collections::HashMap,
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::task::{JoinError, spawn_blocking};

use crate::ErrorKind;

use super::{
    format::Format,
    input::Input,
    outline::Session,
    own,
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
    /// The session; none: the one that the input names. Where the input holds several and one is named here, each goes
    /// to `<this>/<its own id>`.
    pub session: Option<String>,
    /// The input is a page of an export of Talktree: it need not have the end.
    pub part: bool,
    /// The input is one of several: its session goes to `<session>/<its own id>` even if it holds no other.
    pub one_of_several: bool,
    /// The id of a session that the input does not name; none: that of the default session, `""`. Where the input holds
    /// several, such a one goes to `<this>-<its number>`, or `conversation-<its number>`.
    pub unnamed: Option<String>,
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
    /// It is not accepted, and why.
    Refused(String),
}

/// Why nothing more can be stored, such as a full disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// In a sentence.
    pub why: String,
    /// The kind of error of the store, where that is the reason.
    pub kind: Option<ErrorKind>,
}

impl Stop {
    /// For a reason that is none of the store's.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), kind: None }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// What became of the lines of one session of an export, or of those that belong to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesTaken {
    /// The session; none: the store.
    pub session: Option<String>,
    /// Messages that were stored.
    pub imported: u64,
    /// Messages that were there already.
    pub skipped: u64,
    /// Lines that were not taken: their numbers from 1 on, and why.
    pub failed: Vec<(u64, String)>,
}

/// Where messages go.
pub trait Sink: Send {
    /// Whether a session has no messages.
    fn is_empty(&mut self, session: &str) -> impl Future<Output = Result<bool, Stop>> + Send;

    /// Stores messages of one session, parents before children, each with its time or else with `now`. Ends at the
    /// first that is not accepted: answers what became of each up to that one and of it, or of some of them, but of one
    /// at least; the others come again.
    fn store(
        &mut self,
        session: &str,
        batch: &[Record],
        now: i64,
    ) -> impl Future<Output = Result<Vec<Outcome>, Stop>> + Send;

    /// Gives a session that had no messages the title that it has in the input. A sink without titles does nothing.
    fn set_title(&mut self, session: &str, title: &str) -> impl Future<Output = Result<(), Stop>> + Send {
        let _ = (session, title);
        std::future::ready(Ok(()))
    }

    /// Puts a summary in the place of the messages from one to another on reading, in a session that had no messages.
    /// Answers why it was not taken, if it was not. A sink without summaries does nothing.
    fn summarise(
        &mut self,
        session: &str,
        summary: &str,
        first: &str,
        last: &str,
    ) -> impl Future<Output = Result<Option<String>, Stop>> + Send {
        let _ = (session, summary, first, last);
        std::future::ready(Ok(None))
    }

    /// Takes whole lines of an export of Talktree, into this session if one is named.
    fn take_lines(
        &mut self,
        session: Option<&str>,
        lines: String,
    ) -> impl Future<Output = Result<Vec<LinesTaken>, Stop>> + Send;

    /// Chooses the session's leaf.
    fn choose_leaf(&mut self, session: &str, id: &str) -> impl Future<Output = Result<(), Stop>> + Send;
}

/// Imports an input into a sink.
///
/// Messages that are there already are skipped, so it may be run again at any time. An error of the sink ends the
/// import and is told in [`Report::stopped`], with what was done until then.
pub async fn run<S: Sink>(mut input: Input, sink: &mut S, options: Options) -> Result<Report, ImportError> {
    let named = options.clone();
    let (format, read) = spawn_blocking(move || -> Result<_, ImportError> {
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(&mut input)?,
        };
        Ok(match format.rules() {
            Some(rules) => (format, Read::Plan(Box::new(Plan::new(rules, input)?))),
            None => (format, Read::Own(input)),
        })
    })
    .await??;
    let plan = match read {
        Read::Plan(plan) => *plan,
        Read::Own(input) => return own::run(input, sink, &named).await,
    };
    let names = session_ids(&plan, &named);
    let now = options.now.unwrap_or_else(now);
    let (plan, stop) = store_all(plan, sink, &names, now).await?;
    let mut report = Report { format: format.name(), ..Report::default() };
    if let Some(stop) = stop {
        report.stop(stop);
    }
    let leaves: Vec<_> = (0..names.len()).map(|session| plan.leaf(session)).collect();
    report.failed = plan.outline.failed;
    for ((session, id), leaf) in plan.outline.sessions.into_iter().zip(names).zip(leaves) {
        let mut done = session.report;
        (done.id, done.leaf) = (id, leaf);
        report.sessions.push(done);
    }
    Ok(report)
}

/// What an input turned out to be.
enum Read {
    /// A transcript of another program.
    Plan(Box<Plan>),
    /// An export of Talktree.
    Own(Input),
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn session_ids(plan: &Plan, options: &Options) -> Vec<String> {
    let sessions = &plan.outline.sessions;
    let only = sessions.len() == 1;
    let unnamed = |number: usize| match &options.unnamed {
        Some(unnamed) if only => unnamed.clone(),
        None if only => String::new(),
        unnamed => format!("{}-{}", unnamed.as_deref().unwrap_or("conversation"), number + 1),
    };
    let own = |(number, session): (usize, &Session)| session.hint.clone().unwrap_or_else(|| unnamed(number));
    let wanted = |at: (usize, &Session)| match &options.session {
        None => own(at),
        Some(wanted) if only && !options.one_of_several => wanted.clone(),
        Some(wanted) => format!("{wanted}/{}", own(at)),
    };
    sessions.iter().enumerate().map(wanted).collect()
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
            Err(error) => return Ok((plan, Some(Stop::new(ImportError::Io(error).to_string())))),
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
        // A session of which every message was refused is not there.
        if fresh.get(name.as_str()) != Some(&true) || plan.outline.sessions[session].report.imported == 0 {
            continue;
        }
        if let Some(title) = plan.outline.sessions[session].report.title.as_deref().filter(|it| !it.trim().is_empty())
            && let Err(stop) = sink.set_title(name, title).await
        {
            return Ok((plan, Some(stop)));
        }
        for (summary, first, last) in plan.compactions(session) {
            match sink.summarise(name, &summary, &first, &last).await {
                Ok(None) => {}
                Ok(Some(why)) => {
                    let notes = &mut plan.outline.sessions[session].report.notes;
                    notes.add("a summary", format!("it is kept in metadata only: {why}"));
                }
                Err(stop) => return Ok((plan, Some(stop))),
            }
        }
        if let Some(leaf) = plan.leaf(session) {
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
        if outcomes.is_empty() {
            return Err(Stop::new("the store did not say what became of a message"));
        }
        let rest = batch.split_off(outcomes.len().min(batch.len()));
        for (record, outcome) in batch.into_iter().zip(outcomes) {
            let report = &mut plan.outline.sessions[record.session].report;
            match outcome {
                Outcome::Imported => {
                    report.imported += 1;
                    report.without_time += u64::from(record.created_at.is_none());
                }
                Outcome::Present => report.skipped += 1,
                Outcome::Refused(why) => plan.refused(record.node, &why),
            }
        }
        batch = rest;
        for record in &mut batch {
            record.parent_id = plan.parent_id(record.node);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::import::Memory;

    /// Refuses some ids, and after so many messages everything.
    struct Moody {
        store: Memory,
        refused: Vec<&'static str>,
        left: usize,
    }

    impl Sink for Moody {
        async fn take_lines(&mut self, _session: Option<&str>, _lines: String) -> Result<Vec<LinesTaken>, Stop> {
            Err(Stop::new("it takes no exports"))
        }

        async fn is_empty(&mut self, session: &str) -> Result<bool, Stop> {
            self.store.is_empty(session).await
        }

        async fn store(&mut self, session: &str, batch: &[Record], now: i64) -> Result<Vec<Outcome>, Stop> {
            let mut outcomes = Vec::new();
            for record in batch {
                if self.left == 0 {
                    let full = Stop::new("the disk is full");
                    return if outcomes.is_empty() { Err(full) } else { Ok(outcomes) };
                }
                self.left -= 1;
                if self.refused.contains(&record.id.as_str()) {
                    outcomes.push(Outcome::Refused("not liked".to_owned()));
                    break;
                }
                outcomes.extend(self.store.store(session, std::slice::from_ref(record), now).await?);
            }
            Ok(outcomes)
        }

        async fn choose_leaf(&mut self, session: &str, id: &str) -> Result<(), Stop> {
            self.store.choose_leaf(session, id).await
        }
    }

    fn import<S: Sink>(text: &str, sink: &mut S, session: Option<&str>) -> Report {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let options = Options { session: session.map(str::to_owned), now: Some(1), ..Options::default() };
        runtime.block_on(run(Input::bytes("", text).unwrap(), sink, options)).unwrap()
    }

    fn chain(ids: &[&str]) -> String {
        let mut parent = "null".to_owned();
        let mut lines = r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-02T08:00:00Z"}"#.to_owned();
        for id in ids {
            lines += &format!(
                "\n{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-11-02T08:00:00Z\",\
                 \"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}"
            );
            parent = format!("\"{id}\"");
        }
        lines
    }

    fn parents(store: &Memory, session: &str) -> Vec<(String, Option<String>)> {
        store.messages(session).iter().map(|it| (it.id.clone(), it.parent_id.clone())).collect()
    }

    #[test]
    fn what_hangs_below_a_refused_message_hangs_below_the_one_above_it() {
        let mut sink = Moody { store: Memory::default(), refused: vec!["b", "c", "e"], left: usize::MAX };
        let report = import(&chain(&["a", "b", "c", "d", "e"]), &mut sink, None);
        let expected = [("a".to_owned(), None), ("d".to_owned(), Some("a".to_owned()))];
        assert_eq!(parents(&sink.store, "x"), expected);
        let session = &report.sessions[0];
        assert_eq!((session.imported, session.failed.total()), (2, 3));
        assert_eq!(session.failed.listed()[0].place, "line 3");
        assert_eq!(session.leaf.as_deref(), Some("d"));
        assert_eq!(sink.store.leaf("x"), Some("d"));
    }

    #[test]
    fn an_import_goes_on_where_it_was_interrupted() {
        let text = chain(&["a", "b", "c", "d"]);
        let mut sink = Moody { store: Memory::default(), refused: vec![], left: 2 };
        let first = import(&text, &mut sink, None);
        assert_eq!(first.stopped.as_deref(), Some("the disk is full"));
        assert_eq!(first.imported(), 2);
        sink.left = usize::MAX;
        let second = import(&text, &mut sink, None);
        assert_eq!((second.imported(), second.skipped(), second.stopped), (2, 2, None));
        assert_eq!(parents(&sink.store, "x").len(), 4);
    }

    #[test]
    fn the_leaf_is_chosen_for_a_new_session_only() {
        let mut store = Memory::default();
        assert!(import(&chain(&["a", "b"]), &mut store, None).sessions[0].leaf_chosen);
        let longer = import(&chain(&["a", "b", "c"]), &mut store, None);
        assert_eq!(longer.sessions[0].leaf.as_deref(), Some("c"));
        assert!(!longer.sessions[0].leaf_chosen);
        assert_eq!(store.leaf("x"), None);
    }

    #[test]
    fn a_title_is_given_to_a_new_session_only() {
        let mut store = Memory::default();
        let titled = |title: &str| {
            format!(
                "{}\n{{\"type\":\"session_info\",\"id\":\"t\",\"parentId\":\"a\",\
                 \"timestamp\":\"2026-11-02T08:00:00Z\",\"name\":\"{title}\"}}",
                chain(&["a"])
            )
        };
        import(&titled("first"), &mut store, None);
        import(&titled("second"), &mut store, None);
        assert_eq!(store.title("x"), Some("first"));
    }

    #[test]
    fn a_wanted_session_is_used_and_several_stay_apart() {
        let mut store = Memory::default();
        import(&chain(&["a"]), &mut store, Some("mine"));
        assert_eq!(store.messages("mine").len(), 1);
        let two = format!("{}\n{}", chain(&["a"]), chain(&["a"]).replace("\"id\":\"x\"", "\"id\":\"y\""));
        import(&two, &mut store, Some("mine"));
        assert_eq!((store.messages("mine/x").len(), store.messages("mine/y").len()), (1, 1));
    }

    #[test]
    fn long_chains_deep_values_and_long_lines_need_no_stack() {
        let ids: Vec<String> = (0..30_000).map(|number| format!("m{number}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let text = chain(&ids);
        let mut lines: Vec<&str> = text.lines().collect();
        // Every child before its parent.
        lines[1..].reverse();
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let odd = format!(
            "{{\"type\":\"message\",\"id\":\"deep\",\"parentId\":\"m29999\",\"timestamp\":\"2026-11-02T08:00:00Z\",\
             \"message\":{{\"role\":\"user\",\"content\":{deep},\"long\":\"{}\"}}}}",
            "x".repeat(10 << 20)
        );
        lines.push(&odd);
        let mut store = Memory::default();
        let report = import(&lines.join("\n"), &mut store, None);
        assert_eq!((report.imported(), report.failures()), (30_001, 0));
        let last = store.messages("x").last().unwrap();
        assert_eq!(last.parent_id.as_deref(), Some("m29999"));
        assert!(last.message.len() > 10 << 20);
    }

    #[test]
    fn what_cannot_be_recognised_is_no_empty_import() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let input = Input::bytes("notes.txt", "plain words").unwrap();
        let error = runtime.block_on(run(input, &mut Memory::default(), Options::default())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"notes.txt\" looks like none of the formats talktree, pi, claude-code, codex, chatgpt, claude-ai, \
             ai-sdk, openai-messages"
        );
    }
}
