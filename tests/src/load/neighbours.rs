//! What tenants feel of a hostile one: the times of their calls with and without it, in turns, in one run.
//!
//! The hostile tenant runs into its limits as fast as it can, with requests that are small themselves: it reads a history
//! that does not fit into its memory, forks one that takes longer than its time, writes more than its disk quota takes, asks
//! for summaries that never come, or sends more than can be carried out.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    Times,
    client::{Client, Outcome, Transport},
    message,
    server::Server,
};

/// Tenants whose times are taken.
const NEIGHBOURS: usize = 3;
/// What a neighbour does between two calls.
const PAUSE: Duration = Duration::from_millis(1);
/// The limits of all tenants.
const MEMORY: &str = "--memory-limit=24MiB";
const TIME: &str = "--call-timeout=250ms";
/// That of those beside the one that fills its disk: the others have more stored already.
const DISK: &str = "--disk-quota=32MiB";
/// Bytes of the history that does not fit into the memory, and messages of the one whose fork takes too long.
const LONG_HISTORY: usize = 40 << 20;
const MANY_MESSAGES: usize = 80_000;
/// What summaries of a conversation with this word take, in s: longer than anybody waits here.
const HANG: &str = "HANG";
const HANGS_FOR: u32 = 60;
/// How long a neighbour may wait for its own summary meanwhile.
const SUMMARY: Duration = Duration::from_secs(20);

/// What a hostile tenant does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// It reads more than its memory takes.
    Memory,
    /// It asks for what takes longer than its time.
    Time,
    /// It sends calls as fast as they are taken.
    Flood,
    /// It asks for summaries that never come.
    Summaries,
    /// It writes more than its disk quota takes.
    Disk,
}

impl Hostile {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Time, Self::Flood, Self::Summaries, Self::Disk];

    /// The errors of which it has to see one; none: it need not see any.
    fn errors(self) -> &'static [&'static str] {
        match self {
            // Where the memory ends decides whether the component can still say so.
            Self::Memory => &["crashed", "over-limit"],
            Self::Time => &["timed-out"],
            Self::Disk => &["storage-full"],
            Self::Flood | Self::Summaries => &[],
        }
    }

    fn tenant(self) -> String {
        format!("hostile:{self:?}")
    }
}

/// How long everything takes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often it is quiet, and then not.
    pub rounds: u32,
    /// How long each time.
    pub window: Duration,
}

/// What neighbours felt of one hostile tenant.
#[derive(Debug)]
pub struct Felt {
    /// What that did.
    pub hostile: Hostile,
    /// Times of the neighbours' calls without it, and with it.
    pub quiet: Times,
    /// With it.
    pub loaded: Times,
    /// How its calls ended.
    pub ends: BTreeMap<String, u64>,
}

impl Felt {
    /// What the 99th percentile may be, in ms: twice the quiet one and 20 ms.
    pub fn allowed_ms(&self) -> f64 {
        2.0 * self.quiet.percentile(99) + 20.0
    }

    /// Whether it was.
    pub fn is_allowed(&self) -> bool {
        self.loaded.percentile(99) <= self.allowed_ms()
    }
}

impl fmt::Display for Felt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hostile, quiet, loaded, ends } = self;
        let row = |times: &Times| format!("{:>6.2} / {:>6.2}", times.percentile(50), times.percentile(99));
        write!(f, "{:<10}", format!("{hostile:?}"))?;
        write!(f, "quiet {} ms, beside it {} ms", row(quiet), row(loaded))?;
        write!(f, " (allowed {:.1}); {} calls; its own: {ends:?}", self.allowed_ms(), quiet.count() + loaded.count())
    }
}

