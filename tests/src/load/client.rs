//! Clients of a server that may be killed at any moment: a call is done, refused, or its outcome is unknown.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// What requests go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `POST /rpc`.
    Http,
    /// WebSocket `/rpc`.
    Socket,
    /// Tools of MCP where there is one for the method, `POST /rpc` for others.
    Mcp,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Http, Self::Socket, Self::Mcp];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Socket => "WebSocket",
            Self::Mcp => "MCP",
        }
    }
}

/// How a call has ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Its result.
    Done(Value),
    /// An error of the store or the server.
    Refused {
        /// Its kind.
        kind: String,
        /// What it says.
        sentence: String,
    },
    /// The connection broke before there was an answer.
    Lost(String),
}

/// A call: a method of JSON-RPC and its params.
pub type Call = (&'static str, Value);

/// One client with one connection, which is made again when it has broken.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    address: SocketAddr,
    plain: Option<BufReader<TcpStream>>,
    socket: Option<WebSocket<TcpStream>>,
}

impl Client {
    /// A client that has not connected yet.
    pub fn new(transport: Transport, address: SocketAddr) -> Self {
        Self { transport, address, plain: None, socket: None }
    }

    /// What its requests go by.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Makes a call and waits for its end.
    pub fn call(&mut self, method: &'static str, params: Value) -> Outcome {
        self.call_all(&[(method, params)]).pop().unwrap_or_else(|| Outcome::Lost("there was no call".to_owned()))
    }

    /// Makes a call that has to be done.
    pub fn must(&mut self, method: &'static str, params: Value) -> Result<Value> {
        match self.call(method, params) {
            Outcome::Done(result) => Ok(result),
            other => bail!("{method}: {other:?}"),
        }
    }

    /// Makes calls, on a WebSocket all at once, and waits for their ends.
    pub fn call_all(&mut self, calls: &[Call]) -> Vec<Outcome> {
        match self.transport {
            Transport::Socket => self.exchange(calls),
            Transport::Http => calls.iter().map(|call| self.post(call)).collect(),
            Transport::Mcp => calls.iter().map(|call| self.use_tool(call)).collect(),
        }
    }

    /// Sends calls on the WebSocket without waiting for an answer; [`receive`](Self::receive) has them.
    pub fn send(&mut self, number: usize, call: &Call) -> Result<(), String> {
        let socket = self.socket().map_err(|error| error.to_string())?;
        socket.send(Message::text(request(number, call))).map_err(|error| error.to_string())
    }

    /// The next answer on the WebSocket: the number of its call, and how that ended.
    pub fn receive(&mut self) -> Result<(usize, Outcome), String> {
        let socket = self.socket().map_err(|error| error.to_string())?;
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => {
                    let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                    let number = answer["id"].as_u64().and_then(|id| usize::try_from(id).ok());
                    return match number {
                        Some(number) => Ok((number, ended(answer))),
                        None => Err(format!("an answer without a number: {answer}")),
                    };
                }
                Ok(Message::Close(_)) => return Err("the server has closed".to_owned()),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    fn exchange(&mut self, calls: &[Call]) -> Vec<Outcome> {
        let mut outcomes = vec![None; calls.len()];
        let broken = self.exchange_into(calls, &mut outcomes).err();
        if broken.is_some() {
            self.socket = None;
        }
        let why = broken.unwrap_or_default();
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::Lost(why.clone()))).collect()
    }

    fn exchange_into(&mut self, calls: &[Call], outcomes: &mut [Option<Outcome>]) -> Result<(), String> {
        for (number, call) in calls.iter().enumerate() {
            self.send(number, call)?;
        }
        for _ in calls {
            let (number, outcome) = self.receive()?;
            match outcomes.get_mut(number) {
                Some(place @ None) => *place = Some(outcome),
                _ => return Err(format!("an answer that was not asked for: {number}")),
            }
        }
        Ok(())
    }

    fn socket(&mut self) -> io::Result<&mut WebSocket<TcpStream>> {
        if self.socket.is_none() {
            use tungstenite::client::IntoClientRequest as _;
            let request = format!("ws://{}/rpc", self.address).into_client_request().map_err(io::Error::other)?;
            let stream = connect(self.address)?;
            let (socket, _) =
                tungstenite::client(request, stream).map_err(|error| io::Error::other(error.to_string()))?;
            self.socket = Some(socket);
        }
        self.socket.as_mut().ok_or_else(|| io::Error::other("no connection"))
    }

    fn post(&mut self, call: &Call) -> Outcome {
        match self.send_body("/rpc", &request(0, call)) {
            Ok(answer) => ended(answer),
            Err(error) => Outcome::Lost(error.to_string()),
        }
    }

    fn use_tool(&mut self, call: &Call) -> Outcome {
        let Some((name, arguments)) = tool(call) else { return self.post(call) };
        let params = json!({"name": name, "arguments": arguments});
        match self.send_body("/mcp", &request(0, &("tools/call", params))).map(ended) {
            Ok(Outcome::Done(mut result)) if result["isError"] == false => {
                Outcome::Done(result["structuredContent"].take())
            }
            Ok(Outcome::Done(result)) => {
                let sentence = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                let kind = sentence.split([':', ' ']).next().unwrap_or_default().to_owned();
                Outcome::Refused { kind, sentence }
            }
            Ok(other) => other,
            Err(error) => Outcome::Lost(error.to_string()),
        }
    }

    /// Posts JSON. An error: the connection is gone.
    fn send_body(&mut self, path: &str, body: &str) -> io::Result<Value> {
        let answer = self.try_send_body(path, body);
        if answer.is_err() {
            self.plain = None;
        }
        answer
    }

    fn try_send_body(&mut self, path: &str, body: &str) -> io::Result<Value> {
        let mut stream = match self.plain.take() {
            Some(stream) => stream,
            None => BufReader::new(connect(self.address)?),
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n\
             content-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.get_mut().write_all(head.as_bytes())?;
        stream.get_mut().write_all(body.as_bytes())?;
        let (body, stays) = read_answer(&mut stream)?;
        if stays {
            self.plain = Some(stream);
        }
        serde_json::from_slice(&body).map_err(io::Error::other)
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn request(number: usize, (method, params): &Call) -> String {
    json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).to_string()
}

/// The body of an answer, and whether the connection stays open.
fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<(Vec<u8>, bool)> {
    let (mut length, mut stays) = (None, true);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok(),
            "connection" => stays = !value.trim().eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = vec![0; length.ok_or_else(|| io::Error::other("an answer without a length"))?];
    stream.read_exact(&mut body)?;
    Ok((body, stays))
}

/// How a call has ended that was answered.
fn ended(mut answer: Value) -> Outcome {
    match answer.get("error") {
        None => Outcome::Done(answer["result"].take()),
        Some(error) => Outcome::Refused {
            kind: error["data"]["kind"].as_str().map_or_else(|| error["code"].to_string(), str::to_owned),
            sentence: error["message"].as_str().unwrap_or_default().to_owned(),
        },
    }
}

/// The tool for a method, and its arguments.
fn tool((method, params): &Call) -> Option<(&'static str, Value)> {
    let name = match *method {
        "appendMessage" => "append_message",
        "updateMessage" => "update_message",
        "deleteMessages" => "delete_messages",
        "getRecentHistory" => "read_history",
        "listMessages" => "list_messages",
        "listSessions" => "list_sessions",
        "search" => "search_messages",
        _ => return None,
    };
    let mut arguments = params.clone();
    // Messages are strings there.
    if let Some(message) = arguments.get_mut("message") {
        *message = Value::from(message.to_string());
    }
    Some((name, arguments))
}
