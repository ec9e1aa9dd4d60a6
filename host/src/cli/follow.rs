//! `talktree show --follow`: what is written into a session, as it comes.
//!
//! The tenant is opened only where its files have changed, and let go of again, so that whoever writes can have it.

use std::{
    io::{self, Write},
    pin::Pin,
    time::{Duration, SystemTime},
};

use talktree::{Change, ErrorKind, EventKind, Node, Session};
use tokio::time::sleep;

use super::{
    Conversation,
    history::{print_json, print_message},
    layout::counted,
    signals::Signals,
    terminal::{FAINT, PLAIN},
};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(400);
/// Events in one page of the feed.
const PAGE: u32 = 1_000;
/// A file may be written twice and say the same time: for so long after a change it is looked at again.
const FRESH: Duration = Duration::from_secs(1);

/// A session that is followed from a moment on.
pub(crate) struct Following {
    session: Session,
    json: bool,
    cursor: String,
    /// The newest message that was shown by other means.
    shown: u32,
    /// The change of the store that was looked at last.
    seen: Option<SystemTime>,
    /// A signal asks for an end.
    end: Pin<Box<dyn Future<Output = ()>>>,
}

impl Following {
    /// From now on, or from the moment when the tenant can be had. None: a signal asked for an end before that.
    pub(crate) async fn begin(
        session: Session,
        json: bool,
        conversation: &Conversation,
    ) -> anyhow::Result<Option<Self>> {
        let mut end: Pin<Box<dyn Future<Output = ()>>> = Box::pin(Signals::listen()?.first());
        let mut waiting = Waiting::default();
        loop {
            match session.tenant().end_of_feed().await {
                Ok(page) => {
                    let cursor = page.cursor;
                    return Ok(Some(Self { session, json, cursor, shown: 0, seen: None, end }));
                }
                Err(error) => waiting.bear_with(error.into(), conversation)?,
            }
            if pause(&mut end).await {
                return Ok(None);
            }
        }
    }

    /// Prints what is written, until a signal asks for an end. These messages have been shown.
    pub(crate) async fn run(&mut self, nodes: &[Node], conversation: &Conversation) -> anyhow::Result<()> {
        self.shown = nodes.iter().map(|node| node.seq).max().unwrap_or(0);
        let mut waiting = Waiting::default();
        loop {
            // Before the look: what is written meanwhile is another change.
            let change = self.session.tenant().last_change().await?;
            let is_fresh = |change: SystemTime| change.elapsed().map_or(true, |age| age < FRESH);
            if change != self.seen || change.is_some_and(is_fresh) {
                match self.look().await {
                    Ok(()) => {
                        waiting = Waiting::default();
                        self.seen = change;
                    }
                    Err(error) => waiting.bear_with(error, conversation)?,
                }
            }
            self.session.tenant().close().await?;
            if pause(&mut self.end).await {
                return Ok(());
            }
        }
    }

    /// Prints what has come since the last look.
    async fn look(&mut self) -> anyhow::Result<()> {
        loop {
            let changes = self.session.tenant().changes().session(self.session.id().to_owned());
            let page = changes.cursor(self.cursor.clone()).limit(PAGE).await?;
            if page.reset && !self.json {
                anstream::println!("{FAINT}[something was missed: `talktree show` has all of it]{PLAIN}");
            }
            for change in &page.events {
                self.print(change).await?;
            }
            if std::mem::replace(&mut self.cursor, page.cursor.clone()) == page.cursor {
                return Ok(());
            }
        }
    }

    async fn print(&self, change: &Change) -> anyhow::Result<()> {
        let ids = change.ids.len();
        let note = match change.kind {
            EventKind::Appended | EventKind::Imported => return self.print_messages(change).await,
            EventKind::Updated => {
                self.note("updated:")?;
                return self.print_messages(change).await;
            }
            EventKind::Deleted => format!("{} deleted", counted(ids, "message", "messages")),
            EventKind::Cleared => "cleared".to_owned(),
            EventKind::Compacted => "older messages are read as a summary now".to_owned(),
            EventKind::ContextChanged => "a memory block was changed".to_owned(),
            EventKind::CompactionChanged | EventKind::SessionChanged => return Ok(()),
        };
        self.note(&note)
    }

    /// Where scripts read, messages are all that is printed.
    fn note(&self, note: &str) -> anyhow::Result<()> {
        if !self.json {
            writeln!(anstream::stdout(), "{FAINT}[{note}]{PLAIN}\n")?;
        }
        Ok(())
    }

    /// Messages that have gone since are left out.
    async fn print_messages(&self, change: &Change) -> anyhow::Result<()> {
        for id in &change.ids {
            let Some(message) = self.session.get_message(id).await? else { continue };
            if change.kind != EventKind::Updated && message.seq <= self.shown {
                continue;
            }
            if self.json {
                let mut out = io::stdout().lock();
                print_json(&mut out, &message)?;
                out.flush()?;
            } else {
                let mut out = anstream::stdout();
                print_message(&mut out, &message)?;
                out.flush()?;
            }
        }
        Ok(())
    }
}

/// Waits until it is time to look again. True: a signal asks for an end.
async fn pause(end: &mut Pin<Box<dyn Future<Output = ()>>>) -> bool {
    tokio::select! {
        () = end => true,
        () = sleep(PAUSE) => false,
    }
}

/// Waiting until another process lets go of the tenant.
#[derive(Default)]
struct Waiting {
    told: bool,
}

impl Waiting {
    /// Says once that it is waited. Other errors are not waited for.
    fn bear_with(&mut self, error: anyhow::Error, conversation: &Conversation) -> anyhow::Result<()> {
        if error.downcast_ref::<talktree::Error>().is_none_or(|error| error.kind() != ErrorKind::Busy) {
            return Err(error);
        }
        if !std::mem::replace(&mut self.told, true) {
            let name = conversation.name();
            anstream::eprintln!("Another process has {name} open (talktree serve?): waiting until it lets go.");
        }
        Ok(())
    }
}