/// Runs it below a directory, and gives what was felt of each hostile tenant.
pub fn run(root: &Path, options: Options) -> Result<Vec<Felt>> {
    let mut server = Server::start(root, &["--durability=normal"])?;
    prepare(&server)?;
    server.end()?;
    let summarizer = format!("--summarizer=command:grep -q {HANG} && sleep {HANGS_FOR} || echo They talked.");
    server.restart(Some(&[MEMORY, TIME, &summarizer]))?;
    let mut all = Vec::new();
    for hostile in Hostile::ALL {
        if hostile == Hostile::Disk {
            // Summaries that hang are waited for ten seconds, and then ended with all that they have started.
            server.end()?;
            server.restart(Some(&[MEMORY, TIME, DISK]))?;
        }
        let mut felt = Felt { hostile, quiet: Times::default(), loaded: Times::default(), ends: BTreeMap::new() };
        for _ in 0..options.rounds {
            felt.quiet.extend(&measure(&server, options.window)?);
            beside(&server, hostile, options.window, &mut felt)?;
        }
        let errors = hostile.errors();
        let seen = errors.iter().any(|kind| felt.ends.contains_key(*kind));
        ensure!(errors.is_empty() || seen, "{hostile:?} saw none of {errors:?}: {:?}", felt.ends);
        all.push(felt);
    }
    let mut client = Client::new(Transport::Http, server.address());
    for hostile in Hostile::ALL {
        // Each of them can still be read, whatever it ran into.
        let leaf = client.must("getLatestLeaf", json!({"tenant": hostile.tenant()}))?;
        ensure!(leaf["message"].is_object(), "{hostile:?}: {leaf}");
    }
    server.end()?;
    Ok(all)
}

/// Fills the stores, without limits that would be in the way.
fn prepare(server: &Server) -> Result<()> {
    let mut client = Client::new(Transport::Http, server.address());
    for number in 0..NEIGHBOURS {
        fill(&mut client, &neighbour(number), "", 100, &"A word or two. ".repeat(20))?;
    }
    fill(&mut client, &Hostile::Memory.tenant(), "", LONG_HISTORY / (1 << 20), &"x".repeat(1 << 20))?;
    fill(&mut client, &Hostile::Time.tenant(), "", MANY_MESSAGES, "x")?;
    fill(&mut client, &Hostile::Flood.tenant(), "", 10, "x")?;
    for session in hanging_sessions() {
        fill(&mut client, &Hostile::Summaries.tenant(), &session, 60, &format!("{HANG} {}", "and on. ".repeat(100)))?;
        ready_to_compact(&mut client, &Hostile::Summaries.tenant(), &session)?;
    }
    fill(&mut client, &Hostile::Summaries.tenant(), "", 1, "x")?;
    fill(&mut client, &neighbour(0), "long", 60, &"A word or two. ".repeat(50))?;
    ready_to_compact(&mut client, &neighbour(0), "long")
}

fn fill(client: &mut Client, tenant: &str, session: &str, count: usize, text: &str) -> Result<()> {
    let messages: Vec<Value> = (0..count).map(|number| message(&format!("{session}m{number}"), text)).collect();
    let at_once = ((8 << 20) / text.len().max(1)).clamp(1, 5_000);
    for some in messages.chunks(at_once) {
        client.must("appendMessages", json!({"tenant": tenant, "session": session, "messages": some}))?;
    }
    Ok(())
}

fn ready_to_compact(client: &mut Client, tenant: &str, session: &str) -> Result<()> {
    let thresholds = json!({"tenant": tenant, "session": session, "keepRecentTokens": 200, "autoCompact": "off"});
    client.must("configure", thresholds).map(drop)
}

fn neighbour(number: usize) -> String {
    format!("neighbour:{number}")
}

/// More than may be summarized at a time.
fn hanging_sessions() -> impl Iterator<Item = String> {
    (0..8).map(|number| format!("s{number}"))
}

/// Times of the neighbours' calls.
fn measure(server: &Server, window: Duration) -> Result<Times> {
    let address = server.address();
    thread::scope(|scope| {
        let spawn = |number| scope.spawn(move || calls(Client::new(Transport::Http, address), number, window));
        let running: Vec<_> = (0..NEIGHBOURS).map(spawn).collect();
        let mut times = Times::default();
        for neighbour in running {
            times.extend(&neighbour.join().map_err(|_| anyhow::anyhow!("a neighbour broke down"))??);
        }
        Ok(times)
    })
}

