//! `talktree chat`: a conversation with a model, in the terminal.

use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use talktree::{
    BranchPoint, Session,
    chat::{Agent, Happening, Prompt, Spec},
};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{
    marks::{coloured, write_snippet},
    parts::{Said, said},
    runtime::Runtime,
    terminal::{ASSISTANT, BAD, FAINT, PLAIN, STRONG, USER, harmless, harmless_lines},
};

/// What can be typed instead of a message.
const HELP: &str = "\
/again              another answer to your last message, as a new branch
/edit ID TEXT       the message ID once more with another text, as a new branch
/branches [ID]      the answers to the same message as ID (without: as the last answer)
/switch ID          go on from this message
/search WORDS       find messages of this conversation
/memory             what the agent remembers
/quit               end; so does the end of input";

/// Talk with a model; everything that is said stays in the store
#[derive(Args)]
#[command(after_help = "\
Type a message and Enter; /help shows what else can be typed. Ctrl+C breaks an answer off: what there is of it is kept.
The scripted model needs no key: it repeats what you have told it, and does as it is told by `remember: FACT`,
`note: TITLE | TEXT` and `look up: WORDS`. The same agent over HTTP: talktree serve --chat-model SPEC, POST /api/chat.

Examples:
  talktree chat --root data --tenant easy
  talktree chat --root data --tenant easy --model openai:http://localhost:11434/v1#llama3.2
  ANTHROPIC_API_KEY=... talktree chat --root data --tenant easy --session plans --model anthropic:claude-sonnet-4-5
  echo 'My name is Ada.' | talktree chat --root data --tenant easy

Exit codes: 0 the end, 1 failed (a model that fails, too, where input is no terminal), 2 the command line was wrong.")]
pub(crate) struct Chat {
    #[command(flatten)]
    runtime: Runtime,

    /// Tenant that the conversation belongs to
    #[arg(long, short, value_name = "NAME")]
    tenant: String,

    /// Id of the session
    #[arg(long, short, value_name = "ID", default_value = "")]
    session: String,

    /// Who answers: scripted, openai:BASE_URL#MODEL (key from OPENAI_API_KEY), anthropic:MODEL (key from ANTHROPIC_API_KEY)
    #[arg(long, value_name = "SPEC", default_value = "scripted")]
    model: Spec,

    /// What the model is told to be, in a new session
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,

    /// Summarize old messages when more than so many tokens are read
    #[arg(long, value_name = "TOKENS")]
    compact_after: Option<u32>,
}

