//! A small HTTP/1.1 client that writes exactly the bytes that a test wants, and trusts nothing that it reads.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinHandle;

/// Nothing in these tests takes longer, unless the server hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request, before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new("DELETE", path)
    }

    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Self {
        Self::post_bytes(path, body.to_string())
    }

    pub(crate) fn post_bytes(path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", path) }.header("Content-Type", "application/json")
    }

    /// What a browser sends when someone presses a button.
    pub(crate) fn form(path: &str, fields: &[(&str, &str)]) -> Self {
        let pairs: Vec<_> =
            fields.iter().map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
        Self { body: pairs.join("&").into(), ..Self::new("POST", path) }
            .header("Content-Type", "application/x-www-form-urlencoded")
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With a credential.
    pub(crate) fn by(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// The bytes on the wire. A test that brings its own `Host` gets no other.
    pub(crate) fn to_bytes(&self, host: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} is there twice: {:?}", self.headers);
        value
    }

    /// The cookies that an answer sets, as a browser sends them back.
    pub(crate) fn cookies(&self) -> Vec<&str> {
        let set = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        set.filter_map(|(_, value)| value.split(';').next()).collect()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body, if the status is as expected.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem document, if it is the expected one.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let problem = self.any_problem();
        assert_eq!((self.status, problem["code"].as_str()), (status, Some(code)), "{problem}");
        problem
    }

    /// The problem document, whichever it is, if it is a proper one of a client's mistake.
    #[track_caller]
    pub(crate) fn any_problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert!((400..500).contains(&self.status), "{self:?}");
        let problem = self.json();
        let code = problem["code"].as_str().unwrap();
        assert_eq!(problem["type"], format!("urn:banksman:error:{code}"), "{problem}");
        assert_eq!(problem["status"], self.status, "{problem}");
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        problem
    }
}

/// What comes from the server.
pub(crate) struct Inbound {
    reader: BufReader<OwnedReadHalf>,
    /// Keeps the other direction open: dropping it tells the server that nothing more will come.
    _writing: JoinHandle<OwnedWriteHalf>,
}

impl Inbound {
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }

    /// Status and headers; `None` if the server hung up instead.
    pub(crate) async fn head(&mut self) -> Option<Response> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not a status line: {line:?}"));
        let mut headers = Vec::new();
        while let Some(line) = self.line().await.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Some(Response { status, headers, body: Vec::new() })
    }

    /// The next piece of a chunked body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await?, 16).unwrap();
        let mut chunk = vec![0; length];
        self.reader.read_exact(&mut chunk).await.ok()?;
        self.line().await?;
        (length > 0).then_some(chunk)
    }

    /// A whole answer; of an endless one, its head.
    pub(crate) async fn answer(&mut self) -> Option<Response> {
        let mut response = self.head().await?;
        if response.header("content-type") == Some("text/event-stream") {
            return Some(response);
        }
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            response.body = vec![0; length.parse().unwrap()];
            self.reader.read_exact(&mut response.body).await.unwrap();
        }
        Some(response)
    }
}

/// Opens a connection and writes these bytes, whatever they are.
pub(crate) async fn connect(address: SocketAddr, bytes: Vec<u8>) -> Inbound {
    let (reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    // A separate task: the server may answer long before it has read everything, and need not read the rest.
    let writing = tokio::spawn(async move {
        let _ = writer.write_all(&bytes).await;
        writer
    });
    Inbound { reader: BufReader::new(reader), _writing: writing }
}

/// Sends bytes and reads one answer; `None` if the server hung up instead.
pub(crate) async fn exchange(address: SocketAddr, bytes: Vec<u8>) -> Option<Response> {
    let mut inbound = connect(address, bytes).await;
    tokio::time::timeout(PATIENCE, inbound.answer()).await.expect("the server does not answer")
}
