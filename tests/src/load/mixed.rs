//! Many clients, many tenants, mixed calls by all ways in, while sandboxes and the whole server are killed: every
//! acknowledged write is there afterwards, and nothing is there twice.
//!
//! Sandboxes are killed without a way in that the product would not have otherwise: a time limit so short that chains of
//! messages run into it somewhere in their transaction, and messages that do not fit into the sandbox's memory. The server is
//! killed (SIGKILL) and told to end (SIGTERM) in turns, at random moments, and started again. A client that does not know
//! what became of a write sends it again with the same id, or leaves it at that now and then.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    Random,
    client::{Call, Client, Outcome, Transport},
    ledger::{self, Fate, Ledger, Place, Written, text},
    message,
    server::Server,
};

/// Sessions of each tenant.
const SESSIONS: [&str; 2] = ["", "notes"];
/// How long one write may be tried for.
const PATIENCE: Duration = Duration::from_secs(180);
/// Bytes of memory of a sandbox, and of a message that does not fit into it.
const MEMORY: usize = 24 << 20;
const BOMB: usize = 28 << 20;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Clients, a third of them by each way in.
    pub clients: u64,
    /// Tenants, which all clients use.
    pub tenants: u64,
    /// Calls, of all clients together.
    pub calls: u64,
    /// How often the server is killed or told to end.
    pub ends: u64,
    /// Tenants that may be live at a time.
    pub live: u64,
    /// The time limit of calls, in ms.
    pub time_limit_ms: u64,
    /// Where the numbers that decide everything begin.
    pub seed: u64,
}

/// What has happened.
#[derive(Debug, Default)]
pub struct Report {
    calls: u64,
    took: Duration,
    /// Calls by way in.
    by_transport: BTreeMap<&'static str, u64>,
    /// Refusals by kind.
    refused: BTreeMap<String, u64>,
    /// Calls without an answer.
    lost: u64,
    /// Writes that were acknowledged, and those of which nobody knows.
    acknowledged: u64,
    unknown: u64,
    kills: u64,
    ends: u64,
    found: ledger::Found,
    tenants: usize,
}

impl Report {
    /// Whether sandboxes and the server were killed while calls were under way. How a sandbox that is asked for too much
    /// ends, by its time or its memory, depends on the machine.
    pub fn had_all_kinds_of_ends(&self) -> bool {
        let killed = ["crashed", "timed-out"].iter().any(|kind| self.refused.contains_key(*kind));
        killed && self.lost > 0 && self.kills > 0 && self.ends > 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        writeln!(f, "{} calls in {seconds:.1} s: {:.0} a second", self.calls, self.calls as f64 / seconds)?;
        writeln!(f, "by {:?}", self.by_transport)?;
        writeln!(f, "refused {:?}, without an answer {}", self.refused, self.lost)?;
        writeln!(f, "the server was killed {} times and told to end {} times", self.kills, self.ends)?;
        writeln!(f, "{} writes were acknowledged, the outcome of {} stayed unknown", self.acknowledged, self.unknown)?;
        let ledger::Found { messages, compared } = self.found;
        write!(
            f,
            "{messages} messages in {} sound stores, none missing, none twice; {compared} texts compared",
            self.tenants
        )
    }
}

/// Runs it below a directory. An error says what is wrong, and the seed that repeats it.
pub fn run(root: &Path, options: Options) -> Result<Report> {
    run_seeded(root, options).with_context(|| format!("seed {} (--seed repeats it)", options.seed))
}

fn run_seeded(root: &Path, options: Options) -> Result<Report> {
    let limits = [
        format!("--max-live-tenants={}", options.live),
        format!("--memory-limit={MEMORY}"),
        format!("--call-timeout={}ms", options.time_limit_ms),
    ];
    let mut server = Server::start(root, &limits.each_ref().map(String::as_str))?;
    let address = server.address();
    let progress = Progress { running: AtomicU64::new(options.clients), ..Progress::default() };
    let begun = Instant::now();
    let (workers, kills, ends) = thread::scope(|scope| -> Result<_> {
        let spawn = |number| {
            let progress = &progress;
            scope.spawn(move || {
                let transport = Transport::ALL[number as usize % Transport::ALL.len()];
                let mut worker = Worker::new(number, Client::new(transport, address), options);
                let done = worker.run(progress);
                progress.running.fetch_sub(1, Ordering::Relaxed);
                progress.failed.fetch_or(done.is_err(), Ordering::Relaxed);
                done.map(|()| worker)
            })
        };
        let clients: Vec<_> = (0..options.clients).map(spawn).collect();
        let killed = end_at_random(&mut server, options, &progress);
        progress.failed.fetch_or(killed.is_err(), Ordering::Relaxed);
        let mut workers = Vec::new();
        for client in clients {
            workers.push(client.join().map_err(|_| anyhow::anyhow!("a client broke down"))?);
        }
        let (kills, ends) = killed?;
        let workers: Vec<_> = workers.into_iter().collect::<Result<_>>()?;
        Ok((workers, kills, ends))
    })?;
    let mut report = Report { took: begun.elapsed(), kills, ends, ..Report::default() };
    let mut ledgers = Vec::new();
    for worker in workers {
        worker.add_to(&mut report);
        ledgers.push(worker.ledger);
    }
    // With the limits that everybody has, so that all can be read.
    server.end()?;
    server.restart(Some(&[]))?;
    verify(&server, options, &ledgers, &mut report)?;
    server.end()?;
    Ok(report)
}

