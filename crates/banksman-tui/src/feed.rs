//! What happens at the server, as it happens.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use banksman_client::{AuditQuery, Client, ClientError};
use banksman_core::audit::Event;
use banksman_core::wire::EventView;
use banksman_review::event_line;
use tokio::sync::mpsc::UnboundedSender;

use crate::message::Message;
use crate::tail::Entry;

/// What the tail begins with.
const FIRST: u32 = 200;
const SHORTEST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// The newest events, oldest first.
pub(crate) fn newest(client: &Client) -> Result<Vec<Entry>, ClientError> {
    let page = client.audit(&AuditQuery { limit: Some(FIRST), ..AuditQuery::default() })?;
    Ok(page.items.iter().rev().map(entry).collect())
}

/// Follows the log from an event on, and goes on trying whatever happens.
pub(crate) fn follow(client: Arc<Client>, mut since: Option<u64>, tell: UnboundedSender<Message>) {
    thread::spawn(move || {
        let mut wait = SHORTEST_WAIT;
        while !tell.is_closed() {
            match client.events(since) {
                Ok(events) => {
                    wait = SHORTEST_WAIT;
                    let _ = tell.send(Message::Connected);
                    for event in events {
                        let message = match event {
                            Ok(event) => {
                                since = Some(event.seq);
                                Message::Happened(entry(&event))
                            }
                            Err(error) => Message::Disconnected(error.to_string()),
                        };
                        if tell.send(message).is_err() {
                            return;
                        }
                    }
                }
                Err(error) => {
                    let _ = tell.send(Message::Disconnected(error.to_string()));
                }
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    });
}

fn entry(view: &EventView) -> Entry {
    let text = view.event.get();
    match Event::from_bytes(text.as_bytes()) {
        Ok(event) => Entry {
            seq: view.seq,
            at: Some(event.at),
            kind: event.fact.type_name().to_owned(),
            by: event.actor.name().unwrap_or_else(|| event.actor.kind()).to_owned(),
            what: event_line(&event),
        },
        // Written by a newer version: better raw than not at all.
        Err(_) => Entry { seq: view.seq, at: None, kind: "?".into(), by: "?".into(), what: text.to_owned() },
    }
}
