//! Promises of compaction, kept through the real component: nothing waits for a model, and nothing is lost by one.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod common;
mod web;

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use common::{kind, message};
use futures::TryStreamExt as _;
use talktree::{
    AutoCompact, AutoCompactSetting, Builder, Compaction, ConfigurationChange, Durability, ErrorKind, NumberSetting,
    Session, Talktree,
    summarizer::{Anthropic, Command, OpenAi, SummarizeError, Summarizer, Summary, SummaryRequest, from_fn},
};
use tempfile::TempDir;
use web::{Reply, Web};

const KEY: &str = "sk-very-secret-0123456789";

fn thresholds(compact_after: Option<u32>, keep_recent: u32) -> ConfigurationChange {
    ConfigurationChange {
        compact_after: compact_after.map_or(NumberSetting::Keep, NumberSetting::Value),
        keep_recent_tokens: NumberSetting::Value(keep_recent),
        ..ConfigurationChange::default()
    }
}

/// A message of about 300 tokens.
fn long(number: usize) -> String {
    message(&format!("m{number}"), &format!("Number {number} met beta there. ").repeat(50))
}

fn summary(text: &str) -> Summary {
    Summary { text: text.to_owned(), truncated: false, input_tokens: None, output_tokens: None }
}

fn builder(root: &TempDir) -> Builder {
    Talktree::builder(root.path()).durability(Durability::Normal)
}

/// A session with 20 messages that can be compacted, and no threshold.
async fn session_with(options: impl FnOnce(Builder) -> Builder) -> (TempDir, Talktree, Session) {
    let root = tempfile::tempdir().unwrap();
    let talktree = options(builder(&root)).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.configure(thresholds(None, 600)).await.unwrap();
    session.append_messages((1..=20).map(long)).await.unwrap();
    (root, talktree, session)
}

async fn compactions(session: &Session) -> Vec<Compaction> {
    session.get_compactions().await.unwrap()
}

/// Waits for the first compaction.
async fn compacted(session: &Session) -> Compaction {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(first) = compactions(session).await.into_iter().next() {
            return first;
        }
        assert!(Instant::now() < end, "nothing was compacted");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn history(session: &Session, overlays: bool) -> Vec<String> {
    session.history().overlays(overlays).map_ok(|message| message.id).try_collect().await.unwrap()
}

#[tokio::test]
async fn the_middle_is_compacted_and_every_original_stays() {
    let (_root, _talktree, session) = session_with(|it| it).await;
    let made = session.compact().await.unwrap().unwrap();
    assert_eq!(made.first_id, "m4");
    assert!(made.summary.contains("## Topic"), "{}", made.summary);
    let view = history(&session, true).await;
    assert_eq!(view[3], format!("compaction_{}", made.id));
    assert!(view.len() < 10, "{view:?}");
    assert_eq!(history(&session, false).await.len(), 20);
    assert_eq!(session.compact().await.unwrap(), None, "there is nothing left to do");
    assert!(session.remove_compaction(&made.id).await.unwrap());
    assert_eq!(history(&session, true).await, history(&session, false).await);
}

#[tokio::test]
async fn a_threshold_compacts_beside_the_appends_in_host_and_inline_mode_and_not_when_off() {
    for mode in [AutoCompact::Host, AutoCompact::Inline, AutoCompact::Off] {
        let root = tempfile::tempdir().unwrap();
        let talktree = builder(&root).open().await.unwrap();
        let session = talktree.tenant("t").unwrap().session("s");
        let auto_compact = AutoCompactSetting::Value(mode);
        session.configure(ConfigurationChange { auto_compact, ..thresholds(Some(3000), 600) }).await.unwrap();
        for number in 1..=20 {
            session.append_message(long(number)).await.unwrap();
        }
        if mode == AutoCompact::Off {
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(compactions(&session).await, []);
        } else {
            assert_eq!(compacted(&session).await.first_id, "m4");
        }
        assert_eq!(history(&session, false).await.len(), 20);
        talktree.close().await.unwrap();
    }
}

#[tokio::test]
async fn nothing_waits_for_a_model_that_hangs_not_even_the_end() {
    let root = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let hangs = from_fn(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        pending()
    });
    let talktree = builder(&root).summarizer(hangs).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.configure(thresholds(Some(1000), 300)).await.unwrap();
    session.append_message(long(0)).await.unwrap();
    let started = Instant::now();
    for number in 1..=100 {
        session.append_message(long(number)).await.unwrap();
        assert_eq!(session.get_message(&format!("m{number}")).await.unwrap().unwrap().id, format!("m{number}"));
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(asked.load(Ordering::SeqCst), 1, "one at a time in a session");
    assert_eq!(compactions(&session).await, []);
    let started = Instant::now();
    talktree.close().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_compaction_that_was_asked_for_is_answered_when_everything_ends() {
    let (_root, talktree, session) = session_with(|it| {
        it.summarizer(from_fn(|_| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(summary("They met."))
        }))
    })
    .await;
    let call = session.compact().into_future();
    talktree.close().await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().summary, "They met.");
    assert_eq!(kind(session.compact().await), ErrorKind::Other, "it is closed");
}

