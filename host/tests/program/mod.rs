//! What the tests of the program have in common: running it, and talking to `talktree rpc`.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The program, without anything of the surroundings that could change what it does.
pub(crate) fn talktree() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talktree"));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("TALKTREE_")) {
            command.env_remove(name);
        }
    }
    command.env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR").env("TALKTREE_NO_CONFIG", "1");
    command
}

/// A message with one text.
pub(crate) fn message(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]})
}

/// A running `talktree rpc`.
pub(crate) struct Server {
    child: Child,
    requests: Option<ChildStdin>,
    answers: mpsc::Receiver<String>,
    next: u64,
}

impl Server {
    pub(crate) fn start(root: &Path) -> Self {
        Self::start_with(root, &[])
    }

    pub(crate) fn start_with(root: &Path, options: &[&str]) -> Self {
        Self::spawn(talktree().arg("rpc").arg("--root").arg(root).args(options))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in output.split(b'\n') {
                let line = String::from_utf8(line.unwrap()).expect("answers are UTF-8");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, requests, answers, next: 0 }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let requests = self.requests.as_mut().expect("the input is still open");
        requests.write_all(bytes.as_ref()).unwrap();
        requests.flush().unwrap();
    }

    /// The next line of the output.
    pub(crate) fn line(&mut self) -> String {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    /// The next line of the output, as JSON.
    pub(crate) fn answer(&mut self) -> Value {
        serde_json::from_str(&self.line()).expect("an answer is JSON")
    }

    /// Sends a line and gives its answer.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(format!("{line}\n"));
        self.answer()
    }

    /// Calls a method for tenant `t`, with params as JSON text, and gives the answer's text.
    pub(crate) fn call_raw(&mut self, method: &str, params: &str) -> String {
        self.next += 1;
        let id = self.next;
        self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"));
        let line = self.line();
        assert!(line.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},")), "{line}");
        line
    }

    /// Calls a method for tenant `t`, and gives the answer.
    pub(crate) fn try_call(&mut self, method: &str, mut params: Value) -> Value {
        if params.get("tenant").is_none() {
            params["tenant"] = json!("t");
        }
        serde_json::from_str(&self.call_raw(method, &params.to_string())).unwrap()
    }

    /// The same, where it has to succeed: the result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.try_call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Ids of the messages on the path to the present leaf.
    pub(crate) fn history(&mut self) -> Vec<String> {
        let history = self.call("getHistory", json!({}));
        history["messages"].as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap().into()).collect()
    }

    /// Closes the input.
    pub(crate) fn end_input(&mut self) {
        self.requests = None;
    }

    /// Waits until the process ends.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the process does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// All lines until the output ends.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        loop {
            match self.answers.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(serde_json::from_str(&line).expect("an answer is JSON")),
                Err(mpsc::RecvTimeoutError::Disconnected) => return rest,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the output does not end"),
            }
        }
    }

    /// Ends the input, and the process has to end in good order.
    pub(crate) fn finish(mut self) {
        self.end_input();
        assert_eq!(self.wait().code(), Some(0));
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
