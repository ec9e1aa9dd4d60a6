//! A program that writes summaries: prompt on stdin, summary on stdout.

use std::io::{self, Read, Write};
use std::process::{self, Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::{SummarizeError, Summarizer, Summarizing, Summary, SummaryRequest};

/// Bytes that a summary may have; a command that writes more has failed.
const MAX_OUTPUT: u64 = 4 << 20;

/// Runs a command with `sh -c`. An exit code other than 0 is a failure.
///
/// The command finds the length that is asked for in `TALKTREE_MAX_TOKENS`. It is ended, with all that it started and
/// that has not left its process group, when the request is. What it writes to stderr is dropped, since it may be
/// content.
#[derive(Clone, Debug)]
pub struct Command(String);

impl Command {
    /// This command.
    pub fn new(command: impl Into<String>) -> Self {
        Self(command.into())
    }
}

impl Summarizer for Command {
    fn summarize<'a>(&'a self, request: &'a SummaryRequest) -> Summarizing<'a> {
        Box::pin(async move {
            let child = spawn(&self.0, request.max_tokens).map_err(|error| failed("started", &error))?;
            let running = Arc::new(Running(Mutex::new(Some(child))));
            // Ends the command when this future goes.
            let _end = EndOnDrop(Arc::clone(&running));
            let prompt = request.prompt.clone();
            let text = tokio::task::spawn_blocking(move || talk(&running, prompt))
                .await
                .map_err(|_| SummarizeError::Other("the command was lost".to_owned()))??;
            Ok(Summary { text, truncated: false, input_tokens: None, output_tokens: None })
        })
    }
}

fn spawn(command: &str, max_tokens: u32) -> io::Result<Child> {
    let mut shell = process::Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .env("TALKTREE_MAX_TOKENS", max_tokens.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    shell.spawn()
}

/// A command that runs; none: it has been waited for.
struct Running(Mutex<Option<Child>>);

impl Running {
    fn end(&self) {
        if let Some(child) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // One that has ended already is no matter: it has not been waited for, so its number is still its own.
            #[cfg(unix)]
            if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.kill();
        }
    }
}

struct EndOnDrop(Arc<Running>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Writes the prompt, reads the summary and waits for the end.
fn talk(running: &Running, prompt: String) -> Result<String, SummarizeError> {
    let (stdin, stdout) = {
        let mut child = running.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pipes = child.as_mut().map(|child| (child.stdin.take(), child.stdout.take()));
        pipes.unwrap_or_default()
    };
    // A command may write before it has read everything, or not read at all.
    let writing = std::thread::Builder::new().name("talktree-prompt".to_owned()).spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(prompt.as_bytes());
        }
    });
    let mut output = Vec::new();
    let read = match (writing, stdout) {
        (Ok(_), Some(stdout)) => stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output).map(drop),
        (Err(error), _) => Err(error),
        (_, None) => Ok(()),
    };
    let too_much = output.len() as u64 > MAX_OUTPUT;
    if too_much || read.is_err() {
        running.end();
    }
    let status = wait(running).map_err(|error| failed("waited for", &error))?;
    read.map_err(|error| failed("read from", &error))?;
    if too_much {
        return Err(SummarizeError::Other(format!("the command wrote more than {MAX_OUTPUT} bytes")));
    }
    if !status.is_some_and(|status| status.success()) {
        let how = status.map_or_else(|| "was lost".to_owned(), |status| format!("ended with {status}"));
        return Err(SummarizeError::Other(format!("the command {how}")));
    }
    String::from_utf8(output).map_err(|_| SummarizeError::Other("the command wrote no UTF-8".to_owned()))
}

/// Waits for the end without keeping [`Running::end`] out.
fn wait(running: &Running) -> io::Result<Option<process::ExitStatus>> {
    /// How often it is looked at: a command that has closed its output ends at once, as a rule.
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);
    loop {
        let mut place = running.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(child) = &mut *place else { return Ok(None) };
        if let Some(status) = child.try_wait()? {
            *place = None;
            return Ok(Some(status));
        }
        drop(place);
        std::thread::sleep(PAUSE);
    }
}

fn failed(how: &str, error: &io::Error) -> SummarizeError {
    SummarizeError::Unavailable(format!("the command cannot be {how}: {error}"))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

    use std::time::{Duration, Instant};

    use super::*;
    use crate::summarizer::Purpose;

    fn ask(command: &str, prompt: &str) -> Result<Summary, SummarizeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let request = SummaryRequest { prompt: prompt.into(), max_tokens: 77, purpose: Purpose::Compaction };
        runtime.block_on(Command::new(command).summarize(&request))
    }

    #[test]
    fn the_prompt_goes_in_and_the_summary_comes_out() {
        assert_eq!(ask("tr a-z A-Z", "abc ü").unwrap().text, "ABC ü");
        assert_eq!(ask("printf %s $TALKTREE_MAX_TOKENS", "").unwrap().text, "77");
        let long = "x".repeat(1 << 20);
        assert_eq!(ask("cat", &long).unwrap().text, long);
        assert_eq!(ask("echo unread", &long).unwrap().text, "unread\n");
    }

    #[test]
    fn a_failure_is_told_by_its_exit_code_and_nothing_else() {
        for command in ["exit 3", "echo half; false", "kill -9 $$", "printf '\\377'", "yes", "/nowhere/to/be/found"] {
            let error = ask(command, "private words").unwrap_err();
            assert!(!format!("{error:?}").contains("private"), "{error:?}");
        }
    }

    #[test]
    fn a_command_ends_with_all_that_it_started_when_its_request_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("late");
        let command = format!("(sleep 1; touch {}) & sleep 100", file.display());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let request = SummaryRequest { prompt: String::new(), max_tokens: 1, purpose: Purpose::Compaction };
        let started = Instant::now();
        runtime.block_on(async {
            let command = Command::new(command);
            let answer = tokio::time::timeout(Duration::from_millis(300), command.summarize(&request)).await;
            assert!(answer.is_err());
        });
        // Taking the runtime down waits for the thread that talked to the command.
        drop(runtime);
        assert!(started.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!file.exists(), "what the command started has gone on");
    }
}