#[tokio::test]
async fn a_summarizer_that_fails_in_any_way_changes_nothing() {
    type Answer = fn(SummaryRequest) -> Result<Summary, SummarizeError>;
    let bad: [(&str, Answer, ErrorKind); 7] = [
        ("none", |_| Err(SummarizeError::Unavailable("away".into())), ErrorKind::SummarizerFailed),
        ("busy", |_| Err(SummarizeError::RateLimited("busy".into())), ErrorKind::SummarizerFailed),
        ("dead", |_| panic!("a defect"), ErrorKind::SummarizerFailed),
        ("empty", |_| Ok(summary("")), ErrorKind::NoProgress),
        ("blank", |_| Ok(summary(" \n\t ")), ErrorKind::NoProgress),
        ("long", |request| Ok(summary(&request.prompt.repeat(3))), ErrorKind::NoProgress),
        ("cut off", |_| Ok(Summary { truncated: true, ..summary("They m") }), ErrorKind::NoProgress),
    ];
    for (name, answer, expected) in bad {
        let (_root, talktree, session) =
            session_with(|it| it.summarizer(from_fn(move |request| async move { answer(request) }))).await;
        let before = history(&session, true).await;
        assert_eq!(kind(session.compact().await), expected, "{name}");
        session.configure(thresholds(Some(1000), 300)).await.unwrap();
        assert!(session.append_message(long(21)).await.unwrap().inserted);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(history(&session, true).await[..20], before, "{name}");
        assert_eq!(compactions(&session).await, [], "{name}");
        talktree.close().await.unwrap();
    }
}

#[tokio::test]
async fn without_a_summarizer_plans_can_still_be_made_and_committed() {
    let (_root, _talktree, session) = session_with(Builder::no_summarizer).await;
    assert_eq!(kind(session.compact().await), ErrorKind::SummarizerFailed);
    let plan = session.prepare_compaction().await.unwrap().unwrap();
    assert!(plan.prompt.contains("met beta"));
    let made = session.commit_compaction(&plan.token, "They met.").await.unwrap();
    assert_eq!((made.first_id, made.count), (plan.first_id, plan.count));
    assert_eq!(kind(session.commit_compaction(&plan.token, "Again.").await), ErrorKind::PlanOutdated);
}

#[tokio::test]
async fn a_summarizer_that_takes_too_long_is_ended() {
    let (_root, _talktree, session) =
        session_with(|it| it.summarizer(from_fn(|_| pending())).summarizer_timeout(Duration::from_millis(100))).await;
    let started = Instant::now();
    let error = session.compact().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SummarizerFailed);
    assert!(error.message().contains("0.1 s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_command_writes_the_summary() {
    let command = Command::new("grep -c 'met beta' | sed 's/^/lines: /'");
    let (_root, _talktree, session) = session_with(|it| it.summarizer(command)).await;
    assert!(session.compact().await.unwrap().unwrap().summary.starts_with("lines: "));
    let (_root, _talktree, session) = session_with(|it| it.summarizer(Command::new("cat; exit 7"))).await;
    let error = session.compact().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SummarizerFailed);
    assert!(error.message().contains('7') && !error.message().contains("beta"), "{error}");
}

