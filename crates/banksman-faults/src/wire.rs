//! PostgreSQL's messages, as far as one has to know them to see a commit go by. Nothing here does I/O.
//!
//! After the start of a connection every message is a type byte, a length that counts itself, and a body. What comes
//! first has no type byte; requests to encrypt are not passed on by the proxy, so there is only one such message.

use std::collections::HashSet;

/// The length field of a message.
const LENGTH: usize = 4;

/// Asks for encryption, instead of a first message.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const GSS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    bytes: Vec<u8>,
    /// Whether the next message has no type byte.
    untyped: bool,
}

impl Framer {
    /// For what a client sends, from its first byte.
    pub(crate) fn of_client() -> Self {
        Self { bytes: Vec::new(), untyped: true }
    }

    /// For what a server sends.
    pub(crate) fn of_server() -> Self {
        Self::default()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if there is one.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let head = usize::from(!self.untyped);
        let length = self.bytes.get(head..head + LENGTH)?.try_into().ok().map(u32::from_be_bytes)?;
        // A length that does not even count itself is no message of PostgreSQL's: then all goes by as it is.
        let whole = usize::try_from(length).ok().filter(|length| *length >= LENGTH);
        let end = whole.map_or(self.bytes.len(), |length| head + length);
        if self.bytes.len() < end {
            return None;
        }
        let rest = self.bytes.split_off(end);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        let asks_to_encrypt = self.untyped && (bytes == SSL_REQUEST || bytes == GSS_REQUEST);
        self.untyped &= asks_to_encrypt;
        Some(Message { bytes, asks_to_encrypt })
    }
}

/// One message, whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
    /// To be answered with `N`, and then the client goes on without.
    pub(crate) asks_to_encrypt: bool,
}

impl Message {
    fn is(&self, kind: u8, body: &[u8]) -> bool {
        self.body_of(kind) == Some(body)
    }

    /// The body, if it is a message of this kind.
    fn body_of(&self, kind: u8) -> Option<&[u8]> {
        let (first, rest) = self.bytes.split_first()?;
        rest.get(LENGTH..).filter(|_| *first == kind)
    }
}

/// What a statement says that writes to the log, and so commits, if no transaction is open.
const ADDS_TO_THE_LOG: &[u8] = b"INSERT INTO audit";

/// What a client has asked for so far.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Prepared statements that write to the log.
    writing: HashSet<Vec<u8>>,
    open: bool,
}

impl Requests {
    /// Whether this message commits, once the database has it.
    pub(crate) fn commits(&mut self, message: &Message) -> bool {
        if let Some(prepared) = message.body_of(b'P') {
            let (name, sql) = texts(prepared);
            if sql.windows(ADDS_TO_THE_LOG.len()).any(|words| words == ADDS_TO_THE_LOG) {
                self.writing.insert(name.to_vec());
            } else {
                self.writing.remove(name);
            }
        }
        let runs = message.body_of(b'B').map(|bound| texts(bound).1);
        let alone = !self.open && runs.is_some_and(|name| self.writing.contains(name));
        let ends = message.is(b'Q', b"COMMIT\0");
        self.open |= message.is(b'Q', b"BEGIN\0");
        self.open &= !ends && !message.is(b'Q', b"ROLLBACK\0");
        alone || ends
    }
}

/// The first two texts of a body; each ends with a zero.
fn texts(body: &[u8]) -> (&[u8], &[u8]) {
    let mut texts = body.split(|byte| *byte == 0);
    (texts.next().unwrap_or_default(), texts.next().unwrap_or_default())
}

/// What a server has answered so far.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Since it was last ready: an error, a roll-back, or a statement that came to nothing.
    nothing: bool,
}

