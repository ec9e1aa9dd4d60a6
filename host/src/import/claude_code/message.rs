//! What message the lines of Claude Code become.
//!
//! A user's line that only answers calls has role `tool`. What the program wrote in the user's place has role `system`
//! and the origin `meta` or `harness`; commands that the user typed keep role `user` and have the origin `command`;
//! lines of sub-agents have the origin `sidechain`; errors that stand for an answer have the origin `api-error`, other
//! made-up answers `synthetic`. Content becomes parts as `blocks` says.
//!
//! `metadata.claude-code` holds `entry`, the first line without its message; `message`, what the last line says of the
//! message but its content; `usage`, which is told with every line and counts once; `more`, the further lines without
//! their message; `before` and `after`, the lines beside it that become no messages.

use super::super::{
    blocks,
    json::{self, Members, Writer, elements},
    parts::{Own, string, title, without},
    plan::Sources,
};

const OWN: Own = Own("claude-code");

/// What the program writes in the user's place begins like this.
const HARNESS: [&str; 8] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted by user",
];

/// What stands for a command of the user's begins like this.
const COMMANDS: [&str; 4] = ["<command-name>", "<command-message>", "<command-args>", "<bash-input>"];

/// The message of a line and those that share its id.
pub(super) fn of_line(sources: &Sources<'_>) -> Result<String, String> {
    let first = Members::of(sources.record.as_bytes());
    let said = Members::of(first.get("message").unwrap_or_default().as_bytes());
    let mut parts = Writer::array();
    blocks::content(OWN, said.get("content"), &mut parts);
    let mut more = Writer::array();
    for line in &sources.more {
        let line = Members::of(line.as_bytes());
        let said = Members::of(line.get("message").unwrap_or_default().as_bytes());
        blocks::content(OWN, said.get("content"), &mut parts);
        more.push(&without(&line, &["message", "type"]).end());
    }

    let last = sources.more.last().map_or(sources.record, String::as_str);
    let last = Members::of(last.as_bytes());
    let message = Members::of(last.get("message").unwrap_or_default().as_bytes());
    let mut kept = Writer::object();
    kept.put("entry", &without(&first, &["message"]).end());
    kept.put("message", &without(&message, &["content", "usage"]).end());
    if let Some(usage) = message.get("usage") {
        kept.put("usage", usage);
    }
    if !more.is_empty() {
        kept.put("more", &more.end());
    }

    let own = string(&said, "role").unwrap_or("\"unknown\"");
    let (role, origin) = speaker(&first, &said, own);
    Ok(OWN.message(sources, role, origin, parts, kept))
}

/// Whose words they are: the role, as a JSON string, and the origin.
fn speaker<'a>(line: &Members<'_>, said: &Members<'_>, own: &'a str) -> (&'a str, Option<&'static str>) {
    let flag = |key: &str| line.get(key) == Some("true");
    let sidechain = flag("isSidechain").then_some("sidechain");
    if own != "\"user\"" {
        let synthetic = said.text("model").as_deref() == Some("<synthetic>");
        let made = if flag("isApiErrorMessage") { Some("api-error") } else { synthetic.then_some("synthetic") };
        return (own, made.or(sidechain));
    }
    let content = said.get("content").unwrap_or_default();
    if blocks::only_results(content) {
        return ("\"tool\"", sidechain);
    }
    let text = first_text(content).unwrap_or_default();
    if flag("isMeta") || flag("isVisibleInTranscriptOnly") {
        return ("\"system\"", Some("meta"));
    }
    if HARNESS.iter().any(|start| text.starts_with(start)) {
        return ("\"system\"", Some("harness"));
    }
    let command = COMMANDS.iter().any(|start| text.starts_with(start)).then_some("command");
    (own, command.or(sidechain))
}

fn first_text(content: &str) -> Option<String> {
    let raw = if content.starts_with('"') {
        Some(content)
    } else {
        elements(content).into_iter().find_map(|block| string(&Members::of(block.as_bytes()), "text"))
    };
    raw.and_then(json::text)
}

/// What the summary of a compaction says.
pub(super) fn summary(line: &Members<'_>) -> Option<String> {
    first_text(Members::of(line.get("message")?.as_bytes()).get("content")?)
}

/// The title that a line gives if it is the first that the user said.
pub(super) fn prompt(line: &Members<'_>) -> Option<String> {
    let said = Members::of(line.get("message")?.as_bytes());
    let own = string(&said, "role")?;
    if speaker(line, &said, own) != ("\"user\"", None) {
        return None;
    }
    let text = first_text(said.get("content")?)?;
    title(&text)
}
