//! The audit log as it grows.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use banksman_core::wire::EventView;
use serde_json::value::RawValue;

use crate::ClientError;

/// The server shows every fifteen seconds that it is still there; who misses two of those is gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(35);

/// No event is longer; an end to whatever else might answer at that address.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// Events as they happen, until the connection ends. After that, ask again from the last one on.
///
/// An end is no error: it is how servers stop. Whether one is still there is learned by asking again.
pub struct Events {
    lines: BufReader<Box<dyn Read + Send>>,
    url: String,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Events {
    pub(crate) fn new(body: Box<dyn Read + Send>, url: String) -> Self {
        Self { lines: BufReader::new(body), url }
    }

    fn unreadable(&self, detail: String) -> ClientError {
        ClientError::Unexpected { url: self.url.clone(), status: 200, detail }
    }
}

impl Iterator for Events {
    type Item = Result<EventView, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut seq, mut data) = (None, String::new());
        loop {
            let mut line = String::new();
            // A connection that breaks ends the stream as one that closes does: asking again tells which it was.
            match (&mut self.lines).take(LONGEST_LINE).read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            let line = line.trim_end_matches(['\r', '\n']);
            match line.split_once(':') {
                None if line.is_empty() && !data.is_empty() => {
                    let Some(seq) = seq else {
                        return Some(Err(self.unreadable("an event without a number".into())));
                    };
                    let event = RawValue::from_string(std::mem::take(&mut data))
                        .map_err(|error| self.unreadable(format!("an event that cannot be read ({error})")));
                    return Some(event.map(|event| EventView { seq, event }));
                }
                Some(("id", value)) => seq = value.trim().parse().ok(),
                Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                // Comments keep the connection alive; the name of an event is also in its data.
                Some(_) | None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &'static str) -> Vec<Result<(u64, String), String>> {
        Events::new(Box::new(stream.as_bytes()), "http://x".into())
            .map(|event| {
                event
                    .map(|event| (event.seq, event.event.get().to_owned()))
                    .map_err(|error| error.to_string())
            })
            .collect()
    }

    #[test]
    fn events_come_one_by_one_between_signs_of_life() {
        let stream = ":\n\nid: 7\nevent: decided\ndata: {\"v\":1}\n\n: still here\n\nid:8\r\ndata:{\"v\":\r\ndata: 2}\r\n\r\nid: 9\ndata: {";
        assert_eq!(read(stream), [Ok((7, "{\"v\":1}".into())), Ok((8, "{\"v\":2}".into()))]);
    }

    #[test]
    fn what_is_no_event_is_said_to_be_none() {
        assert!(read("data: {}\n\n")[0].as_ref().unwrap_err().contains("without a number"));
        assert!(read("id: 1\ndata: {broken\n\n")[0].as_ref().unwrap_err().contains("cannot be read"));
    }
}