impl Answers {
    /// Whether this message says that no transaction is open any more, and that what was done is kept. A statement is
    /// called complete before it is committed, so the word for that is that the server is ready.
    pub(crate) fn committed(&mut self, message: &Message) -> bool {
        self.nothing |= message.body_of(b'E').is_some()
            || message.is(b'C', b"ROLLBACK\0")
            || message.is(b'C', b"SELECT 0\0");
        let ready = message.is(b'Z', b"I");
        ready && !std::mem::take(&mut self.nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + LENGTH).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    fn startup() -> Vec<u8> {
        message(b'?', b"\0\x03\0\0user\0banksman\0\0").split_off(1)
    }

    #[test]
    fn a_stream_is_cut_into_the_same_messages_wherever_its_pieces_end() {
        let parts = [
            SSL_REQUEST.to_vec(),
            startup(),
            message(b'Q', b"BEGIN\0"),
            message(b'Q', b"COMMIT\0"),
            message(b'S', b""),
        ];
        let stream = parts.concat();
        for size in 1..=stream.len() {
            let mut framer = Framer::of_client();
            let mut seen = Vec::new();
            for piece in stream.chunks(size) {
                framer.push(piece);
                seen.extend(std::iter::from_fn(|| framer.next()));
            }
            let bytes: Vec<_> = seen.iter().map(|message| message.bytes.clone()).collect();
            assert_eq!(bytes, parts, "pieces of {size}");
            let mut requests = Requests::default();
            let commits: Vec<bool> = seen.iter().map(|message| requests.commits(message)).collect();
            assert_eq!(commits, [false, false, false, true, false]);
            let encrypt: Vec<bool> = seen.iter().map(|message| message.asks_to_encrypt).collect();
            assert_eq!(encrypt, [true, false, false, false, false]);
        }
    }

    fn whole(kind: u8, body: &[u8]) -> Message {
        Message { bytes: message(kind, body), asks_to_encrypt: false }
    }

    #[test]
    fn only_a_commit_is_a_commit() {
        let mut requests = Requests::default();
        for (kind, body, commits) in [
            (b'Q', &b"COMMIT; BEGIN\0"[..], false),
            (b'Q', b"ROLLBACK\0", false),
            (b'D', b"COMMIT\0", false),
            (b'P', b"one\0WITH x AS (INSERT INTO audit ...)\0\0\0", false),
            (b'P', b"two\0SELECT 1\0\0\0", false),
            (b'B', b"\0two\0\0\0", false),
            // A transaction of its own; within another it is that one's end that counts.
            (b'B', b"\0one\0\0\0", true),
            (b'Q', b"BEGIN\0", false),
            (b'B', b"\0one\0\0\0", false),
            (b'Q', b"COMMIT\0", true),
            (b'B', b"\0one\0\0\0", true),
            (b'P', b"one\0SELECT 1\0\0\0", false),
            (b'B', b"\0one\0\0\0", false),
        ] {
            let said = whole(kind, body);
            assert_eq!(requests.commits(&said), commits, "{said:?}");
        }
    }

    #[test]
    fn only_what_is_kept_is_committed() {
        let mut answers = Answers::default();
        for (kind, body, committed) in [
            (b'C', &b"COMMIT\0"[..], false),
            (b'Z', b"I", true),
            (b'C', b"UPDATE 1\0", false),
            (b'Z', b"T", false),
            (b'C', b"ROLLBACK\0", false),
            (b'Z', b"I", false),
            (b'C', b"SELECT 1\0", false),
            (b'Z', b"I", true),
            (b'C', b"SELECT 0\0", false),
            (b'Z', b"I", false),
            (b'E', b"...", false),
            (b'Z', b"I", false),
        ] {
            let said = whole(kind, body);
            assert_eq!(answers.committed(&said), committed, "{said:?}");
        }
    }

    #[test]
    fn what_is_no_message_goes_by_whole() {
        let mut framer = Framer::of_server();
        framer.push(b"X\0\0\0\0garbage");
        assert_eq!(framer.next().unwrap().bytes, b"X\0\0\0\0garbage");
        assert_eq!(framer.next(), None);
    }
}
