//! `talktree history`: the messages of a path.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::Args;
use futures::StreamExt as _;
use talktree::Message;

use super::{
    Conversation,
    parts::{Said, said},
    terminal::{FAINT, PLAIN, STRONG, harmless, harmless_lines, role_style},
    values,
};

/// Print the messages of a path, from the root to the leaf
#[derive(Args)]
#[command(after_help = "\
Pages are read and printed as they come: a history of any length takes the same memory.

Examples:
  talktree history --root data --tenant easy
  talktree history --root data --tenant easy --leaf m42 --newest-first
  talktree history --root data --tenant easy --recent 64KiB --json > recent.jsonl

Exit codes: 0 done (an empty session too), 1 failed, 2 the command line was wrong.")]
pub(crate) struct History {
    #[command(flatten)]
    conversation: Conversation,

    /// Last message of the path, instead of the present leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,

    /// From the leaf to the root
    #[arg(long)]
    newest_first: bool,

    /// Only the newest messages, as many as fit into this many bytes of JSON (at least one)
    #[arg(long, value_name = "BYTES", value_parser = values::bytes)]
    recent: Option<u64>,

    /// JSON Lines: each message as it is stored, byte for byte
    #[arg(long)]
    json: bool,
}

impl History {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let session = self.conversation.open().await?;
        let mut printed = 0u64;
        let mut out: Box<dyn Write> = if self.json {
            Box::new(BufWriter::new(io::stdout()))
        } else {
            Box::new(BufWriter::new(anstream::stdout()))
        };
        let mut print = |message: &Message| {
            printed += 1;
            if self.json { print_json(&mut out, message) } else { print_message(&mut out, message) }
        };
        if let Some(bytes) = self.recent {
            let mut recent = session.get_recent_history(bytes);
            if let Some(leaf) = self.leaf {
                recent = recent.leaf(leaf);
            }
            let mut recent = recent.await?;
            if self.newest_first {
                recent.messages.reverse();
            }
            recent.messages.iter().try_for_each(&mut print)?;
            if recent.truncated {
                let total = recent.total_content_bytes;
                anstream::eprintln!("Older messages were left out; the whole path has {total} bytes.");
            }
        } else {
            let mut messages = session.history().newest_first(self.newest_first);
            if let Some(leaf) = self.leaf {
                messages = messages.leaf(leaf);
            }
            while let Some(message) = messages.next().await {
                print(&message?)?;
            }
        }
        out.flush()?;
        if printed == 0 && !self.json {
            anstream::eprintln!(
                "There are no messages in {}. `talktree tenants` lists the tenants.",
                self.conversation.name()
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A line break can only be white space between tokens there: it becomes a space, so that a message is one line.
pub(crate) fn print_json(out: &mut impl Write, message: &Message) -> io::Result<()> {
    for (at, piece) in message.json.split(['\n', '\r']).enumerate() {
        out.write_all(if at == 0 { b"" } else { b" " })?;
        out.write_all(piece.as_bytes())?;
    }
    out.write_all(b"\n")
}

/// Who said it and when, and what, indented.
pub(crate) fn print_message(out: &mut impl Write, message: &Message) -> io::Result<()> {
    let style = role_style(&message.role);
    let time = jiff::Timestamp::from_millisecond(message.created_at)
        .map(|time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_else(|_| format!("{} ms", message.created_at));
    let (role, id, seq) = (harmless(&message.role), harmless(&message.id), message.seq);
    writeln!(out, "{style}{STRONG}{role}{PLAIN}  {FAINT}{id}  #{seq}  {time}{PLAIN}")?;
    for piece in said(&message.json) {
        match piece {
            Said::Text(text) => {
                for line in harmless_lines(&text).lines() {
                    writeln!(out, "  {line}")?;
                }
            }
            Said::Note(note) => writeln!(out, "  {FAINT}[{}]{PLAIN}", harmless(&note))?,
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use super::*;

    fn message(json: &str) -> Message {
        Message {
            id: "m1".into(),
            role: "user".into(),
            parent_id: None,
            seq: 7,
            created_at: 1_000,
            bytes: json.len() as u64,
            token_estimate: 0,
            json: json.into(),
            media: Vec::new(),
        }
    }

    #[test]
    fn a_message_is_one_line_of_json_and_otherwise_itself() {
        let mut out = Vec::new();
        print_json(&mut out, &message("{\r\n \"id\": \"a\\n\",\"n\":1.0}")).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{   \"id\": \"a\\n\",\"n\":1.0}\n");
    }

    #[test]
    fn a_message_is_printed_with_who_and_when_and_made_harmless() {
        let mut out = Vec::new();
        let json = r#"{"parts":[{"type":"text","text":"one\ntwo\u001b[2J"},{"type":"file"}]}"#;
        print_message(&mut anstream::StripStream::new(&mut out), &message(json)).unwrap();
        let expected = "user  m1  #7  1970-01-01 00:00:01 UTC\n  one\n  two␛[2J\n  [file (file)]\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
