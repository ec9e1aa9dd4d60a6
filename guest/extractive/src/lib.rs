//! Summaries without a model: sentences of the conversation itself.
//!
//! The same prompt always gives the same summary, natively and in the sandbox: the runtime uses this as its built-in
//! summarizer, and a component of its own offers it to any other host. Sentences are weighed by how much of what the
//! conversation is about they hold, and those of the user's and those with names, numbers and paths count more. What
//! earlier summaries held comes first. The length is kept to by counting more tokens than there are, in any script.
//!
//! ```
//! let prompt = "Rules.\n\n<conversation>\n<user>\nMove the parser to port 8443. Then tell Maria.\n</user>\n\
//!               </conversation>\n\nNow write the summary.\n";
//! assert_eq!(talktree_extractive::summary(prompt, 256), "Move the parser to…");
//! ```
#![deny(missing_docs)]

mod text;
mod transcript;

use std::collections::{BTreeMap, HashMap, HashSet};

use text::{count, cut, sentences, words};
use transcript::{Entry, read};

/// Below this many tokens there is no room for headings.
const ROOM_FOR_HEADINGS: usize = 80;

/// A sentence longer than this many tokens is cut, so that one cannot take all the room.
const MAX_SENTENCE: usize = 80;

/// Under which heading something belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Topic,
    KeyPoints,
    CurrentState,
    OpenItems,
}

impl Part {
    const ALL: [Part; 4] = [Part::Topic, Part::KeyPoints, Part::CurrentState, Part::OpenItems];

    fn heading(self) -> &'static str {
        match self {
            Part::Topic => "## Topic",
            Part::KeyPoints => "## Key Points",
            Part::CurrentState => "## Current State",
            Part::OpenItems => "## Open Items",
        }
    }

    /// Of the room for all sentences, how many hundredths at most are for this part.
    fn share(self) -> usize {
        match self {
            Part::Topic => 15,
            Part::KeyPoints => 100,
            Part::CurrentState | Part::OpenItems => 20,
        }
    }
}

/// A sentence that could stand in the summary.
struct Candidate {
    part: Part,
    text: String,
    weight: f64,
}