/// How far the clients are.
#[derive(Debug, Default)]
struct Progress {
    calls: AtomicU64,
    /// Clients that are not done.
    running: AtomicU64,
    /// Something has failed: there is no point in going on.
    failed: AtomicBool,
}

/// Kills the server at random moments, the next time tells it to end, and starts it again, until the clients are done.
fn end_at_random(server: &mut Server, options: Options, progress: &Progress) -> Result<(u64, u64)> {
    let mut random = Random::new(options.seed, u64::MAX);
    let mut moments: Vec<_> = (0..options.ends).map(|_| random.below(options.calls)).collect();
    moments.sort_unstable();
    let (mut kills, mut ends) = (0, 0);
    for (number, moment) in moments.into_iter().enumerate() {
        while progress.calls.load(Ordering::Relaxed) < moment {
            if progress.running.load(Ordering::Relaxed) == 0 {
                return Ok((kills, ends));
            }
            sleep(Duration::from_millis(1));
        }
        if number % 2 == 0 {
            server.kill()?;
            kills += 1;
        } else {
            server.end().context("at the end in good order")?;
            ends += 1;
        }
        server.restart(None)?;
    }
    Ok((kills, ends))
}

fn verify(server: &Server, options: Options, ledgers: &[Ledger], report: &mut Report) -> Result<()> {
    let mut client = Client::new(Transport::Socket, server.address());
    for number in 0..options.tenants {
        let tenant = tenant(number);
        let sound = client.must("check", json!({"tenant": tenant}))?;
        ensure!(sound["sound"] == true, "{tenant} is damaged: {sound}");
        report.tenants += 1;
        for session in SESSIONS {
            let found = ledger::compare(&mut client, &(tenant.clone(), session), ledgers)?;
            report.found.messages += found.messages;
            report.found.compared += found.compared;
        }
    }
    Ok(())
}

fn tenant(number: u64) -> String {
    format!("user{}:{number}", number % 7)
}

/// How an attempt at a write ended for good.
enum Settled {
    Done(Value),
    Unknown,
    /// It was never carried out: there was no room for it.
    Refused,
}

/// One client.
struct Worker {
    number: u64,
    client: Client,
    options: Options,
    random: Random,
    ledger: Ledger,
    /// Writes so far, which makes their ids.
    writes: u64,
    batches: u32,
    calls: u64,
    refused: BTreeMap<String, u64>,
    lost: u64,
}

impl Worker {
    fn new(number: u64, client: Client, options: Options) -> Self {
        let random = Random::new(options.seed, number);
        let (ledger, refused) = (Ledger::default(), BTreeMap::new());
        Self { number, client, options, random, ledger, writes: 0, batches: 0, calls: 0, refused, lost: 0 }
    }

    fn add_to(&self, report: &mut Report) {
        report.calls += self.calls;
        *report.by_transport.entry(self.client.transport().name()).or_default() += self.calls;
        for (kind, count) in &self.refused {
            *report.refused.entry(kind.clone()).or_default() += count;
        }
        report.lost += self.lost;
        for written in self.ledger.places.values().flatten() {
            let known = matches!(written.fate, Fate::There | Fate::Gone) && written.maybe_version.is_none();
            report.acknowledged += u64::from(known);
            report.unknown += u64::from(!known);
        }
    }

    fn run(&mut self, progress: &Progress) -> Result<()> {
        let share = self.options.calls / self.options.clients;
        while self.calls < share && !progress.failed.load(Ordering::Relaxed) {
            let before = self.calls;
            let place = (tenant(self.random.below(self.options.tenants)), SESSIONS[self.random.below(2) as usize]);
            match self.random.below(2_000) {
                0 | 1 => self.bomb(place)?,
                2..=8 => self.append_chain(place, 100, 1_200)?,
                9..=60 => self.append_chain(place, 2, 20)?,
                61..=120 => self.update(place)?,
                121..=160 => self.delete(place)?,
                161..=175 => drop(self.attempt(&[("close", json!({"tenant": place.0}))])?),
                176..=1_000 => self.append(place)?,
                _ => self.read(&place)?,
            }
            progress.calls.fetch_add(self.calls - before, Ordering::Relaxed);
        }
        Ok(())
    }

