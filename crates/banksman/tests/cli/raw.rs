//! A connection that shows exactly what a server does with it, which a client library hides.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::installation::PATIENCE;

pub(crate) struct Connection(TcpStream);

impl Connection {
    /// To a server by its address `http://HOST:PORT`; nothing is sent yet.
    pub(crate) fn open(url: &str) -> Self {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).unwrap();
    }

    /// A request without a body.
    pub(crate) fn get(url: &str, token: &str, path: &str, more: &str) -> Self {
        let host = url.strip_prefix("http://").unwrap();
        let mut connection = Self::open(url);
        connection.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        ));
        connection
    }

    /// Reads until what was read contains this.
    pub(crate) fn read_until(&mut self, wanted: &str) -> String {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = self.0.read(&mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&seen);
            if text.contains(wanted) {
                return text.into_owned();
            }
            assert!(count > 0, "ended without {wanted:?}: {text}");
        }
    }

    /// Reads to the end. A connection that is reset instead of closed is an error.
    pub(crate) fn read_to_end(&mut self) -> std::io::Result<String> {
        let mut seen = Vec::new();
        self.0.read_to_end(&mut seen)?;
        Ok(String::from_utf8_lossy(&seen).into_owned())
    }

    /// Whether the other side says nothing, for so long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).unwrap();
        let silent = self.0.read(&mut [0; 1]).is_err();
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        silent
    }
}
