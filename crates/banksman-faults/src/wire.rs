//! PostgreSQL's messages, as far as one has to know them to see a commit go by. Nothing here does I/O.
//!
//! After the start of a connection every message is a type byte, a length that counts itself, and a body. What comes
//! first has no type byte; requests to encrypt are not passed on by the proxy, so there is only one such message.

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
    /// A client asks to commit.
    pub(crate) fn is_commit(&self) -> bool {
        self.is(b'Q', b"COMMIT\0")
    }

    /// A server says that it has committed.
    pub(crate) fn is_committed(&self) -> bool {
        self.is(b'C', b"COMMIT\0")
    }

    fn is(&self, kind: u8, body: &[u8]) -> bool {
        match self.bytes.split_first() {
            Some((first, rest)) => *first == kind && rest.get(LENGTH..) == Some(body),
            None => false,
        }
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
            let commits: Vec<bool> = seen.iter().map(Message::is_commit).collect();
            assert_eq!(commits, [false, false, false, true, false]);
            let encrypt: Vec<bool> = seen.iter().map(|message| message.asks_to_encrypt).collect();
            assert_eq!(encrypt, [true, false, false, false, false]);
        }
    }

    #[test]
    fn only_a_commit_is_a_commit() {
        for (kind, body) in [
            (b'Q', &b"COMMIT; BEGIN\0"[..]),
            (b'Q', b"ROLLBACK\0"),
            (b'D', b"COMMIT\0"),
            (b'C', b"INSERT 0 1\0"),
            (b'C', b"ROLLBACK\0"),
        ] {
            let message = Message { bytes: message(kind, body), asks_to_encrypt: false };
            assert!(!message.is_commit() && !message.is_committed(), "{message:?}");
        }
        let said = Message { bytes: message(b'C', b"COMMIT\0"), asks_to_encrypt: false };
        assert!(said.is_committed() && !said.is_commit());
    }

    #[test]
    fn what_is_no_message_goes_by_whole() {
        let mut framer = Framer::of_server();
        framer.push(b"X\0\0\0\0garbage");
        assert_eq!(framer.next().unwrap().bytes, b"X\0\0\0\0garbage");
        assert_eq!(framer.next(), None);
    }
}
