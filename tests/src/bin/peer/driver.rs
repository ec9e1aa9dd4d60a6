//! The commands, carried out one after the other.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use talktree::{Durability, Message, Session, Talktree};
use tokio::runtime::Runtime;

pub(crate) fn run(durability: &str, directory: &Path, messages: &Path) -> Result<()> {
    let durability = match durability {
        "full" => Durability::Full,
        "normal" => Durability::Normal,
        other => bail!("no durability {other}"),
    };
    let messages = fs::read_to_string(messages)?.lines().map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    // The compiled component lies beside the stores, as it lies in the user's cache: it is compiled once a version.
    let cache = directory.parent().context("a directory for the stores")?.join("compiled");
    let builder = Talktree::builder(directory).durability(durability).cache_dir(cache);
    let session = runtime.block_on(builder.open())?.tenant("peer")?.session("");
    let driver = Driver { runtime, session, messages };
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = driver.carry_out(&serde_json::from_str(&line?)?)?;
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    driver.close()
}

struct Driver {
    runtime: Runtime,
    session: Session,
    messages: Vec<String>,
}

impl Driver {
    fn carry_out(&self, command: &Value) -> Result<Value> {
        let number = |name: &str| command[name].as_u64().unwrap_or_default() as usize;
        match command["do"].as_str().unwrap_or_default() {
            "fill" => {
                for some in self.messages[number("from")..][..number("count")].chunks(2_000) {
                    self.runtime.block_on(self.session.append_messages(some).into_future())?;
                }
                Ok(json!({}))
            }
            "append" => self.append(number("from"), number("count"), Duration::from_millis(number("max_ms") as u64)),
            "history" => timed(|| self.history(None)),
            "recent" => timed(|| self.recent(number("bytes") as u64)),
            "fork" => self.fork(number("under"), number("message")),
            "search" => {
                let query = command["query"].as_str().context("a query")?;
                timed(|| Ok(self.runtime.block_on(self.session.search(query).limit(20).into_future())?.results.len()))
            }
            "hits" => timed(|| self.hits(command["query"].as_str().context("a query")?)),
            "reopen" => {
                self.close()?;
                match command["then"].as_str().unwrap_or_default() {
                    "first" => timed(|| self.first()),
                    "append" => timed(|| self.append_one(&self.messages[number("from")], None)),
                    "history" => timed(|| self.history(None)),
                    "recent" => timed(|| self.recent(number("bytes") as u64)),
                    other => bail!("nothing to do called {other}"),
                }
            }
            "close" => self.close().map(|()| json!({})),
            "peak" => Ok(json!({ "mib": peak()? })),
            other => bail!("no command {other}"),
        }
    }

    fn append(&self, from: usize, count: usize, most: Duration) -> Result<Value> {
        let start = Instant::now();
        let mut done = 0;
        while done < count && start.elapsed() < most {
            self.append_one(&self.messages[from + done], None)?;
            done += 1;
        }
        Ok(json!({ "ms": milliseconds(start.elapsed()), "count": done }))
    }

    fn append_one(&self, message: &str, parent: Option<String>) -> Result<usize> {
        let mut append = self.session.append_message(message);
        if parent.is_some() {
            append = append.parent(parent);
        }
        ensure!(self.runtime.block_on(append.into_future())?.inserted, "not inserted");
        Ok(1)
    }

    fn fork(&self, under: usize, message: usize) -> Result<Value> {
        let parent = id(&self.messages[under])?;
        let leaf = id(&self.messages[message])?;
        let appended = timed(|| self.append_one(&self.messages[message], Some(parent)))?;
        let read = timed(|| self.history(Some(leaf)))?;
        Ok(json!({ "append_ms": appended["ms"], "read_ms": read["ms"], "count": read["count"] }))
    }

    /// The whole path, in pages.
    fn history(&self, leaf: Option<String>) -> Result<usize> {
        let (mut count, mut cursor) = (0, None);
        loop {
            let mut read = self.session.read_history().cursor(cursor);
            if let Some(leaf) = &leaf {
                read = read.leaf(leaf);
            }
            let page = self.runtime.block_on(read.into_future())?;
            count += parsed(&page.messages)?;
            if page.cursor.is_none() {
                return Ok(count);
            }
            cursor = page.cursor;
        }
    }

    fn first(&self) -> Result<usize> {
        let page = self.runtime.block_on(self.session.read_history().batch_size(1).into_future())?;
        parsed(&page.messages)
    }

    fn recent(&self, bytes: u64) -> Result<usize> {
        parsed(&self.runtime.block_on(self.session.get_recent_history(bytes).into_future())?.messages)
    }

    /// All that a search finds, page by page.
    fn hits(&self, query: &str) -> Result<usize> {
        let (mut hits, mut cursor) = (0, None);
        loop {
            let search = self.session.search(query).limit(100).cursor(cursor);
            let page = self.runtime.block_on(search.into_future())?;
            hits += page.results.len();
            if page.cursor.is_none() {
                return Ok(hits);
            }
            cursor = page.cursor;
        }
    }

    fn close(&self) -> Result<()> {
        Ok(self.runtime.block_on(self.session.tenant().close())?)
    }
}

/// The others hand out objects and no text, so the text is made one here, too.
fn parsed(messages: &[Message]) -> Result<usize> {
    for message in messages {
        let value: Value = serde_json::from_str(&message.json)?;
        ensure!(value["id"].is_string(), "a message without id");
    }
    Ok(messages.len())
}

fn id(message: &str) -> Result<String> {
    let value: Value = serde_json::from_str(message)?;
    Ok(value["id"].as_str().context("a message with an id")?.to_owned())
}

fn timed(work: impl FnOnce() -> Result<usize>) -> Result<Value> {
    let start = Instant::now();
    let count = work()?;
    Ok(json!({ "ms": milliseconds(start.elapsed()), "count": count }))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The most memory that this process has had, where the system tells.
fn peak() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    Ok(line.context("a peak")?.trim().parse::<f64>()? / 1024.0)
}
