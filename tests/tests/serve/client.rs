//! `talktree serve` as a process, and clients of it that can also misbehave.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{
    self, Message, WebSocket,
    client::IntoClientRequest as _,
    http::{HeaderName, HeaderValue},
};

use crate::program;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a root of its own.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) root: TempDir,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), options)
    }

    pub(crate) fn start_in(root: TempDir, options: &[&str]) -> Self {
        let mut child = command()
            .args(["serve", "--listen", "127.0.0.1:0", "--root"])
            .arg(root.path().join("data"))
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("//").expect("an address").1.parse().unwrap();
        Self { child, address, root }
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Connection { stream: BufReader::new(stream), host: self.address.to_string() }
    }

    /// Calls a method with this token, and gives the whole answer.
    pub(crate) fn call_as(&self, token: Option<&str>, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let answer = self.connect().rpc("/rpc", token, &body);
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.json()
    }

    /// Calls a method that has to succeed.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.call_as(None, method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A WebSocket, with these headers more.
    pub(crate) fn socket(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<WebSocket<TcpStream>, Box<tungstenite::HandshakeError<tungstenite::ClientHandshake<TcpStream>>>> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
        }
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        tungstenite::client(request, stream).map(|(socket, _)| socket).map_err(Box::new)
    }

    /// The status that a WebSocket is refused with.
    pub(crate) fn refused(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        match self.socket(path, headers).map_err(|error| *error) {
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => response.status().as_u16(),
            Err(other) => panic!("{path}: {other}"),
            Ok(_) => panic!("{path}: a conversation has begun"),
        }
    }

    /// Asks it to end.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits until the process ends: its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "the process does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, without anything of the surroundings that could change what it does.
pub(crate) fn command() -> Command {
    let mut command = Command::new(program::path());
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(|variable| variable.starts_with("TALKTREE_")) {
            command.env_remove(variable);
        }
    }
    command.env("TALKTREE_NO_CONFIG", "1");
    command
}

/// A token with these options of `talktree token`, in this file.
pub(crate) fn token(file: &Path, name: &str, options: &[&str]) -> String {
    let made = command().args(["token", "--name", name, "--file"]).arg(file).args(options).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A connection that can send anything.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    host: String,
}

/// What comes back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The kind of error in the body.
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("no kind: {}", self.body)).to_owned()
    }
}

impl Connection {
    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a request, and gives what comes back.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.host);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()));
        self.answer().expect("an answer")
    }

    /// Posts JSON.
    pub(crate) fn rpc(&mut self, path: &str, token: Option<&str>, body: &str) -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        self.ask("POST", path, &headers, body)
    }

    /// The next answer; none: the connection is closed.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: String::new() };
        let mut body = Vec::new();
        match answer.header("content-length").map(|length| length.parse::<usize>().unwrap()) {
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body).unwrap();
            }
            None if answer.header("transfer-encoding") == Some("chunked") => loop {
                line.clear();
                self.stream.read_line(&mut line).unwrap();
                let length = usize::from_str_radix(line.trim(), 16).unwrap();
                let start = body.len();
                body.resize(start + length + 2, 0);
                self.stream.read_exact(&mut body[start..]).unwrap();
                body.truncate(start + length);
                if length == 0 {
                    break;
                }
            },
            None => {}
        }
        answer.body = String::from_utf8(body).unwrap();
        Some(answer)
    }
}

/// The params of an append to the default session of a tenant.
pub(crate) fn append(tenant: &str, id: &str, text: &str) -> Value {
    json!({"tenant": tenant, "message": {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}})
}

/// Sends a text on a WebSocket, and gives the next text that comes back.
pub(crate) fn exchange(socket: &mut WebSocket<TcpStream>, text: impl Into<String>) -> String {
    socket.send(Message::text(text.into())).unwrap();
    next(socket).expect("an answer")
}

/// The next text; none: the conversation is closed.
pub(crate) fn next(socket: &mut WebSocket<TcpStream>) -> Option<String> {
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => return Some(text.to_string()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// The kind of error of an answer of JSON-RPC.
pub(crate) fn kind(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("no error of the store: {answer}"))
}

/// The names of all methods, as the program's own table has them, and whether each is about a tenant.
pub(crate) fn methods() -> Vec<(String, bool)> {
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../host/src/rpc/methods/mod.rs")).unwrap();
    let table = source.split_once("\nmethods! {").unwrap().1.split_once("\n}").unwrap().0;
    let names: Vec<_> = table
        .lines()
        .filter_map(|line| {
            let (_, rest) = line.trim().split_once(" \"")?;
            let (name, rest) = rest.split_once("\" ")?;
            let scope = rest.split(' ').next()?;
            ["Root", "Tenant", "Session"].contains(&scope).then(|| (name.to_owned(), scope != "Root"))
        })
        .collect();
    assert!(names.len() >= 30 && names.iter().any(|(name, _)| name == "appendMessage"), "{names:?}");
    names
}
