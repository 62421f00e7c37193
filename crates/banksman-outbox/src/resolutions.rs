//! Reads the audit log for what was resolved: messages about it are to say so, and agents that asked for it are called.
//!
//! Each stretch of the log is acted on once, however many nodes read it: what comes of it and how far it was read are
//! one commit. Nothing of this is in the way of a decision.

use std::sync::atomic::Ordering;
use std::time::Duration;

use banksman_core::audit::Event;
use banksman_core::{ActionId, Actor, Purpose, Timestamp};
use banksman_engine::EngineError;
use banksman_store::{
    Delivery, DeliveryQuery, EventQuery, LogReading, NewDelivery, NewJob, Post, StoredEvent,
};

use crate::Outbox;
use crate::plan::IDS_PER_EVENT;

/// Under which name the place in the log is kept.
const READER: &str = "outbox";

/// What ends a hold, or may. A lapse or the end of a lease is no answer to what people were asked.
const ENDS_OF_HOLDS: &[&str] = &["decided", "modified", "expired", "cancelled"];

const AT_A_TIME: usize = 512;

/// The place is written down at least every so many events.
const FAR: u64 = 10_000;

/// What is resolved together is told together.
const GATHER: Duration = Duration::from_millis(200);

const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How often to look without being woken.
const LOOK: Duration = Duration::from_secs(15);

/// More messages about one action than anyone sends.
const MOST: usize = 1000;

impl Outbox {
    pub(crate) async fn keep_reading(&self) {
        let mut grown = self.engine.newest_event();
        loop {
            grown.mark_unchanged();
            match self.read_once().await {
                Ok(0) => {
                    let _ = tokio::time::timeout(LOOK, grown.changed()).await;
                    tokio::time::sleep(GATHER).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "what was resolved could not be read; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// Acts on what is new in the log. Says how many events that were.
    ///
    /// # Errors
    /// If the store cannot be used. Then the next time begins at the same place.
    pub async fn read_once(&self) -> Result<usize, EngineError> {
        let (stored, end) = self.engine.log_place(READER).await?;
        if stored == 0 && end > 0 {
            // The first time on this database: what was resolved before anyone was told of anything is no news.
            let reading = LogReading { reader: READER, from: 0, to: end };
            self.engine.read_on(reading, Post::default()).await?;
            return Ok(0);
        }
        let from = stored.max(self.read_to.load(Ordering::Relaxed));
        if from >= end {
            return Ok(0);
        }
        let events = self.engine.events(EventQuery::following(from, AT_A_TIME)).await?;
        let Some(to) = events.last().map(|last| last.seq) else { return Ok(0) };
        let mut post = Post::default();
        for stored in events.iter().filter(|stored| ENDS_OF_HOLDS.contains(&stored.kind.as_str())) {
            self.act_on(stored, &mut post).await?;
        }
        let planned = !post.deliveries.is_empty() || !post.jobs.is_empty();
        // Where nothing came of it, the place need not be written down each time: reading it again does no harm.
        if planned || to - stored > FAR {
            let reading = LogReading { reader: READER, from: stored, to };
            if !self.engine.read_on(reading, post).await? {
                // Another node was faster. What it has read is read.
                return Ok(events.len());
            }
        }
        self.read_to.fetch_max(to, Ordering::Relaxed);
        if planned {
            self.nudge();
        }
        Ok(events.len())
    }

    async fn act_on(&self, stored: &StoredEvent, post: &mut Post) -> Result<(), EngineError> {
        let Ok(event) = Event::from_bytes(stored.body.as_bytes()) else {
            tracing::error!(seq = stored.seq, "an event cannot be read; nobody is told of it");
            return Ok(());
        };
        // An approval of two, and an edit that is held again, leave it where it was.
        let Some(about) = event.action.as_ref().filter(|about| about.status.is_resolved()) else {
            return Ok(());
        };
        let place = i64::try_from(stored.seq).unwrap_or(i64::MAX);
        let now = self.engine.now();
        post.deliveries.extend(self.corrections(about.id, place, now).await?);
        // What the agent withdrew itself is no news to it.
        let by_agent = matches!(event.actor, Actor::Agent { .. });
        if self.errands.is_some()
            && !by_agent
            && self.engine.case(about.id).await?.submission.action.resume.is_some()
        {
            post.jobs.push(NewJob { id: place, action: about.id, at: now });
        }
        Ok(())
    }

    /// A message for each one that is before someone's eyes and can be changed.
    async fn corrections(
        &self,
        action: ActionId,
        place: i64,
        now: Timestamp,
    ) -> Result<Vec<NewDelivery>, EngineError> {
        let query = DeliveryQuery { action: Some(action), limit: MOST, ..DeliveryQuery::default() };
        let mut sent = self.engine.deliveries(query).await?;
        sent.retain(|delivery| self.is_correctable(delivery));
        sent.sort_by_key(|delivery| delivery.id);
        let correction = |(id, delivery): (i64, Delivery)| NewDelivery {
            id,
            action,
            version: delivery.version,
            purpose: Purpose::Settled,
            round: delivery.message.unwrap_or(delivery.id),
            channel: delivery.channel,
            recipient: delivery.recipient,
            next_at: now,
            at: now,
        };
        Ok((place.saturating_mul(IDS_PER_EVENT)..).zip(sent).map(correction).collect())
    }

    fn is_correctable(&self, delivery: &Delivery) -> bool {
        let asks = match delivery.purpose {
            Purpose::Ask | Purpose::Again | Purpose::Escalated => true,
            Purpose::Told | Purpose::Settled => false,
        };
        let tells = self.channels.get(&delivery.channel).is_some_and(|channel| channel.tells_of_settlement());
        asks && delivery.status.has_left() && tells
    }
}
