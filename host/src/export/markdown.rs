//! `markdown`: a conversation to be read by people.
//!
//! Texts stand as they are, since models write Markdown anyway. What tools were asked and what they answered stands in
//! fences that are longer than any in it. Media is named and left out.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::{
    Rules,
    part::{Call, Input, Part, output_text, take},
};
use crate::{
    MediaMode, Message,
    import::json::{self, inside, lossy_text},
};

pub(super) struct Markdown;

impl Rules for Markdown {
    fn media(&self) -> MediaMode {
        MediaMode::Reference
    }

    fn begin(&self) -> &'static str {
        ""
    }

    fn between(&self) -> &'static str {
        "\n"
    }

    fn end(&self) -> &'static str {
        ""
    }

    fn message(&self, message: &Message) -> Vec<String> {
        vec![section(&message.json, message.created_at)]
    }
}

fn section(message: &str, created_at: i64) -> String {
    let taken = take(message);
    let role = lossy_text(taken.role);
    let who = match &*role {
        "user" => "User",
        "assistant" => "Assistant",
        "system" => "System",
        "tool" => "Tool",
        other => other,
    };
    let mut out = format!("## {}", one_line(who));
    if let Some(origin) = &taken.origin {
        let _ = write!(out, " ({})", one_line(origin));
    }
    if json::Members::of(message.as_bytes())
        .get("metadata")
        .is_some_and(|metadata| json::Members::of(metadata.as_bytes()).get("compaction").is_some())
    {
        out.push_str(" (summary)");
    }
    if let Ok(time) = Timestamp::from_millisecond(created_at) {
        let _ = write!(out, " · {}", time.strftime("%Y-%m-%d %H:%M UTC"));
    }
    out.push('\n');
    for part in taken.parts {
        let text = block(&part);
        if !text.is_empty() {
            let _ = write!(out, "\n{}\n", text.trim_end_matches('\n'));
        }
    }
    out
}

fn block(part: &Part<'_>) -> String {
    match part {
        Part::Text(text) => lossy_text(text),
        Part::Reasoning(text) => {
            let text = lossy_text(text);
            text.lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
        }
        Part::File { media_type, url, name } => file(media_type, url, *name),
        Part::Call(of) => call(of),
        Part::Result(of) => answer(of.output, of.failed),
        Part::Step => String::new(),
        Part::Other(kind) => format!("*{}*", one_line(kind)),
    }
}

fn call(call: &Call<'_>) -> String {
    let input = match call.input {
        Input::Json(json) => fenced("json", json),
        Input::Text(text) => fenced("", &lossy_text(text)),
        Input::Nothing => String::new(),
    };
    let mut out = format!("**Calls {}**\n\n{input}", one_line(&call.name));
    if let Some(of) = &call.answer {
        let _ = write!(out, "\n{}", answer(of.output, of.failed));
    }
    out
}

fn answer(output: Option<&str>, failed: bool) -> String {
    let text = lossy_text(&output_text(output));
    format!("**{}**\n\n{}", if failed { "Failed" } else { "Answer" }, fenced("", &text))
}

fn file(media_type: &str, url: &str, name: Option<&str>) -> String {
    let what =
        name.map_or_else(|| lossy_text(media_type), |name| format!("{} ({})", lossy_text(name), inside(media_type)));
    let what = one_line(&what).replace(['[', ']'], " ");
    let url = inside(url);
    let linked = url.starts_with("https://") || url.starts_with("http://");
    match linked && !url.contains([' ', '<', '>', '\\']) {
        true => format!("[{what}](<{url}>)"),
        false => format!("*File: {what}*"),
    }
}

/// A text between fences that it cannot end.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_as_it_was_said() {
        let message = r#"{"id":"a","role":"assistant","metadata":{"origin":"sidechain"},"parts":[
            {"type":"reasoning","text":"first\nsecond"},{"type":"text","text":"Ça va 你好 \ud83d!\n"},
            {"type":"dynamic-tool","toolName":"run","toolCallId":"c","input":{"a":"```"},"output":"done"},
            {"type":"file","mediaType":"image/png","url":"https://example.org/a.png","filename":"a [1].png"}]}"#;
        assert_eq!(
            section(message, 1_793_606_400_000),
            "## Assistant (sidechain) · 2026-11-02 08:00 UTC\n\n> first\n> second\n\nÇa va 你好 \u{fffd}!\n\n**Calls run**\n\n\
             ````json\n{\"a\":\"```\"}\n````\n\n**Answer**\n\n```\ndone\n```\n\n\
             [a  1 .png (image/png)](<https://example.org/a.png>)\n"
        );
    }
}
