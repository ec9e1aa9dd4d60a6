//! Transcripts of other programs, imported into real tenants.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};

use talktree::{
    Session, Talktree,
    import::{Format, Input, Memory, Options, Report, Sink, run},
};

const NOW: i64 = 1_796_083_200_000;

async fn import<S: Sink>(input: Input, format: Format, sink: &mut S) -> Report {
    let options = Options { format: Some(format), now: Some(NOW), ..Options::default() };
    run(input, sink, options).await.unwrap()
}

/// Every transcript of the corpus, with its format.
fn transcripts() -> Vec<(PathBuf, Format)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    let mut found = Vec::new();
    // Talktree's own is what a store has exported: see below.
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Talktree) {
        for case in std::fs::read_dir(root.join(format.name())).unwrap() {
            let files = std::fs::read_dir(case.unwrap().path()).unwrap().map(|file| file.unwrap().path());
            found.extend(files.filter(|file| !file.ends_with("expected.json")).map(|file| (file, format)));
        }
    }
    assert!(found.len() > 30);
    found
}

/// JSON without white space outside strings, which a store may leave out.
fn compact(json: &str) -> String {
    let mut compact = String::new();
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ' ' | '\t' | '\r' | '\n' if !in_string => continue,
            _ => {}
        }
        compact.push(c);
    }
    compact
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn pi_chain(count: usize, content: impl Fn(usize) -> String) -> String {
    let mut lines =
        r#"{"type":"session","version":3,"id":"x","timestamp":"2026-11-02T08:00:00Z","cwd":"/w"}"#.to_owned();
    for number in 0..count {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |above| format!("\"m{above}\""));
        lines += &format!(
            "\n{{\"type\":\"message\",\"id\":\"m{number}\",\"parentId\":{parent},\"timestamp\":\"2026-11-02T08:00:00Z\",\
             \"message\":{{\"role\":\"user\",\"content\":{}}}}}",
            content(number)
        );
    }
    lines
}

async fn leaf(session: &Session) -> Option<String> {
    session.get_latest_leaf().await.unwrap().map(|leaf| leaf.id)
}

#[tokio::test]
async fn every_transcript_is_imported_into_a_tenant_as_into_memory() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    for (number, (file, format)) in transcripts().into_iter().enumerate() {
        let mut memory = Memory::default();
        let expected = import(Input::file(&file).unwrap(), format, &mut memory).await;
        let mut tenant = talktree.tenant(format!("t{number}")).unwrap();
        let report = import(Input::file(&file).unwrap(), format, &mut tenant).await;
        assert_eq!(report, expected, "{}", file.display());
        for session in &report.sessions {
            let handle = tenant.session(&session.id);
            for stored in memory.messages(&session.id) {
                let found = handle.get_message(&stored.id).await.unwrap().unwrap();
                assert_eq!(compact(&found.json), compact(&stored.message), "{}", file.display());
                assert_eq!((found.parent_id, found.created_at), (stored.parent_id.clone(), stored.created_at));
            }
            if session.leaf_chosen {
                assert_eq!(leaf(&handle).await, session.leaf);
            }
        }
        let again = import(Input::file(&file).unwrap(), format, &mut tenant).await;
        assert_eq!((again.imported(), again.skipped()), (0, report.imported()));
    }
}

#[tokio::test]
async fn a_refused_message_costs_the_import_itself_and_no_other() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("t").unwrap();
    // Deeper than a message may be.
    let deep = |number| if [0, 100, 101, 299].contains(&number) { nested(200) } else { format!("\"{number}\"") };
    let text = pi_chain(300, deep);
    let report = import(Input::bytes("", text.clone()).unwrap(), Format::Pi, &mut tenant).await;
    let failed: Vec<_> = report.sessions[0].failed.listed().iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(failed, ["line 2", "line 102", "line 103", "line 301"]);
    assert_eq!((report.imported(), report.stopped), (296, None));
    let session = tenant.session("x");
    assert_eq!(session.get_message("m1").await.unwrap().unwrap().parent_id, None);
    assert_eq!(session.get_message("m102").await.unwrap().unwrap().parent_id.as_deref(), Some("m99"));
    assert_eq!(leaf(&session).await.as_deref(), Some("m298"));
    let again = import(Input::bytes("", text).unwrap(), Format::Pi, &mut tenant).await;
    assert_eq!((again.imported(), again.skipped(), again.failures()), (0, 296, 4));
}

