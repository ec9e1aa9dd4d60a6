//! `talktree search`: messages by their words.

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use serde_json::json;
use talktree::{SearchFields, SearchResult};

use super::{
    Root,
    marks::{coloured, write_snippet},
    terminal::{FAINT, PLAIN, STRONG, harmless, role_style},
    values,
};

/// Find messages by their words, best first
#[derive(Args)]
#[command(after_help = "\
All words have to be there, in any order; \"...\" is a phrase, word* the beginning of a word. Case, accents and English
endings make no difference; Chinese, Japanese, Korean, Thai, Lao and Khmer are found by one or more characters anywhere.
The first search of a tenant builds its index.

What was found is marked: in colour on a terminal, between [ and ] elsewhere and where NO_COLOR is set.

Examples:
  talktree search --root data --tenant easy deploy window
  talktree search --root data --tenant easy --role user '\"rolled back\"'
  talktree search --root data --tenant easy --in text --in tools 部署 --json

Exit codes: 0 something was found, 1 failed or nothing was found, 2 the command line was wrong.")]
pub(crate) struct Search {
    #[command(flatten)]
    root: Root,

    /// Tenant whose messages are searched
    #[arg(long, short, value_name = "NAME", value_parser = values::tenant)]
    tenant: String,

    /// Only in this session
    #[arg(long, short, value_name = "ID")]
    session: Option<String>,

    /// Only messages of this role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// Where to look: may be given several times
    #[arg(long = "in", value_name = "PLACE", value_enum, default_value = "text")]
    places: Vec<Place>,

    /// At most so many results
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,

    /// JSON Lines: each result as an object
    #[arg(long)]
    json: bool,

    /// What to look for
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
}

/// What of a message is looked at.
#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// Text parts
    Text,
    /// Inputs and outputs of tools
    Tools,
    /// Reasoning
    Reasoning,
    /// Summaries of compacted stretches
    Summaries,
}

impl Search {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let tenant = self.root.open_tenant(&self.tenant).await?;
        let mut fields = SearchFields::empty();
        for place in &self.places {
            fields |= match place {
                Place::Text => SearchFields::TEXT,
                Place::Tools => SearchFields::TOOLS,
                Place::Reasoning => SearchFields::REASONING,
                Place::Summaries => SearchFields::SUMMARIES,
            };
        }
        let search = tenant.search(self.words.join(" ")).session(self.session).role(self.role).limit(self.limit);
        let page = search.fields(fields).await?;
        let mut out: Box<dyn Write> = if self.json {
            Box::new(BufWriter::new(io::stdout()))
        } else {
            Box::new(BufWriter::new(anstream::stdout()))
        };
        let coloured = coloured();
        for result in &page.results {
            if self.json { print_json(&mut out, result)? } else { print_result(&mut out, result, coloured)? }
        }
        out.flush()?;
        if page.cursor.is_some() {
            anstream::eprintln!("There is more: --limit shows it.");
        }
        if page.results.is_empty() {
            anstream::eprintln!("Nothing was found.");
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_json(out: &mut impl Write, result: &SearchResult) -> io::Result<()> {
    let object = json!({
        "sessionId": result.session_id,
        "id": result.id,
        "role": result.role,
        "seq": result.seq,
        "content": result.content,
        "contentTruncated": result.content_truncated,
        "snippet": result.snippet,
        "score": result.score,
    });
    writeln!(out, "{object}")
}

fn print_result(out: &mut impl Write, result: &SearchResult, coloured: bool) -> io::Result<()> {
    let style = role_style(&result.role);
    let (role, id, session) = (harmless(&result.role), harmless(&result.id), harmless(&result.session_id));
    let place = if session.is_empty() { String::new() } else { format!("  in {session}") };
    writeln!(out, "{style}{STRONG}{role}{PLAIN}  {FAINT}{id}  #{}{place}{PLAIN}", result.seq)?;
    write!(out, "  ")?;
    write_snippet(out, &result.snippet, &result.content, coloured)?;
    writeln!(out, "\n")
}