impl Chat {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut agent = Agent::new(self.model.build().map_err(anyhow::Error::msg)?);
        if let Some(text) = self.instructions {
            agent = agent.instructions(text);
        }
        if let Some(tokens) = self.compact_after {
            agent = agent.compact_after(tokens);
        }
        let talktree = self.runtime.open().await?;
        let session = talktree.tenant(&self.tenant)?.session(&self.session);
        let talk = Talk { agent, session, by_hand: io::stdin().is_terminal() };
        let ended = talk.run().await;
        talk.agent.close().await;
        talktree.close().await.context("the tenant could not be closed")?;
        ended.map(|whole| if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

struct Talk {
    agent: Agent,
    session: Session,
    /// Somebody sits at the keyboard.
    by_hand: bool,
}

impl Talk {
    /// False: some answer is not whole, and nobody was there to see it.
    async fn run(&self) -> anyhow::Result<bool> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut whole = true;
        if self.by_hand {
            anstream::println!("{FAINT}/help shows what can be typed beside messages.{PLAIN}");
        }
        loop {
            if self.by_hand {
                anstream::print!("{USER}you{PLAIN} ");
                io::stdout().flush()?;
            }
            let Some(line) = lines.next_line().await? else { return Ok(whole) };
            let (word, rest) =
                line.trim().split_once(' ').map_or((line.trim(), ""), |(word, rest)| (word, rest.trim()));
            let done = match word {
                "" => Ok(true),
                "/quit" => return Ok(whole),
                "/help" => {
                    println!("{HELP}");
                    Ok(true)
                }
                "/again" => self.again().await,
                "/edit" => self.edit(rest).await,
                "/branches" => self.branches(rest).await,
                "/switch" => self.switch(rest).await,
                "/search" => self.search(rest).await,
                "/memory" => self.memory().await,
                _ => self.say(Prompt::text(line.trim())?).await,
            };
            match done {
                Ok(done) => whole = whole && (done || self.by_hand),
                Err(error) if self.by_hand => anstream::eprintln!("{BAD}{}{PLAIN}", harmless(&format!("{error:#}"))),
                Err(error) => return Err(error),
            }
        }
    }

    /// Has a message answered, and shows the answer as it comes.
    async fn say(&self, prompt: Prompt) -> anyhow::Result<bool> {
        let mut turn = self.agent.answer(self.session.clone(), prompt).await?;
        let mut out = anstream::stdout();
        writeln!(out, "{ASSISTANT}assistant{PLAIN} {FAINT}{}{PLAIN}", turn.answer_id())?;
        loop {
            let happening = tokio::select! {
                happening = turn.next() => happening,
                stopped = tokio::signal::ctrl_c() => {
                    stopped?;
                    writeln!(out, "\n{FAINT}broken off; what there is of the answer is kept{PLAIN}")?;
                    return Ok(true);
                }
            };
            match happening {
                Some(Happening::Text { text, .. }) => write!(out, "{}", harmless_lines(&text))?,
                Some(Happening::Call { name, arguments, .. }) => {
                    writeln!(out, "{FAINT}{} {}{PLAIN}", harmless(&name), harmless(&arguments))?;
                }
                Some(Happening::Output { content, .. }) => writeln!(out, "{FAINT}{}{PLAIN}", harmless_lines(&content))?,
                Some(Happening::Failed(sentence)) => {
                    writeln!(out, "\n{BAD}{}{PLAIN}", harmless(&sentence))?;
                    return Ok(false);
                }
                Some(_) | None => {
                    writeln!(out)?;
                    return Ok(true);
                }
            }
            out.flush()?;
        }
    }

    async fn leaf(&self) -> anyhow::Result<talktree::Message> {
        self.session.get_latest_leaf().await?.context("nothing has been said yet")
    }

    async fn again(&self) -> anyhow::Result<bool> {
        let leaf = self.leaf().await?;
        let question = if leaf.role == "assistant" {
            leaf.parent_id.context("the last message answers nothing")?
        } else {
            leaf.id
        };
        self.say(Prompt::again(question)).await
    }

    async fn edit(&self, rest: &str) -> anyhow::Result<bool> {
        let (id, text) = rest.split_once(' ').context("/edit takes an id and a text")?;
        let edited = self.session.get_message(id).await?.with_context(|| format!("there is no message {id:?}"))?;
        self.say(Prompt::text(text.trim())?.parent(edited.parent_id)).await
    }

    async fn branches(&self, id: &str) -> anyhow::Result<bool> {
        let here = match id {
            "" => self.leaf().await?,
            id => self.session.get_message(id).await?.with_context(|| format!("there is no message {id:?}"))?,
        };
        let point = here.parent_id.map_or(BranchPoint::Root, BranchPoint::Id);
        for branch in self.session.get_branches(point).await?.messages {
            let mark = if branch.id == here.id { "*" } else { " " };
            let mut text = String::new();
            for part in said(&branch.json) {
                if let Said::Text(said) = part {
                    text.push_str(&said);
                }
            }
            let short: String = harmless(&text).chars().take(60).collect();
            anstream::println!("{mark} {STRONG}{}{PLAIN} {short}", harmless(&branch.id));
        }
        Ok(true)
    }

    async fn switch(&self, id: &str) -> anyhow::Result<bool> {
        self.session.set_leaf(Some(id)).await?;
        anstream::println!("{FAINT}the next message goes on from {}{PLAIN}", harmless(id));
        Ok(true)
    }

    async fn search(&self, words: &str) -> anyhow::Result<bool> {
        let found = self.session.search(words).await?;
        let mut out = anstream::stdout();
        for result in &found.results {
            write!(out, "{STRONG}{}{PLAIN} ", harmless(&result.id))?;
            write_snippet(&mut out, &result.snippet, &result.content, coloured())?;
            writeln!(out)?;
        }
        anstream::println!("{FAINT}{} found{PLAIN}", found.results.len());
        Ok(true)
    }

    async fn memory(&self) -> anyhow::Result<bool> {
        for block in self.session.list_blocks().await? {
            anstream::println!("{STRONG}{}{PLAIN} {}", harmless(&block.label), harmless_lines(&block.content));
            for entry in &block.entries {
                anstream::println!("  {}", harmless(&entry.key));
            }
        }
        Ok(true)
    }
}
