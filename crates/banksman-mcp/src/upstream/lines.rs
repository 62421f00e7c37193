//! What programs say and are told: messages, one on a line.

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use super::lane::MAX_ANSWER;

/// A message on one line. In JSON a raw line end can only stand between tokens.
pub(super) fn one_line(message: &Bytes) -> Bytes {
    if message.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
    } else {
        message.clone()
    }
}

/// The next line, without its end; `None` at the end of the stream, or when a line is too long to be one.
pub(super) async fn line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<Bytes> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_ANSWER).unwrap_or(u64::MAX);
    output.take(limit).read_until(b'\n', &mut line).await.ok()?;
    if line.pop() != Some(b'\n') {
        return None;
    }
    Some(line.into())
}

/// What a program says on its standard error goes to our log, escaped and bounded.
pub(super) async fn log(name: String, mut errors: impl AsyncBufRead + Unpin) {
    loop {
        let mut line = Vec::new();
        match (&mut errors).take(4096).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::debug!(upstream = name, said = ?text.trim_end(), "an MCP server's program says");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_message_is_one_line_and_a_line_has_an_end() {
        assert_eq!(one_line(&Bytes::from_static(b"{\n\"a\":\r\n1}")), &b"{ \"a\":  1}"[..]);
        let mut output = BufReader::new(&b"{}\n{\"a\":1}\nhalf"[..]);
        assert_eq!(line(&mut output).await.unwrap(), &b"{}"[..]);
        assert_eq!(line(&mut output).await.unwrap(), &b"{\"a\":1}"[..]);
        assert!(line(&mut output).await.is_none());
    }
}