#[tokio::test]
async fn compactions_are_one_at_a_time_in_a_session_and_bounded_overall() {
    let root = tempfile::tempdir().unwrap();
    let running = Arc::new(Mutex::new((0, 0)));
    let seen = Arc::clone(&running);
    let slow = from_fn(move |_| {
        let running = Arc::clone(&running);
        async move {
            {
                let mut running = running.lock().unwrap();
                running.0 += 1;
                running.1 = running.0.max(running.1);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            running.lock().unwrap().0 -= 1;
            Ok(summary("They met."))
        }
    });
    let talktree = builder(&root).summarizer(slow).max_compactions(2).open().await.unwrap();
    let sessions: Vec<_> =
        (0..6).map(|number| talktree.tenant(format!("t{}", number % 3)).unwrap().session(number.to_string())).collect();
    for session in &sessions {
        session.configure(thresholds(None, 600)).await.unwrap();
        session.append_messages((1..=20).map(long)).await.unwrap();
    }
    // Two in each: the second one waits, and finds nothing to do.
    let calls: Vec<_> = sessions.iter().chain(&sessions).map(|session| session.compact().into_future()).collect();
    let mut made = 0;
    for call in calls {
        made += usize::from(call.await.unwrap().is_some());
    }
    assert_eq!(made, 6);
    assert_eq!(seen.lock().unwrap().1, 2);
    for session in &sessions {
        assert_eq!(compactions(session).await.len(), 1);
    }
}

#[tokio::test]
async fn a_tenant_whose_summaries_never_come_keeps_no_other_from_its_own() {
    let root = tempfile::tempdir().unwrap();
    let hangs = from_fn(|request: SummaryRequest| async move {
        if request.prompt.contains("met beta") { pending().await } else { Ok(summary("They met.")) }
    });
    let talktree = builder(&root).summarizer(hangs).max_compactions(2).open().await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..5 {
        let session = talktree.tenant("hostile").unwrap().session(number.to_string());
        session.configure(thresholds(None, 600)).await.unwrap();
        session.append_messages((1..=20).map(long)).await.unwrap();
        waiting.push(session.compact().into_future());
    }
    let other = talktree.tenant("other").unwrap().session("");
    other.configure(thresholds(None, 600)).await.unwrap();
    let long = |number| message(&format!("m{number}"), &format!("Number {number} saw gamma there. ").repeat(50));
    other.append_messages((1..=20).map(long)).await.unwrap();
    let made = tokio::time::timeout(Duration::from_secs(20), other.compact().into_future()).await;
    assert!(made.expect("it has to wait for the others").unwrap().is_some());
    drop(waiting);
}

#[tokio::test]
async fn a_compaction_that_is_asked_for_joins_the_automatic_one_and_then_runs() {
    let root = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let slow = from_fn(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(summary(&format!("Summary {number}.")))
        }
    });
    let talktree = builder(&root).summarizer(slow).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.configure(thresholds(Some(3000), 600)).await.unwrap();
    assert!(session.append_messages((1..=20).map(long)).await.unwrap().compaction_due);
    while asked.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    session.append_messages((21..=30).map(long)).await.unwrap();
    session.compact().await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let all = compactions(&session).await;
    assert_eq!(all[1].summary, "Summary 1.");
    assert_eq!(all[0].replaced_by.as_deref(), Some(all[1].id.as_str()));
}

fn completion(text: &str, finish: &str) -> Reply {
    let choice = serde_json::json!({"message": {"role": "assistant", "content": text}, "finish_reason": finish});
    let usage = serde_json::json!({"prompt_tokens": 1234, "completion_tokens": 56});
    Reply::ok(&serde_json::json!({"choices": [choice], "usage": usage}))
}

async fn asking(web: &Web, limit: Duration) -> (TempDir, Talktree, Session) {
    let model = OpenAi::new(&format!("{}/v1/", web.url()), "a-model", Some(KEY)).unwrap();
    session_with(|it| it.summarizer(model).summarizer_timeout(limit)).await
}

