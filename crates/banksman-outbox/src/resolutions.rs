//! Reads the audit log for what was resolved: messages about it are to say so, and agents that asked for it are called.
//!
//! Each stretch of the log is acted on once, however many nodes read it: what comes of it and how far it was read are
//! one commit. Nothing of this is in the way of a decision.

use std::sync::atomic::Ordering;
use std::time::Duration;

use banksman_core::audit::{ActionRef, Event};
use banksman_core::{Actor, Purpose, Timestamp};
use banksman_engine::EngineError;
use banksman_store::{
    Delivery, DeliveryQuery, EventQuery, LogReading, NewDelivery, NewJob, Post, StoredEvent,
};

use crate::Outbox;
use crate::plan::{CORRECTIONS_FROM, IDS_PER_EVENT};

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
                Ok(0) => drop(tokio::time::timeout(LOOK, grown.changed()).await),
                // More than a page: go on at once.
                Ok(AT_A_TIME..) => continue,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "what was resolved could not be read; trying again");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
            tokio::time::sleep(GATHER).await;
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
        let Some(about) = event.action.as_ref() else { return Ok(()) };
        let place = i64::try_from(stored.seq).unwrap_or(i64::MAX);
        let now = self.engine.now();
        let corrections = self.corrections(about, place, now).await?;
        post.deliveries.extend(corrections);
        // An approval of two, and an edit that is held again, leave it where it was.
        if !about.status.is_resolved() {
            return Ok(());
        }
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

    /// A message for each one that is before someone's eyes, or may be, and is no longer true.
    async fn corrections(
        &self,
        about: &ActionRef,
        place: i64,
        now: Timestamp,
    ) -> Result<Vec<NewDelivery>, EngineError> {
        let action = about.id;
        let query = DeliveryQuery { action: Some(action), limit: MOST, ..DeliveryQuery::default() };
        let mut sent = self.engine.deliveries(query).await?;
        sent.retain(|delivery| self.is_correctable(delivery, about));
        sent.sort_by_key(|delivery| delivery.id);
        let correction = |(id, delivery): (i64, Delivery)| NewDelivery {
            id,
            action,
            version: delivery.version,
            purpose: Purpose::Settled,
            round: delivery.message.or(delivery.bundle).unwrap_or(delivery.id),
            channel: delivery.channel,
            recipient: delivery.recipient,
            next_at: now,
            at: now,
        };
        let first = place.saturating_mul(IDS_PER_EVENT).saturating_add(CORRECTIONS_FROM);
        Ok((first..).zip(sent).map(correction).collect())
    }

    fn is_correctable(&self, delivery: &Delivery, about: &ActionRef) -> bool {
        let asks = match delivery.purpose {
            Purpose::Ask | Purpose::Again | Purpose::Escalated => true,
            Purpose::Told | Purpose::Settled => false,
        };
        let tells = self.channels.get(&delivery.channel).is_some_and(|channel| channel.tells_of_settlement());
        // Or is being sent at this moment, or was sent and nobody answered.
        let may_be_seen = delivery.status.has_left() || delivery.bundle.is_some();
        // Of what still waits, in another version, only buttons are taken away: nothing is closed because of it.
        let untrue = about.status.is_resolved()
            || (delivery.version < about.version && delivery.provider_id.is_some());
        asks && tells && may_be_seen && untrue
    }
}
