//! `talktree rpc` as a process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The program, built beside these tests.
pub(crate) fn path() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).unwrap();
    let program = folder.join(format!("talktree{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is missing: `cargo build --release --package talktree` makes it", program.display());
    program
}

/// A process that serves a root.
pub(crate) struct Program {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Program {
    pub(crate) fn start(root: &Path) -> Self {
        let mut child = Command::new(path())
            .env("TALKTREE_NO_CONFIG", "1")
            .args(["rpc", "--root"])
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().map(BufReader::new);
        Self { child, input, output }
    }

    /// The two pipes, for threads of their own.
    pub(crate) fn pipes(&mut self) -> (ChildStdin, BufReader<ChildStdout>) {
        (self.input.take().unwrap(), self.output.take().unwrap())
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{request}").unwrap();
        input.flush().unwrap();
    }

    /// Ends the input.
    pub(crate) fn end_input(&mut self) {
        drop(self.input.take());
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        self.line()
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// What a call that must succeed answers.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    /// The kind of error that a call must end with.
    #[track_caller]
    pub(crate) fn kind(&mut self, method: &str, params: &Value) -> String {
        let answer = self.call(method, params);
        match answer["error"]["data"]["kind"].as_str() {
            Some(kind) => kind.to_owned(),
            None => panic!("{method} {params} has not failed as it should: {answer}"),
        }
    }

    /// Ids of all messages of the default session of a tenant, by seq.
    pub(crate) fn ids(&mut self, tenant: &str) -> Vec<String> {
        let (mut ids, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = json!({"tenant": tenant, "limit": 1000, "cursor": cursor});
            let page = self.result("listMessages", &params);
            ids.extend(page["messages"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()));
            cursor = page["cursor"].clone();
            if cursor.is_null() {
                return ids;
            }
        }
    }

    /// Ends the input and waits for a good end.
    pub(crate) fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The params of an append to the default session of a tenant.
pub(crate) fn append(tenant: &str, id: &str, text: &str) -> Value {
    json!({"tenant": tenant, "message": {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}})
}