    fn new_id(&mut self) -> String {
        self.writes += 1;
        format!("c{}-{}", self.number, self.writes)
    }

    /// One message, on a WebSocket some at once; now and then the answer to an older one.
    fn append(&mut self, place: Place) -> Result<()> {
        let at_once = if self.client.transport() == Transport::Socket { 1 + self.random.below(6) } else { 1 };
        let mut calls = Vec::new();
        let mut ids = Vec::new();
        for _ in 0..at_once {
            let id = self.new_id();
            let message = message(&id, &text(&id, 0));
            let mut params = json!({"tenant": place.0, "session": place.1, "message": message});
            let parent = if self.random.once_in(4) {
                self.own(&place).map(|index| self.written(&place, index).id.clone())
            } else {
                None
            };
            if let Some(parent) = &parent {
                params["parentId"] = json!(parent);
            }
            ids.push((id, parent.is_none()));
            calls.push(("appendMessage", params));
        }
        for ((id, in_order), (settled, resent)) in ids.into_iter().zip(self.settle(&calls)?) {
            let fate = match settled {
                Settled::Done(answer) => {
                    ensure!(answer["conflict"] == false, "{id}: {answer}");
                    ensure!(resent || answer["inserted"] == true, "{id} was there before it was sent: {answer}");
                    Fate::There
                }
                Settled::Unknown => Fate::Maybe,
                Settled::Refused => continue,
            };
            // Those that were sent again may have been written at the second attempt, behind later ones.
            let in_order = in_order && !resent;
            self.note(&place, Written { id, fate, version: 0, maybe_version: None, batch: None, in_order });
        }
        Ok(())
    }

    /// Many messages at once, all or none.
    fn append_chain(&mut self, place: Place, least: u64, most: u64) -> Result<()> {
        let count = least + self.random.below(most - least);
        let ids: Vec<_> = (0..count).map(|_| self.new_id()).collect();
        let messages: Vec<_> = ids.iter().map(|id| message(id, &text(id, 0))).collect();
        let params = json!({"tenant": place.0, "session": place.1, "messages": messages});
        self.batches += 1;
        let settled = self.settle(&[("appendMessages", params)])?.pop().context("one call has one end")?.0;
        let fate = match settled {
            Settled::Done(_) => Fate::There,
            Settled::Unknown => Fate::Maybe,
            Settled::Refused => return Ok(()),
        };
        for id in ids {
            let batch = Some(self.batches);
            self.note(&place, Written { id, fate, version: 0, maybe_version: None, batch, in_order: false });
        }
        Ok(())
    }

    /// A message that does not fit into the memory of a sandbox.
    fn bomb(&mut self, place: Place) -> Result<()> {
        let id = self.new_id();
        let message = message(&id, &"x".repeat(BOMB));
        let call = ("appendMessage", json!({"tenant": place.0, "session": place.1, "message": message}));
        match self.attempt(&[call])?.pop() {
            Some(Outcome::Done(answer)) => bail!("{BOMB} bytes went into {MEMORY}: {answer}"),
            _ => Ok(()),
        }
    }

    fn update(&mut self, place: Place) -> Result<()> {
        let Some(index) = self.own(&place) else { return self.append(place) };
        let Written { id, version, .. } = self.written(&place, index).clone();
        let call = json!({"tenant": place.0, "session": place.1, "message": message(&id, &text(&id, version + 1))});
        let settled = self.settle(&[("updateMessage", call)])?.pop().context("one call has one end")?.0;
        let written = self.written_mut(&place, index)?;
        match settled {
            Settled::Done(_) => written.version += 1,
            // Left alone from now on.
            Settled::Unknown => written.maybe_version = Some(version + 1),
            Settled::Refused => {}
        }
        Ok(())
    }

    fn delete(&mut self, place: Place) -> Result<()> {
        let Some(index) = self.own(&place) else { return self.append(place) };
        let id = self.written(&place, index).id.clone();
        let call = json!({"tenant": place.0, "session": place.1, "ids": [id]});
        let settled = self.settle(&[("deleteMessages", call)])?.pop().context("one call has one end")?.0;
        let written = self.written_mut(&place, index)?;
        match settled {
            Settled::Done(_) => written.fate = Fate::Gone,
            Settled::Unknown => written.fate = Fate::MaybeGone,
            Settled::Refused => {}
        }
        Ok(())
    }