#[tokio::test]
async fn chat_completions_are_asked_and_what_they_cost_is_kept() {
    let web = Web::start(|_| completion("They met.", "stop")).await;
    let (_root, _talktree, session) = asking(&web, Duration::from_secs(20)).await;
    let made = session.compact().await.unwrap().unwrap();
    assert_eq!((made.summary.as_str(), made.input_tokens, made.output_tokens), ("They met.", Some(1234), Some(56)));
    assert_eq!(compactions(&session).await, [made]);
    let request = web.requests().remove(0);
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("Bearer {KEY}")));
    assert!(request.contains("\"model\":\"a-model\"") && request.contains("\"max_tokens\":"), "{request}");
    assert!(request.contains("Number 5 met beta"));
}

#[tokio::test]
async fn messages_of_anthropic_are_asked() {
    let web = Web::start(|_| {
        Reply::ok(&serde_json::json!({
            "content": [{"type": "text", "text": "They "}, {"type": "text", "text": "met."}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 3},
        }))
    })
    .await;
    let model = Anthropic::new("a-model", KEY, Some(&web.url())).unwrap();
    let (_root, _talktree, session) = session_with(|it| it.summarizer(model)).await;
    let made = session.compact().await.unwrap().unwrap();
    assert_eq!((made.summary.as_str(), made.input_tokens, made.output_tokens), ("They met.", Some(9), Some(3)));
    let request = web.requests().remove(0);
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n") && request.contains(KEY), "{request}");
    assert!(request.contains("anthropic-version: 2023-06-01"), "{request}");
}

