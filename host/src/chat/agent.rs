//! The agent: from the user's message to the stored answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{Model, Piece, Question, answer::Draft};
use crate::{
    BlockDefinition, BlockKind, ConfigurationChange, Error, ErrorKind, IntoMessage, NumberSetting, Parent, Result,
    Session, Source,
    export::{Part, take},
    fresh,
    import::json::{Members, text},
};

/// Bytes of history that a model is shown at most: the newest messages.
const HISTORY: u64 = 4 << 20;

/// How often a model is asked again after it has called tools.
const STEPS: usize = 10;

/// How often an answer that is growing is stored.
const KEEP: Duration = Duration::from_secs(2);

/// Happenings that wait for whoever reads them.
const WAITING: usize = 256;

/// Tokens of the memory that is part of every prompt.
const MEMORY_TOKENS: u32 = 1_000;

/// Characters of a title that is made from the first message.
const TITLE: usize = 60;

/// Answers messages. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    model: Arc<dyn Model>,
    instructions: Option<String>,
    compact_after: Option<u32>,
    tasks: TaskTracker,
}

/// What is to be answered.
#[derive(Debug, Clone)]
pub struct Prompt {
    asked: Asked,
    parent: Parent,
}

#[derive(Debug, Clone)]
enum Asked {
    /// The JSON of a new message.
    Message(String),
    /// A message that is there, by its id.
    Again(String),
}

impl Prompt {
    /// A new message of the user, with an id at random.
    ///
    /// # Errors
    ///
    /// `other` if the system gives no random numbers.
    pub fn text(text: &str) -> Result<Self> {
        let (_, message) = fresh::text_message("user", text)?;
        Ok(Self { asked: Asked::Message(message), parent: Parent::Latest })
    }

    /// A new message, as an AI SDK `UIMessage`. Its id makes a retry safe: what was answered already is told again.
    ///
    /// # Errors
    ///
    /// `invalid-message` if it cannot be written as JSON.
    pub fn message(message: impl IntoMessage) -> Result<Self> {
        Ok(Self { asked: Asked::Message(message.into_message()?), parent: Parent::Latest })
    }

    /// Another answer to a message that is there, as a new branch.
    pub fn again(id: impl Into<String>) -> Self {
        Self { asked: Asked::Again(id.into()), parent: Parent::Latest }
    }

    /// Where a new message hangs; by default below the present leaf.
    #[must_use]
    pub fn parent(mut self, parent: impl Into<Parent>) -> Self {
        self.parent = parent.into();
        self
    }
}

/// What happens while an answer is made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// More text of the part at this place.
    Text {
        /// Place of the part in the answer.
        part: usize,
        /// The text that comes behind what was told.
        text: String,
    },
    /// The model calls a tool.
    Call {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as the model wrote them.
        arguments: String,
    },
    /// The tool has answered.
    Output {
        /// The call's id.
        id: String,
        /// What it answered.
        content: String,
        /// The model got something wrong.
        is_error: bool,
    },
    /// The answer is whole, and stored.
    Finished,
    /// There will be no more of the answer; what there was of it is stored, and marked. A sentence.
    Failed(String),
}

/// An answer that is being made. Dropping it breaks the answer off: what there is of it is stored, and marked.
#[derive(Debug)]
pub struct Turn {
    question_id: String,
    answer_id: String,
    happenings: mpsc::Receiver<Happening>,
    _guard: DropGuard,
}

impl Turn {
    /// The id of the message that is answered.
    pub fn question_id(&self) -> &str {
        &self.question_id
    }

    /// The id that the answer has, or will have.
    pub fn answer_id(&self) -> &str {
        &self.answer_id
    }

    /// What happens next; nothing at the end.
    pub async fn next(&mut self) -> Option<Happening> {
        self.happenings.recv().await
    }
}