/// The summary of the conversation in a prompt, as the engine of Talktree writes prompts, in at most so many tokens.
///
/// A prompt without a conversation is taken as one message. Of something short, the summary is half as long at most.
#[must_use]
pub fn summary(prompt: &str, max_tokens: usize) -> String {
    let entries = read(prompt);
    let candidates = candidates(&entries);
    // A summary of something short has to be shorter than that, whatever was asked for.
    let said: usize = entries
        .iter()
        .map(|entry| match entry {
            Entry::Summary(text) | Entry::Message { text, .. } => count(text),
        })
        .sum();
    let room = max_tokens.min(said / 2).max(1);
    if room < ROOM_FOR_HEADINGS {
        return plain(&candidates, room);
    }
    let headings: usize = Part::ALL.iter().map(|part| count(part.heading()) + 2).sum();
    let chosen = choose(&candidates, room - headings);
    let mut text = String::new();
    for part in Part::ALL {
        let mut lines = chosen.iter().filter(|(at, _)| candidates[**at].part == part).map(|(_, line)| line).peekable();
        if lines.peek().is_some() {
            text.push_str(part.heading());
            text.push('\n');
            lines.for_each(|line| {
                text.push_str("- ");
                text.push_str(line);
                text.push('\n');
            });
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// What there is room for, without headings, the last of it cut if it must be.
fn plain(candidates: &[Candidate], room: usize) -> String {
    let mut by_weight: Vec<_> = candidates.iter().collect();
    by_weight.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut text = String::new();
    for candidate in by_weight {
        let left = room.saturating_sub(count(&text) + usize::from(!text.is_empty()));
        let next = cut(&candidate.text, left);
        if next.is_empty() || (next.len() < candidate.text.len() && !text.is_empty()) {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&next);
    }
    text
}

/// Sentences for the room that there is, by their place: each part has its share, the best come first.
fn choose(candidates: &[Candidate], room: usize) -> BTreeMap<usize, String> {
    let mut by_weight: Vec<usize> = (0..candidates.len()).collect();
    by_weight.sort_by(|&a, &b| candidates[b].weight.total_cmp(&candidates[a].weight).then(a.cmp(&b)));
    let mut chosen = BTreeMap::new();
    let mut left = room;
    for part in [Part::Topic, Part::OpenItems, Part::CurrentState, Part::KeyPoints] {
        let mut share = (room * part.share() / 100).min(left);
        for &at in by_weight.iter().filter(|&&at| candidates[at].part == part) {
            let line = cut(&candidates[at].text, MAX_SENTENCE);
            // The dash before it and the line's end take something, too.
            let tokens = count(&line) + 2;
            if tokens <= share {
                share -= tokens;
                left -= tokens;
                chosen.insert(at, line);
            }
        }
    }
    if chosen.is_empty()
        && let Some(&best) = by_weight.first()
    {
        chosen.insert(best, cut(&candidates[best].text, room.saturating_sub(2)));
    }
    chosen
}

/// All sentences in order, each once, with their weights.
fn candidates(entries: &[Entry<'_>]) -> Vec<Candidate> {
    let mut found = Vec::new();
    for entry in entries {
        if let Entry::Summary(text) = entry {
            earlier(text, &mut found);
        }
    }
    let messages: Vec<_> = entries
        .iter()
        .filter_map(|entry| match *entry {
            Entry::Message { role, text, unanswered } => Some((role, text, unanswered)),
            Entry::Summary(_) => None,
        })
        .collect();
    let first_asked = messages.iter().position(|(role, ..)| *role == "user");
    let last_said = messages.iter().rposition(|(role, ..)| *role == "assistant");
    let known = found.iter().any(|candidate| candidate.part == Part::Topic);
    for (at, &(role, text, unanswered)) in messages.iter().enumerate() {
        let sentences = sentences(text);
        // Asked, and nothing of the assistant's behind it.
        let open = role == "user" && last_said.is_none_or(|said| said < at);
        for (number, sentence) in sentences.iter().enumerate() {
            let part = match role {
                _ if Some(at) == first_asked && number == 0 && !known => Part::Topic,
                _ if open => Part::OpenItems,
                _ if Some(at) == last_said => Part::CurrentState,
                _ => Part::KeyPoints,
            };
            let weight = if role == "user" { 1.3 } else { 1.0 };
            found.push(Candidate { part, text: sentence.clone(), weight });
        }
        if unanswered {
            let call = sentences.last().map_or("a tool call", String::as_str);
            found.push(Candidate { part: Part::OpenItems, text: format!("No answer: {call}"), weight: 2.0 });
        }
    }
    let mut seen = HashSet::new();
    found.retain(|candidate| seen.insert(candidate.text.clone()));
    weigh(&mut found);
    found
}

/// What an earlier summary held, under its own headings. It weighs more than what was said since: nothing else of it is
/// left.
fn earlier(summary: &str, found: &mut Vec<Candidate>) {
    let mut part = Part::KeyPoints;
    for line in summary.lines() {
        let line = line.trim();
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim();
            part = Part::ALL
                .into_iter()
                .find(|part| part.heading().trim_start_matches(['#', ' ']).eq_ignore_ascii_case(heading))
                .unwrap_or(Part::KeyPoints);
            continue;
        }
        // Where things stood then is a point among others now.
        let part = if part == Part::CurrentState { Part::KeyPoints } else { part };
        let line = line.trim_start_matches(['-', '*', ' ']);
        let texts = if part == Part::Topic { vec![line.to_owned()] } else { sentences(line) };
        found.extend(texts.into_iter().filter(|text| !text.is_empty()).map(|text| Candidate {
            part,
            text,
            weight: 2.5,
        }));
    }
}

/// Multiplies each weight by how much of what is said often the sentence holds.
fn weigh(candidates: &mut [Candidate]) {
    let words: Vec<HashSet<String>> = candidates.iter().map(|candidate| words(&candidate.text)).collect();
    let mut often: HashMap<&str, f64> = HashMap::new();
    for word in words.iter().flatten() {
        *often.entry(word).or_default() += 1.0;
    }
    let most = often.values().copied().fold(1.0, f64::max);
    for (candidate, words) in candidates.iter_mut().zip(&words) {
        // In a fixed order, since the sum of fractions depends on it.
        let mut weights: Vec<f64> =
            words.iter().map(|word| often.get(word.as_str()).copied().unwrap_or_default() / most).collect();
        weights.sort_by(f64::total_cmp);
        let held: f64 = weights.iter().sum::<f64>() / (words.len().max(1) as f64).sqrt();
        let exact = candidate.text.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '`' | '_' | '@'));
        candidate.weight *= 0.2 + held + if exact { 0.4 } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(messages: &[(&str, &str)]) -> String {
        let mut text = "Rules\n\n<conversation>\n".to_owned();
        for (role, said) in messages {
            text.push_str(&format!("<{role}>\n{said}\n</{}>\n", role.split(' ').next().unwrap_or_default()));
        }
        text + "</conversation>\n\nNow write the summary.\n"
    }

    /// A long conversation in one script.
    fn long(sentence: &str) -> String {
        let said: Vec<String> = (0..60).map(|number| format!("{sentence} {number}. {sentence}")).collect();
        let messages: Vec<_> =
            said.iter().enumerate().map(|(at, text)| (["user", "assistant"][at % 2], text.as_str())).collect();
        prompt(&messages)
    }

    const SENTENCES: [&str; 9] = [
        "The deployment of the parser starts at 09:30 on port 8443.",
        "部署将于九点三十分开始，端口为8443。",
        "デプロイは九時三十分に始まります。ポートは8443です。",
        "배포는 9시 30분에 시작하며 포트는 8443입니다.",
        "Развёртывание начнётся в 09:30 на порту 8443.",
        "يبدأ النشر في الساعة 09:30 على المنفذ 8443؟",
        "तैनाती 09:30 पर शुरू होगी।",
        "การติดตั้งเริ่มเวลา 09:30",
        "🚀🚀 deploy 🎉",
    ];

    #[test]
    fn a_summary_is_never_longer_than_asked_for_in_any_script() {
        for sentence in SENTENCES {
            for tokens in [1, 5, 20, 79, 80, 81, 100, 256, 1000] {
                let text = summary(&long(sentence), tokens);
                assert!(count(&text) <= tokens, "{tokens}: {} in {text:?}", count(&text));
                assert!(tokens < 20 || !text.trim().is_empty(), "{tokens} of {sentence}");
            }
        }
    }

    #[test]
    fn a_summary_of_something_short_is_shorter_than_that() {
        for sentence in SENTENCES {
            let text = summary(&prompt(&[("user", sentence), ("assistant", sentence)]), 4096);
            assert!(!text.is_empty() && count(&text) <= count(sentence), "{text:?}");
        }
    }

    #[test]
    fn the_same_prompt_gives_the_same_summary() {
        for sentence in SENTENCES {
            assert_eq!(summary(&long(sentence), 300), summary(&long(sentence), 300));
        }
    }

    #[test]
    fn a_summary_has_headings_and_says_what_is_open() {
        let filler = "We looked at the parser together and found nothing of interest there. ".repeat(12);
        let text = summary(
            &prompt(&[
                ("user", "Please move the parser to port 8443. It is urgent."),
                ("assistant", &filler),
                ("assistant", "The config file is /etc/parser.toml now."),
                ("user", "And who tells Maria?"),
            ]),
            300,
        );
        let order: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(order, ["## Topic", "## Key Points", "## Current State", "## Open Items"]);
        for line in ["- Please move the parser to port 8443.", "/etc/parser.toml", "- And who tells Maria?"] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn earlier_summaries_are_taken_over_under_their_headings() {
        let filler = "Nothing of interest was said about the weather in that town. ".repeat(40);
        let first =
            "## Topic\nMoving the parser\n\n## Key Points\n- Port 8443 was chosen.\n\n## Open Items\n- Tell Maria.";
        let text = summary(
            &prompt(&[
                ("earlier-summary messages=\"9\"", first),
                ("earlier-summary messages=\"4\"", "The key is in vault 7."),
                ("user", &filler),
                ("assistant", "Done."),
            ]),
            256,
        );
        for line in
            ["## Topic\n- Moving the parser", "Port 8443 was chosen.", "vault 7", "## Open Items\n- Tell Maria."]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn calls_without_an_answer_are_open() {
        let filler = "Something else was said about this and that, at some length. ".repeat(20);
        let called = "[tool-call deploy] {\"to\":\"prod\"}\n[a tool call of this message got no answer]";
        let text = summary(&prompt(&[("user", "Deploy."), ("assistant", called), ("assistant", &filler)]), 256);
        assert!(text.contains("## Open Items\n- No answer: [tool-call deploy]"), "{text}");
    }
}