#[tokio::test]
async fn a_busy_or_broken_server_is_asked_again_and_not_for_ever() {
    let web = Web::start(|number| match number {
        0 => Reply::status(429).header("retry-after: 1"),
        1 => Reply::status(500),
        2 => Reply::Hangup,
        _ => completion("They met.", "stop"),
    })
    .await;
    let (_root, _talktree, session) = asking(&web, Duration::from_secs(30)).await;
    let started = Instant::now();
    assert!(session.compact().await.unwrap().is_some());
    assert!(started.elapsed() >= Duration::from_secs(1), "the server's wish is respected");
    assert_eq!(web.requests().len(), 4);

    for (status, requests) in [(503, 4), (429, 4), (401, 1), (400, 1), (302, 1)] {
        let web = Web::start(move |_| Reply::status(status)).await;
        let (_root, _talktree, session) = asking(&web, Duration::from_secs(30)).await;
        let error = session.compact().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SummarizerFailed);
        assert!(error.message().contains(&status.to_string()), "{error}");
        assert_eq!(web.requests().len(), requests, "{status}");
        assert_eq!(compactions(&session).await, []);
    }
    // Longer than anybody waits.
    let web = Web::start(|_| Reply::status(429).header("retry-after: 86400")).await;
    let (_root, _talktree, session) = asking(&web, Duration::from_secs(30)).await;
    assert_eq!(kind(session.compact().await), ErrorKind::SummarizerFailed);
    assert_eq!(web.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_stalls_or_answers_nonsense_changes_nothing() {
    let web = Web::start(|_| Reply::Stall).await;
    let (_root, _talktree, session) = asking(&web, Duration::from_millis(500)).await;
    let started = Instant::now();
    assert_eq!(kind(session.compact().await), ErrorKind::SummarizerFailed);
    assert!(started.elapsed() < Duration::from_secs(5));

    let web = Web::start(|_| completion("They m", "length")).await;
    let (_root, _talktree, session) = asking(&web, Duration::from_secs(10)).await;
    assert_eq!(kind(session.compact().await), ErrorKind::NoProgress);
    assert_eq!(compactions(&session).await, []);

    for body in ["", "{", "[]", "{\"choices\":[]}", "{\"choices\":[{\"message\":{\"content\":null}}]}"] {
        let web = Web::start(move |_| Reply::text(body)).await;
        let (_root, _talktree, session) = asking(&web, Duration::from_secs(10)).await;
        assert_eq!(kind(session.compact().await), ErrorKind::SummarizerFailed, "{body}");
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn keys_and_content_are_in_no_log_and_in_no_error() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("talktree=trace,reqwest=trace,hyper_util=debug")
        .with_writer(move || log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    // Servers repeat the key that they do not like.
    let web =
        Web::start(|_| Reply::status(401).body(&format!("{{\"error\":\"bad key {KEY}, Number 5 met beta\"}}"))).await;
    let (_root, talktree, session) = asking(&web, Duration::from_secs(10)).await;
    let error = session.compact().await.unwrap_err();
    session.configure(thresholds(Some(1000), 300)).await.unwrap();
    // Far enough above the threshold for the next attempt.
    session.append_messages((21..=60).map(long)).await.unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while web.requests().len() < 2 {
        assert!(Instant::now() < end, "there is no second attempt");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    talktree.close().await.unwrap();
    let log = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("an automatic compaction came to nothing") && log.contains("summarizer-failed"), "{log}");
    let model = OpenAi::new(&web.url(), "a-model", Some(KEY)).unwrap();
    for text in [log, format!("{error:?} {error}"), format!("{model:?}")] {
        assert!(!text.contains(KEY) && !text.contains("met beta"), "{text}");
    }
}

/// Fails in turn in every way that a model can.
fn flaky() -> impl Summarizer {
    let asked = AtomicUsize::new(0);
    from_fn(move |request: SummaryRequest| {
        let number = asked.fetch_add(1, Ordering::SeqCst);
        async move {
            match number % 7 {
                1 => Err(SummarizeError::Unavailable("away".into())),
                3 => Ok(summary(&request.prompt.repeat(2))),
                4 => pending().await,
                6 => Ok(summary(" ")),
                _ => Ok(summary(&format!("Summary {number} of a long conversation."))),
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_messages_and_a_flaky_model_end_whole_and_within_the_window() {
    const MESSAGES: usize = 20_000;
    const WINDOW: u32 = 8_000;
    let root = tempfile::tempdir().unwrap();
    let limit = Duration::from_millis(50);
    let talktree = builder(&root).summarizer(flaky()).summarizer_timeout(limit).open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    session.configure(thresholds(Some(WINDOW), 2_000)).await.unwrap();
    let short = |number: usize| message(&format!("m{number}"), &format!("Short message number {number}."));
    for batch in 0..MESSAGES / 50 {
        session.append_messages((batch * 50..batch * 50 + 50).map(short)).await.unwrap();
    }
    let mut messages = MESSAGES;
    let end = Instant::now() + Duration::from_secs(40);
    loop {
        let tokens = session.prepare_compaction().await.unwrap().map_or(0, |plan| plan.tokens_before);
        if tokens <= WINDOW {
            break;
        }
        assert!(Instant::now() < end, "the view has {tokens} tokens");
        // After a failure the next attempt waits until the path has grown.
        session.append_messages((messages..messages + 50).map(short)).await.unwrap();
        messages += 50;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    talktree.close().await.unwrap();

    let talktree = builder(&root).no_summarizer().open().await.unwrap();
    let session = talktree.tenant("t").unwrap().session("");
    let all = history(&session, false).await;
    assert_eq!(all, (0..messages).map(|number| format!("m{number}")).collect::<Vec<_>>());
    for number in (0..messages).step_by(7) {
        let found = session.get_message(&format!("m{number}")).await.unwrap().unwrap();
        assert_eq!(found.json, short(number));
    }
    let compactions = compactions(&session).await;
    assert!(compactions.len() > 3, "{}", compactions.len());
    // What is seen, summaries opened, is every message once and in order.
    let mut next = 0;
    for id in history(&session, true).await {
        let (first, last) = match id.strip_prefix("compaction_") {
            Some(id) => {
                let made = compactions.iter().find(|made| made.id == id).unwrap();
                assert_eq!(made.replaced_by, None);
                (made.first_id.clone(), made.last_id.clone())
            }
            None => (id.clone(), id),
        };
        assert_eq!(first, format!("m{next}"));
        next = last[1..].parse::<usize>().unwrap() + 1;
    }
    assert_eq!(next, messages);
}