impl Agent {
    /// An agent with this model.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, instructions: None, compact_after: None, tasks: TaskTracker::new() }
    }

    /// What the agent is told to be. It is the content of a block `soul`, which the model cannot change; for sessions that
    /// have one already, it stays as it is.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Has old messages summarized when more than so many tokens are read; without, sessions keep what they are configured
    /// to.
    #[must_use]
    pub fn compact_after(mut self, tokens: u32) -> Self {
        self.compact_after = Some(tokens);
        self
    }

    /// Stores the message and begins to answer it. Has to be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// As of `append_message`; `invalid-argument` for an id with another message behind it; `unknown-message` for one to be
    /// answered again that is not there. A model that fails is told by [`Happening::Failed`].
    pub async fn answer(&self, session: Session, prompt: Prompt) -> Result<Turn> {
        self.prepare(&session).await?;
        let (question_id, stored) = self.ask(&session, prompt).await?;
        let (sender, happenings) = mpsc::channel(WAITING);
        let cancelled = CancellationToken::new();
        let answer_id = match stored {
            Some((id, message)) => {
                self.tasks.spawn(retell(message, sender));
                id
            }
            None => {
                let (id, _) = fresh::text_message("assistant", "")?;
                let work = Work {
                    model: Arc::clone(&self.model),
                    session,
                    question_id: question_id.clone(),
                    draft: Draft::new(id.clone()),
                    sender,
                };
                self.tasks.spawn(work.run(cancelled.clone()));
                id
            }
        };
        Ok(Turn { question_id, answer_id, happenings, _guard: cancelled.drop_guard() })
    }

    /// Waits until answers that were broken off are stored. No more can be begun.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// What every session of the agent has. Saying it again changes nothing.
    async fn prepare(&self, session: &Session) -> Result<()> {
        if let Some(text) = &self.instructions {
            let soul = BlockDefinition { kind: BlockKind::ReadOnly, content: Some(text.clone()), ..Default::default() };
            session.define_block("soul", soul).await?;
        }
        let memory = BlockDefinition {
            description: Some(
                "What you want to know in every conversation turn: facts about the user, decisions.".into(),
            ),
            max_tokens: Some(MEMORY_TOKENS),
            ..Default::default()
        };
        session.define_block("memory", memory).await?;
        let notes = BlockDefinition {
            description: Some("Longer notes, each under a key of its own, to be searched for.".into()),
            kind: BlockKind::Searchable,
            ..Default::default()
        };
        session.define_block("notes", notes).await?;
        if let Some(tokens) = self.compact_after {
            let compact_after = NumberSetting::Value(tokens);
            session.configure(ConfigurationChange { compact_after, ..Default::default() }).await?;
        }
        Ok(())
    }

    /// The id of the message to be answered, and the answer that it has had, where this is a retry.
    async fn ask(&self, session: &Session, prompt: Prompt) -> Result<(String, Option<(String, String)>)> {
        let message = match prompt.asked {
            Asked::Again(id) => {
                session.get_message(&id).await?.ok_or_else(|| {
                    Error::new(ErrorKind::UnknownMessage, "there is no message of that id to be answered")
                        .with_subject(&id)
                })?;
                return Ok((id, None));
            }
            Asked::Message(message) => message,
        };
        let id = Members::of(message.as_bytes()).text("id").unwrap_or_default();
        let first = session.get_latest_leaf().await?.is_none();
        let done = session.append_message(&message).parent(prompt.parent).source(Source::Client).await?;
        if done.conflict {
            return Err(Error::new(ErrorKind::InvalidArgument, "another message has this id").with_subject(&id));
        }
        if first && let Some(title) = title(&message) {
            session.set_automatic_title(&title).await?;
        }
        if done.inserted {
            return Ok((id, None));
        }
        let answers = session.get_branches(id.as_str()).await?.messages;
        let whole = answers.into_iter().rev().find(|answer| answer.role == "assistant" && !is_partial(&answer.json));
        Ok((id, whole.map(|answer| (answer.id, answer.json))))
    }
}

/// The beginning of the first message.
fn title(message: &str) -> Option<String> {
    let said = take(message).parts.into_iter().find_map(|part| match part {
        Part::Text(raw) => text(raw),
        _ => None,
    })?;
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(TITLE).collect();
    Some(short).filter(|short| !short.is_empty())
}

fn is_partial(message: &str) -> bool {
    let members = Members::of(message.as_bytes());
    let metadata = members.get("metadata").unwrap_or_default();
    Members::of(metadata.as_bytes()).get("partial") == Some("true")
}

