//! Calls that write everything there is to be written, as a seed decides.
//!
//! A life knows what is there when each of its calls comes, so that all of them succeed where nothing goes wrong.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Failure, Random};

/// The sessions of a life.
const SESSIONS: [&str; 2] = ["", "other"];
/// Words that are looked for.
pub(super) const WORDS: [&str; 5] = ["banana", "部署", "rollback", "quiet", "summary"];

/// One call, or two that belong together.
#[derive(Clone, Debug)]
pub enum Step {
    /// A method of JSON-RPC with its params, without the tenant.
    Call(&'static str, Value),
    /// A compaction by a plan: `prepareCompaction`, then `commitCompaction` with this summary, where there is a plan.
    Compact {
        /// The session.
        session: &'static str,
        /// What a model would have written.
        summary: String,
    },
}

impl Step {
    /// Does it with something that can make calls.
    pub(super) fn perform(
        &self,
        mut call: impl FnMut(&str, &Value) -> Result<Result<Value, Failure>>,
    ) -> Result<Result<(), Failure>> {
        match self {
            Self::Call(method, params) => Ok(call(method, params)?.map(drop)),
            Self::Compact { session, summary } => {
                let plan = match call("prepareCompaction", &json!({"session": session}))? {
                    Ok(plan) => plan["plan"].clone(),
                    Err(failure) => return Ok(Err(failure)),
                };
                if plan.is_null() {
                    return Ok(Ok(()));
                }
                let params = json!({"session": session, "token": plan["token"], "summary": summary});
                Ok(call("commitCompaction", &params)?.map(drop))
            }
        }
    }
}

/// What is in a session.
#[derive(Default)]
struct Known {
    /// Ids on the present path, oldest first.
    path: Vec<String>,
    /// Compactions on it, by the ends of their ranges, which must not overlap.
    compacted: usize,
}

/// A life of a length.
pub fn generate(seed: u64, steps: usize) -> Vec<Step> {
    let mut life = Life { random: Random::new(seed, 1), known: Default::default(), made: 0, forks: Vec::new() };
    let mut all: Vec<Step> = vec![
        Step::Call("configure", json!({"compactAfter": 2_000, "keepRecentTokens": 300, "autoCompact": "off"})),
        Step::Call("defineBlock", json!({"label": "memory", "content": "Nothing yet."})),
        Step::Call("defineBlock", json!({"session": "other", "label": "memory", "content": "Nothing yet."})),
        Step::Call("defineBlock", json!({"label": "notes", "kind": "searchable", "scope": "store"})),
    ];
    while all.len() < steps {
        all.extend(life.step());
    }
    all.truncate(steps);
    all
}

struct Life {
    random: Random,
    known: [Known; 2],
    made: u64,
    /// Sessions that were made of others, and are there.
    forks: Vec<String>,
}

impl Life {
    fn step(&mut self) -> Option<Step> {
        let at = usize::from(self.random.once_in(4));
        let session = SESSIONS[at];
        let id = |life: &mut Self| {
            life.made += 1;
            format!("m{}", life.made)
        };
        Some(match self.random.below(30) {
            0..=9 => {
                let id = id(self);
                let message = self.message(&id);
                self.known[at].path.push(id);
                Step::Call("appendMessage", json!({"session": session, "message": message}))
            }
            10 | 11 => {
                let messages: Vec<Value> = (0..2 + self.random.below(6))
                    .map(|_| {
                        let id = id(self);
                        let message = self.message(&id);
                        self.known[at].path.push(id);
                        message
                    })
                    .collect();
                Step::Call("appendMessages", json!({"session": session, "messages": messages}))
            }
            12 | 13 => {
                // A branch: what comes behind it goes on there.
                let kept = self.random.below(self.known[at].path.len() as u64 + 1) as usize;
                let id = id(self);
                let message = self.message(&id);
                let known = &mut self.known[at];
                known.path.truncate(kept);
                known.compacted = known.compacted.min(kept);
                let parent = known.path.last().cloned();
                known.path.push(id);
                Step::Call("appendMessage", json!({"session": session, "message": message, "parentId": parent}))
            }
            14 | 15 => {
                let id = self.pick(at)?;
                let message = self.message(&id);
                Step::Call("updateMessage", json!({"session": session, "message": message}))
            }
            16 => {
                let id = self.pick(at)?;
                self.known[at].path.retain(|known| *known != id);
                self.known[at].compacted = 0;
                Step::Call("deleteMessages", json!({"session": session, "ids": [id], "mode": "splice"}))
            }
            17 => {
                let known = &mut self.known[at];
                let cut = known.path.len().checked_sub(2)?;
                let id = known.path[cut].clone();
                known.path.truncate(cut);
                known.compacted = known.compacted.min(cut);
                Step::Call("deleteMessages", json!({"session": session, "ids": [id], "mode": "subtree"}))
            }
            18 | 19 => Step::Compact { session, summary: format!("A summary of what was said until {}.", self.made) },
            20 => {
                let known = &mut self.known[at];
                let (first, last) = (known.compacted, known.path.len().checked_sub(2)?);
                if first + 1 >= last {
                    return None;
                }
                known.compacted = last + 1;
                let (first, last) = (&known.path[first], &known.path[last]);
                let summary = format!("The summary from {first} to {last}");
                let params = json!({"session": session, "summary": summary, "firstId": first, "lastId": last});
                Step::Call("addCompaction", params)
            }
            21 | 22 => {
                let content = format!("{} {}", self.word(), self.made);
                let (label, key) = if self.random.once_in(2) { ("memory", None) } else { ("notes", Some("a")) };
                Step::Call("writeBlock", json!({"session": session, "label": label, "content": content, "key": key}))
            }
            23 => Step::Call("setTitle", json!({"session": session, "title": format!("Title {}", self.made)})),
            24 => {
                // There is nothing to be had of an empty session.
                self.pick(at)?;
                let fork = format!("fork{}", self.made);
                if self.forks.contains(&fork) {
                    return None;
                }
                self.forks.push(fork.clone());
                Step::Call("forkSession", json!({"session": session, "newSession": fork}))
            }
            25 => Step::Call("deleteSession", json!({"session": self.forks.pop()?})),
            26 => Step::Call("search", json!({"query": self.word()})),
            27 if self.random.once_in(3) => {
                self.known[at] = Known::default();
                Step::Call("clearMessages", json!({"session": session}))
            }
            27 => Step::Call("systemPrompt", json!({"session": session})),
            28 if self.random.once_in(2) => Step::Call("vacuum", json!({})),
            _ => Step::Call("close", json!({})),
        })
    }

    fn pick(&mut self, at: usize) -> Option<String> {
        let length = self.known[at].path.len() as u64;
        (length > 0).then(|| self.known[at].path[self.random.below(length) as usize].clone())
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.random.below(WORDS.len() as u64) as usize]
    }

    /// A message of any size: short, of some pages, stored in pieces, or with a payload of its own.
    fn message(&mut self, id: &str) -> Value {
        let long = match self.random.below(24) {
            0 => 300_000,
            1..=3 => 20_000,
            4..=9 => 1_500,
            _ => 40,
        };
        let text = format!("{} {} {}", self.word(), self.random.below(1_000), "x".repeat(long as usize));
        let mut parts = vec![json!({"type": "text", "text": text})];
        if self.random.once_in(12) {
            // The same few payloads again and again: they are stored once.
            let bytes = "QUJD".repeat(4_000 + self.random.below(3) as usize);
            parts.push(
                json!({"type": "file", "mediaType": "image/png", "url": format!("data:image/png;base64,{bytes}")}),
            );
        }
        let role = if self.random.once_in(2) { "user" } else { "assistant" };
        json!({"id": id, "role": role, "parts": parts})
    }
}