#[tokio::test]
async fn a_session_that_goes_on_is_imported_where_it_stopped() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("t").unwrap();
    let text = pi_chain(1_000, |number| format!("\"{number}\""));
    let torn = &text[..text.len() * 2 / 3];
    let first = import(Input::bytes("", torn).unwrap(), Format::Pi, &mut tenant).await;
    assert_eq!(first.failures(), 1);
    // Someone has gone on in the store meanwhile, and chosen where to.
    let session = tenant.session("x");
    session.append_message(r#"{"id":"own","role":"user","parts":[]}"#).parent("m3").await.unwrap();
    let second = import(Input::bytes("", text).unwrap(), Format::Pi, &mut tenant).await;
    assert_eq!((second.imported() + first.imported(), second.failures()), (1_000, 0));
    assert!(!second.sessions[0].leaf_chosen);
    assert_eq!(session.get_history().leaf("m999").await.unwrap().len(), 1_000);
}

#[tokio::test]
async fn an_import_that_cannot_be_stored_says_so() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("t").unwrap();
    let text = pi_chain(10, |number| format!("\"{number}\""));
    // Another process has the tenant.
    let other = Talktree::open(root.path()).await.unwrap();
    other.tenant("t").unwrap().session("x").append_message(r#"{"id":"a","role":"user","parts":[]}"#).await.unwrap();
    let report = import(Input::bytes("", text).unwrap(), Format::Pi, &mut tenant).await;
    assert!(report.stopped.as_deref().unwrap().ends_with("(busy)"), "{:?}", report.stopped);
    assert_eq!(report.imported(), 0);
}

/// All lines of a tenant.
async fn exported(tenant: &talktree::Tenant) -> String {
    let (mut lines, mut cursor) = (String::new(), None);
    loop {
        let page = tenant.export_lines().cursor(cursor).await.unwrap();
        lines.push_str(&page.lines);
        cursor = page.cursor;
        if cursor.is_none() {
            return lines;
        }
    }
}

#[tokio::test]
async fn an_export_is_recognised_and_comes_back_whole_and_what_is_damaged_costs_itself() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let mut tenant = talktree.tenant("from").unwrap();
    let input = Input::bytes("pi", pi_chain(300, |number| format!("\"message {number} 部署\""))).unwrap();
    import(input, Format::Pi, &mut tenant).await;
    let lines = exported(&tenant).await;
    let mut copy = talktree.tenant("to").unwrap();
    let input = Input::bytes("easy.jsonl", lines.clone()).unwrap();
    let report = run(input, &mut copy, Options::default()).await.unwrap();
    assert_eq!((report.format, report.imported(), report.failures()), ("talktree", 300, 0));
    assert_eq!(exported(&copy).await, lines);
    // A line in the middle is torn: it is told with its number, and what answered it has no parent any more.
    let mut torn: Vec<&str> = lines.lines().collect();
    let last = torn.iter().rposition(|line| line.starts_with(r#"{"type":"message""#)).unwrap();
    torn[last] = &torn[last][..40];
    let mut damaged = talktree.tenant("damaged").unwrap();
    let report = import(Input::bytes("", torn.join("\n")).unwrap(), Format::Talktree, &mut damaged).await;
    assert_eq!((report.imported(), report.failures()), (299, 2), "{report:?}");
    let failed = report.sessions.iter().flat_map(|session| session.failed.listed()).next().unwrap();
    assert_eq!(failed.place, format!("line {}", last + 1));
    let dry = import(Input::bytes("", lines).unwrap(), Format::Talktree, &mut Memory::ids_only()).await;
    assert_eq!((dry.imported(), dry.failures()), (300, 0));
}

#[tokio::test]
async fn a_title_in_the_transcript_becomes_the_sessions_unless_a_user_gave_one() {
    let root = tempfile::tempdir().unwrap();
    let talktree = Talktree::open(root.path()).await.unwrap();
    let long = "题".repeat(600);
    let export = format!(
        r#"[{{"title":"{long}","conversation_id":"c","current_node":"m","mapping":{{"m":{{"id":"m","parent":null,"children":[],"message":{{"id":"m","author":{{"role":"user"}},"create_time":1.5,"content":{{"content_type":"text","parts":["hi"]}}}}}}}}}}]"#
    );
    let mut tenant = talktree.tenant("t").unwrap();
    let report =
        import(Input::bytes("conversations.json", export.clone()).unwrap(), Format::ChatGpt, &mut tenant).await;
    let session = tenant.session(&report.sessions[0].id);
    let title = session.info().await.unwrap();
    assert!(title.title_automatic);
    assert_eq!(title.title.unwrap(), "题".repeat(341), "as much of it as fits");
    session.set_title(Some("Mine")).await.unwrap();
    import(Input::bytes("conversations.json", export).unwrap(), Format::ChatGpt, &mut tenant).await;
    assert_eq!(session.info().await.unwrap().title.as_deref(), Some("Mine"));
}
