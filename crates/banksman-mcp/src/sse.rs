//! Server-sent events: taken apart as they come in, each with the bytes that it was written in.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its data: the lines of it, joined.
    pub(crate) data: Bytes,
    /// Everything of it as it came, with the blank line that ends it; only its data, if others could see another event in it.
    pub(crate) raw: Bytes,
}

impl Event {
    /// An event that is a message.
    pub(crate) fn of(message: Bytes) -> Self {
        Self { raw: event(&String::from_utf8_lossy(&message)), data: message }
    }
}

/// An event that is longer than anyone may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub(crate) struct TooLongError {
    limit: usize,
}

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct Reader {
    pending: BytesMut,
    /// Up to where the pending bytes were searched for an end.
    searched: usize,
    limit: usize,
    /// The id of the last event that had one: what the sender calls the place up to which we have read.
    last_id: Option<Bytes>,
    /// How long to wait before asking for what follows, as the sender wants it.
    retry: Option<Duration>,
}

impl Reader {
    pub(crate) fn new(limit: usize) -> Self {
        Self { pending: BytesMut::new(), searched: 0, limit, last_id: None, retry: None }
    }

    pub(crate) fn last_id(&self) -> Option<&Bytes> {
        self.last_id.as_ref()
    }

    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Reads what follows from another connection: of an event that broke off here, all of it comes again.
    pub(crate) fn reconnect(&mut self) {
        self.pending.clear();
        self.searched = 0;
    }

    /// Takes what came in.
    ///
    /// # Errors
    /// If an event gets too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLongError> {
        if self.pending.len() + bytes.len() > self.limit {
            return Err(TooLongError { limit: self.limit });
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole event, or comment.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let end = self.end_of_event()?;
        self.searched = 0;
        let raw = self.pending.split_to(end).freeze();
        self.note_place(&raw);
        let data = data_of(&raw);
        let raw = match (is_plain(&raw), data.is_empty()) {
            (true, _) => raw,
            (false, true) => Bytes::new(),
            (false, false) => event(&String::from_utf8_lossy(&data)),
        };
        Some(Event { data, raw })
    }

    fn note_place(&mut self, raw: &Bytes) {
        for (field, value) in lines_of(raw).filter_map(field_of) {
            match field {
                b"id" if !value.contains(&0) => {
                    self.last_id = (!value.is_empty()).then(|| raw.slice_ref(value));
                }
                b"retry" => {
                    let read = std::str::from_utf8(value)
                        .ok()
                        .filter(|text| text.bytes().all(|c| c.is_ascii_digit()));
                    let millis = read.and_then(|text| text.parse().ok()).map(Duration::from_millis);
                    self.retry = millis.or(self.retry);
                }
                _ => {}
            }
        }
    }

    /// The place behind the first blank line. Each byte is looked at once, however slowly they come.
    fn end_of_event(&mut self) -> Option<usize> {
        let bytes = self.pending.as_ref();
        let mut at = self.searched;
        while let Some(position) = bytes.get(at..)?.iter().position(|byte| *byte == b'\n') {
            let line_end = at + position;
            let rest = bytes.get(line_end + 1..)?;
            match rest {
                [b'\n', ..] => return Some(line_end + 2),
                [b'\r', b'\n', ..] => return Some(line_end + 3),
                // The next line may be about to turn out blank: look again from here.
                [] | [b'\r'] => {
                    self.searched = line_end;
                    return None;
                }
                _ => at = line_end + 1,
            }
        }
        self.searched = bytes.len();
        None
    }
}

/// Whether every line is one that all readers end at the same place and take for the same. To many a carriage return alone
/// ends a line, too, and a byte order mark is not there.
fn is_plain(raw: &[u8]) -> bool {
    raw.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).all(|line| {
        let known = ["", ":", "data:", "event:", "id:", "retry:"];
        !line.contains(&b'\r')
            && known.iter().any(|field| {
                if field.is_empty() { line.is_empty() } else { line.starts_with(field.as_bytes()) }
            })
    })
}