    fn read(&mut self, (tenant, session): &Place) -> Result<()> {
        let call = match self.random.below(9) {
            0 => ("getLatestLeaf", json!({"tenant": tenant, "session": session})),
            1 => ("getRecentHistory", json!({"tenant": tenant, "session": session, "maxBytes": 16384})),
            2 => ("readHistory", json!({"tenant": tenant, "session": session, "batchSize": 20})),
            3 => ("search", json!({"tenant": tenant, "query": "word", "limit": 5})),
            4 => ("listSessions", json!({"tenant": tenant})),
            5 => ("changes", json!({"tenant": tenant, "limit": 20, "waitMs": self.random.below(5)})),
            6 => ("stats", json!({"tenant": tenant})),
            7 => ("listMessages", json!({"tenant": tenant, "session": session, "limit": 50})),
            _ => ("listTenants", json!({"limit": 50})),
        };
        self.attempt(&[call]).map(drop)
    }

    /// An own message of which everything is known, by its place in the ledger.
    fn own(&mut self, place: &Place) -> Option<usize> {
        let written = self.ledger.places.get(place)?;
        let index = self.random.below(written.len() as u64) as usize;
        let Written { fate, maybe_version, .. } = written.get(index)?;
        (*fate == Fate::There && maybe_version.is_none()).then_some(index)
    }

    fn written(&self, place: &Place, index: usize) -> &Written {
        &self.ledger.places[place][index]
    }

    fn written_mut(&mut self, place: &Place, index: usize) -> Result<&mut Written> {
        self.ledger.places.get_mut(place).and_then(|written| written.get_mut(index)).context("it is in the ledger")
    }

    fn note(&mut self, place: &Place, written: Written) {
        self.ledger.places.entry(place.clone()).or_default().push(written);
    }

    /// Makes calls once, and counts how they end. Fails at an error that nothing here can cause.
    fn attempt(&mut self, calls: &[Call]) -> Result<Vec<Outcome>> {
        let outcomes = self.client.call_all(calls);
        self.calls += calls.len() as u64;
        for (outcome, (method, params)) in outcomes.iter().zip(calls) {
            match outcome {
                Outcome::Done(_) => {}
                Outcome::Lost(_) => self.lost += 1,
                Outcome::Refused { kind, sentence } => {
                    let ending = kind == "other" && sentence.contains("was closed");
                    let expected = ["busy", "timed-out", "crashed", "over-limit"].contains(&kind.as_str()) || ending;
                    ensure!(expected, "{method} {:.300}: {kind}: {sentence}", params.to_string());
                    *self.refused.entry(kind.clone()).or_default() += 1;
                }
            }
        }
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Lost(_))) {
            // The server is being started again.
            sleep(Duration::from_millis(20));
        }
        Ok(outcomes)
    }

    /// Makes writes, and those again whose outcome is unknown, until it is known or this client has had enough of it. For
    /// each, whether it was sent more than once.
    fn settle(&mut self, calls: &[Call]) -> Result<Vec<(Settled, bool)>> {
        let late = Instant::now() + PATIENCE;
        let first = self.attempt(calls)?;
        let mut settled = Vec::new();
        for (outcome, call) in first.into_iter().zip(calls) {
            settled.push(self.settle_one(outcome, call, late)?);
        }
        Ok(settled)
    }

    fn settle_one(&mut self, first: Outcome, call: &Call, late: Instant) -> Result<(Settled, bool)> {
        let (mut outcome, mut unknown, mut resent) = (first, false, false);
        let gives_up = self.random.once_in(8);
        loop {
            match outcome {
                Outcome::Done(answer) => return Ok((Settled::Done(answer), resent)),
                Outcome::Refused { kind, .. } if kind == "busy" || kind == "other" => sleep(Duration::from_millis(5)),
                // Nothing of it was written, and the next attempt would not be either.
                Outcome::Refused { kind, .. } if kind == "over-limit" && !unknown => {
                    return Ok((Settled::Refused, resent));
                }
                Outcome::Refused { .. } | Outcome::Lost(_) => unknown = true,
            }
            // What takes longer than its limit does so the next time, too.
            let hopeless = call.0 == "appendMessages" && resent;
            if (unknown && (gives_up || hopeless)) || Instant::now() > late {
                ensure!(Instant::now() < late || unknown, "{}: there was no room for it", call.0);
                return Ok((if unknown { Settled::Unknown } else { Settled::Refused }, resent));
            }
            resent = true;
            outcome = self.attempt(std::slice::from_ref(call))?.pop().context("one call has one end")?;
        }
    }
}