/// Tells an answer that is stored.
async fn retell(message: String, sender: mpsc::Sender<Happening>) {
    let texts: Vec<_> = take(&message)
        .parts
        .into_iter()
        .enumerate()
        .filter_map(|(part, of)| match of {
            Part::Text(raw) => text(raw).map(|text| Happening::Text { part, text }),
            _ => None,
        })
        .collect();
    for happening in texts.into_iter().chain([Happening::Finished]) {
        if sender.send(happening).await.is_err() {
            return;
        }
    }
}

/// Why an answer is not whole.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{0}")]
    Model(#[from] super::ModelError),
    #[error("{0}")]
    Store(#[from] Error),
    #[error("the model has called tools {STEPS} times and not answered")]
    Endless,
}

/// One answer in the making.
struct Work {
    model: Arc<dyn Model>,
    session: Session,
    question_id: String,
    draft: Draft,
    sender: mpsc::Sender<Happening>,
}

impl Work {
    async fn run(mut self, cancelled: CancellationToken) {
        let ended = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            ended = self.steps() => Some(ended),
        };
        let partial = !matches!(ended, Some(Ok(())));
        let stored = if self.draft.is_empty() { Ok(()) } else { self.store(partial).await };
        let last = match (ended, stored) {
            (Some(Ok(())), Ok(())) => Happening::Finished,
            (Some(Err(broken)), Ok(())) => Happening::Failed(broken.to_string()),
            (_, Err(error)) => {
                tracing::warn!(
                    tenant = self.session.tenant().name(),
                    session = self.session.id(),
                    kind = error.kind().as_str(),
                    "an answer could not be stored"
                );
                Happening::Failed(error.to_string())
            }
            (None, Ok(())) => return,
        };
        // Whoever has gone does not want to know.
        let _ = self.sender.send(last).await;
    }

    async fn steps(&mut self) -> Result<(), Broken> {
        for _ in 0..STEPS {
            let calls = self.step().await?;
            if calls.is_empty() {
                return Ok(());
            }
            for (id, name, arguments) in calls {
                self.tell(Happening::Call { id: id.clone(), name: name.clone(), arguments: arguments.clone() }).await;
                let answer = self.session.call_tool(&name, &arguments).await?;
                self.draft.call(&id, &name, &arguments, &answer);
                self.tell(Happening::Output { id, content: answer.content, is_error: answer.is_error }).await;
            }
            self.store(true).await?;
            self.draft.step();
        }
        Err(Broken::Endless)
    }

    /// Asks the model once. Answers the tools that it wants.
    async fn step(&mut self) -> Result<Vec<(String, String, String)>, Broken> {
        let mut answering = self.model.answer(self.question().await?);
        let mut calls = Vec::new();
        let mut kept = Instant::now();
        while let Some(piece) = answering.next().await {
            match piece? {
                Piece::Text(text) => {
                    self.draft.say(&text);
                    self.tell(Happening::Text { part: self.draft.place(), text }).await;
                }
                Piece::Call { id, name, arguments } => calls.push((id, name, arguments)),
                Piece::Cut => self.draft.cut = true,
            }
            if kept.elapsed() >= KEEP && !self.draft.is_empty() {
                self.store(true).await?;
                kept = Instant::now();
            }
        }
        Ok(calls)
    }

    async fn question(&self) -> Result<Question> {
        let history = self.session.get_recent_history(HISTORY).leaf(self.question_id.as_str()).await?;
        let mut messages: Vec<String> = history.messages.into_iter().map(|message| message.json).collect();
        if !self.draft.is_empty() {
            messages.push(self.draft.message(false));
        }
        Ok(Question {
            system: self.session.system_prompt().await?,
            reminder: self.session.reminder().await?,
            messages,
            tools: self.session.tools().await?,
        })
    }

    async fn store(&self, partial: bool) -> Result<()> {
        let message = self.draft.message(partial);
        self.session.upsert_message(message).parent(self.question_id.as_str()).await?;
        Ok(())
    }

    /// Somebody who reads slowly slows the model down. Somebody who has gone breaks the answer off elsewhere.
    async fn tell(&self, happening: Happening) {
        let _ = self.sender.send(happening).await;
    }
}