fn lines_of(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    raw.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn field_of(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (field, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
    let value = value.get(1..)?;
    Some((field, value.strip_prefix(b" ").unwrap_or(value)))
}

fn data_of(raw: &Bytes) -> Bytes {
    let mut lines = lines_of(raw)
        .filter_map(|line| line.strip_prefix(b"data:"))
        .map(|data| data.strip_prefix(b" ").unwrap_or(data));
    let Some(first) = lines.next() else { return Bytes::new() };
    match lines.next() {
        None => raw.slice_ref(first),
        Some(second) => {
            let mut joined = first.to_vec();
            for line in std::iter::once(second).chain(lines) {
                joined.push(b'\n');
                joined.extend_from_slice(line);
            }
            joined.into()
        }
    }
}

/// A message as an event.
pub(crate) fn event(message: &str) -> Bytes {
    // What we write has no raw line ends; what we pass on may have, between its tokens.
    let mut text = String::with_capacity(message.len() + 24);
    text.push_str("event: message\ndata: ");
    text.extend(message.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
    text.push_str("\n\n");
    text.into()
}

/// A comment: it keeps a connection alive and says nothing.
pub(crate) const COMMENT: &[u8] = b": waiting for a person\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\nid: 1\ndata:\n\nevent: message\ndata: {\"a\":1}\n\ndata: x\r\ndata: y\r\n\r\nretry: 5\n\n";

    fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut reader = Reader::new(1000);
        let mut events = Vec::new();
        for chunk in chunks {
            reader.push(chunk).unwrap();
            while let Some(event) = reader.next() {
                let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
                events.push((text(&event.data), text(&event.raw)));
            }
        }
        events
    }

    #[test]
    fn however_it_is_cut_the_events_are_the_same() {
        let whole = read(&[STREAM.as_bytes()]);
        let data: Vec<&str> = whole.iter().map(|(data, _)| data.as_str()).collect();
        assert_eq!(data, ["", "", "{\"a\":1}", "x\ny", ""]);
        assert_eq!(whole.iter().map(|(_, raw)| raw.as_str()).collect::<String>(), STREAM);
        let bytes: Vec<&[u8]> = STREAM.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), whole);
        for at in 0..STREAM.len() {
            let (one, two) = STREAM.as_bytes().split_at(at);
            assert_eq!(read(&[one, two]), whole, "cut at {at}");
        }
    }

    #[test]
    fn the_place_up_to_which_it_was_read_is_known() {
        let mut reader = Reader::new(1000);
        let mut read = |text: &str| {
            reader.push(text.as_bytes()).unwrap();
            while reader.next().is_some() {}
            (reader.last_id().map(|id| String::from_utf8(id.to_vec()).unwrap()), reader.retry())
        };
        let at = |id: &str, millis: u64| (Some(id.to_owned()), Some(Duration::from_millis(millis)));
        assert_eq!(read("data: x\n\n"), (None, None));
        assert_eq!(read("id: a:1\r\nretry: 250\r\ndata:\r\n\r\n"), at("a:1", 250));
        assert_eq!(
            read("id: b\u{0}\nretry: +9\n\n: id: c\n\nid: d"),
            at("a:1", 250),
            "and not of half an event"
        );
        assert_eq!(read("\n\n"), at("d", 250));
        assert_eq!(read("id:\n\n").0, None);
    }

    #[test]
    fn a_drip_without_end_is_refused() {
        let mut reader = Reader::new(10);
        assert!(reader.push(b"data: 1234").is_ok());
        assert!(reader.next().is_none());
        assert!(reader.push(b"5").is_err());
    }

    #[test]
    fn a_message_cannot_end_its_event() {
        assert_eq!(event("{\n\n\"a\":1}"), "event: message\ndata: {  \"a\":1}\n\n");
    }

    #[test]
    fn no_event_hides_another_one() {
        let evil = r#"data: {"id":7,"result":{}}"#;
        for (hidden, left) in [
            (format!(": x\r{evil}\r\r\n\n"), ""),
            (format!("id: 1\r{evil}\r\r\ndata: {{}}\n\n"), "event: message\ndata: {}\n\n"),
            (format!("\u{feff}{evil}\n\n"), ""),
        ] {
            let events = read(&[hidden.as_bytes()]);
            let raw: String = events.iter().map(|(_, raw)| raw.as_str()).collect();
            assert_eq!(raw, left, "{hidden:?}");
        }
    }
}
