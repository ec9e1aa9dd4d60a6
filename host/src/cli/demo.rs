//! `talktree demo`: a tour in a temporary directory.
//!
//! Every step is what a user would do: the commands are those of this program, run as processes of their own, and the
//! one that is killed is really killed.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::terminal::{self, FAINT, PLAIN, STRONG, cut, harmless};

/// A conversation of our own, in the format of Pi's session files: with a tool call, and one question asked anew.
const TRANSCRIPT: &str = include_str!("demo/transcript.jsonl");
const TENANT: &str = "easy:demo";
const SESSION: &str = "harbour-trip";

/// See what Talktree does: a tour in a temporary directory
#[derive(Args)]
#[command(after_help = "\
Imports a transcript, appends to it, answers one message twice, kills the process and shows that nothing is lost.

Examples:
  talktree demo
  talktree demo --keep       leave the directory, to look around in it afterwards

Exit codes: 0 everything was as it should be, 1 something was not, 2 the command line was wrong.")]
pub(crate) struct Demo {
    /// Leave the directory with the data
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let directory =
            tempfile::Builder::new().prefix("talktree-demo-").tempdir().context("no temporary directory")?;
        let tour = Tour {
            program: env::current_exe().context("the program does not know where it is")?,
            root: directory.path().join("data"),
        };
        tour.walk(directory.path())?;
        if self.keep {
            let path = directory.keep();
            say(&format!("The data stays in {}.", path.display()))?;
        } else {
            say("The temporary directory is removed now. `talktree --help` shows what else there is.")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

struct Tour {
    program: PathBuf,
    root: PathBuf,
}

impl Tour {
    fn walk(&self, directory: &Path) -> anyhow::Result<()> {
        std::fs::create_dir(&self.root)?;
        let transcript = directory.join("transcript.jsonl");
        std::fs::write(&transcript, TRANSCRIPT)?;

        heading("An old transcript is imported")?;
        say("It is a session file of a coding agent, with a tool call, and with one question asked in two ways.")?;
        self.command(&["import", "--tenant", TENANT, &transcript.to_string_lossy()])?;
        say("The tenant has a directory, a sandbox and a SQLite file of its own now. The branches came along:")?;
        self.command(&["show", "--tenant", TENANT, "--session", SESSION])?;

        heading("A runtime appends messages")?;
        say("Any language will do: `talktree rpc` takes JSON-RPC on stdin, one line per request.")?;
        let mut server = Server::start(self)?;
        let end = server.call("getLatestLeaf", json!({}))?;
        let end = text(&end, "/message/id")?;
        server.append(
            json!({"id": "q4", "role": "user", "parts": [{"type": "text", "text": "Book the waffles, please."}]}),
            None,
        )?;
        server.append(json!({"id": "a5", "role": "assistant", "parts": [{"type": "text", "text": "Done: four people, three o'clock."}]}), None)?;
        say(
            "A message may be answered twice. The user goes back and asks for something else; the first branch stays:",
        )?;
        server.append(json!({"id": "q5", "role": "user", "parts": [{"type": "text", "text": "No waffles. Is there a swimming pool?"}]}), Some(&end))?;

        heading("The process is killed")?;
        say("SIGKILL, in the middle of everything. Whatever was answered is on the disk.")?;
        server.kill()?;
        let mut server = Server::start(self)?;
        say("A new process goes on where the old one was. The same message sent again is stored once:")?;
        let again = server.append(json!({"id": "q5", "role": "user", "parts": [{"type": "text", "text": "No waffles. Is there a swimming pool?"}]}), Some(&end))?;
        ensure!(again["inserted"] == json!(false), "the message should have survived the kill: {again}");
        server.append(json!({"id": "a6", "role": "assistant", "parts": [{"type": "text", "text": "Yes, by the harbour, with warm sea water."}]}), None)?;
        server.finish()?;
        self.command(&["show", "--tenant", TENANT, "--session", SESSION])?;

        heading("The newest messages, as a model would get them")?;
        self.command(&["history", "--tenant", TENANT, "--session", SESSION, "--recent", "700"])?;
        Ok(())
    }

    /// This program, as it is where nothing is configured but the root.
    fn program(&self) -> Command {
        let mut program = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("TALKTREE_")) {
                program.env_remove(name);
            }
        }
        program.env("TALKTREE_NO_CONFIG", "1").env("TALKTREE_ROOT", &self.root);
        program
    }

    /// Runs a sub-command of this program and shows it as it would be typed.
    fn command(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let typed: Vec<_> = arguments.iter().map(|argument| harmless(argument)).collect();
        writeln!(anstream::stdout(), "{FAINT}${PLAIN} {STRONG}talktree {}{PLAIN}", typed.join(" "))?;
        let status = self.program().args(arguments).status()?;
        writeln!(anstream::stdout())?;
        ensure!(status.success(), "`talktree {}` ended with {status}", typed.join(" "));
        Ok(())
    }
}

/// A running `talktree rpc`.
struct Server {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    fn start(tour: &Tour) -> anyhow::Result<Self> {
        writeln!(anstream::stdout(), "{FAINT}${PLAIN} {STRONG}talktree rpc{PLAIN}")?;
        let mut child = tour.program().arg("rpc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = child.stdin.take().context("no pipe to the process")?;
        let answers = BufReader::new(child.stdout.take().context("no pipe from the process")?);
        Ok(Self { child, requests, answers, id: 0 })
    }

    fn append(&mut self, message: Value, parent: Option<&str>) -> anyhow::Result<Value> {
        let mut params = json!({ "message": message });
        if let Some(parent) = parent {
            params["parentId"] = json!(parent);
        }
        self.call("appendMessage", params)
    }

    /// Sends a request, shows it and its answer, and gives the result.
    fn call(&mut self, method: &str, mut params: Value) -> anyhow::Result<Value> {
        self.id += 1;
        params["tenant"] = json!(TENANT);
        params["session"] = json!(SESSION);
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("talktree rpc ended without an answer to {method}");
        }
        let answer: Value = serde_json::from_str(&line).context("the answer is not JSON")?;
        let columns = terminal::width().unwrap_or(160).max(40) - 2;
        let shown = format!("{method} {}", request["params"]);
        writeln!(anstream::stdout(), "{FAINT}> {}{PLAIN}", cut(&harmless(&shown), columns))?;
        writeln!(anstream::stdout(), "{FAINT}< {}{PLAIN}", cut(&harmless(line.trim_end()), columns))?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method} failed: {}", answer["error"]["message"]),
        }
    }

    fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        writeln!(anstream::stdout(), "{FAINT}$ kill -KILL {}{PLAIN}\n", self.child.id())?;
        Ok(())
    }

    /// Ends the input and waits: everything is carried out first.
    fn finish(self) -> anyhow::Result<()> {
        let Self { mut child, requests, .. } = self;
        drop(requests);
        let status = child.wait()?;
        writeln!(anstream::stdout())?;
        ensure!(status.success(), "talktree rpc ended with {status}");
        Ok(())
    }
}

fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("the answer has no {pointer}"))
}

fn heading(text: &str) -> io::Result<()> {
    writeln!(anstream::stdout(), "\n{STRONG}== {text}{PLAIN}\n")
}

fn say(text: &str) -> io::Result<()> {
    writeln!(anstream::stdout(), "{text}")
}
