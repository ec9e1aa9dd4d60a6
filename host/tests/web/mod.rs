//! A server for tests: it speaks as much HTTP as it must, and answers as it is told to.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What becomes of a request.
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<String>,
        body: String,
    },
    /// Nothing is ever answered.
    Stall,
    /// The connection ends.
    Hangup,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Reply::Answer { status, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::status(200).body(text)
    }

    pub(crate) fn ok(json: &serde_json::Value) -> Self {
        Self::text(&json.to_string())
    }

    pub(crate) fn header(mut self, header: &str) -> Self {
        if let Reply::Answer { headers, .. } = &mut self {
            headers.push(header.to_owned());
        }
        self
    }

    pub(crate) fn body(mut self, text: &str) -> Self {
        if let Reply::Answer { body, .. } = &mut self {
            text.clone_into(body);
        }
        self
    }
}

/// A running server.
pub(crate) struct Web {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Web {
    /// Answers each request by its number, from 0.
    pub(crate) async fn start(reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let reply = Arc::new(reply);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, reply) = (Arc::clone(&seen), Arc::clone(&reply));
                tokio::spawn(async move { drop(serve(stream, &seen, &*reply).await) });
            }
        });
        Self { url, requests, task }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// The requests until now, head and body as one text each.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    reply: &(impl Fn(usize) -> Reply + Sync),
) -> std::io::Result<()> {
    let mut request = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await?;
        request.extend_from_slice(&chunk[..read]);
        if read == 0 || is_whole(&request) {
            break;
        }
    }
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(String::from_utf8_lossy(&request).into_owned());
        seen.len() - 1
    };
    match reply(number) {
        Reply::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} So\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            for header in headers {
                head.push_str(&header);
                head.push_str("\r\n");
            }
            stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
            stream.shutdown().await
        }
        Reply::Stall => std::future::pending().await,
        Reply::Hangup => Ok(()),
    }
}

/// Whether head and body are there.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_none_or(|length| body.len() >= length.trim().parse().unwrap_or(0))
}