fn calls(mut client: Client, number: usize, window: Duration) -> Result<Times> {
    let tenant = neighbour(number);
    let mut times = Times::default();
    // A connection, and a live tenant.
    client.must("stats", json!({"tenant": tenant}))?;
    let end = Instant::now() + window;
    let mut made = 0_u64;
    while Instant::now() < end {
        made += 1;
        let (method, params) = match made % 3 {
            0 => {
                let id = format!("{:?}", Instant::now());
                ("appendMessage", json!({"tenant": tenant, "message": message(&id, "A question?")}))
            }
            1 => ("getRecentHistory", json!({"tenant": tenant, "maxBytes": 16_384})),
            _ => ("getLatestLeaf", json!({"tenant": tenant})),
        };
        let begun = Instant::now();
        let outcome = client.call(method, params);
        times.add(begun.elapsed());
        // Where all of the machine is busy, a call of its may come to the limit, too: that is a long time, and no fault.
        let late = matches!(&outcome, Outcome::Refused { kind, .. } if kind == "timed-out");
        ensure!(late || matches!(outcome, Outcome::Done(_)), "{tenant}: {method}: {outcome:?}");
        sleep(PAUSE);
    }
    Ok(times)
}

/// Measures while the hostile tenant is at it.
fn beside(server: &Server, hostile: Hostile, window: Duration, felt: &mut Felt) -> Result<()> {
    let over = AtomicBool::new(false);
    let address = server.address();
    thread::scope(|scope| {
        let attack = |number: usize| {
            let over = &over;
            scope.spawn(move || {
                let client = Client::new(Transport::Socket, address);
                attack(client, hostile, number, over)
            })
        };
        let at_once = if hostile == Hostile::Flood { 4 } else { 1 };
        let attacks: Vec<_> = (0..at_once).map(attack).collect();
        // It has begun.
        sleep(window / 10);
        let own_summary = (hostile == Hostile::Summaries).then(|| scope.spawn(move || summary(address)));
        let times = measure(server, window);
        let summarized = own_summary.map(|waiting| waiting.join());
        over.store(true, Ordering::Relaxed);
        for attack in attacks {
            for (end, count) in attack.join().map_err(|_| anyhow::anyhow!("the hostile client broke down"))?? {
                *felt.ends.entry(end).or_default() += count;
            }
        }
        felt.loaded.extend(&times?);
        match summarized {
            Some(Ok(summarized)) => summarized.context("a neighbour's summary beside some that never come"),
            Some(Err(_)) => anyhow::bail!("the neighbour that waits for a summary broke down"),
            None => Ok(()),
        }
    })
}

/// A neighbour's own summary.
fn summary(address: std::net::SocketAddr) -> Result<()> {
    let mut client = Client::new(Transport::Http, address);
    let begun = Instant::now();
    client.must("compact", json!({"tenant": neighbour(0), "session": "long"}))?;
    ensure!(begun.elapsed() < SUMMARY, "it took {:?}", begun.elapsed());
    Ok(())
}

/// What the hostile tenant does until it is over, and how its calls ended.
fn attack(mut client: Client, hostile: Hostile, number: usize, over: &AtomicBool) -> Result<BTreeMap<String, u64>> {
    let tenant = hostile.tenant();
    let mut ends = BTreeMap::new();
    let mut made = 0_u64;
    if hostile == Hostile::Summaries {
        for (number, session) in hanging_sessions().enumerate() {
            client
                .send(number, &("compact", json!({"tenant": tenant, "session": session})))
                .map_err(anyhow::Error::msg)?;
        }
    }
    while !over.load(Ordering::Relaxed) {
        made += 1;
        let unique = format!("{number} {:?}", Instant::now());
        let calls: Vec<_> = match hostile {
            Hostile::Memory => vec![("getHistory", json!({"tenant": tenant}))],
            Hostile::Disk => {
                let message = message(&unique, &"x".repeat(1 << 20));
                vec![("appendMessage", json!({"tenant": tenant, "message": message}))]
            }
            Hostile::Time => vec![("forkSession", json!({"tenant": tenant, "newSession": unique}))],
            Hostile::Flood => {
                let append = |at| message(&format!("{unique} {made} {at}"), "x");
                (0..200).map(|at| ("appendMessage", json!({"tenant": tenant, "message": append(at)}))).collect()
            }
            Hostile::Summaries => {
                sleep(Duration::from_millis(5));
                continue;
            }
        };
        for outcome in client.call_all(&calls) {
            let end = match outcome {
                Outcome::Done(_) => "done".to_owned(),
                Outcome::Refused { kind, .. } => kind,
                Outcome::Lost(why) => anyhow::bail!("{hostile:?}: {why}"),
            };
            *ends.entry(end).or_default() += 1;
        }
    }
    Ok(ends)
}
